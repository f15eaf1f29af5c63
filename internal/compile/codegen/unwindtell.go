package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
)

// tell counts stacks that are not certain, and asks user space for files that were not known.
func (w *walker) tell() {
	g, b := w.g, w.g.b
	how := w.load(walkEndedBy)
	end := b.Label()
	b.IfImm(ir.EQ, how, 0, end)
	known := b.Label()
	b.IfImm(ir.EQ, b.OpImm(ir.And, how, walkUnknown), 0, known)
	w.ask()
	b.Bind(known)
	for _, l := range []struct {
		bit  int64
		kind record.LossKind
	}{{walkGuessed, record.GuessedStacks}, {walkBroken, record.BrokenStacks}} {
		not := b.Label()
		b.IfImm(ir.EQ, b.OpImm(ir.And, w.load(walkEndedBy), l.bit), 0, not)
		g.count(g.c.lossOnce(l.kind))
		b.Bind(not)
	}
	b.Bind(end)
}

// askShift: a process is asked for once in 2^20 ns, some ms.
const askShift = 20

// ask sends a record that asks for a file that the process has mapped, unless that was done just now.
func (w *walker) ask() {
	g, b := w.g, w.g.b
	tgid, _ := g.pidTgid()
	now := b.OpImm(ir.Shr, b.Call(asm.FnKtimeGetNs), askShift)
	b.ApplyImm(ir.Shl, now, 32)
	b.Apply(ir.Or, now, tgid)
	slot := b.OpImm(ir.And, tgid, record.UnwindAskedSize/8-1)
	b.ApplyImm(ir.Shl, slot, 3)
	b.Apply(ir.Add, slot, b.MapValue(record.UnwindAsked, 0))
	end := b.Label()
	b.If(ir.EQ, b.Load(8, slot, 0), now, end)
	b.Store(8, slot, 0, now)
	if g.asksMaps == nil {
		g.asksMaps = g.layout(record.Mapped, g.act.Span, types.TUint64, types.TUint64)
	}
	l := g.asksMaps
	m := g.mark()
	buf := g.recordBuffer(l.Size, false)
	g.header(buf, l)
	g.store(buf.at(l.Args[0].Offset), 8, tgid)
	g.store(buf.at(l.Args[1].Offset), 8, w.load(walkMissing))
	g.output(buf, ir.I(int64(l.Size)), false)
	g.free(m)
	b.Bind(end)
}
