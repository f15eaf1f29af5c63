package codegen

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/builtin"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
)

// Unwind is where the kernel keeps what a walk by tables has to know of a process: offsets in its structures.
type Unwind struct {
	MM            int // in task_struct
	Task, Returns int // in task_struct: utask; in uprobe_task: return_instances
	ReturnStack   int // in return_instance: stack
	ReturnAddress int // orig_ret_vaddr
	ReturnNext    int // next

	Space AddressSpace
}

// The state of a walk, in scratch memory: its steps are a callback of bpf_loop, and what the verifier does not know of
// costs it no time. Offsets:
const (
	walkPC      = 0
	walkSP      = 8
	walkBP      = 16
	walkCount   = 24 // frames so far
	walkLimit   = 32
	walkBack    = 40 // 1: the address is where a call returns to
	walkStart   = 48 // the mapping looked up last
	walkEnd     = 56
	walkDelta   = 64 // from an address to what its file's table counts from
	walkTable   = 72 // u32 place of the table among the words, u32 bytes of code in it
	walkBase    = 80 // address of what was read of the stack last
	walkLength  = 88
	walkEndedBy = 96              // bits of walkGuessed …
	walkReturn  = 104             // a call whose return is probed; 0: not looked for yet, 1: none
	walkRegs    = 112             // address of the registers
	walkTries   = 120             // how often what is mapped was not found
	walkSpace   = 128             // what tells this address space, as it is now, from all others
	walkChange  = 136             // its number of changes
	walkID      = 144             // 2 words
	walkFile    = 168             // what tells the file of that mapping from others; 0: it is of none
	walkPair    = 176             // 2 words
	walkMissing = walkPair + 16   // an address in a file of which it is not known what tables it has
	walkTop     = walkMissing + 8 // what the stack pointer was when the program began
	walkArea    = walkTop + 8
	// Of Python's frames (python.go): the next one, whether the last one was that with which the main loop was entered,
	// whether there was one, what the thread pointer is, the thread and the object at hand, a frame, what code is called.
	walkFrame   = walkArea + areaSize
	walkEntered = walkFrame + 8
	walkEmitted = walkEntered + 8
	walkSelf    = walkEmitted + 8
	walkThread  = walkSelf + 8
	walkObject  = walkThread + 8
	walkName    = walkObject + 8 // what tells its code from others
	walkRaw     = walkName + 8
	walkCode    = walkRaw + pythonFrame
	walkBytes   = walkCode + record.PythonCodeSize // the part of the stack
	walkFrames  = walkBytes + walkBaseSize + 8

	walkBaseSize = 2048
	walkPage     = 4096
	walkReach    = 1 << 20 // the largest frame that is believed of a frame pointer
	walkFarthest = 1024    // how far below the canonical frame address the frame pointer is looked for
	walkReturns  = 64      // MAX_URETPROBE_DEPTH

	walkFirst     = 128 // what a program's first instructions take of the stack
	walkMostTries = 20

	codeSegment   = 136  // cs in struct pt_regs
	codeSegment32 = 0x23 // __USER32_CS
)

// Bits of walkEndedBy.
const (
	walkGuessed = 1 // a frame was found by the frame pointer alone
	walkBroken  = 2 // the caller of the last frame was not found
	walkUnknown = 4 // a file is mapped of which it is not known what tables it has
	walkOwn     = 8 // a frame is in no file that is known, so that other processes have no such stack
)

// Kinds of rules (unwind.Kind), and values of their offsets of the frame pointer.
const (
	ruleStop     = 1
	ruleStack    = 2
	ruleFrame    = 3
	ruleDeref    = 4
	rulePLT      = 5
	ruleSignal   = 6
	ruleFP       = 7
	ruleRegister = 8
	ruleStackAt  = 9 // unwind.StackDeref

	ruleKept    = 0
	ruleAtFrame = 0x7fff
)

// tabled tells whether a program walks the stacks of user space by tables, and how deep at most (0: not).
func (g *gen) tabled() (depth int) {
	arch := g.c.opts.Arch
	if g.typ.RunByUs() || g.typ == probe.IterProgram || !g.c.opts.Features.Has(feature.StackTables) ||
		g.c.opts.Unwind == nil || !arch.ReturnOnStack() || arch.FP < 0 {
		return 0
	}
	if depth = deepest(g.act, builtin.UStack, builtin.DwUStack); depth == 0 {
		return 0
	}
	at, ok := g.c.opts.Unwind()
	if !ok {
		return 0
	}
	g.unwind = at
	return depth
}

