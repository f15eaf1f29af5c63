package codegen

import (
	"math"

	"github.com/cilium/ebpf/asm"
	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
)

// space says how memory is reached.
type space uint8

const (
	onStack   space = iota // stack of the function being made
	inFrame                // stack of the main function, also from callbacks
	inScratch              // the scratch buffer
	inReg                  // BPF memory at a pointer: a map's value
	inCtx                  // the program's context
	inUser                 // the process's memory at an address
	inKernel               // kernel memory at an address
	inAny                  // either: the address tells
	inBPF                  // our own memory at an address that the verifier may not know as a pointer any more
	nowhere                // an address space that is not known
)

// memory is the place of a value: base (a pointer or address, where the space needs one) plus off.
type memory struct {
	space space
	base  ir.Reg
	off   int
	// aligned to 8 only holds for our own memory; map values and frames are, fields of them as their offsets say.
}

func (m memory) at(off int) memory { m.off += off; return m }

// direct tells whether loads and stores reach the memory without a helper.
func (m memory) direct() bool { return m.space <= inCtx }

// maxOffset is how far behind a register instructions reach, with room for a value behind it.
const maxOffset = 1<<15 - 1<<13

// ref gives base register and offset for instructions.
func (g *gen) ref(m memory) (ir.Reg, int) {
	switch m.space {
	case onStack:
		return ir.FP, m.off
	case inFrame:
		return g.frame, m.off
	case inScratch:
		if m.off > maxOffset {
			return g.b.Addr(g.buf, m.off), 0
		}
		return g.buf, m.off
	case inCtx:
		return g.ctx, m.off
	}
	return m.base, m.off
}

// addr passes the memory's address to a helper.
func (g *gen) addr(m memory) ir.Operand {
	r, off := g.ref(m)
	return ir.A(r, off)
}

// ptr makes a register with the memory's address.
func (g *gen) ptr(m memory) ir.Reg {
	r, off := g.ref(m)
	return g.b.Addr(r, off)
}

// spaceOf is where a pointer type points.
func spaceOf(t *types.Type) space {
	switch t.Space {
	case types.User:
		return inUser
	case types.Kernel:
		return inKernel
	case types.BPF:
		return inBPF
	case types.AnySpace:
		return inAny
	}
	return nowhere // which is refused where it is read
}

// at8 makes the memory that a value of pointer type p, in register r, points to.
func pointee(t *types.Type, r ir.Reg) memory { return memory{space: spaceOf(t), base: r} }

// load makes a register with an integer of size bytes.
func (g *gen) load(m memory, size int, signed bool, span diag.Span) ir.Reg {
	b := g.b
	var r ir.Reg
	if m.direct() && aligned(m, size) {
		base, off := g.ref(m)
		r = b.Load(ir.Size(size), base, off)
	} else {
		mark := g.mark()
		tmp := memory{space: onStack, off: b.Slot(8)}
		g.fetch(tmp, m, size, span)
		r = b.Load(ir.Size(size), ir.FP, tmp.off)
		g.free(mark)
	}
	b.Extend(r, size, signed)
	return r
}

// aligned tells whether an access of size bytes is allowed where the verifier wants it aligned (stack and context).
func aligned(m memory, size int) bool {
	return m.space == inScratch || m.space == inReg || m.off%size == 0
}

// store writes the lower size bytes of r.
func (g *gen) store(m memory, size int, r ir.Reg) {
	b := g.b
	base, off := g.ref(m)
	if aligned(m, size) {
		b.Store(ir.Size(size), base, off, r)
		return
	}
	rest := b.Copy(r)
	for i := 0; i < size; {
		w := chunk(off+i, size-i)
		b.Store(ir.Size(w), base, off+i, rest)
		b.ApplyImm(ir.Shr, rest, int64(8*w))
		i += w
	}
}

// zero clears n bytes.
func (g *gen) zero(m memory, n int) {
	b := g.b
	if n > 128 {
		g.c.zeros = max(g.c.zeros, n)
		b.Do(asm.FnProbeReadKernel, g.addr(m), ir.I(int64(n)), ir.MV(record.ZerosName, 0))
		return
	}
	base, off := g.ref(m)
	for i := 0; i < n; {
		s := chunk(off+i, n-i)
		b.StoreImm(ir.Size(s), base, off+i, 0)
		i += s
	}
}

// chunk is the widest access at an offset that stays aligned and inside n bytes.
func chunk(off, n int) int {
	for _, s := range []int{8, 4, 2} {
		if n >= s && off%s == 0 {
			return s
		}
	}
	return 1
}

// fetch copies n bytes from src to dst (our own memory). What cannot be read becomes zero and is counted.
func (g *gen) fetch(dst, src memory, n int, span diag.Span) {
	if n == 0 {
		return
	}
	b := g.b
	if src.direct() {
		g.copy(dst, src, n)
		return
	}
	switch src.space {
	case inBPF:
		b.Do(asm.FnProbeReadKernel, g.addr(dst), ir.I(int64(n)), ir.A(src.base, src.off))
	case inKernel:
		g.readKernel(dst, src, fixedLength(n), span)
	case inUser:
		g.readUser(dst, src, fixedLength(n), span)
	case inAny:
		kernel, done := b.Label(), b.Label()
		b.IfImm(ir.SLT, src.base, 0, kernel)
		g.readUser(dst, src, fixedLength(n), span)
		b.Jump(done)
		b.Bind(kernel)
		g.readKernel(dst, src, fixedLength(n), span)
		b.Bind(done)
	default:
		refuse(span, "internal: no code for reading memory of kind %d", src.space)
	}
}

