package codegen

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// Values that are shown are captured, in the types of record.Capture: text, elements and what references refer to is
// read in the program, when the traced one still has it.

// capturing says how values are captured here.
func (g *gen) capturing() record.Capture {
	how := g.c.prog.Config.Capture()
	how.Registers = g.typ == probe.UprobeProgram || g.typ == probe.BreakProgram || g.points[0].Kind.OfMethod()
	return how
}

// captures tells whether a value is captured in another form than it has, and in which.
func (g *gen) captures(e check.Expr) (*types.Type, bool) {
	if lit, ok := e.(*check.TupleLit); ok {
		return g.capturesIn(lit)
	}
	if t := e.Type(); t.Stored() {
		// What is sent at once need not be stored.
		if _, ok := e.(*check.Call); ok {
			return types.StackType(t.Kind, t.Depth, t.Mode), true
		}
		return t, false
	}
	if t := e.Type(); t.Kind == types.Pointer &&
		(t.Lang().Managed() || t.Form() == types.PythonForm || t.Form() == types.JavaForm) && kept(e) {
		return t, false
	}
	return g.capturing().Of(e.Type())
}

// kept tells whether a value is one that the script has kept: what it points to may be another by now.
func kept(e check.Expr) bool {
	for {
		switch x := e.(type) {
		case *check.Member:
			if x.X.Type().Kind == types.Pointer {
				return false // read now
			}
			e = x.X
		case *check.Cast:
			e = x.X
		case *check.VarRef, *check.MapGet:
			return true
		default:
			return false
		}
	}
}

// capturesIn is the type of a tuple or record of which some elements are captured.
func (g *gen) capturesIn(e *check.TupleLit) (*types.Type, bool) {
	changed := false
	names, elems := make([]string, len(e.Elems)), make([]*types.Type, len(e.Elems))
	for i, x := range e.Elems {
		names[i], elems[i] = e.T.Fields[i].Name, e.T.Fields[i].Type
		if to, ok := g.captures(x); ok {
			elems[i], changed = to, true
			if to.Kind == types.String {
				elems[i] = record.TextOf(to.Size, 1) // with its length
			}
		}
	}
	switch {
	case !changed:
		return e.T, false
	case e.T.Kind == types.Record:
		return types.RecordOf(names, elems), true
	}
	return types.TupleOf(elems...), true
}

// snapshotType is the type in which a call of snapshot captures a value; false: as it is.
func (g *gen) snapshotType(e *check.Call) (*types.Type, bool) {
	how := g.capturing()
	how.Kept, how.Strlen = true, e.TextSize
	return how.Of(e.Args[0].Expr.Type())
}

// captureInto evaluates an expression and captures its value as type to.
func (g *gen) captureInto(dst memory, e check.Expr, to *types.Type) {
	if lit, ok := e.(*check.TupleLit); ok {
		g.zeroPadding(dst, to)
		for i, x := range lit.Elems {
			f := to.Fields[i]
			if _, ok := g.captures(x); ok {
				g.captureInto(dst.at(f.Offset), x, f.Type)
			} else {
				g.into(dst.at(f.Offset), x, f.Type)
			}
		}
		return
	}
	if a, ok := e.(*check.ArgsRef); ok && !g.argsInMemory() {
		g.captureArgs(dst, a, to)
		return
	}
	t := e.Type()
	if call, ok := e.(*check.Call); ok && t.Stored() {
		g.callInto(dst, call, to)
		return
	}
	if t.Kind == types.Pointer {
		tmp := memory{space: onStack, off: g.b.Slot(8)}
		g.store(tmp, 8, g.scalar(e))
		g.capture(dst, tmp, t, to, e.Pos())
		return
	}
	g.capture(dst, g.place(e), t, to, e.Pos())
}

