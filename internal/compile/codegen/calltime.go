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

func (c *codes) clocks() {
	c[builtin.NSecs].scalar = (*gen).nsecs
	c[builtin.Elapsed].scalar = func(g *gen, _ *check.Call) ir.Reg {
		// Nanoseconds since the start, which the loader writes into the control map.
		start := g.b.Load(8, g.b.MapValue(record.ControlName, record.ControlStart), 0)
		return g.b.Op(ir.Sub, g.b.Call(asm.FnKtimeGetBootNs), start)
	}
	c[builtin.Jiffies].helper = asm.FnJiffies64
	c[builtin.StrFTime].memory = func(g *gen, dst memory, e *check.Call, _ *types.Type) {
		g.store(dst, 8, g.scalar(e.Args[0].Expr))
		base, off := g.ref(dst)
		g.b.StoreImm(8, base, off+8, int64(g.c.strftime(e.Format)))
	}
	c[builtin.Time].effect = func(g *gen, e *check.Call) {
		l := g.layout(record.Time, e.Span)
		l.Format = e.Format
		g.send(l, nil)
	}
}

func (g *gen) nsecs(e *check.Call) ir.Reg {
	b := g.b
	switch e.Clock {
	case types.ClockBoot:
		if g.hitSlot != 0 && !g.timeAsked {
			g.timeAsked = true // the first time that is asked for is that of the hit
			return b.Load(8, g.frame, g.hitSlot)
		}
		return b.Call(asm.FnKtimeGetBootNs)
	case types.ClockMonotonic:
		return b.Call(asm.FnKtimeGetNs)
	case types.ClockTAI:
		if !g.c.opts.Features.Has(feature.KtimeTAI) {
			refuse(e.Span, "nsecs(tai) needs bpf_ktime_get_tai_ns (Linux 6.1)")
		}
		return b.Call(asm.FnKtimeGetTaiNs)
	case types.ClockSwTAI:
		// The difference between the clocks, which the loader writes into the control map.
		diff := b.Load(8, b.MapValue(record.ControlName, record.ControlTAI), 0)
		return b.Op(ir.Add, b.Call(asm.FnKtimeGetBootNs), diff)
	}
	refuse(e.Span, "internal: no clock %d", e.Clock)
	return ir.NoReg
}
