package codegen

import (
	"fmt"

	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
)

func (g *gen) block(b *check.Block) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		g.stmt(s)
	}
}

func (g *gen) stmt(s check.Stmt) {
	b := g.b
	if b.Len() > ir.MaxLen {
		refuse(s.Pos(), "this action is too big: it has more than %d instructions here", ir.MaxLen)
	}
	m := g.mark()
	defer g.free(m)
	if at := s.Pos(); at.Source != nil {
		line, _ := at.Source.Pos(at.Start)
		b.Comment("line %d", line)
	}
	switch s := s.(type) {
	case *check.Block:
		g.block(s)
	case *check.ExprStmt:
		g.effect(s.X)
	case *check.SetVar:
		g.setVar(s)
	case *check.SetMap:
		g.setMap(s)
	case *check.Aggregate:
		g.aggregate(s)
	case *check.If:
		switch {
		case s.Then == nil:
			end := b.Label()
			g.cond(s.Cond, end, true)
			g.block(s.Else)
			b.Bind(end)
		case s.Else == nil:
			g.branch(s.Cond, func() { g.block(s.Then) }, nil)
		default:
			g.branch(s.Cond, func() { g.block(s.Then) }, func() { g.block(s.Else) })
		}
	case *check.While:
		g.while(s)
	case *check.ForRange:
		g.forRange(s)
	case *check.ForMap:
		g.forMap(s)
	case *check.Unrolled:
		for _, body := range s.Bodies {
			g.block(body)
		}
	case *check.Jump:
		g.jump(s)
	default:
		refuse(s.Pos(), "internal: no code for statement %T", s)
	}
}

// effect evaluates an expression whose value is dropped.
func (g *gen) effect(e check.Expr) {
	switch e := e.(type) {
	case *check.Call:
		g.callEffect(e)
	case *check.Ternary:
		g.branch(e.Cond, func() { g.effect(e.Then) }, func() { g.effect(e.Else) })
	case *check.BlockExpr:
		g.block(e.Body)
		if e.Value != nil {
			g.effect(e.Value)
		}
	case *check.IncDec:
		g.incDec(e, false)
	case *check.Const, *check.StrConst, *check.VarRef, *check.ArgRef, *check.ArgsRef, nil:
	case *check.MapGet, *check.Unary, *check.Binary, *check.Logic, *check.Cast, *check.Deref, *check.Member, *check.Index,
		*check.AddrOf, *check.TupleLit:
		if e.Type().IsScalar() {
			g.scalar(e)
		} else if e.Type().Kind != types.None {
			g.place(e)
		}
	default:
		refuse(e.Pos(), "internal: no code for expression %T", e)
	}
}

func (g *gen) setVar(s *check.SetVar) {
	b := g.b
	v := g.variable(s.Var)
	t := s.Var.Type
	if v.mem == nil {
		if s.Value == nil {
			b.SetImm(v.reg, 0)
			return
		}
		b.Set(v.reg, g.scalar(s.Value))
		return
	}
	if s.Value == nil {
		g.zero(*v.mem, t.Size)
		return
	}
	if t.IsScalar() {
		r := g.scalar(s.Value)
		if t.Kind == types.Pointer {
			base, off := g.ref(*v.mem)
			b.Store(8, base, off, r)
			return
		}
		g.store(*v.mem, t.Size, r)
		return
	}
	switch s.Value.(type) {
	case *check.StrConst, *check.MapGet, *check.VarRef:
		g.into(*v.mem, s.Value, t)
		return
	}
	// The value may use the variable: build it aside.
	tmp := g.temp(t.Size)
	g.into(tmp, s.Value, t)
	g.copy(*v.mem, tmp, t.Size)
}

func (g *gen) jump(s *check.Jump) {
	b := g.b
	switch {
	case s.Kind == "return":
		if s.Value != nil {
			r := g.scalar(s.Value)
			if g.framed {
				b.Store(8, g.frame, g.retSlot, r)
			} else {
				b.Set(g.retval, r)
			}
		}
		if g.b == g.main {
			b.Jump(g.exit)
			return
		}
		b.StoreImm(8, g.frame, g.leaveSlot, 1)
		b.Exit(1)
	case g.loop == nil:
		refuse(s.Span, "%s outside of a loop", s.Kind)
	case s.Kind == "continue":
		b.Jump(g.loop.next)
	case s.Kind != "break":
		refuse(s.Span, "internal: no code for the jump %q", s.Kind)
	case g.loop.inline:
		b.Jump(g.loop.end)
	default:
		b.Exit(1)
	}
}

