package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

func (c *codes) probeInfo() {
	c[builtin.Probe].memory = func(g *gen, dst memory, _ *check.Call, t *types.Type) { g.pointName(dst, 0, t) }
	c[builtin.FuncName].memory = func(g *gen, dst memory, _ *check.Call, _ *types.Type) { g.function(dst) }
	c[builtin.FuncArgs].memory = func(g *gen, dst memory, e *check.Call, _ *types.Type) { g.given(dst, e) }
	c[builtin.FuncRetVal], c[builtin.FuncReturn] = c[builtin.FuncArgs], c[builtin.FuncArgs]
	c[builtin.FuncReturns].scalar = func(g *gen, _ *check.Call) ir.Reg {
		return g.b.OpImm(ir.And, g.b.OpImm(ir.Shr, g.pointWord(), returnsBit), 1)
	}
	c[builtin.CallFrame].scalar = (*gen).callFrame
	c[builtin.SyscallArgs].memory = func(g *gen, dst memory, e *check.Call, _ *types.Type) { g.syscallArgs(dst, e) }
	c[builtin.SyscallDone].memory = func(g *gen, dst memory, e *check.Call, _ *types.Type) { g.syscallDone(dst, e) }
	c[builtin.SyscallResult] = code{
		scalar: func(g *gen, _ *check.Call) ir.Reg { return g.syscallRet() },
		memory: func(g *gen, dst memory, _ *check.Call, _ *types.Type) { g.syscallEither(dst) },
	}
	c[builtin.ArgN].scalar = func(g *gen, e *check.Call) ir.Reg { return g.argN(e.Arg, e.Span) }
	c[builtin.RetVal].scalar = func(g *gen, e *check.Call) ir.Reg {
		if !g.hasRegisters() {
			refuse(e.Span, "retval needs a probe where a function returns: uretprobe, kretprobe or fexit")
		}
		return g.saved(g.c.opts.Arch.C.Result)
	}
	c[builtin.Duration].scalar = func(g *gen, _ *check.Call) ir.Reg { return g.b.Load(8, g.frame, g.durationSlot) }
	c[builtin.Reg].scalar = (*gen).namedRegister
	c[builtin.Ctx].scalar = func(g *gen, _ *check.Call) ir.Reg { return g.number(g.context()) }
	c[builtin.UserMode].scalar = (*gen).userMode
}

func (g *gen) namedRegister(e *check.Call) ir.Reg {
	off, ok := g.c.opts.Arch.ScriptRegister(e.Register)
	if !ok || !g.hasRegisters() {
		refuse(e.Span, "there is no register %q here", e.Register)
	}
	if ip, _ := g.c.opts.Arch.Offset(g.c.opts.Arch.IP); off == ip {
		return g.instruction()
	}
	return g.register(off)
}

// userMode tells whether user code was interrupted.
func (g *gen) userMode(e *check.Call) ir.Reg {
	mode := g.c.opts.Arch.UserMode()
	if mode == nil {
		refuse(e.Span, "usermode is not known on %s", g.c.opts.Arch)
	}
	off, ok := g.c.opts.Arch.ScriptRegister(mode.Register)
	if !ok {
		refuse(e.Span, "there is no register %q here", mode.Register)
	}
	return g.truth(ir.EQ, g.b.OpImm(ir.And, g.register(off), mode.Mask), mode.Value)
}

// pointName copies a text of the point that was hit: its name (0) or its function (pointNameSize).
func (g *gen) pointName(dst memory, off int, t *types.Type) {
	b := g.b
	if len(g.points) == 1 {
		p := g.points[0]
		name := p.Name
		if off > 0 {
			name = p.Func
		}
		g.stringConst(dst, name, t.Size)
		return
	}
	g.c.usesPoints, g.c.pointSize = true, 2*pointNameSize
	key := memory{space: onStack, off: b.Slot(8)}
	g.store(key, 4, g.point())
	g.zero(dst, t.Size)
	none := b.Label()
	p := b.Call(asm.FnMapLookupElem, ir.M(record.PointsName), g.addr(key))
	b.IfImm(ir.EQ, p, 0, none)
	b.Do(asm.FnProbeReadKernel, g.addr(dst), ir.I(int64(min(t.Size, pointNameSize))), ir.A(p, off))
	b.Bind(none)
}

// point is the number of the point that was hit.
func (g *gen) point() ir.Reg {
	g.knowsPoint = true
	if len(g.points) == 1 {
		return g.b.Imm(int64(g.firstCookie))
	}
	if g.points[0].Interpreted == nil && !g.c.cookies(g.typ) {
		// The program is compiled again for each point (see compiler.action).
		return g.b.Imm(int64(g.firstCookie))
	}
	return g.b.Low32(g.cookie())
}

func (g *gen) cookie() ir.Reg {
	if g.points[0].Interpreted != nil {
		return g.which()
	}
	if g.typ == probe.BreakProgram {
		return g.brokenAt()
	}
	g.asksCookie = true
	return g.b.Call(asm.FnGetAttachCookie, ir.R(g.context()))
}