// walked is a stack that was walked by tables: the number of frames, 0 if nothing is known of the code that was hit;
// where they are; its identity; how it came to its end (walkGuessed …).
type walked struct {
	n                  ir.Reg
	frames, id, ending memory
}

// walk takes a user stack of at most depth frames by tables.
func (g *gen) walk(depth int) walked {
	b := g.b
	w := &walker{g: g, s: memory{space: inScratch, off: g.walkAt}}
	for field := walkCount; field <= walkReturn; field += 8 {
		w.set(field, 0)
	}
	for _, field := range []int{walkTries, walkID, walkID + 8, walkFile} {
		w.set(field, 0)
	}
	w.set(walkLimit, int64(depth))
	done := b.Label()
	w.registers(done)
	if g.python != nil {
		for _, field := range []int{walkFrame, walkEntered, walkEmitted, walkSelf} {
			w.set(field, 0)
		}
	}
	if g.walkStep == nil {
		g.walkStep = g.callback(2, 1, func(f *ir.Builder) {
			next, stop := f.Label(), f.Label()
			w.step(next, stop)
			f.Jump(next)
			f.Bind(stop)
			f.Exit(1)
			f.Bind(next)
		})
	}
	b.Do(asm.FnLoop, ir.I(int64(depth+2*walkReturns+walkMostTries)), ir.F(g.walkStep), ir.A(g.frame, 0), ir.I(0))
	w.tell()
	b.Bind(done)
	return walked{w.load(walkCount), w.s.at(walkFrames), w.s.at(walkID), w.s.at(walkEndedBy)}
}

// walker makes the code of a step from a frame to its caller's.
type walker struct {
	g *gen
	s memory
}

func (w *walker) load(field int) ir.Reg {
	base, off := w.g.ref(w.s.at(field))
	return w.g.b.Load(8, base, off)
}

func (w *walker) store(field int, r ir.Reg) { w.g.store(w.s.at(field), 8, r) }

func (w *walker) set(field int, v int64) {
	base, off := w.g.ref(w.s.at(field))
	w.g.b.StoreImm(8, base, off, v)
}

func (w *walker) mark(bit int64) {
	w.store(walkEndedBy, w.g.b.OpImm(ir.Or, w.load(walkEndedBy), bit))
}

// registers are those of the program: at a uprobe the context has them, elsewhere the task. It goes to none in threads
// of the kernel, which have none, and in programs of 32 bits.
func (w *walker) registers(none ir.Label) {
	g, b, at := w.g, w.g.b, w.g.unwind
	arch := g.c.opts.Arch
	task := b.Copy(b.Call(asm.FnGetCurrentTaskBtf))
	regs := g.context()
	if g.typ != probe.UprobeProgram {
		regs = b.Copy(b.Call(asm.FnTaskPtRegs, ir.R(task)))
	}
	for _, r := range [][2]int{{walkPC, arch.IP}, {walkSP, arch.SP}, {walkBP, arch.FP}} {
		off, _ := arch.Offset(r[1])
		w.store(r[0], b.Load(8, regs, off))
	}
	w.store(walkRegs, regs)
	// The stack of a program of 32 bits has other words, which the kernel knows.
	code := b.OpImm(ir.And, b.Load(8, regs, codeSegment), 0xffff)
	b.IfImm(ir.EQ, code, codeSegment32, none)
	mm := b.Load(8, task, at.MM)
	b.IfImm(ir.EQ, mm, 0, none)
	w.store(walkArea+areaSpace, mm)
	space := w.load(walkArea + areaSpace)
	tgid, _ := g.pidTgid()
	words := []ir.Reg{tgid}
	for _, off := range at.Space.Identity {
		words = append(words, b.Load(8, mm, off))
	}
	if at.Space.Changes >= 0 {
		change := b.Load(4, mm, at.Space.Changes)
		w.store(walkChange, change)
		words = append(words, change)
	}
	factor := b.Imm(mixFirst)
	w.store(walkTop, b.Load(8, mm, at.Space.Stack))
	for _, word := range words {
		b.Apply(ir.Xor, space, word)
		b.Apply(ir.Mul, space, factor)
		high := b.OpImm(ir.Shr, space, 32)
		b.Apply(ir.Xor, space, high)
	}
	w.store(walkSpace, space)
}

