package match

import (
	"slices"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/types"
)

// LLVM tells of a parameter that is assigned before the function's first instruction ("a = b;", "a = 0;") only what it
// has then, from the entry on: there the place is that of another value than the one that was passed.

const whyAssigned = "the function may have assigned it before its first instruction: the debug information does not " +
	"tell where it is passed"

// assigned takes away the places of parameters at a function's entry that are not those of the calling convention
// (ruled), or not in the order in which registers are given out. It tells whether there are any.
func (b *binary) assigned(fn *debuginfo.Function, vars []debuginfo.Var, ruled []*types.Place) (some bool) {
	if b.foreign(fn) != "" {
		return false
	}
	wrong := make([]bool, len(vars))
	for i, p := range ruled {
		wrong[i] = p != nil && otherwise(&vars[i], p)
	}
	// Of functions that need not follow the convention nothing tells whether all callers pass a constant, or the function
	// begins with it.
	for i := range vars {
		wrong[i] = wrong[i] || ruled == nil && constant(&vars[i].Place)
	}
	found := make([]*types.Place, len(vars))
	for i := range vars {
		if found[i] = &vars[i].Place; found[i].Kind != types.Unavailable || vectors(*found[i]) > 0 {
			wrong[i] = wrong[i] || !b.alone(vars, found, i)
		}
	}
	for i := range vars {
		if wrong[i] {
			vars[i].Place, some = types.Unknown(whyAssigned), true
		}
	}
	return some
}

// constant tells whether a value, or a part of it, is neither in a register nor in memory.
func constant(p *types.Place) bool {
	switch p.Kind {
	case types.Constant:
		return true
	case types.InPieces:
		return slices.ContainsFunc(p.Pieces, func(piece types.Piece) bool { return constant(&piece.Place) })
	case types.Computed:
		other := func(op types.PlaceOp) bool { return op.Code != types.PushConst }
		return len(p.Ops) > 0 && !slices.ContainsFunc(p.Ops, other)
	}
	return false
}

// otherwise tells whether a variable is told to be something else than what is passed at a place.
func otherwise(v *debuginfo.Var, passed *types.Place) bool {
	switch p := &v.Place; {
	case passed.Kind == types.Unavailable && passed.Vector == 0 || passed.Kind == types.Constant:
		return false
	case p.Kind == types.Constant:
		return true
	case p.Kind == types.Computed && passed.Kind == types.InRegister:
		return !extended(p, passed.Reg, v.Type.Complete())
	}
	return contradicts(v.Place, *passed)
}

// extended tells a computation that only cuts a register to the bytes of a type, or repeats the sign of these.
func extended(p *types.Place, reg int, t *types.Type) bool {
	ops := p.Steps()
	if len(ops)%2 == 0 || ops[0].Code != types.PushReg || ops[0].Reg != reg {
		return false
	}
	bits := uint64(min(8*t.Size, 64))
	if t.Kind == types.Bool {
		bits = 1
	}
	var left int64
	for i := 1; i < len(ops); i += 2 {
		n := ops[i].Arg
		switch how := ops[i+1].Code; {
		case ops[i].Code != types.PushConst:
			return false
		case how == types.And && left == 0 && n&(n+1) == 0 && uint64(n) >= 1<<bits-1:
		case how == types.Shl && left == 0 && n > 0 && uint64(n)+bits <= 64:
			left = n
		case (how == types.ShrSigned || how == types.ShrUnsigned) && left > 0 && n == left:
			left = 0
		default:
			return false
		}
	}
	return left == 0
}
