package debuginfo

import (
	"fmt"

	"trocar/internal/binary/section"
	"trocar/internal/binary/types"
)

// Limits of one expression.
const (
	maxExprSteps = 1 << 10
	maxExprStack = 64
	maxPlaceOps  = 48 // more would make too long a program
	maxPieces    = 64
	maxExprDepth = 4 // of frame bases, implicit pointers, entry values
)

// exprEnv is where an expression is compiled for.
type exprEnv struct {
	in    *Info
	u     *unit
	pc    uint64
	start uint64 // of the function whose frame it is
	// entry tells that pc is the function's first instruction, where registers have the values DW_OP_entry_value asks for.
	entry bool
	// inlined tells that the variables are those of an inlined copy: what they are given there is no matter of what was
	// passed.
	inlined bool
	// base compiles the frame base; nil if there is none.
	base  func() (sym, string)
	depth int
	// body is where the function's statements begin, 0 if that isn't known; nil if nothing is.
	body func() uint64
}

func unavailable(format string, args ...any) types.Place {
	return types.Place{Why: fmt.Sprintf(format, args...)}
}

const (
	optimizedOut = "optimized out"
	notHere      = "optimized out at this address"
)

// place compiles a location expression.
func (e *exprEnv) place(expr []byte) types.Place {
	if len(expr) == 0 {
		return unavailable(optimizedOut)
	}
	c := exprCompiler{env: e, r: section.Reader{Data: expr}}
	var pieces []types.Piece
	for {
		size, done := c.simple()
		p := c.out
		if c.why != "" {
			p = types.Place{Why: c.why, Pointee: c.out.Pointee, Vector: c.vector}
		}
		if done && pieces == nil && size < 0 {
			return p
		}
		if size < 0 {
			if p.Kind != types.Unavailable || c.r.Bad || c.fatal {
				return unavailable("its location is damaged")
			}
			return types.Place{Kind: types.InPieces, Pieces: pieces}
		}
		if len(pieces) >= maxPieces {
			return unavailable("it is in too many pieces")
		}
		if c.fatal {
			return p
		}
		pieces = append(pieces, types.Piece{Size: size, Place: p})
		if c.r.Left() == 0 {
			return allMissing(pieces)
		}
	}
}

// allMissing turns pieces of which none is there into one that isn't.
func allMissing(pieces []types.Piece) types.Place {
	for _, p := range pieces {
		if p.Place.Kind != types.Unavailable || p.Place.Vector > 0 {
			return types.Place{Kind: types.InPieces, Pieces: pieces}
		}
	}
	if len(pieces) == 1 {
		return pieces[0].Place
	}
	for _, p := range pieces {
		if p.Place.Why != optimizedOut {
			return p.Place
		}
	}
	return pieces[0].Place
}

// value compiles an expression that leaves a value (a frame base, a frame address).
func (e *exprEnv) value(expr []byte) (sym, string) {
	c := exprCompiler{env: e, r: section.Reader{Data: expr}}
	if size, _ := c.simple(); size >= 0 || c.why != "" {
		if c.why != "" {
			return sym{}, c.why
		}
		return sym{}, "it is in pieces"
	}
	if c.inReg >= 0 { // a frame base in a register is that register's value
		return sym{reg: c.inReg}, ""
	}
	if len(c.stack) == 0 {
		return sym{}, "its location is damaged"
	}
	return c.stack[len(c.stack)-1], ""
}

// exprCompiler runs the operations of one expression on symbolic values.
type exprCompiler struct {
	env   *exprEnv
	r     section.Reader
	stack []sym
	steps int

	out     types.Place
	why     string // why there is no place
	fatal   bool   // the rest of the expression cannot be understood either
	inReg   int
	vector  int // of what is in a floating-point register: see types.Place
	isValue bool
	done    bool // a complete location: only a piece may follow
}

func (c *exprCompiler) fail(format string, args ...any) {
	if c.why == "" {
		c.why = fmt.Sprintf(format, args...)
	}
}

func (c *exprCompiler) damaged() {
	c.fail("its location is damaged")
	c.fatal = true
}

