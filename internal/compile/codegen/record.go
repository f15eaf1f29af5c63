package codegen

import (
	"github.com/cilium/ebpf/asm"
	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
)

// layout registers a record for arguments of these types.
func (g *gen) layout(kind record.Kind, span diag.Span, args ...*types.Type) *record.Layout {
	l := &record.Layout{ID: len(g.c.out.Layouts), Kind: kind, Action: g.act.Index}
	l.Arrange(g.c.out.HeaderSize(), args...)
	g.c.out.Layouts, g.c.layoutSpans = append(g.c.out.Layouts, l), append(g.c.layoutSpans, span)
	return l
}

// send builds the record of a layout from expressions and sends it.
func (g *gen) send(l *record.Layout, args []check.Expr) {
	b := g.b
	room, dynamic := l.Size, false
	for _, s := range l.Args {
		if s.Dynamic {
			room += s.Type.Size + 8
			dynamic = true
		}
	}
	buf := g.recordBuffer(room, dynamic)
	g.header(buf, l)
	for i, s := range l.Args {
		if s.Dynamic {
			continue
		}
		if to, ok := g.captures(args[i]); ok && to.Equal(s.Type) {
			g.captureInto(buf.at(s.Offset), args[i], s.Type)
			continue
		}
		g.into(buf.at(s.Offset), args[i], s.Type)
	}
	if !dynamic {
		g.output(buf, ir.I(int64(l.Size)), l.Kind == record.Exit)
		return
	}
	end := memory{space: onStack, off: b.Slot(8)}
	b.StoreImm(8, ir.FP, end.off, int64(l.Size))
	limit := l.Size
	for i, s := range l.Args {
		if !s.Dynamic {
			continue
		}
		pos := b.Load(8, ir.FP, end.off)
		// The verifier of old kernels forgets the bounds of spilled numbers.
		inside := b.Label()
		b.IfImm(ir.LE, pos, int64(limit), inside)
		b.SetImm(pos, int64(l.Size))
		b.Bind(inside)
		base, off := g.ref(buf)
		n := g.appendString(memory{space: inReg, base: b.Op(ir.Add, base, pos), off: off}, args[i], s.Type)
		b.Store(4, base, off+s.Offset, n)
		b.Apply(ir.Add, n, pos)
		b.Store(8, ir.FP, end.off, n)
		limit += s.Type.Size
	}
	size := b.Load(8, ir.FP, end.off)
	inside := b.Label()
	b.IfImm(ir.LE, size, int64(limit), inside)
	b.SetImm(size, int64(l.Size))
	b.Bind(inside)
	g.output(buf, ir.R(size), false)
}

// recordBuffer is memory for a record: small ones fit the stack. Those of changing length don't, since parts of them
// would never be written.
func (g *gen) recordBuffer(size int, dynamic bool) memory {
	if !dynamic && size <= 96 && g.b == g.main && g.b.Frame() < g.room.records {
		return memory{space: onStack, off: g.b.Slot(size)}
	}
	return memory{space: inScratch, off: g.reserve(size)}
}

func (g *gen) header(buf memory, l *record.Layout) {
	base, off := g.ref(buf)
	g.b.StoreImm(8, base, off, int64(l.ID))
	at := g.c.out.HeaderSize()
	if g.c.opts.Heads {
		g.headed = true
		g.copy(buf.at(record.Header), memory{space: inFrame, off: g.headSlot}, record.HeadedSize-record.Header)
	}
	// Padding between the arguments would be uninitialised stack.
	for _, s := range l.Args {
		if s.Offset > at {
			g.zero(buf.at(at), s.Offset-at)
		}
		at = s.Offset + s.Type.Size
		if s.Dynamic {
			at = s.Offset + 4
		}
	}
	if l.Size > at {
		g.zero(buf.at(at), l.Size-at)
	}
}

// head keeps when, where and by whom the probe was hit, for all records that the program sends.
func (g *gen) head() {
	at := func(off int) memory { return memory{space: inFrame, off: g.headSlot + off - record.Header} }
	g.store(at(record.HeadTime), 8, g.b.Call(asm.FnKtimeGetBootNs))
	tgid, tid := g.pidTgid()
	g.store(at(record.HeadPID), 4, tgid)
	g.store(at(record.HeadTID), 4, tid)
	g.store(at(record.HeadPoint), 4, g.point())
	base, off := g.ref(at(record.HeadPoint + 4))
	g.b.StoreImm(4, base, off, 0)
}

// Flags of bpf_ringbuf_output.
const (
	noWakeup    = 1
	forceWakeup = 2
)

// output sends a record. Waking the reader costs more than everything else together, so it is done only when the reader
// said that it sleeps for long, and for what can't wait.
func (g *gen) output(buf memory, size ir.Operand, urgent bool) {
	b := g.b
	flags := b.Imm(noWakeup)
	if urgent {
		b.SetImm(flags, forceWakeup)
	} else if !g.typ.RunByUs() {
		busy := b.Label()
		control := b.MapValue(record.IdleName, 0)
		b.IfImm(ir.EQ, b.Load(8, control, 0), 0, busy)
		b.StoreImm(8, control, 0, 0)
		b.SetImm(flags, forceWakeup)
		b.Bind(busy)
	}
	sent := b.Label()
	res := b.Call(asm.FnRingbufOutput, ir.M(record.RingName), g.addr(buf), size, ir.R(flags))
	b.IfImm(ir.EQ, res, 0, sent)
	g.count(0) // record.LostRecords
	b.Bind(sent)
}

// helperError reports a failed call of a helper.
func (g *gen) helperError(helper string, res ir.Reg, span diag.Span) {
	l := g.layout(record.HelperError, span, types.TInt64)
	l.Helper = helper
	buf := g.recordBuffer(l.Size, false)
	g.header(buf, l)
	g.store(buf.at(l.Args[0].Offset), 8, res)
	g.output(buf, ir.I(int64(l.Size)), false)
}

// runtimeError reports something that is wrong in the script as it runs.
func (g *gen) runtimeError(text string, span diag.Span) {
	l := g.layout(record.HelperError, span, types.TInt64)
	l.Format = text
	m := g.mark()
	defer g.free(m)
	buf := g.recordBuffer(l.Size, false)
	g.header(buf, l)
	base, off := g.ref(buf)
	g.b.StoreImm(8, base, off+l.Args[0].Offset, 0)
	g.output(buf, ir.I(int64(l.Size)), false)
}