// captureArgs captures all arguments, each from its own place.
func (g *gen) captureArgs(dst memory, a *check.ArgsRef, to *types.Type) {
	g.zero(dst, to.Size)
	for i, f := range a.T.Fields {
		if f.Type.Kind == types.Void {
			continue // types.Missing
		}
		out := to.Fields[i]
		v := g.argOf(a.First+i, a.Span)
		src := memory{}
		if v.Place.Kind == types.InMemory {
			src = g.memoryAt(v.Place, a.Span)
		} else {
			src = g.temp(roundUp(f.Type.Size))
			g.assemble(src, v.Place, f.Type.Size, a.Span)
		}
		g.capture(dst.at(out.Offset), src, f.Type, out.Type, a.Span)
	}
}

// capture reads a value of type from at src into dst as type to.
func (g *gen) capture(dst, src memory, from, to *types.Type, span diag.Span) {
	b := g.b
	from = from.Complete()
	if from == to {
		g.fetch(dst, src, to.Size, span)
		return
	}
	if to.Kind == types.Object && from.Kind == types.Struct {
		g.captureObject(dst, src, from, to, span)
		return
	}
	if v, ok := from.View(); ok && v.Null && (to.Kind == types.Text || to.Kind == types.List) {
		some, end := b.Label(), b.Label()
		b.IfImm(ir.NE, g.load(src.at(v.Data), 8, false, span), 0, some)
		g.zero(dst, to.Size)
		g.null(dst)
		b.Jump(end)
		b.Bind(some)
		defer b.Bind(end)
	}
	if v, ok := from.List(); ok && to.Kind == types.Text {
		g.zero(dst, to.Size)
		g.told(dst, func() {
			p, n := g.viewOf(v, src, span)
			g.ofList(dst, from, p, n)
			g.readN(dst.at(8), p, n, to.Size-8, span)
		})
		return
	}
	if from.IsCString() && to.Kind == types.Text {
		g.captureCString(dst, src, to, span)
		return
	}
	if v, ok := from.Text(); ok && (to.Kind == types.Text || to.Kind == types.String) {
		g.zero(dst, to.Size)
		if to.Kind == types.String {
			p, n := g.viewOf(v, src, span)
			g.readN(dst, p, n, to.Size, span)
			return
		}
		g.told(dst, func() {
			p, n := g.viewOf(v, src, span)
			if v.Unit > 1 {
				b.ApplyImm(ir.Mul, n, int64(v.Unit))
			}
			g.store(dst, 8, n)
			g.readN(dst.at(8), p, n, to.Size-8, span)
		})
		return
	}
	if elem, ok := from.Referenced(); ok {
		p := g.b.Copy(g.load(src, 8, false, span))
		g.capture(dst, memory{space: inUser, base: p}, elem, to, span)
		return
	}
	if w, ok := from.Walk(); ok && (to.Kind == types.List || to.Kind == types.Entries) {
		g.captureWalk(dst, src, w, to, span)
		return
	}
	if g.captureManaged(dst, src, from, to, span) {
		return
	}
	if to.Kind == types.Wide {
		g.captureWide(dst, src, to, span)
		return
	}
	if v, ok := from.List(); ok && to.Kind == types.List {
		g.zero(dst, to.Size)
		g.told(dst, func() { g.captureList(dst, src, v, from, to, span) })
		return
	}
	if vs := from.Alternatives(); vs != nil && to.Alternatives() != nil {
		g.captureVariants(dst, src, vs, to, span)
		return
	}
	if s, ok := from.Rust(); ok && g.captureRust(dst, src, s, to, span) {
		return
	}
	if f, ok := from.Held(); ok {
		if f.Name != "" {
			g.fetch(dst, src.at(f.Offset), min(f.Type.Size, to.Size), span)
			return
		}
		g.capture(dst, src.at(f.Offset), f.Type, to, span)
		return
	}
	if from.Kind == types.Struct {
		if d, ok := from.Deque(); ok {
			g.store(dst, 8, g.dequeLength(d, src, span))
			return
		}
		if fields, ok := from.TupleOfCPP(); ok && to.Kind == types.Tuple {
			g.zeroPadding(dst, to)
			for i, f := range fields {
				g.capture(dst.at(to.Fields[i].Offset), src.at(f.Offset), f.Type, to.Fields[i].Type, span)
			}
			return
		}
	}
	if to.Kind == types.USym {
		g.zero(dst, to.Size)
		g.store(dst, 8, g.load(src, 8, false, span))
		g.store(dst.at(8), 4, b.OpImm(ir.Shr, b.Call(asm.FnGetCurrentPidTgid), 32))
		return
	}
	switch {
	case from.Kind == types.Struct && to.Kind == types.Struct:
		g.zeroPadding(dst, to)
		i := 0
		for _, f := range from.Fields {
			if f.Artificial {
				continue
			}
			out := to.Fields[i]
			i++
			if f.BitSize > 0 {
				g.fetch(dst.at(out.Offset), src.at(f.Offset), (f.BitOffset+f.BitSize+7)/8, span)
				continue
			}
			g.capture(dst.at(out.Offset), src.at(f.Offset), f.Type, out.Type, span)
		}
	case from.Kind == types.Array && to.Kind == types.Array:
		for i := range to.Len {
			g.capture(dst.at(i*to.Elem.Size), src.at(i*from.Elem.Size), from.Elem, to.Elem, span)
		}
	default:
		g.fetch(dst, src, min(from.Size, to.Size), span)
	}
}