// step finds the rule for the frame at hand, notes the frame and finds its caller's; it goes to stop where there is
// none.
func (w *walker) step(next, stop ir.Label) {
	b := w.g.b
	pc := w.load(walkPC)
	b.IfImm(ir.EQ, pc, 0, stop)
	nowhere, other, none := b.Label(), b.Label(), b.Label()
	note, guess, have := b.Label(), b.Label(), b.Label()
	w.locate(pc, nowhere, other, none)
	b.Jump(note)
	b.Bind(nowhere)
	w.nowhere(next)
	b.Jump(stop)
	b.Bind(other)
	w.replaced(none, next)
	b.Bind(none)
	w.set(walkTable, 0)
	w.mark(walkOwn)
	b.Bind(note)
	noted := b.Label()
	w.pythonFrames(noted, next)
	w.note(w.load(walkPC))
	b.Bind(noted)
	b.If(ir.GE, w.load(walkCount), w.load(walkLimit), stop) // nobody asks for the next one
	rule := w.row(guess)
	cfa := w.follow(rule, have, guess, next, stop)
	b.Bind(guess)
	w.guess(next, stop)
	b.Bind(have)
	w.caller(rule, cfa, next, stop)
}

// note adds a frame to the stack and to its identity. What counts in that is the file and the place in it: then stacks
// of several processes are one, wherever these have the file, and those of another file that is mapped there later are
// not.
func (w *walker) note(pc ir.Reg) {
	b := w.g.b
	slot, n := w.slot()
	back := b.Label()
	b.IfImm(ir.NE, w.load(walkBack), 0, back)
	b.IfImm(ir.EQ, n, 0, back)
	b.Apply(ir.Or, pc, b.Imm(record.ExactFrame-1<<64))
	b.Bind(back)
	w.put(slot, n, pc)
	b.Apply(ir.Add, pc, w.load(walkDelta))
	b.Apply(ir.Add, pc, w.load(walkFile))
	w.identify(pc)
}

// slot is the place of the next frame, and its number.
func (w *walker) slot() (slot, n ir.Reg) {
	b := w.g.b
	n = w.g.atMost(w.load(walkCount), w.g.walkDepth-1)
	slot = b.OpImm(ir.Shl, n, 3)
	b.Apply(ir.Add, slot, w.g.buf)
	return slot, n
}

// put stores frame number n.
func (w *walker) put(slot, n, frame ir.Reg) {
	b := w.g.b
	b.Store(8, slot, w.s.off+walkFrames, frame)
	w.store(walkCount, b.OpImm(ir.Add, n, 1))
}

// identify adds a frame to the identity.
func (w *walker) identify(frame ir.Reg) {
	first, second := w.load(walkID), w.load(walkID+8)
	w.g.mix(first, second, frame)
	w.store(walkID, first)
	w.store(walkID+8, second)
}

