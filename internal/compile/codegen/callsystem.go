package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
)

func (c *codes) system() {
	c[builtin.Exit].effect = (*gen).exitCall
	c[builtin.Signal].effect = sends(asm.FnSendSignal)
	c[builtin.SignalThread].effect = sends(asm.FnSendSignalThread)
	c[builtin.Override].effect = func(g *gen, e *check.Call) {
		g.b.Do(asm.FnOverrideReturn, ir.R(g.context()), ir.R(g.scalar(e.Args[0].Expr)))
	}
	c[builtin.CPU].helper = asm.FnGetSmpProcessorId
	c[builtin.NCPUs].scalar = func(g *gen, _ *check.Call) ir.Reg { return g.b.Imm(int64(g.c.opts.CPUs)) }
	c[builtin.NUMAID].helper = asm.FnGetNumaNodeId
	c[builtin.Rand].helper = asm.FnGetPrandomU32
	c[builtin.CgroupPath].memory = func(g *gen, dst memory, e *check.Call, _ *types.Type) {
		g.store(dst, 8, g.scalar(e.Args[0].Expr))
		filter := 0
		if e.Filter != "" {
			filter = 1 + g.c.strftime(e.Filter)
		}
		base, off := g.ref(dst)
		g.b.StoreImm(8, base, off+8, int64(filter))
	}
}

// sends makes the call of a helper that sends a signal.
func sends(fn asm.BuiltinFunc) func(*gen, *check.Call) {
	return func(g *gen, e *check.Call) {
		sig := g.scalar(e.Args[0].Expr)
		ok := g.b.Label()
		res := g.b.Call(fn, ir.R(sig))
		g.b.IfImm(ir.EQ, res, 0, ok)
		g.helperError("send_signal", res, e.Span)
		g.b.Bind(ok)
	}
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
