package recipe

import (
	"context"
	"slices"

	"trocar/internal/binary/abi"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// interpreted finds functions that an interpreter executes.
func interpreted(ctx context.Context, o Target, name string, diags *diag.List) (out []Function) {
	var wrong diag.List
	matched := matchEvents(ctx, o, "python:"+syntax.QuoteWord(name), &wrong)
	for _, d := range wrong.All {
		if !slices.ContainsFunc(diags.All, func(o *diag.Diagnostic) bool { return o.Text == d.Text }) {
			diags.Take(d)
		}
	}
	if matched == nil {
		return nil
	}
	defer matched.Close()
	points := matched.PointsOf(0)
	if o.Whole && isPattern(name) {
		return []Function{{Name: name, Probe: "python:" + syntax.QuoteWord(name), Called: true, Event: true, Whole: true}}
	}
	results := map[uint64]*Value{}
	ended := matchEvents(ctx, o, "pythonret:"+syntax.QuoteWord(name), &diag.List{})
	ends := ended != nil
	if ends {
		for _, p := range ended.PointsOf(0) {
			if known := results[p.Start]; p.Scope != nil && p.Scope.Retval != nil && (known == nil || known.Show != Hidden) {
				results[p.Start] = paramOf(*p.Scope.Retval) // at all places, or hidden
			}
		}
		ended.Close()
	}
	known := map[uint64]bool{}
	for _, p := range points {
		if known[p.Start] {
			continue // it is at several places
		}
		known[p.Start] = true
		fn := Function{Name: p.Func, Called: true, Probe: "python:" + syntax.QuoteWord(p.Func), Managed: true}
		fn.parametersOf(p.Scope)
		if name, ok := archOf(matched.Known(p).File).ScriptName(p.Interpreted.Frame); ok && ends {
			fn.EntryKey = frameKey(name, 0)
			fn.ReturnKey, fn.BareKey = fn.EntryKey, fn.EntryKey
			fn.Returns = []string{"pythonret:" + syntax.QuoteWord(p.Func)}
			fn.Result, fn.ResultExpr = results[p.Start], "retval"
		} else {
			fn.Event = true
		}
		out = append(out, fn)
	}
	return out
}

// methods finds methods whose code a runtime makes.
func methods(ctx context.Context, o Target, name string, diags *diag.List) (out []Function) {
	matched := matchEvents(ctx, o, "method:"+syntax.QuoteWord(name), diags)
	if matched == nil {
		return nil
	}
	defer matched.Close()
	for _, d := range matched.Diags.All { // what is left out; the rest is told of each
		if d.Span = (diag.Span{}); isPattern(name) {
			diags.Take(d)
		}
	}
	for _, p := range matched.PointsOf(0) {
		if p.Next != 0 {
			continue // of the same method
		}
		fn := Function{
			Name: p.Func, Called: true, Probe: "method:" + syntax.QuoteWord(p.Func), Managed: true, Replaced: true,
			unmade: p.Addr == 0,
		}
		fn.parametersOf(p.Scope)
		if name, ok := fn.methodReturn(ctx, o, p); ok {
			fn.EntryKey = frameKey(name, 0)
			fn.ReturnKey, fn.BareKey = fn.EntryKey, fn.EntryKey
		}
		out = append(out, fn)
	}
	return out
}

const noRegisters = "each place where a method returns takes one of the CPU's four debug registers, and each method " +
	"one: name fewer"

// fitRegisters leaves out the returns of methods for which there are no debug registers.
func fitRegisters(fns []Function) {
	left := 4
	for i := range fns {
		if fns[i].Replaced {
			left--
		}
	}
	for i := range fns {
		fn := &fns[i]
		if fn.breaks > left {
			fn.Returns, fn.EntryKey, fn.Result, fn.ResultExpr, fn.NoReturn = nil, "", nil, "", noRegisters
			continue
		}
		left -= fn.breaks
	}
}

// methodReturn finds where it returns; name is the register of the stack pointer.
func (fn *Function) methodReturn(ctx context.Context, o Target, p *probe.Point) (name string, ok bool) {
	host, err := abi.Host()
	if err != nil {
		return "", false
	}
	text := "methodret:" + syntax.QuoteWord(p.Func)
	matched := matchEvents(ctx, o, text, &diag.List{})
	if matched == nil {
		fn.NoReturn = noRegisters
		return "", false
	}
	defer matched.Close()
	points := matched.PointsOf(0)
	if c := points[0].Call; c != nil {
		fn.NoReturn = c.Unknown
		return "", false
	}
	fn.Returns, fn.breaks = []string{text}, len(points)
	if s := points[0].Scope; !s.Nothing() {
		fn.Result, fn.ResultExpr = paramOf(*s.Retval), "retval"
	}
	return host.ScriptName(host.SP)
}

// parametersOf are the variables of a scope.
func (fn *Function) parametersOf(scope *probe.Scope) {
	types := paramTypes{}
	fn.Typed, fn.ShowOf = true, types.show
	if scope == nil {
		return
	}
	for _, v := range scope.Args {
		fn.Params = append(fn.Params, *paramOf(v))
		types[v.Name] = v.Type
	}
}
