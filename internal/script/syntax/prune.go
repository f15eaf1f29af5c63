package syntax

import (
	"slices"
	"strings"
)

// prune leaves out what headers define and no script can mean. A header can bring thousands of definitions; who comes
// after should only see those that are named in a script, and what these are made of.
func (l *loader) prune(defs []CDef) []CDef {
	byName := map[string][]int{}
	for i, d := range defs {
		for _, n := range definedNames(d) {
			byName[n] = append(byName[n], i)
		}
	}
	keep := make([]bool, len(defs))
	var todo []int
	mark := func(i int) {
		if !keep[i] {
			keep[i] = true
			todo = append(todo, i)
		}
	}
	need := func(name string) {
		for _, i := range byName[name] {
			mark(i)
		}
	}
	for i, d := range defs {
		if slices.Contains(l.own, defSpan(d).Source) {
			mark(i)
		}
	}
	for _, src := range l.own {
		for t := scan(src.Text, 0); t.kind != tEOF; t = scan(src.Text, t.end) {
			if t.kind == tIdent {
				need(t.text)
			}
		}
	}
	for len(todo) > 0 {
		d := defs[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		switch d := d.(type) {
		case *CStruct:
			fieldNames(d, need)
		case *CTypedef:
			typeNames(d.Type, need)
		case *CDefine:
			for pos := 0; ; {
				t, end := scanC(d.Body, pos)
				if t.kind == cEOF {
					break
				}
				if t.kind == cName {
					need(t.text)
				}
				pos = end
			}
		}
	}
	var out []CDef
	for i, d := range defs {
		if keep[i] {
			out = append(out, d)
		}
	}
	return out
}

// definedNames are the names that a definition gives a meaning to.
func definedNames(d CDef) []string {
	switch d := d.(type) {
	case *CStruct:
		return []string{d.Name}
	case *CEnum:
		if d.Name == "" {
			return d.Names
		}
		return append([]string{d.Name}, d.Names...)
	case *CTypedef:
		return []string{d.Name}
	case *CDefine:
		return []string{d.Name}
	}
	return nil
}

// fieldNames calls need for the types of a structure's members.
func fieldNames(s *CStruct, need func(string)) {
	for _, f := range s.Fields {
		typeNames(f.Type, need)
	}
}

func typeNames(t CType, need func(string)) {
	switch {
	case t.Inline != nil:
		fieldNames(t.Inline, need)
	case t.Base != "":
		need(t.Base[strings.LastIndexByte(t.Base, ' ')+1:])
	}
}