// length is a number of bytes: a constant, or a register and what it must not exceed.
type length struct {
	reg     ir.Reg // NoReg: most is the length
	most    int
	counted bool // of a string that need not end with a NUL; its length is one less
}

func fixedLength(n int) length { return length{reg: ir.NoReg, most: n} }

// size passes a length to a helper. Each time its bound is established anew: the register may be spilled in between,
// and verifiers before 6.8 don't know that what is loaded from a slot is the number that was compared.
func (g *gen) size(n length) ir.Operand {
	if n.reg == ir.NoReg {
		return ir.I(int64(n.most))
	}
	return ir.R(g.atMost(n.reg, n.most))
}

// atMost makes a register with r, or most if that is less (unsigned).
func (g *gen) atMost(r ir.Reg, most int) ir.Reg {
	b := g.b
	n, fits := b.Copy(r), b.Label()
	b.IfImm(ir.LE, n, int64(most), fits)
	b.SetImm(n, int64(most))
	b.Bind(fits)
	return n
}

// fetchN is fetch with a length in a register.
func (g *gen) fetchN(dst, src memory, n length, span diag.Span) {
	b := g.b
	switch {
	case src.direct():
		b.Do(asm.FnProbeReadKernel, g.addr(dst), g.size(n), g.addr(src))
	case src.space == inUser:
		g.readUser(dst, src, n, span)
	case src.space == inAny:
		kernel, done := b.Label(), b.Label()
		b.IfImm(ir.SLT, src.base, 0, kernel)
		g.readUser(dst, src, n, span)
		b.Jump(done)
		b.Bind(kernel)
		g.readKernel(dst, src, n, span)
		b.Bind(done)
	default:
		g.readKernel(dst, src, n, span)
	}
}

func (g *gen) readKernel(dst, src memory, n length, span diag.Span) {
	b := g.b
	ok := b.Label()
	res := b.Call(asm.FnProbeReadKernel, g.addr(dst), g.size(n), ir.A(src.base, src.off))
	b.IfImm(ir.EQ, res, 0, ok)
	g.failed("probe_read_kernel", res, src, span)
	b.Bind(ok)
}

// readUser reads without faulting first; where the page is not mapped yet and the program may sleep, it is faulted in.
func (g *gen) readUser(dst, src memory, n length, span diag.Span) {
	b := g.b
	ok := b.Label()
	res := b.Call(asm.FnProbeReadUser, g.addr(dst), g.size(n), ir.A(src.base, src.off))
	b.IfImm(ir.EQ, res, 0, ok)
	if g.sleepable {
		b.Set(res, b.Call(asm.FnCopyFromUser, g.addr(dst), g.size(n), ir.A(src.base, src.off)))
		b.IfImm(ir.EQ, res, 0, ok)
	}
	g.failed("probe_read_user", res, src, span)
	b.Bind(ok)
}

// failed counts a read that did not work and reports it if asked.
func (g *gen) failed(helper string, res ir.Reg, src memory, span diag.Span) {
	if g.onFail != nil {
		g.onFail(src)
		return
	}
	if g.c.opts.HelperErrors {
		g.count(g.c.loss(record.Loss{Kind: record.LostReads, Action: g.act.Index, Helper: helper}, span))
		g.helperError(helper, res, span)
		return
	}
	if g.reads < 0 {
		g.reads = g.c.loss(record.Loss{Kind: record.LostReads, Action: g.act.Index, Helper: helper}, g.act.Span)
	}
	g.count(g.reads)
}

// told makes code that reads a value into dst, whose first word says Missing if a read fails: nothing else needs to be
// said of that then.
func (g *gen) told(dst memory, read func()) {
	b, outer, end := g.b, g.onFail, g.b.Label()
	g.onFail = func(at memory) {
		r := b.Imm(math.MinInt64) // record.Missing
		b.Apply(ir.Or, r, b.Addr(at.base, at.off))
		g.store(dst, 8, r)
		b.Jump(end)
	}
	read()
	g.onFail = outer
	b.Bind(end)
}

// copy copies n bytes between places of our own memory.
func (g *gen) copy(dst, src memory, n int) {
	if dst == src {
		return
	}
	b := g.b
	if n > 128 || (src.space == inCtx && n > 8) {
		b.Do(asm.FnProbeReadKernel, g.addr(dst), ir.I(int64(n)), g.addr(src))
		return
	}
	d, doff := g.ref(dst)
	s, soff := g.ref(src)
	for i := 0; i < n; {
		w := min(chunk(doff+i, n-i), chunk(soff+i, n-i))
		b.Store(ir.Size(w), d, doff+i, b.Load(ir.Size(w), s, soff+i))
		i += w
	}
}

// own makes sure that a value of n bytes is in our own memory.
func (g *gen) own(m memory, n int, span diag.Span) memory {
	if m.direct() && m.space != inCtx {
		return m
	}
	tmp := g.temp(n)
	g.fetch(tmp, m, n, span)
	return tmp
}
