package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
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
	c[builtin.Path].memory = func(g *gen, dst memory, e *check.Call, t *types.Type) { g.path(dst, e, t.Size) }
	c[builtin.PerCPUKAddr].scalar = (*gen).perCPU
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

// perCPU is the address of a variable of the kernel on this CPU, or on another: then it is 0 if there is no such CPU.
func (g *gen) perCPU(e *check.Call) ir.Reg {
	id, ok := e.Args[0].Expr.(*check.Const)
	if !ok {
		refuse(e.Span, "internal: the variable is not known by its number")
	}
	v := g.b.KernelVar(uint32(id.Value))
	if len(e.Args) == 1 {
		return g.number(g.b.Call(asm.FnThisCpuPtr, ir.R(v)))
	}
	return g.number(g.b.Call(asm.FnPerCpuPtr, ir.R(v), ir.R(g.scalar(e.Args[1].Expr))))
}

// uaddr is the address of a symbol in the traced process.
func (g *gen) uaddr(e *check.Call) ir.Reg {
	if e.Place.Kind != types.InMemory {
		refuse(e.Span, "the symbol of uaddr was not resolved")
	}
	r := g.b.Copy(g.compute(e.Place.Ops, e.Span))
	if p := g.points[0]; p.Path == "" { // another process has something else there
		pid, _ := g.pidTgid()
		own := g.b.Label()
		g.b.IfImm(ir.EQ, pid, int64(p.PID), own)
		g.b.SetImm(r, 0)
		g.b.Bind(own)
	}
	return r
}