// viewOf loads the pointer and the length of a view.
func (g *gen) viewOf(v types.View, src memory, span diag.Span) (p, n ir.Reg) {
	b := g.b
	if v.Short {
		return g.shortText(v, src, span)
	}
	p = b.Copy(g.load(src.at(v.Data), 8, false, span))
	switch {
	case v.Fixed > 0:
		n = b.Imm(int64(v.Fixed))
	case v.Bits && v.End:
		n = b.Copy(g.load(src.at(v.Len), 8, false, span))
		b.Apply(ir.Sub, n, p)
		b.ApplyImm(ir.Mul, n, 8)
		b.Apply(ir.Add, n, g.load(src.at(v.Tail), 4, false, span))
	case v.Before:
		n = g.load(memory{space: inUser, base: p, off: -v.Len}, v.LenSize, false, span)
	case v.End:
		n = b.Copy(g.load(src.at(v.Len), 8, false, span))
		b.Apply(ir.Sub, n, p)
		if v.Elem.Size > 1 {
			b.ApplyImm(ir.Div, n, int64(v.Elem.Size))
		}
	default:
		n = g.load(src.at(v.Len), v.LenSize, false, span)
	}
	n = b.Copy(n)
	if v.Less > 0 {
		none := b.Label()
		b.IfImm(ir.LT, n, int64(v.Less), none)
		b.ApplyImm(ir.Sub, n, int64(v.Less))
		b.Bind(none)
	}
	if v.Skip > 0 {
		b.ApplyImm(ir.Add, p, int64(v.Skip))
	}
	return p, n
}

// shortText loads the pointer and the length of a text that may be in the value itself.
func (g *gen) shortText(v types.View, src memory, span diag.Span) (p, n ir.Reg) {
	b := g.b
	if src.space != inUser {
		refuse(span, "the location of a string in a copy of the value is not known")
	}
	first := b.Copy(g.load(src, 1, false, span))
	p = b.Copy(b.OpImm(ir.Add, src.base, int64(src.off+v.ShortData)))
	n = b.Copy(b.OpImm(ir.Shr, first, 1))
	short := b.Label()
	b.IfImm(ir.EQ, b.OpImm(ir.And, first, 1), 0, short)
	b.Set(p, g.load(src.at(v.Data), 8, false, span))
	b.Set(n, g.load(src.at(v.Len), v.LenSize, false, span))
	b.Bind(short)
	return p, n
}

