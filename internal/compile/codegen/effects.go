package codegen

import (
	"github.com/cilium/ebpf/asm"
	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
)

// callEffect runs a builtin whose value is dropped.
func (g *gen) callEffect(e *check.Call) {
	b := g.b
	switch e.Fn.ID {
	case "printf":
		g.formatted(record.Printf, e)
	case "errorf":
		g.formatted(record.Errorf, e)
	case "warnf":
		g.formatted(record.Warnf, e)
	case "system":
		g.formatted(record.System, e)
	case "cat":
		g.formatted(record.Cat, e)
	case "print":
		g.print(e)
	case "clear", "zero":
		kind := record.Clear
		if e.Fn.ID == "zero" {
			kind = record.Zero
		}
		l := g.layout(kind, e.Span)
		l.Map = e.Args[0].Map.ID
		g.send(l, nil)
	case "time":
		l := g.layout(record.Time, e.Span)
		l.Format = e.Format
		g.send(l, nil)
	case "join":
		g.join(e)
	case "exit":
		g.exitCall(e)
	case "signal", "signal_thread":
		fn := asm.FnSendSignal
		if e.Fn.ID == "signal_thread" {
			fn = asm.FnSendSignalThread
		}
		sig := g.scalar(e.Args[0].Expr)
		ok := b.Label()
		res := b.Call(fn, ir.R(sig))
		b.IfImm(ir.EQ, res, 0, ok)
		g.helperError("send_signal", res, e.Span)
		b.Bind(ok)
	case "override":
		b.Do(asm.FnOverrideReturn, ir.R(g.context()), ir.R(g.scalar(e.Args[0].Expr)))
	case "delete":
		res := g.deleteEntry(e)
		if g.c.opts.HelperErrors {
			ok := b.Label()
			b.IfImm(ir.NE, res, 0, ok)
			g.helperError("map_delete_elem", b.Imm(-2), e.Span)
			b.Bind(ok)
		}
	case "unwatch":
		l := g.layout(record.Unwatch, e.Span, types.TUint64)
		g.send(l, []check.Expr{e.Args[0].Expr})
	case "debugf":
		g.debugf(e)
	default:
		switch t := e.T; {
		case t.Kind == types.None || t.Kind == types.Void:
			refuse(e.Span, "internal: no code for %s()", e.Fn.Names[0])
		case t.IsScalar():
			g.callScalar(e)
		default:
			g.place(e)
		}
	}
}

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

// exitCall asks user space to end the run and leaves the program.
func (g *gen) exitCall(e *check.Call) {
	b := g.b
	var args []check.Expr
	var ts []*types.Type
	if len(e.Args) > 0 {
		args = append(args, e.Args[0].Expr)
		ts = append(ts, e.Args[0].Expr.Type())
	}
	l := g.layout(record.Exit, e.Span, ts...)
	g.send(l, args)
	b.StoreImm(8, b.MapValue(record.ControlName, record.ControlStop), 0, 1)
	if g.b == g.main {
		b.Jump(g.exit)
	} else {
		b.StoreImm(8, g.frame, g.leaveSlot, 1)
		b.Exit(1)
	}
	b.Bind(b.Label())
}

// joinMax is the number of strings that join takes.
const joinMax = 16

// join sends the strings of an array of pointers up to a null pointer. Missing ones have the length 0xffffffff.
func (g *gen) join(e *check.Call) {
	b := g.b
	str := types.StringOf(joinStrlen)
	ts := make([]*types.Type, joinMax)
	for i := range ts {
		ts[i] = str
	}
	l := g.layout(record.Join, e.Span, ts...)
	l.Sep = " "
	if e.Format != "" || len(e.Args) > 1 {
		l.Sep = e.Format
	}
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
		n := g.readString(memory{space: inReg, base: b.Op(ir.Add, base, pos), off: off}, fixedLength(str.Size+1), from, e.Span)
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

// joinStrlen is the room for each string of join.
const joinStrlen = 1024

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
