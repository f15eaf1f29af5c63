package codegen

import (
	"slices"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// userStack is BPF_F_USER_STACK.
const userStack = 1 << 8

func (c *codes) stacks() {
	for _, id := range []builtin.ID{builtin.UStack, builtin.DwUStack, builtin.KStack} {
		c[id].memory = func(g *gen, dst memory, e *check.Call, t *types.Type) {
			if t.Kind == types.UStack && g.walkDepth == 0 && !g.typ.RunByUs() {
				g.c.byFramePointers()
			}
			g.stack(dst, t, e.Span)
		}
	}
	c[builtin.USym].memory = func(g *gen, dst memory, e *check.Call, _ *types.Type) {
		g.store(dst, 8, g.scalar(e.Args[0].Expr))
		g.store(dst.at(8), 8, g.b.OpImm(ir.Shr, g.b.Call(asm.FnGetCurrentPidTgid), 32))
	}
	c[builtin.KSym].memory = func(g *gen, dst memory, e *check.Call, _ *types.Type) {
		g.store(dst, 8, g.scalar(e.Args[0].Expr))
	}
}

// byFramePointers notes why user stacks are not walked by tables.
func (c *compiler) byFramePointers() {
	why := "this kernel has no " + feature.StackTables.Info().Name + " (Linux " + feature.StackTables.Info().Since + ")"
	if c.opts.Features.Has(feature.StackTables) {
		why = "tables cannot be used on this CPU, in this kind of probe, or with what this kernel tells of its structures"
	}
	c.out.FramePointers = why
}

// deepest is the largest depth of the call stacks that an action takes with some builtins.
func deepest(a *check.Action, ids ...builtin.ID) (depth int) {
	v := visitor{expr: func(e check.Expr) {
		if c, ok := e.(*check.Call); ok && slices.Contains(ids, c.Fn.ID) {
			depth = max(depth, c.T.Depth)
		}
	}}
	v.block(a.Body)
	v.expression(a.Pred)
	return depth
}

// stack takes a stack into dst, in either form (types.StackType, types.StoredStack).
func (g *gen) stack(dst memory, t *types.Type, span diag.Span) {
	b := g.b
	g.zero(dst, t.Size)
	flags := int64(0)
	tgid := b.Imm(0)
	if t.Kind == types.UStack {
		flags = userStack
		b.Set(tgid, b.OpImm(ir.Shr, b.Call(asm.FnGetCurrentPidTgid), 32))
		g.store(dst, 4, tgid)
	}
	end := b.Label()
	if t.Kind == types.UStack && g.walkDepth > 0 {
		kernel := b.Label()
		w := g.walk(t.Depth)
		n, frames := w.n, w.frames
		b.IfImm(ir.EQ, n, 0, kernel)
		if t.Stored() {
			g.identity(dst, t, w)
			g.keep(dst, n, frames, tgid, t.Kind)
		} else {
			bytes := b.OpImm(ir.Shl, n, 3)
			b.Do(asm.FnProbeReadKernel, g.addr(dst.at(16)), g.size(length{reg: bytes, most: 8 * t.Depth}), g.addr(frames))
			// Another file may be mapped there when it is named.
			g.store(dst.at(8), 8, b.Call(asm.FnKtimeGetNs))
			b.ApplyImm(ir.Or, n, types.StackTimed)
			g.frames(dst, n, t.Kind)
		}
		b.Jump(end)
		b.Bind(kernel)
	}
	frames := dst.at(16)
	if t.Stored() {
		m := g.mark()
		defer g.free(m)
		frames = memory{space: inScratch, off: g.reserve(8*g.c.stackDepth + record.StackTail)}
	}
	n := b.Call(asm.FnGetStack, ir.R(g.context()), g.addr(frames), ir.I(int64(8*t.Depth)), ir.I(flags))
	ok := b.Label()
	b.IfImm(ir.SGT, n, 0, ok)
	// A thread of the kernel has no user stack: that is no loss.
	b.Jump(end)
	b.Bind(ok)
	if t.Kind == types.UStack && g.walkDepth > 0 {
		g.count(g.c.lossOnce(record.GuessedStacks))
	}
	b.ApplyImm(ir.Shr, n, 3)
	entry := t.Kind == types.UStack && g.atEntry()
	switch {
	case t.Stored():
		file := b.Imm(0)
		if t.Kind == types.UStack && g.walkDepth > 0 { // another one may be mapped there later
			base, off := g.ref(memory{space: inScratch, off: g.walkAt + walkFile})
			b.LoadTo(file, 8, base, off)
		}
		g.identify(dst.at(16), n, frames, t.Depth, file)
		g.keep(dst, n, frames, tgid, t.Kind)
	case t.Kind == types.UStack && !entry:
		g.store(dst.at(8), 8, b.Call(asm.FnKtimeGetNs))
		b.ApplyImm(ir.Or, n, types.StackTimed)
		g.frames(dst, n, t.Kind)
	default:
		g.frames(dst, n, t.Kind)
	}
	if entry {
		g.caller(dst.at(8), span)
	}
	b.Bind(end)
}

// identity stores the identity of a stack that was walked. If other processes may have the same, the process is none of
// it, unless addresses are shown, which are different in each.
func (g *gen) identity(dst memory, t *types.Type, w walked) {
	b := g.b
	mode := t.Mode
	if mode == types.StackDefault {
		mode = g.c.prog.Config.StackMode
	}
	if mode == types.StackRaw {
		g.identify(dst.at(16), w.n, w.frames, t.Depth, b.Imm(0))
		return
	}
	g.copy(dst.at(16), w.id, 16)
	own := b.Label()
	base, off := g.ref(w.ending)
	b.IfImm(ir.Set, b.Load(8, base, off), walkOwn, own)
	g.store(dst, 4, b.Imm(0))
	b.Bind(own)
}

// identify makes the identity of a stack of its addresses, and of what tells the file of the first one from others.
func (g *gen) identify(dst memory, n ir.Reg, frames memory, depth int, file ir.Reg) {
	b := g.b
	first, second, i := b.Copy(file), b.Imm(0), b.Imm(0)
	top, done := b.Label(), b.Label()
	b.Bind(top)
	b.If(ir.GE, i, n, done)
	base, off := g.ref(frames)
	at := b.OpImm(ir.Shl, i, 3)
	b.Apply(ir.Add, at, base)
	g.mix(first, second, b.Load(8, at, off))
	b.ApplyImm(ir.Add, i, 1)
	b.IfImm(ir.LT, i, int64(depth), top)
	b.Bind(done)
	g.store(dst, 8, first)
	g.store(dst.at(8), 8, second)
}

// Odd numbers with ones and zeros in no order (MurmurHash3's).
const (
	mixFirst  = -0x783c846eeebdac2b // 0x87c37b91114253d5
	mixSecond = 0x4cf5ad432745937f
)

// mix adds a frame to the two words of an identity: of 2^64 different stacks two may have the same.
func (g *gen) mix(first, second, pc ir.Reg) {
	b := g.b
	for _, lane := range []struct {
		word    ir.Reg
		rotated int64
		factor  int64
	}{{first, 31, mixFirst}, {second, 27, mixSecond}} {
		b.Apply(ir.Xor, lane.word, pc)
		b.Apply(ir.Mul, lane.word, b.Imm(lane.factor))
		low := b.OpImm(ir.Shr, lane.word, 64-lane.rotated)
		b.ApplyImm(ir.Shl, lane.word, lane.rotated)
		b.Apply(ir.Or, lane.word, low)
		b.ApplyImm(ir.Add, lane.word, 0x52dce729)
	}
}

// keep stores the frames of a stack by its identity, if they are not there yet, and behind them the time, since other
// files may be mapped there later, their number, and the process in which they were seen.
func (g *gen) keep(dst memory, n ir.Reg, frames memory, tgid ir.Reg, kind types.Kind) {
	b := g.b
	g.c.stored, g.c.interrupts = true, g.c.interrupts || g.typ != probe.UprobeProgram
	kept, full, mark := b.Label(), b.Label(), b.Label()
	// Who looks for it in the map takes much longer than who sees that it was there lately.
	base, off := g.ref(dst.at(16))
	first, second := b.Load(8, base, off), b.Load(8, base, off+8)
	seen := b.OpImm(ir.Shr, first, keptShift)
	b.ApplyImm(ir.Shl, seen, 4)
	b.Apply(ir.Add, seen, b.MapValue(record.KeptName, 0))
	other := b.Label()
	b.If(ir.NE, b.Load(8, seen, 0), first, other)
	b.If(ir.EQ, b.Load(8, seen, 8), second, kept)
	b.Bind(other)
	p := b.Call(asm.FnMapLookupElem, ir.M(record.StacksName), g.addr(dst.at(16)))
	b.IfImm(ir.NE, p, 0, mark)
	tail := frames.at(8 * g.c.stackDepth)
	g.store(tail, 8, b.Call(asm.FnKtimeGetNs))
	g.store(tail.at(8), 4, n)
	g.store(tail.at(12), 4, tgid)
	res := b.Call(asm.FnMapUpdateElem, ir.M(record.StacksName), g.addr(dst.at(16)), g.addr(frames), ir.I(1))
	b.IfImm(ir.EQ, res, -int64(syscall.EEXIST), mark)
	b.IfImm(ir.NE, res, 0, full)
	g.count(g.c.lossOnce(record.KeptStacks))
	b.Bind(mark)
	b.Store(8, seen, 0, first)
	b.Store(8, seen, 8, second)
	b.Jump(kept)
	b.Bind(full)
	g.count(g.c.lossOnce(record.LostStacks))
	b.SetImm(n, 0)
	b.Bind(kept)
	g.frames(dst, n, kind)
}

// keptShift makes of an identity a place of record.KeptName.
const keptShift = 64 - 10

// stackMap is where the frames of stacks are kept.
func (c *compiler) stackMap(add func(*ebpf.MapSpec)) {
	if !c.stored {
		return
	}
	m := &ebpf.MapSpec{
		Name: record.StacksName, Type: ebpf.Hash, KeySize: 16, ValueSize: uint32(8*c.stackDepth + record.StackTail),
		MaxEntries: record.MostStacks, Flags: 1, // BPF_F_NO_PREALLOC
	}
	if c.interrupts {
		// Before 6.1 programs that take samples have no other maps than those with memory of their own, and where
		// interrupts are off there may be none to be had.
		m.MaxEntries, m.Flags = record.MostStacks/8, 0
	}
	c.out.StackSize = int(m.ValueSize)
	add(m)
	add(array(record.KeptName, record.KeptSize))
}

// frames stores the number of a stack's frames. Of a user stack, which point was hit tells where its file is loaded,
// also when the process is gone before anybody looks.
func (g *gen) frames(dst memory, n ir.Reg, kind types.Kind) {
	b := g.b
	if kind == types.UStack && g.typ == probe.UprobeProgram && !g.ret && (len(g.points) == 1 || g.c.cookies(g.typ)) {
		point := b.Copy(g.point())
		b.ApplyImm(ir.Add, point, 1)
		b.ApplyImm(ir.Shl, point, types.StackPointShift)
		b.Apply(ir.Or, n, point)
	}
	g.store(dst.at(4), 4, n)
}

// atEntry tells whether all points are function entries, or instructions that return, where the stack walk by frame
// pointers may miss the caller.
func (g *gen) atEntry() bool {
	if g.typ != probe.UprobeProgram && g.typ != probe.BreakProgram || g.ret {
		return false
	}
	for _, p := range g.points {
		if (p.Kind != probe.Uprobe || !p.Entry) && !p.AtReturn || p.Frame != nil {
			return false
		}
	}
	return true
}

// caller reads the return address of the function that was just entered.
func (g *gen) caller(dst memory, span diag.Span) {
	arch := g.c.opts.Arch
	if !arch.ReturnOnStack() {
		g.store(dst, 8, g.saved(arch.LR))
		return
	}
	g.readUser(dst, memory{space: inUser, base: g.saved(arch.SP)}, fixedLength(8), span)
}

// saved loads a register by its DWARF number, of those that all programs have.
func (g *gen) saved(reg int) ir.Reg { return g.machine(reg, g.act.Span) }

// register loads a saved register of the interrupted program.
func (g *gen) register(offset int) ir.Reg {
	return g.b.Load(8, g.context(), offset)
}

// instruction is the address of the probed place: the probe may sit on an equivalent instruction a few bytes behind it.
func (g *gen) instruction() ir.Reg {
	r := g.b.Copy(g.saved(g.c.opts.Arch.IP))
	for _, p := range g.points {
		if p.Skip != g.points[0].Skip {
			return r // not known here which
		}
	}
	g.b.ApplyImm(ir.Sub, r, int64(g.points[0].Skip))
	return r
}

// context is the program's context (in callbacks it was fetched from main's frame).
func (g *gen) context() ir.Reg { return g.ctx }