// dequeLength counts the elements of a std::deque; libstdc++'s in the whole blocks between, and in the first and last.
func (g *gen) dequeLength(d types.Deque, src memory, span diag.Span) ir.Reg {
	b := g.b
	at := func(off int) ir.Reg { return b.Copy(g.load(src.at(off), 8, false, span)) }
	if d.PerBlock > 0 {
		return at(d.Count)
	}
	less := func(x, y int, size int) ir.Reg {
		r := at(x)
		b.Apply(ir.Sub, r, at(y))
		if size > 1 {
			b.ApplyImm(ir.Div, r, int64(size))
		}
		return r
	}
	n := less(d.FinishNode, d.StartNode, 8)
	b.ApplyImm(ir.Sub, n, 1)
	b.Apply(ir.Mul, n, less(d.StartLast, d.StartFirst, d.ElemSize))
	b.Apply(ir.Add, n, less(d.FinishCur, d.FinishFirst, d.ElemSize))
	b.Apply(ir.Add, n, less(d.StartLast, d.StartCur, d.ElemSize))
	return n
}

// listElement is the memory of a list's element. One beyond the end is nowhere, so that it reads as zero.
func (g *gen) listElement(e *check.Index) memory {
	b := g.b
	v, ok := e.X.Type().Elements()
	if !ok {
		refuse(e.Span, "internal: no elements in a value of type %s", e.X.Type())
	}
	if v.Bits {
		refuse(e.Span, "the elements of %s are bits; print shows them", e.X.Type())
	}
	p, n := g.viewOf(v, g.place(e.X), e.Span)
	i := b.Copy(g.scalar(e.I))
	inside, end := b.Label(), b.Label()
	b.If(ir.LT, i, n, inside)
	g.runtimeError("Array access out of bounds. This can lead to unexpected results.", e.Span)
	b.SetImm(p, 0)
	b.Jump(end)
	b.Bind(inside)
	g.turn(v, i, g.place(e.X), e.Span)
	b.ApplyImm(ir.Mul, i, int64(v.Elem.Size))
	b.Apply(ir.Add, p, i)
	b.Bind(end)
	return memory{space: inUser, base: p}
}

// readN reads n bytes at p, at most limit.
func (g *gen) readN(dst memory, p, n ir.Reg, limit int, span diag.Span) {
	b := g.b
	fits, none := b.Label(), b.Label()
	b.IfImm(ir.LE, n, int64(limit), fits)
	b.SetImm(n, int64(limit))
	b.Bind(fits)
	b.IfImm(ir.EQ, n, 0, none)
	g.fetchN(dst, memory{space: inUser, base: p}, length{reg: n, most: limit}, span)
	b.Bind(none)
}

// captureCString captures the text that a pointer points to.
func (g *gen) captureCString(dst, src memory, to *types.Type, span diag.Span) {
	b := g.b
	g.zero(dst, to.Size)
	some, end := b.Label(), b.Label()
	g.told(dst, func() {
		p := b.Copy(g.load(src, 8, false, span))
		b.IfImm(ir.NE, p, 0, some)
		g.null(dst)
		b.Jump(end)
		b.Bind(some)
		n := g.readString(dst.at(8), fixedLength(int(to.Max)+2), memory{space: inUser, base: p}, span)
		b.ApplyImm(ir.Sub, n, 1)
		g.store(dst, 8, n)
	})
	b.Bind(end)
}

// null says that there is no value since a pointer is null.
func (g *gen) null(dst memory) {
	g.store(dst, 8, g.b.Imm(math.MinInt64)) // record.Missing
}

// ofList stores the number of elements, or that there is no list: slices of Go have a null pointer then.
func (g *gen) ofList(dst memory, from *types.Type, p, n ir.Reg) {
	b := g.b
	g.store(dst, 8, n)
	if !from.Lang().Managed() {
		return
	}
	some := b.Label()
	b.IfImm(ir.NE, p, 0, some)
	g.null(dst)
	b.SetImm(n, 0)
	b.Bind(some)
}