// simple compiles up to the next piece. It returns the piece's size, or -1 at the end.
func (c *exprCompiler) simple() (size int, done bool) {
	c.stack, c.out, c.why, c.inReg, c.isValue, c.done = c.stack[:0], types.Place{}, "", -1, false, false
	c.vector = 0
	empty := true
	for c.r.Left() > 0 && !c.fatal {
		if c.steps++; c.steps > maxExprSteps {
			c.damaged()
			break
		}
		op := c.r.U8()
		switch op {
		case opPiece:
			size = int(min(c.r.ULEB(), 1<<20))
			c.finish(empty)
			return size, c.r.Left() == 0
		case opBitPiece:
			bits, at := c.r.ULEB(), c.r.ULEB()
			c.finish(empty)
			return c.bitPiece(bits, at), c.r.Left() == 0
		}
		empty = false
		if c.done && op != opNop && op != opGNUUninit {
			c.damaged()
			break
		}
		c.op(op)
		if c.r.Bad {
			c.damaged()
		}
		if len(c.stack) > maxExprStack {
			c.damaged()
		}
	}
	c.finish(empty)
	return -1, true
}

// bitPiece is a piece counted in bits: whole bytes of memory and registers are understood.
func (c *exprCompiler) bitPiece(bits, at uint64) int {
	if bits%8 != 0 || at%8 != 0 || bits > 1<<23 || at > 1<<23 {
		c.fail("it is in pieces that are no whole bytes")
		c.fatal = true
		return 0
	}
	if at == 0 || c.why != "" {
		if at > 0 {
			c.vector = 0
		}
		return int(bits / 8)
	}
	switch c.out.Kind {
	case types.InRegister:
		if at >= 64 {
			c.damaged()
			break
		}
		c.out = types.Place{Kind: types.Computed, Ops: []types.PlaceOp{
			{Code: types.PushReg, Reg: c.out.Reg}, {Code: types.PushConst, Arg: int64(at)}, {Code: types.ShrUnsigned},
		}}
	case types.InMemory:
		c.out = c.memory(c.stack[len(c.stack)-1].plus(int64(at / 8)))
	default:
		c.fail("it is in pieces that are no whole bytes")
	}
	return int(bits / 8)
}

// finish makes the place of what has been compiled.
func (c *exprCompiler) finish(empty bool) {
	switch {
	case c.why != "":
	case empty:
		c.why = optimizedOut
	case c.inReg >= 0:
		c.out = types.Place{Kind: types.InRegister, Reg: c.inReg}
		if !c.env.in.src.Arch.HasRegister(c.inReg) {
			c.why = c.unreadable(c.inReg)
			c.vector = c.env.in.src.Arch.Vector(c.inReg)
		}
	case c.out.Kind != types.Unavailable || c.out.Pointee != nil: // an implicit value
	case len(c.stack) == 0:
		c.damaged()
	case c.isValue:
		c.out = c.computed(c.stack[len(c.stack)-1])
	default:
		c.out = c.memory(c.stack[len(c.stack)-1])
	}
}

func (c *exprCompiler) unreadable(reg int) string {
	return fmt.Sprintf("in %s, which BPF cannot read", c.env.in.src.Arch.RegisterName(reg))
}

func (c *exprCompiler) memory(s sym) types.Place {
	if s.ops == nil && s.reg >= 0 {
		return types.Place{Kind: types.InMemory, Reg: s.reg, Offset: s.off, Derefs: s.derefs}
	}
	ops := s.steps()
	if len(ops) > maxPlaceOps {
		return c.tooLong()
	}
	return types.Place{Kind: types.InMemory, Ops: ops}
}

func (c *exprCompiler) tooLong() types.Place {
	c.fail("its value takes too long a computation")
	return types.Place{}
}

