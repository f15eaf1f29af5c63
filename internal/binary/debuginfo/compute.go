package debuginfo

import "trocar/internal/binary/types"

// compute compiles the operations of arithmetic and of typed values.
func (c *exprCompiler) compute(op uint8) {
	r := &c.r
	switch op {
	case opDup:
		s := c.pop()
		c.push(s)
		c.push(s)
	case opDrop:
		c.pop()
	case opOver:
		c.pick(1)
	case opPick:
		c.pick(int(r.U8()))
	case opSwap:
		b, a := c.pop(), c.pop()
		c.push(b)
		c.push(a)
	case opRot:
		z, y, x := c.pop(), c.pop(), c.pop()
		c.push(z)
		c.push(x)
		c.push(y)
	case opDeref:
		c.push(c.pop().load(int(c.env.u.addrSize)))
	case opDerefSize:
		c.load(int(r.U8()), baseType{})
	case opDerefType, opGNUDerefType:
		size := int(r.U8())
		t := c.baseType(r.ULEB())
		c.load(size, t)
	case opPlusUconst:
		c.push(c.wrap(c.pop().plus(int64(r.ULEB()))))
	case opPlus, opMinus, opMul, opDiv, opMod, opAnd, opOr, opXor, opShl, opShr, opShra, opEq, opNe, opLt, opLe, opGt,
		opGe:
		c.binary(op)
	case opNeg:
		c.unary(types.Negate, func(v int64) int64 { return -v })
	case opNot:
		c.unary(types.Invert, func(v int64) int64 { return ^v })
	case opAbs:
		c.fail("its value takes an operation that is not supported")
	case opSkip:
		c.jump(int16(r.U16()))
	case opBra:
		to := int16(r.U16())
		s := c.pop()
		switch {
		case !s.isConst():
			c.fail("its location depends on a condition")
			c.fatal = true
		case s.off != 0:
			c.jump(to)
		}
	case opConstType, opGNUConstType:
		t := c.baseType(r.ULEB())
		p := constantBytes(r.Bytes(uint64(r.U8())))
		if p.Kind != types.Constant {
			c.fail("its value takes an operation that is not supported")
		}
		s := constant(int64(p.Value))
		s.typ = t
		c.push(c.wrap(s))
	case opRegvalType, opGNURegvalType:
		reg := int(min(r.ULEB(), 1<<16))
		t := c.baseType(r.ULEB())
		if !c.env.in.src.Arch.HasRegister(reg) {
			c.why = c.unreadable(reg)
		}
		c.push(c.wrap(sym{reg: reg, typ: t}))
	case opConvert, opGNUConvert:
		t := c.baseType(r.ULEB())
		s := c.pop()
		s.typ = t
		c.push(c.wrap(s))
	case opReinterpret, opGNUReinterpret:
		t := c.baseType(r.ULEB())
		s := c.pop()
		s.typ = t
		c.push(c.wrap(s))
	default:
		c.fail("its location has the unknown operation %#x", op)
		c.fatal = true
	}
}

func (c *exprCompiler) pick(n int) {
	if n >= len(c.stack) {
		c.damaged()
		return
	}
	c.push(c.stack[len(c.stack)-1-n])
}

func (c *exprCompiler) jump(by int16) {
	to := c.r.Pos + int(by)
	if to < 0 || to > len(c.r.Data) {
		c.damaged()
		return
	}
	c.r.Pos = to
}

// load reads size bytes as a type.
func (c *exprCompiler) load(size int, t baseType) {
	switch size {
	case 1, 2, 4, 8:
	default:
		c.fail("its value takes an operation that is not supported")
		size = 8
	}
	s := c.pop().load(size)
	s.typ = t
	c.push(c.wrap(s))
}

// baseType reads the type of a typed operation: an offset in the unit, 0 for the generic type. Only integers and
// addresses of up to 8 bytes are computed with.
func (c *exprCompiler) baseType(off uint64) baseType {
	if off == 0 {
		return baseType{}
	}
	u := c.env.u
	if d, ok := u.at(uint64(u.off) + off); ok && off < uint64(u.end-u.off) && d.tag == tagBaseType {
		size, _ := d.num(atByteSize)
		enc, _ := d.num(atEncoding)
		if size >= 1 && size <= 8 {
			switch enc {
			case ateSigned, ateSignedChar:
				return baseType{int(size), true}
			case ateUnsigned, ateUnsignedChar, ateBoolean, ateUTF, 0x01:
				return baseType{int(size), false}
			}
		}
	}
	c.fail("its value takes an operation on floating-point numbers or vectors")
	return baseType{}
}