func (g *gen) captureList(dst, src memory, v types.View, from, to *types.Type, span diag.Span) {
	b := g.b
	p, n := g.viewOf(v, src, span)
	g.ofList(dst, from, p, n)
	if to.Len*to.Elem.Size == 0 {
		return
	}
	if v.Bits {
		bytes := b.Copy(n)
		b.ApplyImm(ir.Add, bytes, 7)
		b.ApplyImm(ir.Shr, bytes, 3)
		g.readN(dst.at(8), p, bytes, to.Size-8, span)
		return
	}
	if v.Elem == to.Elem && !v.Ring {
		bytes := b.Copy(n)
		fits := b.Label()
		b.IfImm(ir.LE, bytes, int64(to.Len), fits)
		b.SetImm(bytes, int64(to.Len))
		b.Bind(fits)
		b.ApplyImm(ir.Mul, bytes, int64(v.Elem.Size))
		g.readN(dst.at(8), p, bytes, to.Len*v.Elem.Size, span)
		return
	}
	end := b.Label()
	for i := range to.Len {
		b.IfImm(ir.LE, n, int64(i), end)
		at := memory{space: inUser, base: p, off: i * v.Elem.Size}
		if v.Ring {
			k := b.Imm(int64(i))
			g.turn(v, k, src, span)
			b.ApplyImm(ir.Mul, k, int64(v.Elem.Size))
			at = memory{space: inUser, base: b.Op(ir.Add, p, k)}
		}
		g.capture(dst.at(8+i*to.Elem.Size), at, v.Elem, to.Elem, span)
	}
	b.Bind(end)
}

// turn makes the number of an element its place in a ring.
func (g *gen) turn(v types.View, i ir.Reg, src memory, span diag.Span) {
	if !v.Ring {
		return
	}
	b := g.b
	b.Apply(ir.Add, i, g.load(src.at(v.Head), 8, false, span))
	room, end := b.Copy(g.load(src.at(v.Room), 8, false, span)), b.Label()
	b.If(ir.LT, i, room, end)
	b.Apply(ir.Sub, i, room)
	b.Bind(end)
}

// captureWide reads wide characters. Where the text ends is not known, and the next page may not be there: what lies in
// the first page is read by itself.
func (g *gen) captureWide(dst, src memory, to *types.Type, span diag.Span) {
	b := g.b
	tmp := memory{space: inScratch, off: g.reserve(2 * to.Size)}
	g.zero(tmp, 2*to.Size)
	p := b.Copy(g.load(src, 8, false, span))
	n := b.OpImm(ir.And, p, 4095)
	b.Apply(ir.Neg, n, n)
	b.ApplyImm(ir.Add, n, 4096)
	g.readN(tmp, p, n, to.Size, span)
	// n is now what was read: at most all that is wanted.
	end := b.Label()
	b.IfImm(ir.GE, n, int64(to.Size), end)
	rest := b.Op(ir.Sub, b.Imm(int64(to.Size)), n)
	base, off := g.ref(tmp)
	at := b.Op(ir.Add, base, g.atMost(n, to.Size))
	from := b.Op(ir.Add, p, n)
	b.Do(asm.FnProbeReadUser, ir.A(at, off), ir.R(g.atMost(rest, to.Size)), ir.R(from))
	b.Bind(end)
	g.copy(dst, tmp, to.Size)
}

// textOf is the text of a string value of the program's language, or of a reference or pointer to one.
func (g *gen) textOf(e check.Expr) (src memory, v types.View, ok bool) {
	t := e.Type()
	if v, ok := t.Complete().Text(); ok {
		return g.place(e), v, true
	}
	if t.Kind == types.Pointer && t.Elem != nil {
		if v, ok := t.Elem.Complete().Text(); ok {
			return pointee(t, g.scalar(e)), v, true
		}
	}
	return memory{}, types.View{}, false
}
