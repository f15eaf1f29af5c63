package codegen

import (
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// routine makes goid and goframe.
func (g *gen) routine(e *check.Call) ir.Reg {
	c := g.points[0].Call
	switch {
	case c == nil || g.typ != probe.UprobeProgram:
		refuse(e.Span, "%s needs a probe on Go code", e.Fn.ID)
	case c.Unknown != "":
		refuse(e.Span, "%s is not known: %s", e.Fn.ID, c.Unknown)
	}
	id, frame := g.call(c, e.Span)
	if e.Fn.ID == builtin.RoutineFrame {
		return frame
	}
	return id
}

// call makes what tells a call of a goroutine from all others: the goroutine, and the place of the frame as seen from
// the stack's end, which stays when the stack is moved.
func (g *gen) call(c *probe.Call, span diag.Span) (id, frame ir.Reg) {
	b := g.b
	at := func(base ir.Reg, off int) ir.Reg {
		return b.Copy(g.load(memory{space: inUser, base: base, off: off}, 8, false, span))
	}
	own := g.machine(c.Register, span)
	sp := g.machine(g.c.opts.Arch.SP, span)
	if c.Depth != 0 {
		sp = b.OpImm(ir.Add, sp, c.Depth)
	}
	frame = b.Copy(b.Op(ir.Sub, at(own, c.StackEnd), sp))
	id, end := at(own, c.ID), b.Label()
	b.IfImm(ir.NE, id, 0, end)
	// A thread's own g, whose stack is never moved: the address tells its frames from those of other threads, and of the
	// goroutine that it works for, which its m knows.
	b.Set(frame, sp)
	cur := at(at(own, c.Thread), c.Current)
	b.IfImm(ir.EQ, cur, 0, end)
	b.Set(id, at(cur, c.ID))
	b.Bind(end)
	return id, frame
}
