package main

import (
	"fmt"
	"math/rand/v2"
)

// program is a generated program: functions, and a main that calls each of them some times. Which values are passed
// and returned is in tables, from which the program takes the next row at each call.
type program struct {
	lang  *language
	r     *rand.Rand
	types []*typ // that are declared
	funcs []*function
	build *build
}

// use is what a function does with a parameter.
type use uint8

// Uses of parameters.
const (
	unused  use = iota
	reads       // one number of it
	readAll     // all numbers of it
	escapes     // its address is taken
	late        // behind a call
	branch      // decides whether the function ends early
	changes     // it is written, then its address is taken
	uses
)

// function is a function of a generated program.
type function struct {
	n       int
	name    string
	params  []param
	result  *typ
	rows    [][]value // of the arguments, of each call
	results []value   // of each call
	callees []*function
	// wraps is a function of the same signature that this one calls with its own parameters, and which shares its rows.
	wraps     *function
	attrs     string // before it
	static    bool
	unused    bool         // no caller looks at the result
	literals  map[int]bool // arguments that callers write as constants; the same in all rows
	unit      int
	calls     int    // all of them
	own       int    // those of main
	qualifier string // "space::" or "Class::"
	method    bool
	// inlined tells that compilers may put it into its callers.
	inlined bool
	absent  bool // the compiler left nothing of it
}

type param struct {
	name string
	typ  *typ
	use  use
	ref  bool // passed as a reference
}

// newProgram makes a program.
func newProgram(l *language, r *rand.Rand, functions int, b *build) *program {
	p := &program{lang: l, r: r, build: b}
	for range 4 + r.IntN(6) {
		p.types = append(p.types, l.declare(p))
	}
	for n := range functions {
		p.funcs = append(p.funcs, p.function(n))
	}
	for _, f := range p.funcs {
		f.fill(r)
	}
	return p
}

// function makes the function with a number.
func (p *program) function(n int) *function {
	r := p.r
	f := &function{n: n, name: fmt.Sprintf("f%d", n), own: 2 + r.IntN(4), literals: map[int]bool{}}
	f.calls = f.own
	if n > 0 && r.IntN(8) == 0 {
		if g := p.funcs[n-1]; g.wraps == nil && len(g.callees) == 0 && len(g.literals) == 0 && !g.method && g.calls == g.own {
			*f = function{
				n: n, name: f.name, wraps: g, params: append([]param(nil), g.params...), result: g.result, calls: g.calls,
				own:      g.own,
				literals: map[int]bool{}, unused: g.unused,
			}
			g.calls, g.own = 0, 0 // its calls are those of this one
			p.lang.decorate(p, f)
			f.unit, f.static, f.qualifier = g.unit, g.static && f.static, g.qualifier
			return f
		}
	}
	count := r.IntN(6)
	if r.IntN(6) == 0 {
		count = 6 + r.IntN(6)
	}
	for i := range count {
		prm := param{name: fmt.Sprintf("p%d", i), typ: p.pick(), use: use(r.IntN(int(uses)))}
		p.lang.pass(p, &prm)
		f.params = append(f.params, prm)
	}
	if r.IntN(6) > 0 {
		f.result = p.returnable()
	}
	f.unused = r.IntN(3) == 0
	if r.IntN(5) == 0 {
		for i := range f.params {
			if t := f.params[i].typ; r.IntN(2) == 0 && (t.kind == integer || t.kind == boolean || t.kind == floating ||
				t.kind == enumeration) {
				f.literals[i] = true
			}
		}
	}
	p.lang.decorate(p, f)
	for len(f.callees) < 2 && n > 0 && r.IntN(3) == 0 {
		g := p.funcs[r.IntN(n)]
		if g.method || g.static && g.unit != f.unit || g.calls == 0 || g.calls+f.calls > 24 {
			break
		}
		f.callees = append(f.callees, g)
		g.more(f.calls)
	}
	for i := range f.params {
		if prm := &f.params[i]; len(f.callees) > 0 && prm.use == branch {
			prm.use = reads // else it would not be known how often the others are called
		}
	}
	return f
}

// more adds calls of a function, and of those that it calls.
func (f *function) more(n int) {
	f.calls += n
	for _, g := range f.callees {
		g.more(n)
	}
}

// pick is a random type of a parameter.
func (p *program) pick() *typ {
	if n := len(p.types); n > 0 && p.r.IntN(3) == 0 {
		return p.types[p.r.IntN(n)]
	}
	return p.lang.simple(p)
}

func (p *program) returnable() *typ {
	for range 100 {
		if t := p.pick(); !t.unowned {
			return t
		}
	}
	return p.lang.simple(p)
}

// fill makes the rows of a function.
func (f *function) fill(r *rand.Rand) {
	if f.wraps != nil {
		g := f.wraps
		g.calls = f.calls
		g.rows, g.results = nil, nil
		g.fill(r)
		f.rows, f.results = g.rows, g.results
		return
	}
	constant := map[int]value{}
	for i := range f.params {
		if f.literals[i] {
			constant[i] = f.params[i].typ.random(r)
		}
	}
	for range f.calls {
		row := make([]value, len(f.params))
		for i := range f.params {
			if v, ok := constant[i]; ok {
				row[i] = v
			} else {
				row[i] = f.params[i].typ.random(r)
			}
		}
		f.rows = append(f.rows, row)
		if f.result != nil {
			f.results = append(f.results, f.result.random(r))
		}
	}
}

// gone notes that the compiler left nothing of a function.
func (p *program) gone(name string) {
	for _, f := range p.funcs {
		if f.qualifier+f.name == name {
			f.absent = true
		}
	}
}