// functionPoint is the number of the first point of the function that was hit: a function has several points where it
// returns, or where it was inlined, and is one key of a map all the same.
func (g *gen) functionPoint() ir.Reg {
	if len(g.points) > 1 && (g.points[0].Interpreted != nil || g.c.cookies(g.typ)) {
		g.knowsPoint = true
		return g.b.OpImm(ir.Shr, g.cookie(), functionShift)
	}
	g.knowsPoint = true
	return g.b.Imm(int64(g.c.functionOf(g.points[0], g.firstCookie)))
}

// given keeps the registers that arguments or results are passed in, and the texts that they point to: which registers
// do is told by a map, by the number of the point.
func (g *gen) given(dst memory, e *check.Call) {
	b, of := g.b, e.Given
	g.zero(dst, of.Type.Size)
	word := b.Copy(g.pointWord())
	g.store(dst, 8, word)
	for i, reg := range of.Regs {
		g.store(dst.at(8+8*i), 8, g.machine(reg, e.Span))
	}
	none := b.Label()
	// kept is the register of a number in the word, of which 0 is the word itself.
	kept := func(shift int) (n, value ir.Reg) {
		n = b.Copy(b.OpImm(ir.Shr, word, int64(shift)))
		b.ApplyImm(ir.And, n, types.TextRegister)
		at := b.Copy(b.OpImm(ir.Shl, n, 3))
		base, off := g.ref(dst)
		return n, b.Copy(b.Load(8, b.Op(ir.Add, base, at), off))
	}
	for i := range record.TextsIn(of.Type) {
		shift := record.TextShift + i*types.TextBits
		n, p := kept(shift)
		b.IfImm(ir.EQ, n, 0, none)
		at, to, next := memory{space: onStack, off: b.Slot(8)}, dst.at(record.TextAt(of.Type, i)), b.Label()
		g.store(at, 8, p)
		if g.points[0].Call != nil {
			ends := b.Label()
			sized, n := kept(shift + types.TextBits/2)
			b.IfImm(ir.EQ, sized, 0, ends)
			g.captureSized(to, p, n, of.Text, e.Span)
			b.Jump(next)
			b.Bind(ends)
		}
		g.captureCString(to, at, of.Text, e.Span)
		b.Bind(next)
	}
	b.Bind(none)
}

// captureSized captures a text of n bytes at p, in the form of one that ends with a NUL.
func (g *gen) captureSized(dst memory, p, n ir.Reg, to *types.Type, span diag.Span) {
	b := g.b
	bytes, fits := b.Copy(n), b.Label()
	g.told(dst, func() {
		g.readN(dst.at(8), p, bytes, int(to.Max), span)
		b.IfImm(ir.LE, n, to.Max, fits)
		b.SetImm(n, to.Max+1)
		b.Bind(fits)
		g.store(dst, 8, n)
	})
}

// returnsBit of a point's word is set if the returns of its function are probed.
const returnsBit = 62

// pointWord is the number of the point that was hit with what is told of it: see types.TextWord and returnsBit.
func (g *gen) pointWord() ir.Reg {
	b := g.b
	g.asksWord = true
	if len(g.points) == 1 {
		g.knowsPoint = true
		return b.Imm(int64(g.c.word(g.points[0], g.firstCookie)))
	}
	n, word, none := b.Copy(g.point()), b.Imm(0), b.Label()
	b.Set(word, n)
	b.IfImm(ir.GE, n, int64(g.firstCookie)+int64(len(g.points)), none)
	b.ApplyImm(ir.Shl, n, 3)
	b.Set(word, b.Load(8, b.Op(ir.Add, b.MapValue(record.GivenName, 0), n), 0))
	b.Bind(none)
	return word
}

// word is what is told of a point to a program that asks.
func (c *compiler) word(p *probe.Point, n uint64) uint64 {
	word := n | uint64(p.Texts)<<record.TextShift
	if c.returning == nil {
		c.returning = map[functionKey]bool{}
		for _, a := range c.prog.Actions {
			for _, p := range a.Points {
				if p.Kind == probe.Uretprobe {
					c.returning[keyOf(p)] = true
				}
			}
		}
	}
	if c.returning[keyOf(p)] {
		word |= 1 << returnsBit
	}
	return word
}

// callFrame is the place of the frame of the call that begins or returns here.
func (g *gen) callFrame(e *check.Call) ir.Reg {
	p := g.points[0]
	if c := p.Call; c != nil {
		_, frame := g.call(c, e.Span)
		return frame
	}
	return g.frameOf(p)
}

// function is the value of func: the number of the point says which function is meant, at a kprobe the address.
func (g *gen) function(dst memory) {
	b := g.b
	base, off := g.ref(dst)
	if g.points[0].Kind == probe.Kprobe {
		g.store(dst, 8, g.saved(g.c.opts.Arch.IP))
		return
	}
	b.StoreImm(8, base, off, 0)
	b.StoreImm(4, base, off+8, 0)
	n := b.OpImm(ir.Add, g.functionPoint(), 1)
	g.store(dst.at(12), 4, n)
}
