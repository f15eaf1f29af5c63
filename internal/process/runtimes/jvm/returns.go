package jvm

import (
	"errors"

	"trocar/internal/binary/code"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
)

// ends finds where the code returns that a method has now.
func (v *machine) ends(m *method, b runtimes.Body) (at []uint64, err error) {
	if now, err := v.body(m); err != nil || now.Addr != b.Addr {
		return nil, errGone
	}
	begin := v.m.Word(m.at + v.off[compiled])
	end := begin + v.m.Number(begin+v.off[stubs], 4)
	const most = 1 << 20
	if end <= b.Addr || end-b.Addr > most {
		return nil, errors.New("where its code ends is not known")
	}
	text := make([]byte, end-b.Addr)
	if !v.m.Read(text, b.Addr) {
		return nil, errors.New("its code cannot be read")
	}
	found, err := code.PolledReturns(v.arch, text)
	for _, off := range found {
		at = append(at, b.Addr+uint64(off))
	}
	return at, err
}

// result is what is known where a method returns whose descriptor's result is d.
func (v *machine) result(d string) *probe.Scope {
	r := &probe.Var{Name: "retval", Place: types.Place{Kind: types.InRegister, Reg: v.arch.C.Result}}
	switch d {
	case "V":
		r.Type, r.Place = &types.Type{Kind: types.Struct, Name: probe.NoResults}, types.Place{Kind: types.InPieces}
	case "F", "D":
		r.Place = types.Unknown("it is in a floating-point register, which cannot be read at a breakpoint")
	}
	if r.Type == nil {
		if r.Type = v.typeOf(d); r.Type.Kind == types.Pointer && v.texts != "" {
			r.Place = types.Unknown("%s", v.texts)
		}
	}
	return &probe.Scope{ArgN: probe.NoArgN("arguments are known where the method begins"), Retval: r}
}