// follow computes the canonical frame address as a rule says and goes to have with it; or to wherever else the rule
// leads.
func (w *walker) follow(rule ir.Reg, have, guess, next, stop ir.Label) (cfa ir.Reg) {
	g, b := w.g, w.g.b
	cfa = b.Reg()
	kind := b.OpImm(ir.And, rule, 0xff)
	arg := b.OpImm(ir.Shr, rule, 8)
	b.ApplyImm(ir.And, arg, 0xff)
	off := b.OpImm(ir.Sar, rule, 32)
	stack, frame, done := b.Label(), b.Label(), b.Label()
	b.IfImm(ir.EQ, kind, ruleStack, stack)
	b.IfImm(ir.EQ, kind, ruleFrame, frame)
	b.IfImm(ir.EQ, kind, ruleStop, stop)
	deref, plt, signal, fp, register := b.Label(), b.Label(), b.Label(), b.Label(), b.Label()
	stackAt, at := b.Label(), b.Label()
	b.IfImm(ir.EQ, kind, ruleDeref, deref)
	b.IfImm(ir.EQ, kind, rulePLT, plt)
	b.IfImm(ir.EQ, kind, ruleSignal, signal)
	b.IfImm(ir.EQ, kind, ruleFP, fp)
	b.IfImm(ir.EQ, kind, ruleRegister, register)
	b.IfImm(ir.EQ, kind, ruleStackAt, stackAt)
	b.Jump(guess)

	b.Bind(stackAt)
	b.Apply(ir.Add, off, w.load(walkSP))
	b.Jump(at)
	b.Bind(deref)
	b.Apply(ir.Add, off, w.load(walkBP))
	b.Bind(at)
	w.read(w.s.at(walkPair), 8, off, stop)
	b.Set(cfa, w.load(walkPair))
	b.Apply(ir.Add, cfa, arg)
	b.Jump(done)

	b.Bind(plt)
	b.Set(cfa, w.load(walkSP))
	b.Apply(ir.Add, cfa, off)
	b.If(ir.LT, b.OpImm(ir.And, w.load(walkPC), 15), arg, done)
	b.ApplyImm(ir.Add, cfa, 8)
	b.Jump(done)

	b.Bind(signal)
	// uc_mcontext, in it from rbp on: rbp, rbx, rdx, rax, rcx, rsp, rip
	w.read(w.s.at(walkBytes), 56, b.OpImm(ir.Add, w.load(walkSP), 40+80), stop)
	w.set(walkLength, 0)
	w.store(walkBP, w.load(walkBytes))
	w.store(walkSP, w.load(walkBytes+40))
	w.store(walkPC, w.load(walkBytes+48))
	w.set(walkBack, 0)
	b.Jump(next)

	b.Bind(fp)
	w.frame(next, stop)

	b.Bind(register) // in leaves only: callers' registers are not followed
	b.IfImm(ir.NE, w.load(walkCount), 1, guess)
	b.ApplyImm(ir.Shl, arg, 3)
	b.Do(asm.FnProbeReadKernel, g.addr(w.s.at(walkPair)), ir.I(8), ir.R(b.Op(ir.Add, arg, w.load(walkRegs))))
	b.Set(cfa, w.load(walkPair))
	b.Apply(ir.Add, cfa, off)
	b.Jump(done)

	b.Bind(frame)
	b.Set(cfa, w.load(walkBP))
	b.Apply(ir.Add, cfa, off)
	b.Jump(done)
	b.Bind(stack)
	b.Set(cfa, w.load(walkSP))
	b.Apply(ir.Add, cfa, off)
	b.Bind(done)
	b.Jump(have)
	return cfa
}

// read reads user memory; it goes to fail if that is not possible.
func (w *walker) read(dst memory, n int, from ir.Reg, fail ir.Label) {
	w.readN(dst, func() ir.Operand { return ir.I(int64(n)) }, from, fail)
}

func (w *walker) readN(dst memory, n func() ir.Operand, from ir.Reg, fail ir.Label) {
	g, b := w.g, w.g.b
	ok := b.Label()
	b.IfImm(ir.EQ, b.Call(asm.FnProbeReadUser, g.addr(dst), n(), ir.R(from)), 0, ok)
	if g.sleepable {
		b.IfImm(ir.EQ, b.Call(asm.FnCopyFromUser, g.addr(dst), n(), ir.R(from)), 0, ok)
	}
	w.mark(walkBroken)
	w.set(walkLength, 0)
	b.Jump(fail)
	b.Bind(ok)
}

