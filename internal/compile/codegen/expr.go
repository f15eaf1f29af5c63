package codegen

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// scalar makes a register with the value of a scalar expression. The memory it needed meanwhile is free again.
func (g *gen) scalar(e check.Expr) ir.Reg {
	m := g.mark()
	defer g.free(m)
	b := g.b
	if t := e.Type(); t.Size > 8 && (t.Kind == types.Int || t.Kind == types.Enum) {
		refuse(e.Pos(), "a number of %d bits can be printed, not computed with", 8*t.Size)
	}
	switch e := e.(type) {
	case *check.Const:
		return b.Imm(int64(e.Value))
	case *check.VarRef:
		v := g.variable(e.Var)
		if v.mem == nil {
			// A copy: the variable may change before the value is used, as in $a + $a++.
			return b.Copy(v.reg)
		}
		return g.loadVar(v.mem, e.Var.Type, e.Span)
	case *check.MapGet:
		return g.mapScalar(e)
	case *check.Unary:
		return g.unary(e)
	case *check.Binary:
		return g.binary(e)
	case *check.Logic:
		r, end := b.Imm(0), b.Label()
		g.cond(e, end, false)
		b.SetImm(r, 1)
		b.Bind(end)
		return r
	case *check.Ternary:
		r := b.Reg()
		g.branch(e.Cond, func() { b.Set(r, g.scalar(e.Then)) }, func() { b.Set(r, g.scalar(e.Else)) })
		return r
	case *check.Cast:
		return g.castScalar(e)
	case *check.IncDec:
		return g.incDec(e, true)
	case *check.Deref:
		return g.load(pointee(e.X.Type(), g.scalar(e.X)), e.T.Size, e.T.Signed, e.Span)
	case *check.Member:
		return g.member(e)
	case *check.Index:
		return g.indexScalar(e)
	case *check.AddrOf:
		return g.addrOf(e)
	case *check.BlockExpr:
		g.block(e.Body)
		return g.scalar(e.Value)
	case *check.ArgRef:
		return g.argScalar(e)
	case *check.RetvalRef:
		return g.retvalScalar(e)
	case *check.Call:
		return g.callScalar(e)
	}
	refuse(e.Pos(), "internal: no code for %T as a scalar", e)
	return ir.NoReg
}

// branch makes an if/else.
func (g *gen) branch(cond check.Expr, then, els func()) {
	b := g.b
	otherwise, end := b.Label(), b.Label()
	g.cond(cond, otherwise, false)
	then()
	if els != nil {
		b.Jump(end)
	}
	b.Bind(otherwise)
	if els != nil {
		els()
	}
	b.Bind(end)
}

var conds = map[string]struct{ unsigned, signed ir.Cond }{
	"==": {ir.EQ, ir.EQ}, "!=": {ir.NE, ir.NE},
	"<": {ir.LT, ir.SLT}, "<=": {ir.LE, ir.SLE}, ">": {ir.GT, ir.SGT}, ">=": {ir.GE, ir.SGE},
}

// cond goes to l if e is as wanted, else falls through. What asks for floating-point registers that are not known does
// not hold.
func (g *gen) cond(e check.Expr, l ir.Label, when bool) {
	b := g.b
	start, reads := b.Len(), g.floatReads
	g.test(e, l, when)
	if g.floatReads == reads {
		return
	}
	skip := l
	if when {
		skip = b.Label()
		b.Bind(skip)
	}
	mark := b.Len()
	known := b.Load(8, g.frame, g.floatSlot+8*len(g.c.opts.Arch.Floats.Areas))
	b.IfImm(ir.EQ, known, 0, skip)
	b.Move(mark, start)
}

// test is cond for conditions that are known.
func (g *gen) test(e check.Expr, l ir.Label, when bool) {
	b := g.b
	switch e := e.(type) {
	case *check.Const:
		if (e.Value != 0) == when {
			b.Jump(l)
		}
		return
	case *check.Unary:
		if e.Op == "!" && e.X.Type().IsScalar() {
			g.test(e.X, l, !when)
			return
		}
	case *check.Logic:
		if (e.Op == "&&") == when { // both must hold, or neither may
			skip := b.Label()
			g.test(e.X, skip, !when)
			g.test(e.Y, l, when)
			b.Bind(skip)
		} else {
			g.test(e.X, l, when)
			g.test(e.Y, l, when)
		}
		return
	case *check.Binary:
		c, ok := conds[e.Op]
		if !ok || !e.X.Type().IsScalar() {
			break
		}
		cc := c.unsigned
		if e.X.Type().Signed {
			cc = c.signed
		}
		if !when {
			cc = cc.Not()
		}
		x := g.scalar(e.X)
		if k, ok := e.Y.(*check.Const); ok {
			b.IfImm(cc, x, int64(k.Value), l)
			return
		}
		b.If(cc, x, g.scalar(e.Y), l)
		return
	}
	if when {
		b.IfImm(ir.NE, g.scalar(e), 0, l)
	} else {
		b.IfImm(ir.EQ, g.scalar(e), 0, l)
	}
}

