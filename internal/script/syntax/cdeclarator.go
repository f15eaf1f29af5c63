package syntax

import (
	"math"
	"slices"
	"strings"
)

// declarator reads a name with its pointers, dimensions and parameters. The name may be missing.
func (p *cParser) declarator(base CType) CField {
	f := CField{Type: base}
	var outer []TypeMod // outermost first
	p.direct(&f, &outer)
	if p.failed {
		return f
	}
	slices.Reverse(outer)
	// Dimensions that follow each other stay in the order of the text.
	for i := 0; i < len(outer); {
		j := i
		for j < len(outer) && !outer[j].Pointer {
			j++
		}
		slices.Reverse(outer[i:j])
		i = max(j, i+1)
	}
	f.Type.Mods = append(slices.Clone(base.Mods), outer...)
	return f
}

// direct collects the modifiers of a declarator, outermost first.
func (p *cParser) direct(f *CField, outer *[]TypeMod) {
	if p.depth++; p.depth > 100 {
		p.fail("the declaration is nested too deeply")
		return
	}
	defer func() { p.depth-- }()
	pointers := 0
	for !p.failed {
		t := p.peek()
		if t.is("*") {
			pointers++
			p.pos++
			continue
		}
		switch word := strings.Trim(t.text, "_"); {
		case t.kind != cName:
		case word == "const" || word == "volatile" || word == "restrict" || word == "user" && t.text != word:
			p.pos++
			continue
		case word == "attribute":
			p.attribute(&cattrs{})
			continue
		}
		break
	}
	switch t := p.peek(); {
	case t.is("(") && p.pos+1 < len(p.toks) && (p.toks[p.pos+1].is("*") || p.toks[p.pos+1].is("(") ||
		p.toks[p.pos+1].kind == cName && f.Name == "" && !p.isTypeName(p.toks[p.pos+1])):
		p.pos++
		p.direct(f, outer)
		p.want(")")
	case t.kind == cName:
		f.Name = t.text
		p.pos++
	}
	for !p.failed {
		if len(*outer)+pointers > maxDepth {
			p.fail("too many '*' and '[]' in a type")
			return
		}
		switch {
		case p.got("["):
			at := p.pos
			size := p.until("]")
			m := TypeMod{NoLen: len(size) == 0}
			if !m.NoLen {
				v, ok := p.u.constant(size)
				if !ok || v < 0 || v > math.MaxInt32 {
					p.failFrom(at, "the size of the array is not an integer constant")
					return
				}
				m.Len = int(v)
			}
			p.want("]")
			*outer = append(*outer, m)
		case p.peek().is("("):
			p.skipGroup()
			f.Type.Func = true
			pointers = 0 // those of the result
		case p.peek().kind == cName && strings.Trim(p.peek().text, "_") == "attribute":
			p.attribute(&cattrs{})
		default:
			for ; pointers > 0; pointers-- {
				*outer = append(*outer, TypeMod{Pointer: true})
			}
			return
		}
	}
}

// isTypeName tells whether a name behind '(' begins parameters rather than a declarator in parentheses.
func (p *cParser) isTypeName(t ctoken) bool {
	switch t.text {
	case "const", "volatile", "struct", "union", "enum":
		return true
	}
	return cTypeWord(t.text) != "" || p.u.known(t.text)
}