// callback makes a function that runs in its own stack frame and reaches main's through a parameter. It returns 0 to go
// on and 1 to stop.
func (g *gen) callback(params, frame int, body func(b *ir.Builder)) *ir.Builder {
	g.names++
	f := g.p.Func(fmt.Sprintf("%s_cb%d", g.main.Name(), g.names), params)
	b, ctx, base, buf, outer, onFail := g.b, g.ctx, g.frame, g.buf, g.loop, g.onFail
	g.b, g.frame, g.onFail = f, f.Param(frame), nil
	g.ctx = f.Load(8, g.frame, g.ctxSlot)
	g.buf = f.Load(8, g.frame, g.bufSlot)
	g.loop = &loop{next: f.Label()}
	body(f)
	f.Bind(g.loop.next)
	f.Exit(0)
	g.b, g.ctx, g.frame, g.buf, g.loop, g.onFail = b, ctx, base, buf, outer, onFail
	return f
}

// repeat runs a step up to n times, until it goes to stop; next ends a step. All that steps share is in memory. Without
// bpf_loop it is at most inline times, since the verifier follows each.
func (g *gen) repeat(n, inline int, step func(next, stop ir.Label)) {
	b := g.b
	if g.c.opts.Features.Has(feature.Loop) && g.framed {
		f := g.callback(2, 1, func(f *ir.Builder) {
			next, stop := f.Label(), f.Label()
			step(next, stop)
			f.Jump(next)
			f.Bind(stop)
			f.Exit(1)
			f.Bind(next)
		})
		b.Do(asm.FnLoop, ir.I(int64(n)), ir.F(f), ir.A(g.frame, 0), ir.I(0))
		return
	}
	i, top, next, stop := b.Imm(0), b.Label(), b.Label(), b.Label()
	b.Bind(top)
	step(next, stop)
	b.Bind(next)
	b.ApplyImm(ir.Add, i, 1)
	b.IfImm(ir.LT, i, int64(inline), top)
	b.Bind(stop)
}

// left leaves the enclosing function if a loop's body returned.
func (g *gen) left(body *check.Block) {
	if !leaves(body) {
		return
	}
	b := g.b
	flag := b.Load(8, g.frame, g.leaveSlot)
	if g.b == g.main {
		b.IfImm(ir.NE, flag, 0, g.exit)
		return
	}
	stay := b.Label()
	b.IfImm(ir.EQ, flag, 0, stay)
	b.Exit(1)
	b.Bind(stay)
}

// launder makes the verifier forget what it knows of the variables that a loop changes. It follows a callback from
// state to state until nothing new comes, so a counter whose value it knows would be followed through each iteration,
// and, since it does not see that a callback asked to stop, beyond the end.
func (g *gen) launder(body *check.Block, cond check.Expr) {
	b := g.b
	unknown := ir.NoReg
	done := map[*check.Var]bool{}
	forget := func(v *check.Var) {
		t := v.Type
		if done[v] || !t.IsScalar() || t.Kind == types.Pointer && t.Space == types.BPF {
			return
		}
		done[v] = true
		place := g.variable(v)
		if place.mem == nil {
			return
		}
		if unknown == ir.NoReg {
			// Always 0, but only the kernel's memory knows.
			unknown = b.Load(8, b.MapValue(record.ZerosName, 0), 0)
		}
		base, off := g.ref(*place.mem)
		b.Store(8, base, off, b.Op(ir.Add, b.Load(8, base, off), unknown))
	}
	v := visitor{
		stmt: func(s check.Stmt) {
			if s, ok := s.(*check.SetVar); ok {
				forget(s.Var)
			}
		},
		expr: func(e check.Expr) {
			switch e := e.(type) {
			case *check.IncDec:
				if r, ok := e.Target.(*check.VarRef); ok {
					forget(r.Var)
				}
			case *check.Call:
				for _, a := range e.Args {
					if a.Var != nil {
						forget(a.Var)
					}
				}
			}
		},
	}
	v.block(body)
	v.expression(cond)
}

// maxLoops is the kernel's limit for bpf_loop (BPF_MAX_LOOPS).
const maxLoops = 1 << 23

// inlineLoops is how often a loop may run on kernels without bpf_loop, where the verifier follows each iteration.
const inlineLoops = 1024

// limit counts a loop that ran into the limit.
func (g *gen) limit(at check.Stmt) {
	g.count(g.c.loss(record.Loss{Kind: record.LostLoops, Action: g.act.Index}, at.Pos()))
}

