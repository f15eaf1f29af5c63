package codegen

import (
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
)

// goRegister is the register that points to the running goroutine's g in Go code (ABIInternal on amd64).
const goRegister = "r14"

// goroutine makes goid and goframe.
func (g *gen) goroutine(e *check.Call) ir.Reg {
	p := g.points[0]
	off, ok := g.c.opts.Arch.Regs[goRegister]
	if p.Go == nil || !ok || g.class != Uprobe {
		refuse(e.Span, "%s needs a probe on Go code", e.Fn.ID)
	}
	l, err := p.Go.Layout()
	if err != nil {
		refuse(e.Span, "%s is not known: %s", e.Fn.ID, err)
	}
	b := g.b
	at := func(base ir.Reg, off int) ir.Reg {
		return b.Copy(g.load(memory{space: inUser, base: base, off: off}, 8, false, e.Span))
	}
	own := g.register(off)
	if e.Fn.ID == "goframe" {
		return b.Op(ir.Sub, at(own, l.StackHi), g.register(g.c.opts.Arch.SP))
	}
	id, end := at(own, l.Goid), b.Label()
	b.IfImm(ir.NE, id, 0, end)
	// A thread's own g: its m knows the goroutine that it works for.
	cur := at(at(own, l.M), l.CurG)
	b.IfImm(ir.EQ, cur, 0, end)
	b.Set(id, at(cur, l.Goid))
	b.Bind(end)
	return id
}
