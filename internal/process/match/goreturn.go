package match

import (
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes/golang"
)

// Returns of Go functions. Go's runtime walks, copies and grows stacks, so no return address may be replaced there:
// the program would crash ("unexpected return pc"). Instead each instruction with which the function returns is
// probed. The compiler makes no tail calls except in wrappers of methods, and ends a function that recovers from a
// panic with a return of its own, so these are all returns. There the stack pointer points at the return address as
// at the entry, and g.stack.hi minus the stack pointer is the same, even if the stack was moved in between.

// goReturns makes the points of a Go function's returns.
func (m *matcher) goReturns(c *candidate) []*probe.Point {
	fn := c.fn
	size := fn.Size
	if size == 0 {
		size = c.b.obj.CodeSize(fn.Addr)
	}
	found, refusal := ReturnsOf(c.b.obj, fn.Addr, []debuginfo.Range{{Low: fn.Addr, High: fn.Addr + size}})
	if refusal != nil {
		m.noReturn(c, &probe.Refusal{Reason: refusal.Reason, Way: entryInstead})
		return nil
	}
	var scope *probe.Scope
	if m.needs.Typed() {
		scope = m.goResult(c.b, fn)
	}
	points := make([]*probe.Point, 0, len(found.At))
	for _, addr := range found.At {
		p := &probe.Point{
			Kind: probe.Uretprobe, Path: c.b.path, PID: m.pid(), Name: c.name, Func: c.shown, AtReturn: true, Start: fn.Addr,
			Call: m.goCode(c.b, fn.Addr), Scope: scope,
		}
		if p = m.place(p, c.b, addr); p != nil {
			points = append(points, p)
		}
	}
	return points
}

// tellNoReturns says which functions that a pattern found have no return that can be probed.
func (m *matcher) tellNoReturns(s *spec) {
	for why, names := range m.noReturns.each() {
		m.diags.Warnf(s.ap.Span, "the returns of %d of the functions are left out, like that of %s: %s",
			len(names), names[0], why)
	}
	clear(m.noReturns)
}

// goReturnRefused tells why a function's returns cannot be probed where it is in a Go program, nil if they can.
func goReturnRefused(obj *objfile.File, fn *objfile.Func) *probe.Refusal {
	in, _ := obj.GoCode(fn.Addr)
	switch {
	case !in:
		return &probe.Refusal{
			Reason: "it is not Go code but part of a Go program, whose runtime would crash on a replaced return address",
			Way:    entryInstead,
		}
	case fn.Name == "runtime.systemstack", fn.Name == "runtime.mcall", strings.HasPrefix(fn.Name, "runtime.morestack"),
		fn.Name == "runtime.gogo", fn.Name == "runtime.asmcgocall", strings.HasPrefix(fn.Name, "runtime.rt0_go"):
		return &probe.Refusal{Reason: "it changes the stack while it runs", Way: entryInstead}
	}
	return nil
}

// goResult is the scope at a Go function's returns: its result, or a struct of its results by name.
func (m *matcher) goResult(b *binary, fn *objfile.Func) *probe.Scope {
	info, err := b.debug()
	if err != nil {
		return b.goResultKnown(fn.Addr)
	}
	f, err := info.FunctionAt(fn.Addr)
	if err != nil || f.Entry != fn.Addr || f.Lang != types.Go || b.obj.Arch().Go() == nil {
		return nil
	}
	sig, err := info.Signature(f)
	if err != nil {
		return nil
	}
	if len(sig.Results) == 0 {
		// Debug information leaves out results without a name of functions that are inlined elsewhere.
		if s := b.goResultKnown(fn.Addr); s != nil || f.Inlined {
			return s
		}
		// No register has anything to do with it.
		return &probe.Scope{Retval: goResults(nil, nil, nil)}
	}
	args := goArgTypes(f, withoutDictionary(sig.Params))
	_, places := b.obj.Arch().Go().Places(args, goTypes(sig.Results), b.abi0(info, f, args))
	if !b.allParams(fn.Addr, sig.Params) {
		for i := range places {
			if places[i] != nil && places[i].Kind == types.InMemory {
				places[i] = nil // behind the arguments, on the stack
			}
		}
	}
	s := &probe.Scope{}
	for i := range sig.Results {
		r := &sig.Results[i]
		s.Results = append(s.Results, strings.TrimPrefix(r.Name, "~"))
		if r.Name == "" || r.Name == "_" {
			s.Results[i] = fmt.Sprintf("r%d", i)
		}
		if places[i] == nil {
			p := unavailable("a type in the function's declaration is not known in full")
			places[i] = &p
		}
	}
	if len(sig.Results) == 1 {
		s.Retval = &probe.Var{Name: "retval", Type: sig.Results[0].Type.Complete(), Place: *places[0]}
		return s
	}
	s.Retval = goResults(s.Results, goTypes(sig.Results), places)
	return s
}

