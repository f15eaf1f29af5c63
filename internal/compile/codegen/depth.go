package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
)

// The kernel replaces the return addresses of 64 calls of a thread that are open in each other (MAX_URETPROBE_DEPTH in
// include/linux/uprobes.h), for all who ask it together. Deeper calls return unseen, which only its log tells. It looks
// at its count behind the programs at the entry (handler_chain in kernel/events/uprobes.c), so that these know.
const maxReturnDepth = 64

// depths makes the program that counts calls whose returns the kernel lets pass.
func (c *compiler) depths(a *check.Action, points []*probe.Point) {
	if c.opts.ReturnDepth == nil {
		return
	}
	if _, _, ok := c.opts.ReturnDepth(); !ok {
		return
	}
	if entries := entriesOf(a, points); len(entries) > 0 {
		c.compileGroup(a, &group{typ: probe.UprobeProgram, points: entries, deep: true})
	}
}

// nested is that program.
func (g *gen) nested() {
	b := g.b
	g.frame, g.ctx, g.buf = ir.FP, b.Copy(b.Param(0)), b.Reg()
	quit := b.Label()
	g.filter(quit)
	pointer, depth, _ := g.c.opts.ReturnDepth()
	at := func(base ir.Reg, off, n int) ir.Reg {
		return b.Copy(g.load(memory{space: inKernel, base: base, off: off}, n, false, g.act.Span))
	}
	task := at(b.Call(asm.FnGetCurrentTask), pointer, 8)
	b.IfImm(ir.EQ, task, 0, quit)
	b.IfImm(ir.LT, at(task, depth, 4), maxReturnDepth, quit)
	g.count(g.c.loss(record.Loss{Kind: record.LostReturns, Action: g.act.Index}, g.act.Span))
	b.Bind(quit)
	b.Exit(0)
}
