package match

import (
	"slices"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/types"
)

// passed finds parameters that the function stores in registers at its entry: what its first instructions store where
// debug information says that a parameter is then was passed in the register that they store. late tells whether there
// are others that are not there at the entry.
func (b *binary) passed(info *debuginfo.Info, fn *debuginfo.Function, vars []debuginfo.Var) (late bool) {
	prologue := b.prologue(fn)
	if prologue == nil {
		return anyLate(vars)
	}
	for _, end := range prologue.Ends {
		if !anyLate(vars) {
			return false
		}
		got, err := info.Params(fn.Own(), fn.Entry+uint64(end))
		if err != nil || len(got) != len(vars) {
			return true
		}
		for i := range vars {
			p := &got[i].Place
			if !vars[i].Late || got[i].Type == nil || p.Kind != types.InMemory || len(p.Derefs)+len(p.Ops) > 0 {
				continue
			}
			f := sourceFinder{prologue: prologue, end: end, reg: p.Reg, off: p.Offset}
			if t := got[i].Type.Complete(); f.of(t, 0, 0) {
				vars[i].Place, vars[i].Late = f.place(t), false
			}
		}
	}
	return anyLate(vars)
}

// sourceFinder finds the registers that the parts of a value were stored from.
type sourceFinder struct {
	prologue *code.Prologue
	end, reg int
	off      int64
	found    []code.Source
}

// of looks at the part of a value of type t at an offset; false: it was stored otherwise.
func (f *sourceFinder) of(t *types.Type, at, depth int) bool {
	t = t.Complete()
	switch {
	case t.Size == 0:
		return true
	case depth > maxNesting:
		return false
	case t.Kind == types.Struct && len(t.Fields) > 0 && (t.Source == nil || t.Source.Variants == nil):
		for i := range t.Fields {
			m := &t.Fields[i]
			if m.BitSize > 0 || !f.of(m.Type, at+m.Offset, depth+1) {
				return f.whole(t.Size, at)
			}
		}
		return true
	}
	return f.whole(t.Size, at)
}

// whole looks at size bytes at an offset.
func (f *sourceFinder) whole(size, at int) bool {
	slot := code.Slot{Reg: f.reg, Off: f.off + int64(at), Size: int64(size)}
	list, ok := f.prologue.Sources(f.end, slot)
	if !ok {
		return false
	}
	// members of it
	f.found = slices.DeleteFunc(f.found, func(s code.Source) bool { return s.Off >= at && s.Off < at+size })
	for _, s := range list {
		f.found = append(f.found, code.Source{Reg: s.Reg, Off: s.Off + at, Size: s.Size})
	}
	return true
}

// place makes one place of what was found.
func (f *sourceFinder) place(t *types.Type) types.Place {
	register := func(n int) types.Place { return types.Place{Kind: types.InRegister, Reg: n} }
	if len(f.found) == 1 && f.found[0].Off == 0 && t.IsScalar() {
		return register(f.found[0].Reg)
	}
	slices.SortFunc(f.found, func(a, b code.Source) int { return a.Off - b.Off }) // Rust has members in any order
	p, at := types.Place{Kind: types.InPieces}, 0
	gap := func(to int) {
		if to > at {
			p.Pieces = append(p.Pieces, types.Piece{Size: to - at, Place: types.Place{Kind: types.Constant}})
		}
	}
	for _, s := range f.found {
		gap(s.Off)
		p.Pieces = append(p.Pieces, types.Piece{Size: s.Size, Place: register(s.Reg)})
		at = s.Off + s.Size
	}
	gap(t.Size)
	return p
}
