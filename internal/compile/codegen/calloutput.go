package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
)

func (c *codes) output() {
	c[builtin.Printf].effect = formats(record.Printf)
	c[builtin.Errorf].effect = formats(record.Errorf)
	c[builtin.Warnf].effect = formats(record.Warnf)
	c[builtin.System].effect = formats(record.System)
	c[builtin.Cat].effect = formats(record.Cat)
	c[builtin.Print].effect = (*gen).print
	c[builtin.Join].effect = (*gen).join
	c[builtin.Debugf].effect = (*gen).debugf
	c[builtin.Snapshot] = code{scalar: (*gen).snapshotScalar, memory: (*gen).snapshotInto}
}

// formats sends a record with the arguments of printf and its kind.
func formats(kind record.Kind) func(*gen, *check.Call) {
	return func(g *gen, e *check.Call) { g.formatted(kind, e) }
}

func (g *gen) snapshotScalar(e *check.Call) ir.Reg {
	to, ok := g.snapshotType(e)
	if !ok {
		return g.scalar(e.Args[0].Expr)
	}
	tmp := g.temp(roundUp(to.Size)) // of a reference to it
	g.captureInto(tmp, e.Args[0].Expr, to)
	return g.load(tmp, to.Size, to.Signed, e.Span)
}

func (g *gen) snapshotInto(dst memory, e *check.Call, t *types.Type) {
	to, ok := g.snapshotType(e)
	if !ok || to.Size != t.Size {
		g.into(dst, e.Args[0].Expr, t)
		return
	}
	g.captureInto(dst, e.Args[0].Expr, to)
}

// joinMax is the number of strings that join takes.
const joinMax = 16

// joinStrlen is the room for each string of join.
const joinStrlen = 1024

// formatted sends the arguments of printf and its kind.
func (g *gen) formatted(kind record.Kind, e *check.Call) {
	var args []check.Expr
	var ts []*types.Type
	for _, a := range e.Args {
		if a.Expr == nil {
			refuse(e.Span, "%s can't print a whole map", e.Fn.Names[0])
		}
		args = append(args, a.Expr)
		t, _ := g.captures(a.Expr)
		ts = append(ts, t)
	}
	l := g.layout(kind, e.Span, ts...)
	l.Format = e.Format
	g.send(l, args)
}

// print sends a value, or asks for a map to be printed.
func (g *gen) print(e *check.Call) {
	if m := e.Args[0].Map; m != nil {
		var args []check.Expr
		var ts []*types.Type
		for _, a := range e.Args[1:] {
			args = append(args, a.Expr)
			ts = append(ts, a.Expr.Type())
		}
		l := g.layout(record.PrintMap, e.Span, ts...)
		l.Map = m.ID
		g.send(l, args)
		return
	}
	x := e.Args[0].Expr
	t, _ := g.captures(x)
	l := g.layout(record.Print, e.Span, t)
	g.send(l, []check.Expr{x})
}

// join sends the strings of an array of pointers up to a null pointer. Missing ones have the length 0xffffffff.
func (g *gen) join(e *check.Call) {
	b := g.b
	str := types.StringOf(joinStrlen)
	ts := make([]*types.Type, joinMax)
	for i := range ts {
		ts[i] = str
	}
	l := g.layout(record.Join, e.Span, ts...)
	l.Sep = e.Separator
	room := l.Size + joinMax*(str.Size+8)
	buf := memory{space: inScratch, off: g.reserve(room)}
	g.zero(buf, l.Size)
	g.header(buf, l)
	base, off := g.ref(buf)
	for _, s := range l.Args {
		b.StoreImm(4, base, off+s.Offset, -1)
	}
	arr := e.Args[0].Expr
	var src memory
	switch t := arr.Type(); {
	case t.Kind == types.Pointer:
		src = pointee(t, g.scalar(arr))
	case t.IsScalar():
		src = memory{space: g.defaultSpace(), base: g.scalar(arr)}
	default:
		src = g.place(arr)
	}
	end := memory{space: onStack, off: b.Slot(8)}
	b.StoreImm(8, ir.FP, end.off, int64(l.Size))
	done := b.Label()
	limit := l.Size
	for i, s := range l.Args {
		at := src
		if at.direct() || i == 0 {
			at = src.at(8 * i)
		} else {
			at.off += 8 * i
		}
		p := g.load(at, 8, false, e.Span)
		b.IfImm(ir.EQ, p, 0, done)
		pos := b.Load(8, ir.FP, end.off)
		inside := b.Label()
		b.IfImm(ir.LE, pos, int64(limit), inside)
		b.SetImm(pos, int64(l.Size))
		b.Bind(inside)
		from := memory{space: inUser, base: p}
		if src.space != inUser && !src.direct() {
			from.space = src.space
		}
		n := g.readString(memory{space: inReg, base: b.Op(ir.Add, base, pos), off: off}, fixedLength(str.Size+1), from,
			e.Span)
		b.ApplyImm(ir.Sub, n, 1)
		b.Store(4, base, off+s.Offset, n)
		b.Apply(ir.Add, n, pos)
		b.Store(8, ir.FP, end.off, n)
		limit += str.Size
	}
	b.Bind(done)
	size := b.Load(8, ir.FP, end.off)
	inside := b.Label()
	b.IfImm(ir.LE, size, int64(limit), inside)
	b.SetImm(size, int64(l.Size))
	b.Bind(inside)
	g.output(buf, ir.R(size), false)
}

// debugf writes to the kernel's trace buffer.
func (g *gen) debugf(e *check.Call) {
	b := g.b
	format := e.Format + "\x00"
	at := g.c.text(format)
	args := []ir.Operand{ir.MV(record.StringsName, at), ir.I(int64(len(format)))}
	for _, a := range e.Args {
		if a.Expr.Type().IsScalar() {
			args = append(args, ir.R(g.scalar(a.Expr)))
			continue
		}
		args = append(args, ir.R(g.ptr(g.own(g.place(a.Expr), a.Expr.Type().Size, e.Span))))
	}
	if len(args) > 5 {
		refuse(e.Span, "debugf takes at most three values")
	}
	b.Do(asm.FnTracePrintk, args...)
}