func (c *exprCompiler) computed(s sym) types.Place {
	n := len(s.derefs)
	switch {
	case s.isConst():
		return types.Place{Kind: types.Constant, Value: uint64(s.off)}
	case s.ops != nil:
		if len(s.ops) > maxPlaceOps {
			return c.tooLong()
		}
		return types.Place{Kind: types.Computed, Ops: s.ops}
	case n > 0 && s.derefs[n-1] == 0:
		return types.Place{Kind: types.InMemory, Reg: s.reg, Offset: s.off, Derefs: s.derefs[: n-1 : n-1]}
	case n == 0 && s.off == 0:
		return types.Place{Kind: types.InRegister, Reg: s.reg}
	}
	return types.Place{Kind: types.Computed, Reg: s.reg, Offset: s.off, Derefs: s.derefs}
}

func (c *exprCompiler) push(s sym) { c.stack = append(c.stack, s) }

func (c *exprCompiler) pop() sym {
	n := len(c.stack)
	if n == 0 {
		c.damaged()
		return constant(0)
	}
	s := c.stack[n-1]
	c.stack = c.stack[:n-1]
	return s
}

// pushReg pushes a register plus an offset.
func (c *exprCompiler) pushReg(reg int, off int64) {
	if !c.env.in.src.Arch.HasRegister(reg) {
		c.fail("computed from %s, which BPF cannot read", c.env.in.src.Arch.RegisterName(reg))
	}
	c.push(sym{reg: reg, off: off})
}

// pushAddr pushes the address of something in the program: relative to the program counter, since the program may be
// loaded anywhere.
func (c *exprCompiler) pushAddr(addr uint64, ok bool) {
	pc := c.env.in.src.Arch.PC()
	if !ok || pc < 0 {
		c.fail("its address is not known")
	}
	c.push(sym{reg: pc, off: int64(addr - c.env.pc)})
}

// threadLocal is where the running thread has what lies at an offset in the program's block of such variables.
func (c *exprCompiler) threadLocal(offset sym) sym {
	find := c.env.in.src.ThreadLocal
	if find == nil || !offset.isConst() {
		c.fail("it is thread-local")
	}
	place, err := find(uint64(offset.off))
	if err != nil {
		c.fail("%s", err)
	}
	return sym{ops: place.Ops}
}

// op compiles one operation (DWARF 5, 2.5 and 2.6).
func (c *exprCompiler) op(op uint8) {
	r := &c.r
	switch {
	case op >= opLit0 && op <= opLit31:
		c.push(constant(int64(op - opLit0)))
		return
	case op >= opReg0 && op <= opReg31:
		c.inReg, c.done = int(op-opReg0), true
		return
	case op >= opBreg0 && op <= opBreg31:
		c.pushReg(int(op-opBreg0), r.SLEB())
		return
	}
	switch op {
	case opAddr:
		c.pushAddr(r.Uint(int(c.env.u.addrSize)), true)
	case opAddrx, opGNUAddrIndex:
		c.pushAddr(c.env.u.indexedAddr(r.ULEB()))
	case opConstx, opGNUConstIndex:
		v, ok := c.env.u.indexedAddr(r.ULEB())
		if !ok {
			c.damaged()
		}
		c.push(constant(int64(v)))
	case opConst1u:
		c.push(constant(int64(r.U8())))
	case opConst1s:
		c.push(constant(int64(int8(r.U8()))))
	case opConst2u:
		c.push(constant(int64(r.U16())))
	case opConst2s:
		c.push(constant(int64(int16(r.U16()))))
	case opConst4u:
		c.push(constant(int64(r.U32())))
	case opConst4s:
		c.push(constant(int64(int32(r.U32()))))
	case opConst8u, opConst8s:
		c.push(constant(int64(r.U64())))
	case opConstu:
		c.push(constant(int64(r.ULEB())))
	case opConsts:
		c.push(constant(r.SLEB()))
	case opRegx:
		c.inReg, c.done = int(min(r.ULEB(), 1<<16)), true
	case opBregx:
		reg := int(min(r.ULEB(), 1<<16))
		c.pushReg(reg, r.SLEB())
	case opFbreg:
		off := r.SLEB()
		c.push(c.frameBase().plus(off))
	case opCallFrameCFA:
		s, why := c.env.cfa()
		if why != "" {
			c.fail("%s", why)
		}
		c.push(s)
	case opStackValue:
		c.isValue, c.done = true, true
	case opImplicitValue:
		c.out, c.done = constantBytes(r.Bytes(r.ULEB())), true
	case opImplicitPointer, opGNUImplicitPtr:
		c.implicitPointer()
	case opEntryValue, opGNUEntryValue:
		c.entryValue(r.Bytes(r.ULEB()))
	case opNop:
	case opFormTLSAddress, opGNUPushTLS:
		c.push(c.threadLocal(c.pop()))
	case opGNUUninit:
		c.fail("not initialized here")
	case opGNUParameterRef, opCall4:
		r.U32()
		c.push(constant(0))
		c.fail("only the caller knows it")
	case opCall2:
		r.U16()
		c.push(constant(0))
		c.fail("its location is that of another entry")
	case opCallRef, opGNUVariableValue:
		r.Offset(c.env.u.off64)
		c.push(constant(0))
		c.fail("its location is that of another entry")
	case opPushObjectAddress:
		c.push(constant(0))
		c.fail("it is relative to an object")
	default:
		c.compute(op)
	}
}

