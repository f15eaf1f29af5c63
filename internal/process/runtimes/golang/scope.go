package golang

import (
	"cmp"
	"fmt"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/runtimes/golang/pclntab"
)

// Go programs without debug information: what they tell of themselves (see package golang). Parameters have no names
// there, and are arg0, arg1 … with the receiver first.

// function tells what a Go program knows of the function that begins at an address.
func (c *Code) function(entry uint64) (fn Function, ok bool) {
	if in, _ := c.table().Code(entry); !in || c.program() == nil {
		return fn, false
	}
	return c.program().Function(entry)
}

// Entry gives a point at a function's entry its arguments.
func (c *Code) Entry(entry uint64, p *probe.Point) {
	fn, ok := c.function(entry)
	switch {
	case !p.Entry:
		return
	case !ok && !c.At(entry):
		return // C's
	case !ok:
		p.Scope = p.Scope.Clone()
		p.Scope.ArgN = probe.NoArgN(c.name + ", of " + cmp.Or(pclntab.Version(c.file), "an unknown version of Go") +
			", does not tell of parameters; they are in " + c.registers())
		return
	}
	p.Scope = p.Scope.Clone()
	p.Scope.Args = nil
	for i := range fn.Params {
		a := &fn.Params[i]
		p.Scope.Args = append(p.Scope.Args, probe.Var{Name: argName(i), Type: a.Type, Place: a.Place})
	}
	why := fn.Unknown
	switch {
	case why != "":
	case fn.More:
		why = "the stripped program describes no further arguments"
	}
	argN(p, why)
}

// registers are the first ones in which arguments are passed, as scripts have them.
func (c *Code) registers() string {
	if minor := minorOf(pclntab.Version(c.file)); minor > 0 && minor < 17 {
		return "memory, above the return address"
	}
	var names []string
	for _, r := range c.file.Arch().OwnIntegers()[:3] {
		name, _ := c.file.Arch().ScriptName(r)
		names = append(names, fmt.Sprintf("reg(%q)", name))
	}
	return strings.Join(names, ", ") + " …"
}

func argName(i int) string { return fmt.Sprintf("arg%d", i) }

// argN makes arg0, arg1 … those of Go's calling convention: the function's parameters, as far as one is a single word.
// The registers of C's convention hold something else there. why tells why there is nothing behind them; "": there are
// no more.
func argN(p *probe.Point, why string) {
	p.Scope.ArgN, p.Scope.ArgNTypes = []types.Place{}, nil
	for i := range p.Scope.Args {
		a := &p.Scope.Args[i]
		t := a.Type.Complete()
		place := a.Place
		if place.Kind != types.Unavailable && (!t.IsScalar() || t.Size > 8) {
			place = types.Unknown("it is of type %s, which is not a number: use args.%s", types.Declare(a.Type, ""), a.Name)
			t = types.TUint64
		}
		p.Scope.ArgN, p.Scope.ArgNTypes = append(p.Scope.ArgN, place), append(p.Scope.ArgNTypes, t)
	}
	if why != "" {
		for len(p.Scope.ArgN) < probe.MaxArgN {
			p.Scope.ArgN, p.Scope.ArgNTypes = append(p.Scope.ArgN, types.Unknown("%s", why)),
				append(p.Scope.ArgNTypes, types.TUint64)
		}
	}
}

// known is the scope at the returns of a function whose results the program itself tells; nil: it does not.
func (c *Code) known(entry uint64) *probe.Scope {
	fn, ok := c.function(entry)
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
	s.Retval = results(s.Results, ts, places)
	return s
}

// declareParams are a function's parameters as declarations, with the reason for those that cannot be told.
func declareParams(fn *Function) (out []string) {
	if fn.Unknown != "" {
		return []string{"... (" + fn.Unknown + ")"}
	}
	for i := range fn.Params {
		out = append(out, types.Declare(fn.Params[i].Type, argName(i)))
	}
	if fn.More {
		out = append(out, "...")
	}
	return out
}

// Declaration is a function as its source might have it, as far as it is known. The name tells the receiver as in Go's
// own tables; it is arg0.
func (c *Code) Declaration(entry uint64) (d runtimes.Declaration, ok bool) {
	fn, ok := c.function(entry)
	if !ok {
		return d, false
	}
	d = runtimes.Declaration{Params: declareParams(&fn), File: fn.File, Line: fn.Line}
	d.Text = "func " + fn.Name + "(" + strings.Join(d.Params, ", ") + ")"
	var results []string
	for i := range fn.Results {
		results = append(results, types.Declare(fn.Results[i].Type, ""))
	}
	switch {
	case !fn.Signed && fn.Unknown == "":
		d.Text += " (results unknown)"
	case len(results) == 1:
		d.Text += " " + results[0]
	case len(results) > 1:
		d.Text += " (" + strings.Join(results, ", ") + ")"
	}
	d.Copies = func() int { return c.copyCount(fn.Name) }
	return d, true
}

func (c *Code) copyCount(name string) int {
	if c.copies == nil {
		c.copies = map[string]int{}
		c.table().Inlines(func(in *pclntab.Inline) bool {
			c.copies[in.Name]++
			return true
		})
	}
	return c.copies[name]
}

// TypeNamed finds a type by its name.
func (c *Code) TypeNamed(name string) (*types.Type, bool) {
	if c.program() == nil {
		return nil, false
	}
	return c.program().TypeNamed(name)
}

// Copies are the places where a function was inlined, as the program's own tables tell them.
func (c *Code) Copies(name string) (copies []runtimes.Copy) {
	list := c.table().Inlined(name)
	for i := range list {
		copied := runtimes.Copy{Outer: list[i].Outer}
		for _, r := range list[i].Whole {
			copied.Ranges = append(copied.Ranges, debuginfo.Range{Low: r.Low, High: r.High})
		}
		copies = append(copies, copied)
	}
	return copies
}