func (g *gen) while(s *check.While) {
	b := g.b
	if !g.c.opts.Features.Has(feature.Loop) {
		g.inlineLoop(s, func(end ir.Label) { g.cond(s.Cond, end, false) }, s.Body)
		return
	}
	g.launder(s.Body, s.Cond)
	f := g.callback(2, 1, func(f *ir.Builder) {
		stop := f.Label()
		on := f.Label()
		g.cond(s.Cond, stop, false)
		f.Jump(on)
		f.Bind(stop)
		f.Exit(1)
		f.Bind(on)
		g.block(s.Body)
	})
	n := b.Call(asm.FnLoop, ir.I(maxLoops), ir.F(f), ir.A(g.frame, 0), ir.I(0))
	fine := b.Label()
	b.IfImm(ir.LT, n, maxLoops, fine)
	g.limit(s)
	b.Bind(fine)
	g.left(s.Body)
}

func (g *gen) forRange(s *check.ForRange) {
	b := g.b
	start := b.Copy(g.scalar(s.Start))
	n := b.Copy(g.scalar(s.End))
	v := g.variable(s.Var)
	end := b.Label()
	over := ir.GE
	if s.Var.Type.Signed {
		over = ir.SGE
	}
	if !g.c.opts.Features.Has(feature.Loop) {
		g.inlineLoop(s, func(stop ir.Label) {
			b.If(over, start, n, stop)
			if v.mem == nil {
				b.Set(v.reg, start)
			} else {
				g.store(*v.mem, s.Var.Type.Size, start)
			}
			b.ApplyImm(ir.Add, start, 1)
		}, s.Body)
		return
	}
	b.If(over, start, n, end)
	b.Apply(ir.Sub, n, start)
	first := memory{space: inFrame, off: g.main.Slot(8)}
	g.store(first, 8, start)
	fits := b.Label()
	b.IfImm(ir.LE, n, maxLoops, fits)
	g.limit(s)
	b.SetImm(n, maxLoops)
	b.Bind(fits)
	g.launder(s.Body, nil)
	f := g.callback(2, 1, func(f *ir.Builder) {
		i := f.Load(8, g.frame, first.off)
		f.Apply(ir.Add, i, f.Param(0))
		g.store(*v.mem, s.Var.Type.Size, i)
		g.block(s.Body)
	})
	b.Do(asm.FnLoop, ir.R(n), ir.F(f), ir.A(g.frame, 0), ir.I(0))
	g.left(s.Body)
	b.Bind(end)
}

// inlineLoop is a loop for kernels without bpf_loop: head leaves to a label when it is over.
func (g *gen) inlineLoop(at check.Stmt, head func(end ir.Label), body *check.Block) {
	b := g.b
	outer := g.loop
	g.loop = &loop{next: b.Label(), end: b.Label(), inline: true}
	i, top := b.Imm(0), b.Label()
	b.Bind(top)
	head(g.loop.end)
	g.block(body)
	b.Bind(g.loop.next)
	b.ApplyImm(ir.Add, i, 1)
	b.IfImm(ir.LT, i, inlineLoops, top)
	g.limit(at)
	b.Bind(g.loop.end)
	g.loop = outer
}

// forMap runs the body for each entry with the variable as (key, value).
func (g *gen) forMap(s *check.ForMap) {
	b := g.b
	if !g.c.opts.Features.Has(feature.ForEachMapElem) {
		refuse(s.Span, "going through a map in a program needs bpf_for_each_map_elem (Linux 5.13)")
	}
	st := g.storage(s.Map)
	if st.Scalar {
		refuse(s.Span, "%s has no keys to go through", s.Map.Name)
	}
	v := g.variable(s.Var)
	t := s.Var.Type
	kf, vf := t.Fields[0], t.Fields[1]
	g.launder(s.Body, nil)
	f := g.callback(4, 3, func(f *ir.Builder) {
		g.zeroPadding(*v.mem, t)
		key := memory{space: inReg, base: f.Param(1)}
		g.copyField(*v.mem, key, s.Map.Key, kf)
		switch {
		case s.Map.Value.Kind == types.Stats:
			sum := g.sumStats(s.Map, key)
			g.copy(v.mem.at(vf.Offset), sum, 16)
		case s.Map.Value.IsCastableAgg():
			r := g.sumCPUs(s.Map, key, vf.Type)
			g.store(v.mem.at(vf.Offset), vf.Type.Size, r)
		default:
			g.copyField(*v.mem, memory{space: inReg, base: f.Param(2)}, s.Map.Value, vf)
		}
		g.block(s.Body)
	})
	b.Do(asm.FnForEachMapElem, ir.M(st.Name), ir.F(f), ir.A(g.frame, 0), ir.I(0))
	g.left(s.Body)
}

// copyField copies a key or value into a field, widening scalars.
func (g *gen) copyField(dst, src memory, from *types.Type, f types.Field) {
	if f.Type.IsScalar() && from.IsScalar() {
		g.store(dst.at(f.Offset), f.Type.Size, g.load(src, from.Size, from.Signed, g.pos()))
		return
	}
	g.convert(dst.at(f.Offset), src, from, f.Type, g.pos())
}
