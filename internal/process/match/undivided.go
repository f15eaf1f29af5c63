package match

import (
	"slices"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/types"
)

// LLVM tells of parts of a value of Rust only where a function looks at these. But callers pass some values whole or
// not at all: numbers, and what rustc puts into a register as it is. The register that has one part then has all of it.

// undivided gives such values at a function's entry the place of all of them.
func (b *binary) undivided(fn *debuginfo.Function, vars []debuginfo.Var) {
	order := b.obj.Arch().IntegerArgs()
	if fn.Lang != types.Rust {
		return
	}
	for i := range vars {
		v := &vars[i]
		if v.Type == nil || !incomplete(v) || v.Place.Kind != types.InPieces || !abi.Undivided(v.Type) {
			continue
		}
		reg, ok := lowestPart(&v.Place)
		n := slices.Index(order, reg)
		size := v.Type.Complete().Size
		switch {
		case !ok || n < 0:
		case size <= 8:
			v.Place = types.Place{Kind: types.InPieces, Pieces: []types.Piece{registerPiece(size, reg)}}
		case n+1 < len(order):
			both := []types.Piece{registerPiece(8, reg), registerPiece(size-8, order[n+1])}
			whole := types.Place{Kind: types.InPieces, Pieces: both}
			found := make([]*types.Place, len(vars))
			found[i] = &whole
			if b.alone(vars, found, i) {
				v.Place = whole
			}
		}
	}
}

func registerPiece(size, reg int) types.Piece {
	return types.Piece{Size: size, Place: types.Place{Kind: types.InRegister, Reg: reg}}
}

// lowestPart is the register that has the first bytes of a value as its own; false: other parts are told to be in other
// registers.
func lowestPart(p *types.Place) (reg int, ok bool) {
	for i := range p.Pieces {
		one := &p.Pieces[i].Place
		switch {
		case one.Kind == types.Unavailable || one.Kind == types.Constant:
		case i == 0 && one.Kind == types.InRegister:
			reg, ok = one.Reg, true
		case i == 0 && one.Kind == types.Computed:
			if reg, ok = lowBits(one); !ok {
				return 0, false
			}
		default:
			return 0, false
		}
	}
	return reg, ok
}

// lowBits is the register of which a computation takes the lowest bits.
func lowBits(p *types.Place) (reg int, ok bool) {
	ops := p.Steps()
	if len(ops) == 0 || ops[0].Code != types.PushReg {
		return 0, false
	}
	for i := 1; i < len(ops); i += 2 {
		if i+1 >= len(ops) || ops[i].Code != types.PushConst || ops[i+1].Code != types.And || ops[i].Arg&(ops[i].Arg+1) != 0 {
			return 0, false
		}
	}
	return ops[0].Reg, true
}