// variable is the place of a scratch variable.
func (g *gen) variable(v *check.Var) *variable {
	place := g.vars[v]
	if place == nil {
		refuse(v.Span, "internal: the variable %s is not one of the action's", v.Name)
	}
	return place
}

// loadVar loads a scalar variable that lives in memory: a whole word.
func (g *gen) loadVar(m *memory, t *types.Type, span diag.Span) ir.Reg {
	if t.Kind == types.Pointer || t.Size == 8 {
		base, off := g.ref(*m)
		return g.b.Load(8, base, off)
	}
	return g.load(*m, t.Size, t.Signed, span)
}

func (g *gen) unary(e *check.Unary) ir.Reg {
	b := g.b
	switch e.Op {
	case "!":
		r, end := b.Imm(0), b.Label()
		g.cond(e.X, end, true)
		b.SetImm(r, 1)
		b.Bind(end)
		return r
	case "-":
		r := b.Copy(g.scalar(e.X))
		b.Apply(ir.Neg, r, r)
		b.Extend(r, e.T.Size, e.T.Signed)
		return r
	}
	r := b.OpImm(ir.Xor, g.scalar(e.X), -1)
	b.Extend(r, e.T.Size, e.T.Signed)
	return r
}

// place is the memory of an expression that is not a scalar, or of a location.
func (g *gen) place(e check.Expr) memory {
	switch e := e.(type) {
	case *check.VarRef:
		v := g.variable(e.Var)
		if v.mem != nil {
			return *v.mem
		}
	case *check.MapGet:
		if !e.T.IsScalar() {
			return g.mapMemory(e)
		}
	case *check.Deref:
		return pointee(e.X.Type(), g.scalar(e.X))
	case *check.Member:
		if t := e.X.Type(); t.Kind == types.Pointer {
			return pointee(t, g.scalar(e.X)).at(e.Field.Offset)
		}
		if r, ok := e.X.(*check.ArgsRef); ok {
			return g.argsMember(r, e)
		}
		if v, off, ok := g.inPlace(e); ok {
			return g.partOf(v, off, e)
		}
		return g.place(e.X).at(e.Field.Offset)
	case *check.Index:
		return g.indexPlace(e)
	case *check.ArgRef:
		return g.argPlace(e)
	case *check.ArgsRef:
		return g.argsPlace(e)
	case *check.RetvalRef:
		return g.retvalPlace(e)
	case *check.BlockExpr:
		g.block(e.Body)
		return g.place(e.Value)
	}
	t := e.Type()
	tmp := g.temp(t.Size)
	g.into(tmp, e, t)
	return tmp
}

// into evaluates e to memory of our own, as type t (which differs from e's only in capacity).
func (g *gen) into(dst memory, e check.Expr, t *types.Type) {
	b := g.b
	et := e.Type()
	if et.IsScalar() && t.IsScalar() {
		if k, ok := e.(*check.Const); ok && (t.Size < 8 || int64(int32(k.Value)) == int64(k.Value)) {
			if base, off := g.ref(dst); aligned(dst, t.Size) {
				b.StoreImm(ir.Size(t.Size), base, off, int64(k.Value))
				return
			}
		}
		g.store(dst, t.Size, g.scalar(e))
		return
	}
	switch e := e.(type) {
	case *check.StrConst:
		g.stringConst(dst, e.Value, t.Size)
		return
	case *check.TupleLit:
		g.tuple(dst, e)
		return
	case *check.Ternary:
		g.branch(e.Cond, func() { g.into(dst, e.Then, t) }, func() { g.into(dst, e.Else, t) })
		return
	case *check.BlockExpr:
		g.block(e.Body)
		g.into(dst, e.Value, t)
		return
	case *check.Call:
		g.callInto(dst, e, et)
		g.widen(dst, et, t)
		return
	case *check.Cast:
		g.castInto(dst, e)
		g.widen(dst, et, t)
		return
	}
	g.convert(dst, g.place(e), et, t, e.Pos())
}

// widen makes a value of more capacity of one that is in place.
func (g *gen) widen(dst memory, from, to *types.Type) {
	if to.Size > from.Size {
		g.zero(dst.at(from.Size), to.Size-from.Size)
	}
}

