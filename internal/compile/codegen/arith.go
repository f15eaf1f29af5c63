package codegen

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
)

var arithOps = map[string]ir.Op{
	"+": ir.Add, "-": ir.Sub, "*": ir.Mul, "&": ir.And, "|": ir.Or, "^": ir.Xor, "<<": ir.Shl,
}

func (g *gen) binary(e *check.Binary) ir.Reg {
	b := g.b
	if _, ok := conds[e.Op]; ok {
		if !e.X.Type().IsScalar() {
			return g.compareMemory(e)
		}
		r, end := b.Imm(0), b.Label()
		g.cond(e, end, false)
		b.SetImm(r, 1)
		b.Bind(end)
		return r
	}
	x := b.Copy(g.scalar(e.X))
	t := e.X.Type()
	switch e.Op {
	case ">>":
		op := ir.Shr
		if t.Signed {
			op = ir.Sar
		}
		g.apply(op, x, e.Y)
	case "/", "%":
		g.divide(e, x, t)
	default:
		op, ok := arithOps[e.Op]
		if !ok {
			refuse(e.Span, "internal: no code for operator %s", e.Op)
		}
		g.apply(op, x, e.Y)
	}
	b.Extend(x, e.T.Size, e.T.Signed)
	return x
}

// apply is x op= y, with constants as immediates.
func (g *gen) apply(op ir.Op, x ir.Reg, y check.Expr) {
	if k, ok := y.(*check.Const); ok {
		v := int64(k.Value)
		if op == ir.Shl || op == ir.Shr || op == ir.Sar {
			v &= 63
		}
		g.b.ApplyImm(op, x, v)
		return
	}
	g.b.Apply(op, x, g.scalar(y))
}

// divideByZero is what a script is told; the result is then 1, as bpftrace has it.
const divideByZero = "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the " +
	"result."

// divide makes x /= y or x %= y. BPF divides unsigned only before ISA v4; a signed division works on magnitudes and
// puts the sign back, rounding towards zero as C does.
func (g *gen) divide(e *check.Binary, x ir.Reg, t *types.Type) {
	b := g.b
	op := ir.Div
	if e.Op == "%" {
		op = ir.Mod
	}
	k, constant := e.Y.(*check.Const)
	constant = constant && k.Value != 0
	if constant && !t.Signed {
		b.ApplyImm(op, x, int64(k.Value))
		return
	}
	y, end := b.Copy(g.scalar(e.Y)), b.Label()
	if !constant {
		fine := b.Label()
		b.IfImm(ir.NE, y, 0, fine)
		g.runtimeError(divideByZero, e.Span)
		b.SetImm(x, 1)
		b.Jump(end)
		b.Bind(fine)
	}
	if !t.Signed {
		b.Apply(op, x, y)
		b.Bind(end)
		return
	}
	sign := b.Copy(x)
	if op == ir.Div {
		b.Apply(ir.Xor, sign, y)
	}
	g.magnitude(x)
	g.magnitude(y)
	b.Apply(op, x, y)
	b.IfImm(ir.SGE, sign, 0, end)
	b.Apply(ir.Neg, x, x)
	b.Bind(end)
}

func (g *gen) magnitude(r ir.Reg) {
	b := g.b
	positive := b.Label()
	b.IfImm(ir.SGE, r, 0, positive)
	b.Apply(ir.Neg, r, r)
	b.Bind(positive)
}

// castScalar converts to a scalar type.
func (g *gen) castScalar(e *check.Cast) ir.Reg {
	b := g.b
	from := e.X.Type()
	if !from.IsScalar() {
		// An array of the same size, or text: its bytes.
		m := g.own(g.place(e.X), from.Size, e.Span)
		size := min(from.Size, e.T.Size)
		if size == 1 || size == 2 || size == 4 || size == 8 {
			return g.load(m, size, e.T.Signed, e.Span)
		}
		tmp := memory{space: onStack, off: b.Slot(8)}
		g.zero(tmp, 8)
		g.copy(tmp, m, size)
		return b.Load(8, ir.FP, tmp.off)
	}
	if e.T.Kind == types.Bool && from.Kind != types.Bool {
		r, end := b.Imm(0), b.Label()
		b.IfImm(ir.EQ, g.scalar(e.X), 0, end)
		b.SetImm(r, 1)
		b.Bind(end)
		return r
	}
	x := g.scalar(e.X)
	if e.T.Size >= 8 || (from.Size <= e.T.Size && (from.Signed == e.T.Signed || (!from.Signed && from.Size < e.T.Size))) {
		return x
	}
	r := b.Copy(x)
	b.Extend(r, e.T.Size, e.T.Signed)
	return r
}

// castInto converts to a type that lives in memory.
func (g *gen) castInto(dst memory, e *check.Cast) {
	from, to := e.X.Type(), e.T
	switch {
	case from.IsScalar():
		// An integer as an array of bytes.
		if from.Size < to.Size {
			g.zero(dst, to.Size)
		}
		r := g.scalar(e.X)
		if n := min(from.Size, to.Size); n == from.Size {
			g.store(dst, from.Size, r)
		} else {
			tmp := memory{space: onStack, off: g.b.Slot(8)}
			g.store(tmp, 8, r)
			g.copy(dst, tmp, n)
		}
	case from.IsText() && to.Kind == types.String:
		g.textToString(dst, g.place(e.X), from.Size, to.Size, e.Span)
	case to.Kind == types.Array && from.Kind == types.String:
		n := min(from.Size, to.Size)
		if s, ok := e.X.(*check.StrConst); ok {
			g.stringConst(dst, s.Value, to.Size)
			return
		}
		g.fetch(dst, g.place(e.X), n, e.Span)
		if to.Size > n {
			g.zero(dst.at(n), to.Size-n)
		}
	case to.Kind == types.Array && to.Elem.Kind == types.Bool && from.Kind == types.Array:
		src := g.own(g.place(e.X), from.Size, e.Span)
		g.copy(dst, src, min(from.Size, to.Size))
	case from.Kind == types.String && to.Kind == types.String:
		if s, ok := e.X.(*check.StrConst); ok {
			g.stringConst(dst, s.Value, to.Size)
			return
		}
		g.into(dst, e.X, to)
	default:
		if t, ok := e.X.(*check.TupleLit); ok && len(t.Elems) == len(to.Fields) && to.Kind == types.Tuple {
			g.zeroPadding(dst, to)
			for i, x := range t.Elems {
				f := to.Fields[i]
				if x.Type().Equal(f.Type) || (x.Type().IsScalar() && f.Type.IsScalar()) {
					g.into(dst.at(f.Offset), x, f.Type)
					continue
				}
				g.castInto(dst.at(f.Offset), &check.Cast{E: check.E{T: f.Type, Span: x.Pos()}, X: x})
			}
			return
		}
		g.convert(dst, g.place(e.X), from, to, e.Span)
	}
}
