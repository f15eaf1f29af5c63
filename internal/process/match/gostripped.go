package match

import (
	"fmt"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes/golang"
)

// Go programs without debug information: what they tell of themselves (see package golang). Parameters have no names there,
// and are arg0, arg1 … with the receiver first.

// goProgram is what a Go program tells of itself, nil for other files.
func (b *binary) goProgram() *golang.Program {
	if b.program == nil && b.obj.IsGo() && b.obj.Arch().Go() != nil {
		b.program = golang.Open(b.obj)
	}
	return b.program
}

// goFunction tells what a Go program knows of the function that begins at an address.
func (b *binary) goFunction(entry uint64) (fn golang.Function, ok bool) {
	p := b.goProgram()
	if p == nil {
		return fn, false
	}
	if in, _ := b.obj.GoCode(entry); !in {
		return fn, false
	}
	return p.Function(entry)
}

// goTyped gives a point at a function's entry its arguments.
func (m *matcher) goTyped(b *binary, entry uint64, p *probe.Point) {
	fn, ok := b.goFunction(entry)
	if !ok || !p.Entry {
		return
	}
	p.Scope = scopeOf(p.Scope)
	p.Scope.Args = nil
	for i := range fn.Params {
		a := &fn.Params[i]
		p.Scope.Args = append(p.Scope.Args, probe.Var{Name: goArgName(i), Type: a.Type, Place: a.Place})
	}
	why := fn.Unknown
	switch {
	case why != "":
	case fn.More:
		why = "the stripped program tells no more of the arguments"
	}
	m.goArgN(p, why)
}

// goAssembly tells whether an address is in a function of a Go program that is written in assembly.
func (b *binary) goAssembly(addr uint64) bool {
	if !b.obj.IsGo() {
		return false
	}
	in, assembly := b.obj.GoCode(addr)
	return in && assembly
}

// goAssemblyScope is the scope of such a function: each has its arguments where it likes.
func goAssemblyScope() *probe.Scope {
	return &probe.Scope{ArgN: noArgN(`it is written in assembly, and only its source tells where its arguments are: on the stack, or in reg("ax"), reg("bx"), reg("cx") …`)}
}

func goArgName(i int) string { return fmt.Sprintf("arg%d", i) }

// goArgN makes arg0, arg1 … those of Go's calling convention: the function's parameters, as far as one is a single word. The
// registers of C's convention hold something else there. why tells why there is nothing behind them; "": there are no more.
func (m *matcher) goArgN(p *probe.Point, why string) {
	p.Scope.ArgN, p.Scope.ArgNTypes = []types.Place{}, nil
	for i := range p.Scope.Args {
		a := &p.Scope.Args[i]
		t := a.Type.Complete()
		place := a.Place
		if place.Kind != types.Unavailable && (!t.IsScalar() || t.Size > 8) {
			place = unavailable("it is of type %s, which is more than a number: use args.%s", types.Declare(a.Type, ""), a.Name)
			t = types.TUint64
		}
		p.Scope.ArgN, p.Scope.ArgNTypes = append(p.Scope.ArgN, place), append(p.Scope.ArgNTypes, t)
	}
	if why != "" {
		for len(p.Scope.ArgN) < maxArgN {
			p.Scope.ArgN, p.Scope.ArgNTypes = append(p.Scope.ArgN, unavailable("%s", why)), append(p.Scope.ArgNTypes, types.TUint64)
		}
	}
}

// goResultKnown is the scope at the returns of a function whose results the program itself tells; nil: it does not.
func (b *binary) goResultKnown(entry uint64) *probe.Scope {
	fn, ok := b.goFunction(entry)
	if !ok || !fn.Signed || len(fn.Results) == 0 {
		return nil
	}
	s := &probe.Scope{}
	if len(fn.Results) == 1 {
		s.Results = []string{"r0"}
		s.Retval = &probe.Var{Name: "retval", Type: fn.Results[0].Type.Complete(), Place: fn.Results[0].Place}
		return s
	}
	var ts []*types.Type
	var places []*types.Place
	for i := range fn.Results {
		s.Results = append(s.Results, fmt.Sprintf("r%d", i))
		ts, places = append(ts, fn.Results[i].Type), append(places, &fn.Results[i].Place)
	}
	s.Retval = goResults(s.Results, ts, places)
	return s
}

// goParams are a function's parameters as declarations, with the reason for those that cannot be told.
func goParams(fn *golang.Function) (out []string) {
	if fn.Unknown != "" {
		return []string{"... (" + fn.Unknown + ")"}
	}
	for i := range fn.Params {
		out = append(out, types.Declare(fn.Params[i].Type, goArgName(i)))
	}
	if fn.More {
		out = append(out, "...")
	}
	return out
}

// describeGo fills in what debug information doesn't tell of a Go program's functions; false: it is none.
func (m *matcher) describeGo(b *binary, list []listing, of []int, told []function) bool {
	if b.goProgram() == nil {
		return false
	}
	for _, i := range of {
		one := &told[i]
		if one.declared != nil || one.params != nil {
			continue
		}
		if m.opts.Declared {
			one.declared = m.goDeclaration(b, list[i].fn.Addr)
		} else if fn, ok := b.goFunction(list[i].fn.Addr); ok {
			one.params = goParams(&fn)
		}
	}
	return true
}

// goDeclaration is a function as its source might have it, as far as it is known. The name tells the receiver as in Go's own
// tables; it is arg0.
func (m *matcher) goDeclaration(b *binary, entry uint64) *Declared {
	fn, ok := b.goFunction(entry)
	if !ok {
		return nil
	}
	params := goParams(&fn)
	text := "func " + fn.Name + "(" + strings.Join(params, ", ") + ")"
	var results []string
	for i := range fn.Results {
		results = append(results, types.Declare(fn.Results[i].Type, ""))
	}
	switch {
	case !fn.Signed && fn.Unknown == "":
		text += " (results unknown)"
	case len(results) == 1:
		text += " " + results[0]
	case len(results) > 1:
		text += " (" + strings.Join(results, ", ") + ")"
	}
	d := &Declared{Text: text, File: fn.File, Line: fn.Line}
	if b.copies == nil {
		b.copies = map[string]int{}
		b.obj.GoInlines(func(c *objfile.GoInline) bool {
			b.copies[c.Name]++
			return true
		})
	}
	d.Copies = b.copies[fn.Name]
	return d
}

// goCopies adds the places where a function was inlined, as the program's own tables tell them.
func (m *matcher) goCopies(s *spec, b *binary, funcs []objfile.Func, points []*probe.Point) []*probe.Point {
	name := s.fn
	if len(funcs) == 1 {
		name = funcs[0].Name
	}
	if !b.obj.IsGo() || len(funcs) > 1 {
		return points
	}
	in := inlinedFunc{name: m.display(name)}
	if len(funcs) == 1 {
		in.entry = funcs[0].Addr
	}
	list := b.obj.GoInlined(name)
	for i := range list {
		c := &list[i]
		if len(c.Whole) == 0 {
			in.empty++
			continue
		}
		ic := inlinedCopy{entry: c.Whole[0].Low, outer: c.Outer}
		for _, r := range c.Whole {
			ic.ranges = append(ic.ranges, debuginfo.Range{Low: r.Low, High: r.High})
		}
		in.copies = append(in.copies, ic)
	}
	if len(list) > 0 {
		for _, p := range points {
			p.Copied = true
		}
	}
	return m.inlinedPoints(s, b, &in, points)
}