// caller takes the return address and the frame pointer from below the canonical frame address.
func (w *walker) caller(rule, cfa ir.Reg, next, stop ir.Label) {
	g, b := w.g, w.g.b
	upwards := b.Label()
	b.If(ir.GT, cfa, w.load(walkSP), upwards)
	w.mark(walkBroken) // stacks grow downwards: what does not go up goes in circles
	b.Jump(stop)
	b.Bind(upwards)
	saved := b.OpImm(ir.Shl, rule, 32)
	b.ApplyImm(ir.Sar, saved, 48)
	low := b.OpImm(ir.Sub, cfa, 16)
	near, fill, inside := b.Label(), b.Label(), b.Label()
	b.IfImm(ir.SGE, saved, -16, near)
	b.IfImm(ir.SLT, saved, -walkFarthest, near)
	b.Set(low, cfa)
	b.Apply(ir.Add, low, saved)
	b.Bind(near)
	b.If(ir.LT, low, w.load(walkBase), fill)
	b.If(ir.LE, cfa, b.Op(ir.Add, w.load(walkBase), w.load(walkLength)), inside)
	b.Bind(fill)
	w.store(walkBase, low)
	n := b.Imm(walkPage) // not beyond a page that may be the last
	b.Apply(ir.Sub, n, b.OpImm(ir.And, low, walkPage-1))
	least, enough := b.Op(ir.Sub, cfa, low), b.Label()
	b.If(ir.GE, n, least, enough)
	b.Set(n, least)
	b.Bind(enough)
	w.store(walkLength, g.atMost(n, walkBaseSize))
	w.readN(w.s.at(walkBytes), func() ir.Operand {
		return g.size(length{reg: w.load(walkLength), most: walkBaseSize})
	}, low, stop)
	b.Bind(inside)
	w.store(walkPC, w.inside(b.OpImm(ir.Sub, cfa, 8)))
	w.store(walkSP, cfa)
	w.set(walkBack, 1)
	at, lost := b.Label(), b.Label()
	b.IfImm(ir.EQ, saved, ruleKept, next)
	b.IfImm(ir.EQ, saved, ruleAtFrame, at)
	b.IfImm(ir.SLT, saved, -walkFarthest, lost)
	b.IfImm(ir.SGE, saved, 0, lost)
	w.store(walkBP, w.inside(b.Op(ir.Add, cfa, saved)))
	b.Jump(next)
	b.Bind(at)
	w.read(w.s.at(walkPair), 8, w.load(walkBP), stop)
	w.store(walkBP, w.load(walkPair))
	b.Jump(next)
	b.Bind(lost)
	w.set(walkBP, 0)
	b.Jump(next)
}

// inside is a word of the part of the stack that was read.
func (w *walker) inside(at ir.Reg) ir.Reg {
	g, b := w.g, w.g.b
	i := b.Copy(at)
	b.Apply(ir.Sub, i, w.load(walkBase))
	b.ApplyImm(ir.And, i, walkBaseSize-1)
	b.Apply(ir.Add, i, g.buf)
	return b.Load(8, i, w.s.off+walkBytes)
}

// guess goes on by the frame pointer where no table is. At a function's entry, and where it returns, the caller is
// known without a frame. If nothing is known of other code that was hit there is no stack: then the kernel walks it.
func (w *walker) guess(next, stop ir.Label) {
	b := w.g.b
	some, known, sound := b.Label(), b.Label(), b.Label()
	if w.g.atEntry() {
		b.IfImm(ir.NE, w.load(walkCount), 1, some)
		w.first(0, stop) // what it calls has pushed a return address
		w.read(w.s.at(walkPair), 8, w.load(walkSP), stop)
		w.store(walkPC, w.load(walkPair))
		w.store(walkSP, b.OpImm(ir.Add, w.load(walkSP), 8))
		w.set(walkBack, 1)
		b.Jump(next)
		b.Bind(some)
		w.first(walkFirst, stop)
	} else {
		w.first(walkFirst, stop)
		b.IfImm(ir.NE, w.load(walkCount), 1, some)
		b.IfImm(ir.EQ, b.OpImm(ir.And, w.load(walkEndedBy), walkUnknown), 0, known)
		w.set(walkCount, 0)
		b.Jump(stop)
		b.Bind(some)
		b.Bind(known)
	}
	w.mark(walkGuessed)
	bp := w.load(walkBP)
	b.IfImm(ir.EQ, bp, 0, stop)
	high := b.Op(ir.Sub, bp, w.load(walkSP))
	bad := b.Label()
	b.IfImm(ir.Set, bp, 7, bad)
	b.IfImm(ir.LT, high, walkReach, sound) // not if it is below either
	b.Bind(bad)
	w.mark(walkBroken)
	b.Jump(stop)
	b.Bind(sound)
	w.frame(next, stop)
}

// first goes to stop at a program's first instructions, which tell nothing of frames and have no caller: so many bytes
// of the stack may be in use at most.
func (w *walker) first(used int64, stop ir.Label) {
	b := w.g.b
	high := b.OpImm(ir.Add, w.load(walkSP), used)
	b.Apply(ir.Sub, high, w.load(walkTop))
	b.IfImm(ir.LT, high, walkPage, stop)
}