// goResults puts several results together.
func goResults(names []string, results []*types.Type, places []*types.Place) *probe.Var {
	t := &types.Type{Kind: types.Struct, Name: probe.NoResults, Align: 8, Source: &types.Source{Lang: types.Go}}
	place := types.Place{Kind: types.InPieces}
	pad := func(to int) {
		if to > t.Size {
			place.Pieces = append(place.Pieces, types.Piece{Size: to - t.Size, Place: types.Place{Kind: types.Constant}})
			t.Size = to
		}
	}
	for i := range results {
		ft := results[i].Complete()
		if places[i].Kind == types.Unavailable {
			ft = types.Missing(places[i].Why)
		}
		pad((t.Size + 7) &^ 7)
		t.Fields = append(t.Fields, types.Field{Name: names[i], Type: ft, Offset: t.Size})
		if ft.Size > 0 {
			place.Pieces = append(place.Pieces, types.Piece{Size: ft.Size, Place: *places[i]})
			t.Size += ft.Size
		}
	}
	pad((t.Size + 7) &^ 7)
	return &probe.Var{Name: "retval", Type: t, Place: place}
}

// goArgs gives the arguments at a Go function's entry the places of the calling convention: debug information has none
// for those that the function doesn't use, and lacks unused parts of others. What a closure has captured is among them;
// its address is in RDX.
func (m *matcher) goArgs(b *binary, info *debuginfo.Info, fn *debuginfo.Function, p *probe.Point) {
	sig, err := info.Signature(fn)
	if err != nil || !b.allParams(fn.Entry, sig.Params) {
		return
	}
	params := withoutDictionary(sig.Params)
	list := goArgTypes(fn, params)
	places, _ := b.obj.Arch().Go().Places(list, nil, b.abi0(info, fn, list))
	if n := len(places) - len(params); n > 0 {
		at := dictionaryAt(fn.Name, len(params)) // not an argument for people
		places = append(places[:at:at], places[at+n:]...)
	}
	args := slices.DeleteFunc(p.Scope.Args, func(v probe.Var) bool { return v.Name == dictionary })
	p.Scope.Args = args
	if len(args) != len(places) {
		return
	}
	for i := range args {
		if places[i] != nil {
			args[i].Place = *places[i]
		}
	}
	if !strings.Contains(fn.Name, ".func") && !strings.Contains(fn.Name, "-range") && !strings.Contains(fn.Name, "wrap") {
		return
	}
	locals, err := info.Locals(fn.Own(), p.Addr)
	if err != nil {
		return
	}
	const rdx = 1
	for i := range locals {
		v := &locals[i]
		if v.ClosureOffset == 0 || v.Type == nil {
			continue
		}
		c := probe.Var{Name: v.Name, Type: v.Type.Complete(), Place: types.Place{Kind: types.InMemory, Reg: rdx, Offset: int64(v.ClosureOffset - 1)}}
		if name, ok := strings.CutPrefix(v.Name, "&"); ok {
			// Captured by reference: the variable itself is meant.
			t := v.Type.Complete()
			if t.Kind != types.Pointer || t.Elem == nil {
				continue
			}
			c.Name, c.Type, c.Place.Derefs = name, t.Elem.Complete(), []int64{0}
		}
		if !hasVar(args, c.Name) {
			args = append(args, c)
		}
	}
	p.Scope.Args = args
}

