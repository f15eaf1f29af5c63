package codegen

import (
	"slices"
	"strings"

	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// Floating-point registers stay in the CPU while the kernel runs a program, which cannot read them there. Where the
// thread is taken off the CPU, the kernel stores them in its memory. So the program wakes a thread of ours that waits
// on this CPU and comes first (kernel.waits), and lets the kernel switch to it where that looks for it: when it looks
// up a page of the process. That it has is seen by the count of the thread's switches; else nothing is known of them.

// Floats is where the kernel keeps the floating-point registers of a thread.
type Floats struct {
	State    int    // in struct task_struct, or behind it: the pointer to what has them
	Regs     int    // where that has what the CPU stored
	Switches [2]int // in struct task_struct: how often the thread was taken off a CPU, because it waited and otherwise
	Policy   int    // there, too: the policy by which it is scheduled
}

// maxWaits bounds how often a switch is waited for: in most cases the first time is enough.
const maxWaits = 32

// wakeNow is BPF_RB_FORCE_WAKEUP.
const wakeNow = 2

// idlePolicy is SCHED_IDLE: such a thread may come back late, and would hold a lock of its process till then.
const idlePolicy = 5

// float is the address of the kernel's copy of a register, 0 and a bit if there is none.
func (g *gen) float(reg int, span diag.Span) ir.Reg {
	known := g.c.opts.Arch.Floats
	if known == nil || g.c.opts.Floats == nil || !g.sleepable || g.floatSlot == 0 {
		refuse(span, "the value is in %s, which BPF can't read", g.c.opts.Arch.RegisterName(reg))
	}
	area, off, ok := known.Find(reg)
	if !ok {
		refuse(span, "internal: the kernel keeps no register %d", reg)
	}
	g.floating, g.c.floats = true, true
	g.floatReads++
	for i := range known.Areas {
		if area == &known.Areas[i] {
			return g.b.OpImm(ir.Add, g.b.Load(8, g.frame, g.floatSlot+8*i), int64(off))
		}
	}
	return ir.NoReg
}

// floatAreas is how many areas of registers there are, 0 if nothing that the probe has is in them.
func (g *gen) floatAreas() int {
	if len(g.points) == 0 || g.points[0].Scope == nil || g.c.opts.Arch.Floats == nil {
		return 0
	}
	s := g.points[0].Scope
	if s.Retval != nil && s.Retval.Place.KernelPartly() ||
		slices.ContainsFunc(s.Args, func(v probe.Var) bool { return v.Place.KernelPartly() }) {
		return len(g.c.opts.Arch.Floats.Areas)
	}
	return 0
}

// floats has the kernel store the registers, and finds where. Of those that are not known the program reads what stands
// for that; a condition that asks for them does not hold.
func (g *gen) floats() {
	b, span, known := g.b, g.act.Span, g.c.opts.Arch.Floats
	at, err := g.c.opts.Floats()
	if err != nil {
		refuse(span, "floating-point registers are not available: %s", err)
	}
	b.Comment("floating-point registers")
	end, top, stored, unknown := b.Label(), b.Label(), b.Label(), b.Label()
	outer := g.onFail
	g.onFail = func(memory) { b.Jump(unknown) }
	word := func(base ir.Reg, off int) ir.Reg {
		return b.Copy(g.load(memory{space: inKernel, base: base, off: off}, 8, false, span))
	}
	task := b.Copy(b.Call(asm.FnGetCurrentTaskBtf))
	switches := func() ir.Reg {
		n := word(task, at.Switches[0])
		b.Apply(ir.Add, n, word(task, at.Switches[1]))
		return n
	}
	policy := g.load(memory{space: inKernel, base: task, off: at.Policy}, 4, false, span)
	b.IfImm(ir.EQ, policy, idlePolicy, unknown)
	before := switches()
	key := b.Slot(8)
	b.StoreImm(8, ir.FP, key, 0)
	b.Store(4, ir.FP, key, b.Call(asm.FnGetSmpProcessorId))
	ring := b.Call(asm.FnMapLookupElem, ir.M(record.WaitsName), ir.A(ir.FP, key))
	b.IfImm(ir.EQ, ring, 0, unknown)
	b.Do(asm.FnRingbufOutput, ir.R(ring), ir.A(ir.FP, key), ir.I(8), ir.I(wakeNow))
	n := b.Imm(0)
	b.Bind(top)
	b.If(ir.NE, switches(), before, stored)
	b.ApplyImm(ir.Add, n, 1)
	b.IfImm(ir.GT, n, maxWaits, unknown)
	b.Do(asm.FnCopyFromUserTask, ir.A(ir.FP, key), ir.I(1), ir.R(g.saved(g.c.opts.Arch.SP)), ir.R(task), ir.I(0))
	b.Jump(top)
	b.Bind(stored)
	regs := word(task, at.State)
	b.ApplyImm(ir.Add, regs, int64(at.Regs))
	used := word(regs, known.State)
	for i, a := range known.Areas {
		unused, next := b.Label(), b.Label()
		b.IfImm(ir.EQ, b.OpImm(ir.And, used, 1<<a.Bit), 0, unused)
		b.Store(8, ir.FP, g.floatSlot+8*i, b.OpImm(ir.Add, regs, int64(a.At)))
		b.Jump(next)
		b.Bind(unused)
		g.c.zeros = max(g.c.zeros, a.Count*a.Size)
		b.Store(8, ir.FP, g.floatSlot+8*i, b.MapValue(record.ZerosName, 0))
		b.Bind(next)
	}
	b.StoreImm(8, ir.FP, g.floatSlot+8*len(known.Areas), 1)
	b.Jump(end)
	b.Bind(unknown)
	g.count(g.c.lossOnce(record.LostFloats))
	most := 0
	for _, a := range known.Areas {
		most = max(most, a.Count*a.Size)
	}
	nothing := g.c.text(strings.Repeat(record.UnknownFloat, most/len(record.UnknownFloat)))
	for i := range known.Areas {
		b.Store(8, ir.FP, g.floatSlot+8*i, b.MapValue(record.StringsName, nothing))
	}
	b.StoreImm(8, ir.FP, g.floatSlot+8*len(known.Areas), 0)
	b.Bind(end)
	g.onFail = outer
}
