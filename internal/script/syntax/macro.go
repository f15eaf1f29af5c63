package syntax

import (
	_ "embed" // the standard macros
	"strings"

	"trocar/internal/script/diag"
)

//go:embed std.bt
var stdText string

// stdName is the name of the standard macros' text in messages: bpftrace's, where scripts' tests look for it.
const stdName = "stdlib/base.bt"

// isStd tells whether there is a standard macro of a name, without parsing them.
func isStd(name string) bool { return strings.Contains(stdText, "macro "+name+"(") }

// stdMacros parses the standard macros.
func stdMacros(diags *diag.List) []*Macro {
	f := Parse(&diag.Source{Name: stdName, Text: stdText}, ParseOptions{}, diags)
	for _, m := range f.Macros {
		m.Std = true
	}
	return f.Macros
}

// registry holds all macros by name, in the order of definition.
type registry map[string][]*Macro

// add takes a macro in, unless there is one for the same arguments.
func (r registry) add(m *Macro, diags *diag.List) {
	if old, _ := r.find(m.Name, m.Params, m.Std, !m.Std); old != nil {
		diags.Errorf(m.Span, "Redefinition of macro: %s", m.Name).Note(old.Span, "This is the original definition.")
		return
	}
	seen := map[string]bool{}
	for _, p := range m.Params {
		name, what := paramName(p)
		if seen[name] {
			diags.Errorf(p.Pos(), "%s for macro argument has already been used: %s", what, name)
			return
		}
		seen[name] = true
	}
	r[m.Name] = append(r[m.Name], m)
}

// paramName is the name of a macro's parameter and what kind of thing it is.
func paramName(p Expr) (name, what string) {
	switch p := p.(type) {
	case *Var:
		return p.Name, "Variable"
	case *Map:
		return p.Name, "Map"
	case *Ident:
		return p.Name, "Ident"
	}
	return "", ""
}

// find gives the macro for these arguments, and if there is none the ones of that name that come closest. Among those
// that fit the user's go before the standard ones, and earlier before later ones.
func (r registry) find(name string, args []Expr, std, user bool) (match *Macro, closest []*Macro) {
	best := int(^uint(0) >> 1)
	var fits *Macro
	for _, m := range r[name] {
		if m.Std && !std || !m.Std && !user {
			continue
		}
		d := m.distance(args)
		if d == 0 {
			if !m.Std {
				return m, nil
			}
			if fits == nil {
				fits = m
			}
		}
		if d < best {
			best, closest = d, nil
		}
		if d == best {
			closest = append(closest, m)
		}
	}
	if fits != nil {
		return fits, nil
	}
	return nil, closest
}

// distance tells how far arguments are from what a macro takes; 0: they fit. The number of arguments counts most.
func (m *Macro) distance(args []Expr) int {
	d := len(m.Params) - len(args)
	if d < 0 {
		d = -d
	}
	d *= 1 << 20
	for i := 0; i < min(len(args), len(m.Params)); i++ {
		if !fitsParam(m.Params[i], args[i]) {
			d++
		}
	}
	return d
}

// fitsParam tells whether an argument is of the kind that a parameter asks for.
func fitsParam(param, arg Expr) bool {
	switch param.(type) {
	case *Var:
		_, ok := arg.(*Var)
		return ok
	case *Map:
		_, ok := arg.(*Map)
		return ok
	}
	return true
}

// explainMismatch says why the arguments of a call don't fit the closest definition.
func explainMismatch(diags *diag.List, at diag.Span, name string, args []Expr, m *Macro) {
	d := diags.Errorf(at, "Call to %s() has arguments that do not match any definition.", name)
	if len(m.Params) != len(args) {
		d.Note(m.Span, "The closest definition of %s() has a different number of arguments. Expected: %d but got %d",
			m.Name, len(m.Params), len(args))
		return
	}
	for i, p := range m.Params {
		if fitsParam(p, args[i]) {
			continue
		}
		want, got := "variable", "an expression"
		if _, ok := p.(*Map); ok {
			want = "map"
		}
		switch args[i].(type) {
		case *Map:
			got = "a map"
		case *Var:
			got = "a variable"
		}
		param, _ := paramName(p)
		diags.Errorf(args[i].Pos(), "Mismatched arg. %s() expects a %s for arg %s but got %s.", m.Name, want, param, got).
			Note(p.Pos(), "This is the argument in the closest definition.")
	}
}