// frame takes the caller from where the frame pointer points.
func (w *walker) frame(next, stop ir.Label) {
	b := w.g.b
	bp := w.load(walkBP)
	b.IfImm(ir.EQ, bp, 0, stop)
	w.read(w.s.at(walkPair), 16, bp, stop)
	w.store(walkSP, b.OpImm(ir.Add, w.load(walkBP), 16))
	w.store(walkBP, w.load(walkPair))
	w.store(walkPC, w.load(walkPair+8))
	w.set(walkBack, 1)
	b.Jump(next)
}

// nowhere is called where no code is mapped: who led there was wrong, unless mappings are being changed just now. Then
// it goes to again.
func (w *walker) nowhere(again ir.Label) {
	b := w.g.b
	tries := b.OpImm(ir.Add, w.load(walkTries), 1)
	w.store(walkTries, tries)
	b.IfImm(ir.LT, tries, walkMostTries, again)
	w.mark(walkBroken)
}

// replaced puts back the return address of a call whose return is probed: the kernel has its own in its place, which
// is in memory of no file. It keeps a list of such calls, innermost first; each step looks at one. It goes to none if
// it was no such address.
func (w *walker) replaced(none, next ir.Label) {
	g, b, at := w.g, w.g.b, w.g.unwind
	look, have := b.Label(), b.Label()
	b.IfImm(ir.EQ, w.load(walkCount), 0, none)
	call := b.Copy(w.load(walkReturn))
	b.IfImm(ir.EQ, call, 1, none)
	b.IfImm(ir.NE, call, 0, look)
	w.set(walkPair, 0)
	task := b.OpImm(ir.Add, b.Call(asm.FnGetCurrentTask), int64(at.Task))
	b.Do(asm.FnProbeReadKernel, g.addr(w.s.at(walkPair)), ir.I(8), ir.R(task))
	b.IfImm(ir.EQ, w.load(walkPair), 0, none)
	b.Do(asm.FnProbeReadKernel, g.addr(w.s.at(walkPair)), ir.I(8), ir.A(w.load(walkPair), at.Returns))
	b.Set(call, w.load(walkPair))
	b.IfImm(ir.EQ, call, 0, none)
	b.Bind(look)
	field := func(off int) ir.Reg {
		b.Do(asm.FnProbeReadKernel, g.addr(w.s.at(walkPair)), ir.I(8), ir.A(call, off))
		return w.load(walkPair)
	}
	// Several probes of one call have the same.
	slot := b.OpImm(ir.Sub, w.load(walkSP), 8)
	b.If(ir.EQ, field(at.ReturnStack), slot, have)
	following, some := b.Copy(field(at.ReturnNext)), b.Label()
	b.IfImm(ir.NE, following, 0, some)
	b.SetImm(following, 1)
	b.Bind(some)
	w.store(walkReturn, following)
	b.Jump(next)
	b.Bind(have)
	w.store(walkReturn, call)
	w.store(walkPC, field(at.ReturnAddress))
	b.Jump(next)
}

// unwindMaps are the maps by which stacks are walked.
func (c *compiler) unwindMaps(add func(*ebpf.MapSpec)) {
	if c.unwinds == nil {
		return
	}
	rules := array(record.UnwindRules, record.UnwindRulesSize)
	near := array(record.UnwindNear, 4*record.UnwindNearWords+record.UnwindSlack)
	rules.Flags, near.Flags = 1<<10, 1<<10 // BPF_F_MMAPABLE
	add(rules)
	add(near)
	add(array(record.UnwindSeen, record.UnwindSeenSize))
	add(array(record.UnwindAsked, record.UnwindAskedSize))
	add(array(record.UnwindFile, record.UnwindFileSize))
	add(array(record.UnwindAreas, record.UnwindAreasSize))
	add(&ebpf.MapSpec{
		Name: record.UnwindFiles, Type: ebpf.Hash, KeySize: record.FileKeySize, ValueSize: record.FileSize,
		MaxEntries: 1 << 14, Flags: 1, // BPF_F_NO_PREALLOC
	})
	add(&ebpf.MapSpec{
		Name: record.UnwindWords, Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: record.UnwindChunks,
		InnerMap: array(record.UnwindWords, record.UnwindChunkSize+record.UnwindSlack),
	})
	c.pythonMap(add)
	c.fileKeys(c.unwinds)
}
