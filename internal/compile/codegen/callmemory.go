package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
)

func (c *codes) memory() {
	c[builtin.UAddr].scalar = (*gen).uaddr
	c[builtin.BSwap].scalar = func(g *gen, e *check.Call) ir.Reg {
		r := g.b.Copy(g.scalar(e.Args[0].Expr))
		if e.T.Size > 1 {
			g.b.Swap(r, 8*e.T.Size)
			g.b.Extend(r, e.T.Size, e.T.Signed)
		}
		return r
	}
	c[builtin.MemCmp].scalar = (*gen).memcmp
	c[builtin.WriteUser].scalar = (*gen).writeUser
	c[builtin.SocketCookie].scalar = func(g *gen, e *check.Call) ir.Reg {
		return g.b.Call(asm.FnGetSocketCookie, ir.R(g.scalar(e.Args[0].Expr)))
	}
	c[builtin.Unwatch].effect = func(g *gen, e *check.Call) {
		g.send(g.layout(record.Unwatch, e.Span, e.Args[0].Expr.Type()), []check.Expr{e.Args[0].Expr})
	}
	c[builtin.Path].none = "it is not available yet"
	c[builtin.PerCPUKAddr].none = "it is not available yet"
}

func (g *gen) writeUser(e *check.Call) ir.Reg {
	to, from, n := g.scalar(e.Args[0].Expr), g.scalar(e.Args[1].Expr), g.scalar(e.Args[2].Expr)
	res := g.b.Call(asm.FnProbeWriteUser, ir.R(to), ir.R(from), ir.R(n))
	r, end := g.b.Imm(0), g.b.Label()
	g.b.IfImm(ir.NE, res, 0, end)
	g.b.SetImm(r, 1)
	g.b.Bind(end)
	return r
}

// uaddr is the address of a symbol in the traced process: its offset in the file plus where the file is loaded, which the
// instruction pointer tells.
func (g *gen) uaddr(e *check.Call) ir.Reg {
	k, ok := e.Args[0].Expr.(*check.Const)
	if !ok {
		refuse(e.Span, "the symbol of uaddr was not resolved")
	}
	if g.typ != probe.UprobeProgram || len(g.points) == 0 {
		refuse(e.Span, "uaddr needs a uprobe or usdt probe: it is relative to the traced file")
	}
	addr := g.points[0].Addr
	for _, p := range g.points {
		if p.Addr != addr || g.ret {
			refuse(e.Span, "uaddr requires probes at one location of one file")
		}
	}
	return g.b.OpImm(ir.Add, g.saved(g.c.opts.Arch.IP), int64(k.Value)-int64(addr))
}
