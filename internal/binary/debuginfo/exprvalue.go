package debuginfo

import (
	"trocar/internal/binary/types"
)

// What an expression has on its stack.

// sym is a value during the compilation of an expression: what will be known only in the running program.
type sym struct {
	// linear: register (-1: none, 0) + off; then for each of derefs: the pointer there, plus that.
	reg    int
	off    int64
	derefs []int64
	ops    []types.PlaceOp // if not nil: this computation instead
	typ    baseType
}

// baseType is the type of a typed value (DWARF 5, 2.5.1); size 0 is the generic type.
type baseType struct {
	size   int
	signed bool
}

func constant(v int64) sym { return sym{reg: -1, off: v} }

func (s sym) isConst() bool { return s.reg < 0 && s.ops == nil && len(s.derefs) == 0 }

// steps is the value as a computation.
func (s sym) steps() []types.PlaceOp {
	if s.ops != nil {
		return s.ops
	}
	var out []types.PlaceOp
	add := func(v int64) {
		if v != 0 {
			out = append(out, types.PlaceOp{Code: types.PushConst, Arg: v}, types.PlaceOp{Code: types.Add})
		}
	}
	if s.reg < 0 {
		out = append(out, types.PlaceOp{Code: types.PushConst, Arg: s.off})
	} else {
		out = append(out, types.PlaceOp{Code: types.PushReg, Reg: s.reg})
		add(s.off)
	}
	for _, d := range s.derefs {
		out = append(out, types.PlaceOp{Code: types.Load, Arg: 8})
		add(d)
	}
	return out
}

// plus adds a constant.
func (s sym) plus(v int64) sym {
	switch {
	case s.ops != nil:
		s.ops = append(s.ops[:len(s.ops):len(s.ops)], types.PlaceOp{Code: types.PushConst, Arg: v},
			types.PlaceOp{Code: types.Add})
	case len(s.derefs) > 0:
		s.derefs = append([]int64(nil), s.derefs...)
		s.derefs[len(s.derefs)-1] += v
	default:
		s.off += v
	}
	return s
}

// load reads size bytes at the address s.
func (s sym) load(size int) sym {
	if size == 8 && s.ops == nil && s.reg >= 0 {
		s.derefs = append(s.derefs[:len(s.derefs):len(s.derefs)], 0)
		return s
	}
	return sym{reg: -1, ops: append(s.steps(), types.PlaceOp{Code: types.Load, Arg: int64(size)})}
}
