package codegen

import (
	"github.com/cilium/ebpf/asm"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// gen makes one program.
type gen struct {
	c           *compiler
	act         *check.Action
	typ         probe.ProgramType
	ret         bool
	sleepable   bool
	session     *Session // the program runs at both ends of a call
	open        string   // the map of calls that are open, for durations without a session
	room        stackUse
	points      []*probe.Point
	firstCookie uint64
	knowsPoint  bool // the code differs by the point that is hit
	asksCookie  bool // and asks the kernel for it
	asksWord    bool // and what is told of each point
	whichSlot   int  // of interpreted functions, what stands for the cookie

	p    *ir.Program
	main *ir.Builder
	b    *ir.Builder // the function being made: main or a callback

	ctx   ir.Reg // the program's context
	frame ir.Reg // base of main's stack slots: FP in main, a parameter in callbacks
	buf   ir.Reg // the scratch buffer behind its header

	// variables that live in memory, since functions besides main use them
	shared                               map[*check.Var]bool
	framed                               bool // main has slots for callbacks
	ctxSlot, bufSlot, leaveSlot, retSlot int

	headed       bool // records with heads are sent
	headSlot     int
	durationSlot int // of timed actions
	hitSlot      int // of the time before floating-point registers are asked for, where functions return
	keptSlot     int // of those that keep where their result is
	floatSlot    int // of the areas of floating-point registers, and whether they are known; 0: nothing is there
	floatReads   int // how often code for reading them was made

	vars      map[*check.Var]*variable
	top, most int // bytes of scratch in use, and at most
	exit      ir.Label
	loop      *loop
	onFail    func(at memory)     // code for a read that fails, besides that it is counted
	reads     int                 // index of the counter for failed reads, -1: none yet
	names     int                 // callbacks so far
	floating  bool                // floating-point registers are asked for
	timeAsked bool                // and the time before that
	python    *probe.PythonStacks // nil: frames of Python are not looked for
	unwind    *Unwind             // nil: user stacks are walked by the kernel
	walkAt    int                 // the state of walks of user stacks, in scratch memory
	walkDepth int                 // their largest depth; 0: the kernel walks them
	walkStep  *ir.Builder         // nil: not made yet
	asksMaps  *record.Layout      // nil: not made yet
	retval    ir.Reg              // what return gives, without loops
}

// loop is what break and continue do.
type loop struct {
	next   ir.Label // continue
	end    ir.Label // break, if the body is part of the function around it
	inline bool
}

// variable is where a scratch variable lives.
type variable struct {
	reg ir.Reg // scalars that only the main function uses
	mem *memory
}

// scratchBuffers is how many probe programs may be under way on one CPU: nested, preempted or asleep in a page fault.
const scratchBuffers = 8

// scratchHeader is the part of a scratch buffer in front of the data: u64 busy.
const scratchHeader = 8

// body makes the whole program: filter, predicate, statements, exit.
func (g *gen) body() {
	b := g.b
	g.frame = ir.FP
	g.ctx = b.Copy(b.Param(0))
	g.buf = b.Reg()
	g.exit = b.Label()
	g.shared, g.framed = g.c.needs(g.act)
	g.framed = g.framed || g.typ == probe.UprobeProgram && g.c.opts.Features.Has(feature.Loop) && showsTables(g.act)
	if g.walkDepth = g.tabled(); g.walkDepth > 0 {
		g.framed = true
		g.walkAt = g.reserve(walkFrames + 8*g.c.stackDepth + record.StackTail)
		g.c.unwinds = g.unwind
		g.python = g.c.python()
		g.c.pythons = g.c.pythons || g.python != nil
	}
	if g.framed {
		g.ctxSlot, g.bufSlot = b.Slot(8), b.Slot(8)
		g.leaveSlot, g.retSlot = b.Slot(8), b.Slot(8)
		b.Store(8, ir.FP, g.ctxSlot, g.ctx)
		b.StoreImm(8, ir.FP, g.leaveSlot, 0)
		b.StoreImm(8, ir.FP, g.retSlot, 0)
	}
	if g.c.opts.Heads {
		g.headSlot = b.Slot(record.HeadedSize - record.Header)
	}
	if n := g.floatAreas(); n > 0 {
		g.floatSlot = b.Slot(8 * (n + 1))
		if g.returns() {
			g.hitSlot = b.Slot(8)
		}
	}
	quit := b.Label() // leaves without scratch
	if g.c.exits && g.typ == probe.PerfProgram {
		// exit() takes effect when user space hears of it. Probes go on counting until then, but timers, which may tick
		// many times meanwhile, do not.
		b.IfImm(ir.NE, b.Load(8, b.MapValue(record.ControlName, record.ControlStop), 0), 0, quit)
	}
	g.filter(quit)
	g.interpreted(quit)
	if g.act.Timed || g.act.Kept {
		g.timed(quit)
	}
	start := b.Len()
	for _, v := range g.act.Vars {
		g.declare(v)
	}
	result := b.Reg()
	b.SetImm(result, 0)
	unmet := g.exit
	if g.floatSlot != 0 {
		unmet = b.Label()
	}
	if g.act.Pred != nil {
		b.Comment("predicate")
		g.cond(g.act.Pred, unmet, false)
	}
	behind, early := b.Len(), g.floating || g.headed || g.timeAsked || g.most > 0
	g.retval = result
	g.block(g.act.Body)
	late := g.floating && !early
	b.Bind(g.exit)
	if unmet != g.exit && !late {
		b.Bind(unmet)
	}
	if g.most > 0 {
		b.StoreImm(8, g.buf, -scratchHeader, 0)
	}
	if g.framed {
		b.LoadTo(result, 8, ir.FP, g.retSlot)
	}
	if g.typ.RunByUs() {
		b.ExitReg(result)
	} else {
		b.Exit(0)
	}
	// The scratch buffer is taken in front of the statements, and the head of records made, but only now is it known
	// whether they are needed. While a thread is switched off it holds no buffer, and that is none of the call's time.
	mark := b.Len()
	if g.headed && g.returns() {
		g.head()
	}
	if g.timeAsked {
		b.Store(8, ir.FP, g.hitSlot, b.Call(asm.FnKtimeGetBootNs))
	}
	if g.floating {
		g.floats()
	}
	if g.headed && !g.returns() {
		g.head()
	}
	if g.most > 0 {
		g.acquire(quit)
	}
	if late {
		start = behind
	}
	b.Move(mark, start)
	b.Bind(quit)
	if unmet != g.exit && late {
		b.Bind(unmet)
	}
	b.Exit(0)
	g.c.scratch = max(g.c.scratch, g.most)
}

// returns tells a program that runs where functions return.
func (g *gen) returns() bool { return g.ret || len(g.points) > 0 && g.points[0].AtReturn }

// acquire finds a free scratch buffer of this CPU. A program may be preempted or sleep in a page fault while another
// runs on the same CPU, so a buffer belongs to whoever exchanged its busy word from 0 to 1.
func (g *gen) acquire(quit ir.Label) {
	b := g.b
	key := b.Slot(8)
	b.StoreImm(8, ir.FP, key, 0)
	top, next, got := b.Label(), b.Label(), b.Label()
	i := b.Imm(0)
	first := ir.NoReg
	if g.c.bigScratch {
		first = b.OpImm(ir.Mul, b.Call(asm.FnGetSmpProcessorId), scratchBuffers)
	}
	b.Bind(top)
	b.Store(4, ir.FP, key, i)
	if first != ir.NoReg {
		b.Store(4, ir.FP, key, b.Op(ir.Add, first, i))
	}
	p := b.Call(asm.FnMapLookupElem, ir.M(record.ScratchName), ir.A(ir.FP, key))
	b.IfImm(ir.EQ, p, 0, next)
	var old ir.Reg
	if g.c.opts.Features.Has(feature.AtomicFetch) {
		old = b.Xchg(p, 0, b.Imm(1))
	} else {
		// Before 5.12 there are no sleepable uprobes, and perf's run with preemption off.
		old = b.Load(8, p, 0)
		b.StoreImm(8, p, 0, 1)
	}
	b.Set(g.buf, p)
	b.IfImm(ir.EQ, old, 0, got)
	b.Bind(next)
	b.ApplyImm(ir.Add, i, 1)
	b.IfImm(ir.LT, i, scratchBuffers, top)
	g.count(1) // record.LostScratch
	b.Jump(quit)
	b.Bind(got)
	b.ApplyImm(ir.Add, g.buf, scratchHeader)
	if g.framed {
		b.Store(8, ir.FP, g.bufSlot, g.buf)
	}
}

// count adds one to a loss counter.
func (g *gen) count(index int) { g.add(index, 1) }

// add changes a loss counter.
func (g *gen) add(index int, n int64) {
	p := g.b.MapValue(record.CountersName, 8*index)
	g.b.AtomicAdd(8, p, 0, g.b.Imm(n))
}

// filter leaves unless the process is the wanted one. Kernels 6.6 to 6.9 compare a multi link's PID with the thread,
// not the process, and perf events inherit; so the program looks as well.
func (g *gen) filter(quit ir.Label) {
	if g.typ != probe.BreakProgram && (g.typ.RunByUs() || g.typ == probe.IterProgram ||
		!g.c.prog.Config.FilterTarget || (g.typ == probe.PerfProgram && !g.pidBound())) {
		return
	}
	if g.typ == probe.BreakProgram {
		g.countBreak()
	}
	g.selected(quit)
}

// selected leaves unless the thread is one that the target selects.
func (g *gen) selected(quit ir.Label) {
	if g.c.opts.PID == 0 {
		return
	}
	if g.c.opts.Follow {
		g.followed(quit)
		return
	}
	pid, tid := g.pidTgid()
	if len(g.c.opts.Others) > 0 && g.typ != probe.BreakProgram { // whose address is one of the first process

		in := g.b.Label()
		for _, other := range g.c.opts.Others {
			g.b.IfImm(ir.EQ, pid, int64(other), in)
		}
		g.b.IfImm(ir.NE, pid, int64(g.c.opts.PID), quit)
		g.b.Bind(in)
		return
	}
	g.b.IfImm(ir.NE, pid, int64(g.c.opts.PID), quit)
	if g.c.opts.Thread != 0 {
		g.b.IfImm(ir.NE, tid, int64(g.c.opts.Thread), quit)
	}
}

// followed leaves unless the process is the wanted one or in the map, which goes by the ids of the initial namespace.
func (g *gen) followed(quit ir.Label) {
	b := g.b
	in := b.Label()
	if g.c.opts.Namespace != nil {
		pid, _ := g.pidTgid()
		b.IfImm(ir.EQ, pid, int64(g.c.opts.PID), in)
	}
	pid := b.OpImm(ir.Shr, b.Call(asm.FnGetCurrentPidTgid), 32)
	b.ApplyImm(ir.And, pid, record.FollowSize-1)
	b.IfImm(ir.EQ, b.Load(1, b.Op(ir.Add, b.MapValue(record.FollowName, 0), pid), 0), 0, quit)
	b.Bind(in)
}

// pidBound tells whether perf points are meant for one process, or for those that are followed.
func (g *gen) pidBound() bool {
	for _, p := range g.points {
		if p.PID == 0 && (!g.c.opts.Follow && len(g.c.opts.Others) == 0 || p.Kind == probe.Interval) {
			return false
		}
	}
	return true
}

// pidTgid makes the process and the thread id as seen from our PID namespace.
func (g *gen) pidTgid() (tgid, tid ir.Reg) {
	b := g.b
	if ns := g.c.opts.Namespace; ns != nil {
		info := b.Slot(8)
		b.StoreImm(8, ir.FP, info, 0)
		b.Do(asm.FnGetNsCurrentPidTgid, ir.I(int64(ns.Dev)), ir.I(int64(ns.Ino)), ir.A(ir.FP, info), ir.I(8))
		return b.Load(4, ir.FP, info+4), b.Load(4, ir.FP, info)
	}
	both := b.Call(asm.FnGetCurrentPidTgid)
	return b.OpImm(ir.Shr, both, 32), b.Low32(both)
}

// declare gives a variable its place and the value zero.
func (g *gen) declare(v *check.Var) {
	if g.vars[v] != nil {
		return
	}
	b := g.b
	switch {
	case v.Type.IsScalar() && !g.shared[v] && !v.Addressed && g.room.spill:
		r := b.Reg()
		b.SetImm(r, 0)
		g.vars[v] = &variable{reg: r}
	case v.Type.Size <= 32 && g.main.Frame() < g.room.vars:
		off := g.main.Slot(max(8, v.Type.Size))
		for i := 0; i < max(8, v.Type.Size); i += 8 {
			g.main.StoreImm(8, ir.FP, off+i, 0)
		}
		g.vars[v] = &variable{reg: ir.NoReg, mem: &memory{space: inFrame, off: off}}
	default:
		g.vars[v] = &variable{reg: ir.NoReg, mem: &memory{space: inScratch, off: g.reserve(v.Type.Size)}}
	}
}

// reserve takes scratch memory; release gives back all beyond a mark.
func (g *gen) reserve(size int) int {
	at := g.top
	g.top += (size + 7) &^ 7
	g.most = max(g.most, g.top)
	if g.most > maxScratch {
		refuse(g.act.Span, "this action needs more than the %d KiB of memory that a probe may use", maxScratch>>10)
	}
	return at
}

// mark remembers what temporary memory is in use; free gives back what was taken since.
type mark struct{ top, frame int }

func (g *gen) mark() mark     { return mark{g.top, g.b.Frame()} }
func (g *gen) free(m mark)    { g.top = m.top; g.b.Release(m.frame) }
func (g *gen) pos() diag.Span { return g.act.Span }

// temp is memory for a value until the enclosing statement ends.
func (g *gen) temp(size int) memory {
	if size <= 64 && g.b.Frame() < g.room.temps && (g.b == g.main || size <= 16) {
		return memory{space: onStack, off: g.b.Slot(size)}
	}
	return memory{space: inScratch, off: g.reserve(size)}
}

// roundUp rounds a size to whole words.
func roundUp(n int) int { return (n + 7) &^ 7 }
