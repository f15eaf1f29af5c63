package golang

import (
	"fmt"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
)

// Returns of Go functions. Go's runtime walks, copies and grows stacks, so no return address may be replaced there: the
// program would crash ("unexpected return pc"). Instead each instruction with which the function returns is probed. The
// compiler makes no tail calls except in wrappers of methods, and ends a function that recovers from a panic with a
// return of its own, so these are all returns. There the stack pointer points at the return address as at the entry,
// and g.stack.hi minus the stack pointer is the same, even if the stack was moved in between.

// NoReturn tells why a function's returns cannot be probed, nil if they can: at the instructions that return.
func (c *Code) NoReturn(fn *objfile.Func) *probe.Refusal {
	const way = "probe the entry with uprobe"
	in, _ := c.table().Code(fn.Addr)
	switch {
	case !in:
		return &probe.Refusal{
			Reason: "it is part of a Go program, whose runtime would crash on a replaced return address", Way: way,
		}
	case fn.Name == "runtime.systemstack", fn.Name == "runtime.mcall", strings.HasPrefix(fn.Name, "runtime.morestack"),
		fn.Name == "runtime.gogo", fn.Name == "runtime.asmcgocall", strings.HasPrefix(fn.Name, "runtime.rt0_go"):
		return &probe.Refusal{Reason: "it changes the stack while it runs", Way: way}
	}
	return nil
}

// Exits: the instructions that return.
func (c *Code) Exits(*objfile.Func) ([]runtimes.Exit, *probe.Refusal) { return nil, nil }

// Inside: the runtime does not read the code of its functions.
func (c *Code) Inside(uint64, uint64) *probe.Refusal { return nil }

// Result is the scope at a Go function's returns: its result, or a struct of its results by name.
func (c *Code) Result(fn *objfile.Func) *probe.Scope {
	info, err := c.debug()
	if err != nil {
		return c.known(fn.Addr)
	}
	f, err := info.FunctionAt(fn.Addr)
	if err != nil || f.Entry != fn.Addr || f.Lang != types.Go || c.file.Arch().Go() == nil {
		return nil
	}
	sig, err := info.Signature(f)
	if err != nil {
		return nil
	}
	if len(sig.Results) == 0 {
		// Debug information leaves out results without a name of functions that are inlined elsewhere.
		if s := c.known(fn.Addr); s != nil || f.Inlined {
			return s
		}
		// No register has anything to do with it.
		return &probe.Scope{Retval: results(nil, nil, nil)}
	}
	args := argTypes(f, withoutDictionary(sig.Params), c.dictionaryFirst())
	_, places := c.file.Arch().Go().Places(args, typesOf(sig.Results), c.abi0(info, f, args))
	if !c.allParams(fn.Addr, sig.Params) {
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
			p := types.Unknown("a type in the function's declaration is not known in full")
			places[i] = &p
		}
	}
	if len(sig.Results) == 1 {
		s.Retval = &probe.Var{Name: "retval", Type: sig.Results[0].Type.Complete(), Place: *places[0]}
		return s
	}
	s.Retval = results(s.Results, typesOf(sig.Results), places)
	return s
}

// results puts several results together.
func results(names []string, results []*types.Type, places []*types.Place) *probe.Var {
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
		if places[i].Kind == types.Unavailable && places[i].Vector == 0 {
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