// convert copies a value of type from to dst as type to: the same, or of more capacity.
func (g *gen) convert(dst, src memory, from, to *types.Type, span diag.Span) {
	switch {
	case from.Kind == types.String && to.Kind == types.String && from.Size != to.Size,
		from.Kind == types.Buffer && to.Kind == types.Buffer && from.Size != to.Size:
		n := min(from.Size, to.Size)
		g.fetch(dst, src, n, span)
		if to.Size > n {
			g.zero(dst.at(n), to.Size-n)
		}
	case (from.Kind == types.Tuple || from.Kind == types.Record) && from.Kind == to.Kind && !from.Equal(to):
		g.zeroPadding(dst, to)
		for i, f := range to.Fields {
			ff := from.Fields[i]
			if from.Kind == types.Record {
				ff, _ = from.Field(f.Name)
			}
			if f.Type.IsScalar() {
				r := g.load(src.at(ff.Offset), ff.Type.Size, ff.Type.Signed, span)
				g.store(dst.at(f.Offset), f.Type.Size, r)
				continue
			}
			g.convert(dst.at(f.Offset), src.at(ff.Offset), ff.Type, f.Type, span)
		}
	default:
		g.fetch(dst, src, to.Size, span)
	}
}

// zeroPadding clears the bytes of a tuple or record between its fields, so that equal values are equal bytes.
func (g *gen) zeroPadding(dst memory, t *types.Type) {
	at := 0
	for _, f := range t.Fields {
		if f.Offset > at {
			g.zero(dst.at(at), f.Offset-at)
		}
		at = f.Offset + f.Type.Size
	}
	if t.Size > at {
		g.zero(dst.at(at), t.Size-at)
	}
}

func (g *gen) tuple(dst memory, e *check.TupleLit) {
	g.zeroPadding(dst, e.T)
	for i, x := range e.Elems {
		g.into(dst.at(e.T.Fields[i].Offset), x, e.T.Fields[i].Type)
	}
}

// member loads a scalar field, bit-fields included.
func (g *gen) member(e *check.Member) ir.Reg {
	b := g.b
	if r, ok := e.X.(*check.ArgsRef); ok && !g.argsInMemory() {
		return g.argsMemberScalar(r, e)
	}
	f := e.Field
	if f.DataLoc {
		return g.dataLoc(e)
	}
	if v, off, ok := g.inPlace(e); ok && f.BitSize == 0 {
		return g.fromPlace(v.Place.Slice(off, e.T.Size), e.T, e.Span)
	}
	m := g.place(e)
	if l, ok := f.Type.NarrowIn(e.X.Type()); ok {
		if l.Narrow {
			return g.unnarrow(g.load(m, 4, false, e.Span), l.Base, l.Shift)
		}
		return g.load(m, 8, false, e.Span)
	}
	if f.BitSize == 0 {
		r := g.load(m, e.T.Size, e.T.Signed, e.Span)
		if g.iterated(e) {
			b.IfImm(ir.EQ, r, 0, g.exit)
		}
		return r
	}
	n := (f.BitOffset + f.BitSize + 7) / 8
	if n > 8 {
		refuse(e.Span, "the bit-field %q spans nine bytes, which no load can reach", f.Name)
	}
	tmp := memory{space: onStack, off: b.Slot(8)}
	b.StoreImm(8, ir.FP, tmp.off, 0)
	g.fetch(tmp, m, n, e.Span)
	r := b.Load(8, ir.FP, tmp.off)
	b.ApplyImm(ir.Shl, r, int64(64-f.BitOffset-f.BitSize))
	if e.T.Signed {
		b.ApplyImm(ir.Sar, r, int64(64-f.BitSize))
	} else {
		b.ApplyImm(ir.Shr, r, int64(64-f.BitSize))
	}
	return r
}

// iterated tells whether an expression is what an iterator is at, ctx.task for example. Behind the last one the program
// runs once more without any (the kernel's Documentation/bpf/bpf_iterators.rst): who asks for it then is done.
func (g *gen) iterated(e *check.Member) bool {
	if g.typ != probe.IterProgram || e.T.Kind != types.Pointer || g.b != g.main {
		return false
	}
	d, ok := e.X.(*check.Deref)
	if !ok {
		return false
	}
	c, ok := d.X.(*check.Call)
	return ok && c.Fn.ID == builtin.Ctx
}

// dataLoc is the address of a field of variable length in a tracepoint's record: its lower 16 bits are the offset in
// the record (include/trace/trace_events.h, __data_loc).
func (g *gen) dataLoc(e *check.Member) ir.Reg {
	b := g.b
	if _, ok := e.X.(*check.ArgsRef); ok {
		r := b.Load(4, g.context(), e.Field.Offset)
		b.ApplyImm(ir.And, r, 0xffff)
		b.Apply(ir.Add, r, g.number(g.context()))
		return r
	}
	refuse(e.Span, "%q can only be used as args.%s", e.Field.Name, e.Field.Name)
	return ir.NoReg
}

