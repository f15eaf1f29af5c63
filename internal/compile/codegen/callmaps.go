package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
)

func (c *codes) mapOps() {
	c[builtin.Delete] = code{scalar: (*gen).deleteEntry, effect: func(g *gen, e *check.Call) {
		res := g.deleteEntry(e)
		if g.c.opts.HelperErrors {
			ok := g.b.Label()
			g.b.IfImm(ir.NE, res, 0, ok)
			g.helperError("map_delete_elem", g.b.Imm(-2), e.Span)
			g.b.Bind(ok)
		}
	}}
	c[builtin.HasKey].scalar = func(g *gen, e *check.Call) ir.Reg {
		b := g.b
		p := g.entry(e.Args[0].Map, e.Args[1].Expr)
		r, end := b.Imm(0), b.Label()
		b.IfImm(ir.EQ, p, 0, end)
		b.SetImm(r, 1)
		b.Bind(end)
		return r
	}
	c[builtin.Find].scalar = (*gen).find
	c[builtin.Len] = code{scalar: (*gen).length, callback: func(e *check.Call) bool { return e.Args[0].Map != nil }}
	c[builtin.Clear].effect = aboutMap(record.Clear)
	c[builtin.Zero].effect = aboutMap(record.Zero)
}

// aboutMap sends a record that asks user space to do something with a map.
func aboutMap(kind record.Kind) func(*gen, *check.Call) {
	return func(g *gen, e *check.Call) {
		l := g.layout(kind, e.Span)
		l.Map = e.Args[0].Map.ID
		g.send(l, nil)
	}
}

// deleteEntry removes an entry, and says whether there was one.
func (g *gen) deleteEntry(e *check.Call) ir.Reg {
	b := g.b
	m := e.Args[0].Map
	s := g.storage(m)
	r, end := b.Imm(0), b.Label()
	if s.Scalar {
		if s.PerCPU {
			// All CPUs' values can be cleared by user space only.
			l := g.layout(record.Clear, e.Span)
			l.Map = m.ID
			g.send(l, nil)
			b.SetImm(r, 1)
			b.Bind(end)
			return r
		}
		p := b.MapValue(s.Name, 0)
		b.IfImm(ir.EQ, b.Load(8, p, 0), 0, end)
		b.StoreImm(8, p, 0, 0)
		b.SetImm(r, 1)
		b.Bind(end)
		g.zero(memory{space: inReg, base: b.MapValue(s.Name, record.ScalarHeader)}, roundUp(m.Value.Size))
		return r
	}
	var key check.Expr
	if len(e.Args) > 1 {
		key = e.Args[1].Expr
	}
	res := b.Call(asm.FnMapDeleteElem, ir.M(s.Name), g.addr(g.key(m, key)))
	b.IfImm(ir.NE, res, 0, end)
	b.SetImm(r, 1)
	b.Bind(end)
	return r
}

// find sets a variable to an entry's value if there is one.
func (g *gen) find(e *check.Call) ir.Reg {
	b := g.b
	m := e.Args[0].Map
	v := g.variable(e.Args[2].Var)
	r, end := b.Imm(0), b.Label()
	p := g.entry(m, e.Args[1].Expr)
	b.IfImm(ir.EQ, p, 0, end)
	src := memory{space: inReg, base: p}
	t := e.Args[2].Var.Type
	switch {
	case v.mem == nil:
		b.Set(v.reg, g.load(src, m.Value.Size, m.Value.Signed, e.Span))
	case t.IsScalar():
		g.store(*v.mem, t.Size, g.load(src, m.Value.Size, m.Value.Signed, e.Span))
	default:
		g.convert(*v.mem, src, m.Value, t, e.Span)
	}
	b.SetImm(r, 1)
	b.Bind(end)
	return r
}

// listOf tells how to reach the elements that a call of len counts, if they are of a value of the program's language.
func listOf(e *check.Call) (types.View, bool) {
	if e.Args[0].Expr == nil {
		return types.View{}, false
	}
	return e.Args[0].Expr.Type().Complete().Elements()
}

// length is len of a map or a stack.
func (g *gen) length(e *check.Call) ir.Reg {
	b := g.b
	m := e.Args[0].Map
	if v, ok := listOf(e); ok {
		_, n := g.viewOf(v, g.place(e.Args[0].Expr), e.Span)
		return n
	}
	if m == nil && e.Args[0].Expr.Type().Form() == types.JavaForm {
		return g.user(g.scalar(e.Args[0].Expr), e.Args[0].Expr.Type().Source.Java.Length, 4, e.Span)
	}
	if m == nil {
		n := g.load(g.place(e.Args[0].Expr).at(4), 4, false, e.Span)
		b.ApplyImm(ir.And, n, types.StackTimed-1)
		return n
	}
	s := g.storage(m)
	if s.Scalar {
		refuse(e.Span, "%s has no keys to count", m.Name)
	}
	if !g.c.opts.Features.Has(feature.ForEachMapElem) {
		refuse(e.Span, "counting a map's entries in a program needs bpf_for_each_map_elem (Linux 5.13)")
	}
	// The helper returns the number of entries it went through.
	f := g.callback(4, 3, func(*ir.Builder) {})
	return b.Call(asm.FnForEachMapElem, ir.M(s.Name), ir.F(f), ir.A(g.frame, 0), ir.I(0))
}