// wrap cuts a value to the width of its type.
func (c *exprCompiler) wrap(s sym) sym {
	if s.typ.size == 0 || s.typ.size >= 8 {
		return s
	}
	shift := int64(64 - 8*s.typ.size)
	if s.isConst() {
		if s.typ.signed {
			s.off = s.off << shift >> shift
		} else {
			s.off = int64(uint64(s.off) << shift >> shift)
		}
		return s
	}
	ops := s.steps()
	if n := len(ops); !s.typ.signed && n > 0 && ops[n-1].Code == types.Load && ops[n-1].Arg <= int64(s.typ.size) {
		return s // loads are zero-extended
	}
	code := types.ShrUnsigned
	if s.typ.signed {
		code = types.ShrSigned
	}
	ops = append(ops[:len(ops):len(ops)], types.PlaceOp{Code: types.PushConst, Arg: shift}, types.PlaceOp{Code: types.Shl},
		types.PlaceOp{Code: types.PushConst, Arg: shift}, types.PlaceOp{Code: code})
	return sym{reg: -1, ops: ops, typ: s.typ}
}

func (c *exprCompiler) unary(code types.PlaceCode, fold func(int64) int64) {
	s := c.pop()
	if s.isConst() {
		s.off = fold(s.off)
	} else {
		s = sym{reg: -1, ops: append(s.steps(), types.PlaceOp{Code: code}), typ: s.typ}
	}
	c.push(c.wrap(s))
}

// binary compiles a OP b. The standard leaves division and comparison of the generic type signed, modulo unsigned.
func (c *exprCompiler) binary(op uint8) {
	b, a := c.pop(), c.pop()
	t := a.typ
	switch {
	case op == opPlus && b.isConst():
		c.push(c.wrap(a.plus(b.off)))
		return
	case op == opPlus && a.isConst():
		b.typ = t
		c.push(c.wrap(b.plus(a.off)))
		return
	case op == opMinus && b.isConst():
		c.push(c.wrap(a.plus(-b.off)))
		return
	}
	if a.isConst() && b.isConst() {
		s := constant(c.fold(op, a.off, b.off))
		s.typ = t
		c.push(c.wrap(s))
		return
	}
	code, ok := c.code(op, t)
	if !ok {
		c.fail("its value takes an operation that is not supported")
	}
	left := a.steps()
	ops := append(left[:len(left):len(left)], b.steps()...)
	ops = append(ops, types.PlaceOp{Code: code})
	if len(ops) > 4*maxPlaceOps { // keeps the work bounded; too long for a place in any case
		c.fail("its value takes too long a computation")
		ops = ops[:1]
	}
	s := sym{reg: -1, ops: ops, typ: t}
	switch op {
	case opEq, opNe, opLt, opLe, opGt, opGe:
		s.typ = baseType{}
	}
	c.push(c.wrap(s))
}

// code is the step for an operation on values of a type. Values of unsigned types of 4 bytes and less are not negative
// as 64-bit numbers, so that signed steps do for them.
func (c *exprCompiler) code(op uint8, t baseType) (types.PlaceCode, bool) {
	wide := t.size == 8 && !t.signed
	switch op {
	case opPlus:
		return types.Add, true
	case opMinus:
		return types.Sub, true
	case opMul:
		return types.Mul, true
	case opAnd:
		return types.And, true
	case opOr:
		return types.Or, true
	case opXor:
		return types.Xor, true
	case opShl:
		return types.Shl, true
	case opShr:
		return types.ShrUnsigned, !t.signed || t.size == 8
	case opShra:
		return types.ShrSigned, true
	case opDiv:
		return types.DivSigned, !wide
	case opMod:
		return types.ModUnsigned, !t.signed
	case opEq:
		return types.IfEq, true
	case opNe:
		return types.IfNe, true
	case opLt:
		return types.IfLt, !wide
	case opLe:
		return types.IfLe, !wide
	case opGt:
		return types.IfGt, !wide
	case opGe:
		return types.IfGe, !wide
	}
	return 0, false
}

// fold computes with constants.
func (c *exprCompiler) fold(op uint8, a, b int64) int64 {
	bit := func(v bool) int64 {
		if v {
			return 1
		}
		return 0
	}
	switch op {
	case opMul:
		return a * b
	case opDiv, opMod:
		if b == 0 {
			c.damaged()
			return 0
		}
		if op == opMod {
			return int64(uint64(a) % uint64(b))
		}
		return a / b
	case opAnd:
		return a & b
	case opOr:
		return a | b
	case opXor:
		return a ^ b
	case opShl:
		return a << min(uint64(b), 64)
	case opShr:
		return int64(uint64(a) >> min(uint64(b), 64))
	case opShra:
		return a >> min(uint64(b), 63)
	case opEq:
		return bit(a == b)
	case opNe:
		return bit(a != b)
	case opLt:
		return bit(a < b)
	case opLe:
		return bit(a <= b)
	case opGt:
		return bit(a > b)
	case opGe:
		return bit(a >= b)
	}
	return 0
}
