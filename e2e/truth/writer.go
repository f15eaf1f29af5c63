package main

import (
	"fmt"
	"strings"
)

// writer is what the writers of all languages have in common.
type writer struct {
	p *program
	b strings.Builder
}

func (w *writer) f(format string, args ...any) { fmt.Fprintf(&w.b, format, args...) }

// calls writes the calls of the main function; loop begins a loop of so many times, in which call writes the same call
// with what is next, else with literals.
func (w *writer) calls(loop string, call func(f *function, literal bool)) {
	for _, f := range w.p.funcs {
		if len(f.literals) > 0 || f.n%3 == 0 {
			for range f.own {
				call(f, true)
			}
		} else if f.own > 0 {
			w.f("\t"+loop+" {\n", f.own)
			call(f, false)
			w.f("\t}\n")
		}
	}
}

// statements are how a language says what a function does with its parameters.
type statements struct {
	leaves func(*param) []leaf // the numbers of a parameter that code looks at
	add    func(*param, leaf)  // to a sum that is kept
	branch func(*param, leaf)  // returns if the number is 1
	escape func(*param)        // gives the address to something unknown
	change func(*param, []leaf)
	call   func(*function)
	opaque string // calls something unknown
}

// body writes what a function does before it returns.
func (w *writer) body(f *function, s *statements) {
	done := func(u use, do func(prm *param, leaves []leaf)) {
		for i := range f.params {
			if prm := &f.params[i]; prm.use == u {
				do(prm, s.leaves(prm))
			}
		}
	}
	sum := func(prm *param, leaves []leaf) {
		for _, l := range leaves {
			s.add(prm, l)
		}
	}
	done(reads, func(prm *param, leaves []leaf) { sum(prm, leaves[:min(1, len(leaves))]) })
	done(branch, func(prm *param, leaves []leaf) {
		if len(leaves) > 0 {
			s.branch(prm, leaves[len(leaves)-1])
		}
	})
	done(readAll, sum)
	done(escapes, func(prm *param, _ []leaf) { s.escape(prm) })
	for _, g := range f.callees {
		s.call(g)
	}
	w.f("\t%s\n", s.opaque)
	done(late, sum)
	done(changes, s.change)
}

// tables calls write with the values of each parameter, and of the result, by row.
func (f *function) tables(write func(name string, t *typ, at func(row int) value)) {
	for i, prm := range f.params {
		write(fmt.Sprintf("t%d_%d", f.n, i), prm.typ, func(row int) value { return f.rows[row][i] })
	}
	if f.result != nil {
		write(fmt.Sprintf("r%d", f.n), f.result, func(row int) value { return f.results[row] })
	}
}

// valued is the function that has the values: the one that it wraps, or itself.
func (f *function) valued() *function {
	if f.wraps != nil {
		return f.wraps
	}
	return f
}

// names are those of the parameters, as arguments of a call.
func (f *function) names() string {
	var list []string
	for _, prm := range f.params {
		list = append(list, prm.name)
	}
	return strings.Join(list, ", ")
}

// patterns are the functions of a program behind a prefix.
func (p *program) patterns(prefix string) (list []string) {
	for _, f := range p.funcs {
		list = append(list, prefix+f.qualifier+f.name)
	}
	return list
}

// parts are the members or elements of a value, each written by literal.
func (t *typ) parts(v value, literal func(*typ, value) string) (list []string) {
	for i, e := range v.([]value) {
		of := t.elem
		if t.kind == structure || t.kind == tuple {
			of = t.fields[i].typ
		}
		list = append(list, literal(of, e))
	}
	return list
}

// quoted is a text in quotes; what is not plain is written in the form.
func quoted[C byte | rune](s []C, form string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, form, c)
		} else {
			b.WriteByte(byte(c))
		}
	}
	b.WriteByte('"')
	return b.String()
}