// goRuled tells whether the calling convention gives all of a function's arguments their places.
func (m *matcher) goRuled(b *binary, info *debuginfo.Info, fn *debuginfo.Function) bool {
	sig, err := info.Signature(fn)
	return err == nil && b.allParams(fn.Entry, sig.Params)
}

// allParams tells whether these are all of a function's parameters: up to Go 1.21 those without a name are left out,
// and still in functions that are inlined elsewhere.
func (b *binary) allParams(entry uint64, params []debuginfo.Var) bool {
	program := b.goProgram()
	return program == nil || program.Fits(entry, goTypes(params))
}

func goTypes(vars []debuginfo.Var) (list []*types.Type) {
	for i := range vars {
		list = append(list, vars[i].Type)
	}
	return list
}

// goArgTypes are the types of what a function is given: its parameters, and for one that is shared by several
// instances of a generic function the dictionary that tells the type arguments, behind the receiver.
func goArgTypes(fn *debuginfo.Function, params []debuginfo.Var) []*types.Type {
	list := goTypes(params)
	if !golang.HasDictionary(fn.Name) {
		return list
	}
	at := dictionaryAt(fn.Name, len(list))
	word := types.TUint64
	return append(append(append([]*types.Type{}, list[:at]...), word), list[at:]...)
}

// dictionary is the name of the dictionary among the parameters, where the compiler doesn't optimize.
const dictionary = ".dict"

func withoutDictionary(params []debuginfo.Var) []debuginfo.Var {
	i := slices.IndexFunc(params, func(v debuginfo.Var) bool { return v.Name == dictionary })
	if i < 0 {
		return params
	}
	return append(params[:i:i], params[i+1:]...)
}

// dictionaryAt is the position of a function's dictionary among its n parameters: behind the receiver.
func dictionaryAt(name string, n int) int {
	if isGoMethod(name) && n > 0 {
		return 1
	}
	return 0
}

// isGoMethod tells whether a name of a generic function is that of a method: pkg.(*T[…]).m or pkg.T[…].m.
func isGoMethod(name string) bool {
	if i := strings.LastIndexByte(name, ']'); i >= 0 {
		return strings.HasPrefix(name[i+1:], ".") || strings.HasPrefix(name[i+1:], ").")
	}
	return false
}

// abi0 tells whether a function takes its arguments on the stack, as assembly does: debug info then says so of a
// parameter that would have a register. The code tells, too: it has to load g itself.
func (b *binary) abi0(info *debuginfo.Info, fn *debuginfo.Function, args []*types.Type) bool {
	if strings.HasSuffix(fn.Name, ".abi0") || loadsG(b.obj, fn.Entry) {
		return true
	}
	vars, err := info.Params(fn.Own(), fn.Entry)
	if err != nil {
		return false
	}
	vars = slices.DeleteFunc(vars, func(v debuginfo.Var) bool { return v.Result })
	places, _ := b.obj.Arch().Go().Places(args, nil, false)
	if n := len(args) - len(vars); n > 0 { // the dictionary is none of debug info's
		at := dictionaryAt(fn.Name, len(vars))
		places = append(places[:at:at], places[at+n:]...)
	}
	for i := range min(len(vars), len(places)) {
		v := &vars[i]
		if p := places[i]; p == nil || p.Kind != types.InRegister {
			continue
		}
		switch v.Place.Kind {
		case types.InMemory:
			return true
		case types.InRegister:
			return false
		}
	}
	return false
}

func loadsG(obj *objfile.File, entry uint64) bool {
	var err error
	defer objfile.Guard(&err)()
	return code.LoadsG(obj.Arch(), obj.Bytes(entry, int(min(obj.CodeSize(entry), code.MaxFunction))))
}
