package codegen

import (
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// goRegister is the register that points to the running goroutine's g in Go code (ABIInternal on amd64).
const goRegister = "r14"

// goroutine makes goid and goframe.
func (g *gen) goroutine(e *check.Call) ir.Reg {
	p := g.points[0]
	if _, ok := g.c.opts.Arch.Regs[goRegister]; p.Go == nil || !ok || g.class != Uprobe {
		refuse(e.Span, "%s needs a probe on Go code", e.Fn.ID)
	}
	l, err := p.Go.Layout()
	if err != nil {
		refuse(e.Span, "%s is not known: %s", e.Fn.ID, err)
	}
	id, frame := g.goCall(l, e.Span)
	if e.Fn.ID == "goframe" {
		return frame
	}
	return id
}

// goCall makes what tells a call of a goroutine from all others: the goroutine, and the place of the frame as seen from the
// stack's end, which stays when the stack is moved.
func (g *gen) goCall(l probe.GoLayout, span diag.Span) (id, frame ir.Reg) {
	b := g.b
	at := func(base ir.Reg, off int) ir.Reg {
		return b.Copy(g.load(memory{space: inUser, base: base, off: off}, 8, false, span))
	}
	own := g.register(g.c.opts.Arch.Regs[goRegister])
	sp := g.register(g.c.opts.Arch.SP)
	frame = b.Copy(b.Op(ir.Sub, at(own, l.StackHi), sp))
	id, end := at(own, l.Goid), b.Label()
	b.IfImm(ir.NE, id, 0, end)
	// A thread's own g, whose stack is never moved: the address tells its frames from those of other threads, and of the goroutine
	// that it works for, which its m knows.
	b.Set(frame, sp)
	cur := at(at(own, l.M), l.CurG)
	b.IfImm(ir.EQ, cur, 0, end)
	b.Set(id, at(cur, l.Goid))
	b.Bind(end)
	return id, frame
}