// indexPlace is the memory of an element. Behind a pointer any index is allowed; in an array one beyond the end gives
// zeros.
func (g *gen) indexPlace(e *check.Index) memory {
	b := g.b
	t := e.X.Type()
	k, fixed := e.I.(*check.Const)
	if t.Kind == types.Struct {
		return g.listElement(e)
	}
	if _, ok := t.JavaElement(); ok {
		return g.javaElement(e)
	}
	if t.Kind == types.Pointer {
		m := pointee(t, g.scalar(e.X))
		if fixed {
			m.base = b.OpImm(ir.Add, m.base, int64(k.Value)*int64(e.T.Size))
			return m
		}
		m.base = b.Op(ir.Add, m.base, b.OpImm(ir.Mul, g.scalar(e.I), int64(e.T.Size)))
		return m
	}
	if fixed {
		return g.place(e.X).at(int(int64(k.Value)) * e.T.Size)
	}
	return g.elementOrZeros(e)
}

// elements is how many elements an array or string has, -1: nobody knows.
func elements(t *types.Type) int {
	if t.Kind == types.String {
		return t.Size
	}
	return t.Len
}

// outOfBounds is what a script is told.
const outOfBounds = "Array access out of bounds. This can lead to unexpected results."

// element is the memory of an array's element with an index only known at run time. It goes to outside if there is
// none.
func (g *gen) element(e *check.Index, outside ir.Label) memory {
	b := g.b
	t := e.X.Type()
	index := g.scalar(e.I)
	m := g.place(e.X)
	if m.direct() && m.space != inReg && m.space != inScratch {
		// Addresses in the stack and the context must be constants.
		tmp := memory{space: inScratch, off: g.reserve(t.Size)}
		g.fetch(tmp, m, t.Size, e.Span)
		m = tmp
	}
	i := b.Copy(index)
	if n := elements(t); n >= 0 {
		b.IfImm(ir.GE, i, int64(n), outside)
	}
	b.ApplyImm(ir.Mul, i, int64(e.T.Size))
	if !m.direct() {
		m.base = b.Op(ir.Add, m.base, i)
		return m
	}
	base, off := g.ref(m)
	return memory{space: inReg, base: b.Op(ir.Add, base, i), off: off}
}

// elementOrZeros is the memory of an element, of zeros if there is none, which is told.
func (g *gen) elementOrZeros(e *check.Index) memory {
	b := g.b
	outside, end := b.Label(), b.Label()
	m := g.element(e, outside)
	p := b.Addr(m.base, m.off)
	b.Jump(end)
	b.Bind(outside)
	g.runtimeError(outOfBounds, e.Span)
	if m.space == inReg {
		g.c.zeros = max(g.c.zeros, e.T.Size)
		b.Set(p, b.MapValue(record.ZerosName, 0))
	} else {
		b.SetImm(p, 0) // where nothing can be read
	}
	b.Bind(end)
	return memory{space: m.space, base: p}
}

// indexScalar loads an element; one out of the array's bounds reads as zero.
func (g *gen) indexScalar(e *check.Index) ir.Reg {
	b := g.b
	t := e.X.Type()
	if _, fixed := e.I.(*check.Const); fixed || t.Kind == types.Pointer || t.Kind == types.Struct {
		if l, ok := e.T.NarrowIn(t); ok && l.Narrow {
			return g.unnarrow(g.load(g.indexPlace(e), 4, false, e.Span), l.Base, l.Shift)
		}
		return g.load(g.indexPlace(e), e.T.Size, e.T.Signed, e.Span)
	}
	r, outside, end := b.Reg(), b.Label(), b.Label()
	b.Set(r, g.load(g.element(e, outside), e.T.Size, e.T.Signed, e.Span))
	b.Jump(end)
	b.Bind(outside)
	g.runtimeError(outOfBounds, e.Span)
	b.SetImm(r, 0)
	b.Bind(end)
	return r
}

// addrOf makes a pointer to a variable or to a map's entry (0 if there is none).
func (g *gen) addrOf(e *check.AddrOf) ir.Reg {
	switch x := e.X.(type) {
	case *check.VarRef:
		if v := g.variable(x.Var); v.mem != nil {
			return g.number(g.ptr(*v.mem))
		}
	case *check.MapGet:
		return g.number(g.entry(x.Map, x.Key))
	}
	refuse(e.Span, "the address of this can't be taken")
	return ir.NoReg
}

// number makes a plain number of a pointer of the verifier's, which it would not let a script compute with: what is
// loaded from a map's value is one.
func (g *gen) number(pointer ir.Reg) ir.Reg {
	tmp := memory{space: inScratch, off: g.reserve(8)}
	g.store(tmp, 8, pointer)
	base, off := g.ref(tmp)
	return g.b.Load(8, base, off)
}