// frameBase is the value of DW_AT_frame_base.
func (c *exprCompiler) frameBase() sym {
	if c.env.base == nil {
		c.fail("its function has no frame base")
		return constant(0)
	}
	s, why := c.env.base()
	if why != "" {
		c.fail("%s", why)
		return constant(0)
	}
	return s
}

// entryValue is the value that an expression had at the function's entry, which is not kept anywhere later.
func (c *exprCompiler) entryValue(expr []byte) {
	e := *c.env
	if e.depth++; e.depth > maxExprDepth {
		c.damaged()
		return
	}
	s, why := e.value(expr)
	switch {
	case !c.env.entry:
		what := ""
		if why == "" && s.reg >= 0 && s.ops == nil && len(s.derefs) == 0 {
			what = " (it was in " + c.env.in.src.Arch.RegisterName(s.reg) + ")"
		}
		c.fail("overwritten since the function's entry%s", what)
	case why != "":
		c.fail("%s", why)
	case s.reg >= 0 && !e.in.src.Arch.HasRegister(s.reg):
		c.fail("%s", c.unreadable(s.reg))
	}
	c.push(s)
}

// implicitPointer is a pointer that was optimized away, while what it points to is known (DWARF 5, 2.6.1.1.4).
func (c *exprCompiler) implicitPointer() {
	u := c.env.u
	var off uint64
	if u.version <= 2 {
		off = c.r.Uint(int(u.addrSize))
	} else {
		off = c.r.Offset(u.off64)
	}
	shift := c.r.SLEB()
	c.done = true
	c.fail("the pointer itself is optimized out")
	e := *c.env
	if e.depth++; e.depth > maxExprDepth || c.r.Bad {
		return
	}
	if off < uint64(u.off) || off >= uint64(u.end) { // a variable of another unit has no place in this frame
		return
	}
	d, ok := u.at(off)
	if !ok {
		return
	}
	p := e.variable(d)
	if shift != 0 {
		if p.Kind != types.InMemory || p.Ops != nil {
			return
		}
		if n := len(p.Derefs); n > 0 {
			p.Derefs = append([]int64(nil), p.Derefs...)
			p.Derefs[n-1] += shift
		} else {
			p.Offset += shift
		}
	}
	c.out.Pointee = &p
}

// cfa is the canonical frame address at the expression's address: by the call frame information, or by the ABI at a
// function's first instruction.
func (e *exprEnv) cfa() (sym, string) {
	row, err := e.in.frames.At(e.pc)
	if err != nil {
		if reg, off, ok := e.in.src.Arch.EntryCFA(); ok && e.entry {
			return sym{reg: reg, off: off}, ""
		}
		return sym{}, "relative to a frame of which nothing is known"
	}
	if row.CFA.Expr == nil {
		if !e.in.src.Arch.HasRegister(row.CFA.Reg) {
			return sym{}, "relative to a frame that BPF cannot find"
		}
		return sym{reg: row.CFA.Reg, off: row.CFA.Offset}, ""
	}
	inner := *e
	inner.base = nil
	if inner.depth++; inner.depth > maxExprDepth {
		return sym{}, "its location is damaged"
	}
	return inner.value(row.CFA.Expr)
}
