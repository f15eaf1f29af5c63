package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// userStack is BPF_F_USER_STACK.
const userStack = 1 << 8

func (c *codes) stacks() {
	for _, id := range []builtin.ID{builtin.UStack, builtin.KStack} {
		c[id].memory = func(g *gen, dst memory, e *check.Call, t *types.Type) { g.stack(dst, t, e.Span) }
	}
	c[builtin.USym].memory = func(g *gen, dst memory, e *check.Call, _ *types.Type) {
		g.store(dst, 8, g.scalar(e.Args[0].Expr))
		g.store(dst.at(8), 8, g.b.OpImm(ir.Shr, g.b.Call(asm.FnGetCurrentPidTgid), 32))
	}
	c[builtin.KSym].memory = func(g *gen, dst memory, e *check.Call, _ *types.Type) {
		g.store(dst, 8, g.scalar(e.Args[0].Expr))
	}
}

// stack takes a stack (types.StackType) into dst.
func (g *gen) stack(dst memory, t *types.Type, span diag.Span) {
	b := g.b
	g.zero(dst, t.Size)
	flags := int64(0)
	if t.Kind == types.UStack {
		flags = userStack
		tgid := b.OpImm(ir.Shr, b.Call(asm.FnGetCurrentPidTgid), 32)
		g.store(dst, 4, tgid)
	}
	n := b.Call(asm.FnGetStack, ir.R(g.context()), g.addr(dst.at(16)), ir.I(int64(8*t.Depth)), ir.I(flags))
	ok, end := b.Label(), b.Label()
	b.IfImm(ir.SGE, n, 0, ok)
	// A thread of the kernel has no user stack: that is no loss.
	b.Jump(end)
	b.Bind(ok)
	b.ApplyImm(ir.Shr, n, 3)
	if t.Kind == types.UStack && g.typ == probe.UprobeProgram && !g.ret && (len(g.points) == 1 || g.c.cookies(g.typ)) {
		// Which point was hit tells where its file is loaded, also when the process is gone before anybody looks.
		point := b.Copy(g.point())
		b.ApplyImm(ir.Add, point, 1)
		b.ApplyImm(ir.Shl, point, types.StackPointShift)
		b.Apply(ir.Or, n, point)
	}
	g.store(dst.at(4), 4, n)
	b.Bind(end)
	if t.Kind == types.UStack && g.atEntry() {
		g.caller(dst.at(8), span)
	}
}

// atEntry tells whether all points are function entries, or instructions that return, where the stack walk by frame
// pointers may miss the caller.
func (g *gen) atEntry() bool {
	if g.typ != probe.UprobeProgram || g.ret {
		return false
	}
	for _, p := range g.points {
		if (p.Kind != probe.Uprobe || !p.Entry) && !p.AtReturn || p.Frame != nil {
			return false
		}
	}
	return true
}

// caller reads the return address of the function that was just entered.
func (g *gen) caller(dst memory, span diag.Span) {
	arch := g.c.opts.Arch
	if !arch.ReturnOnStack() {
		g.store(dst, 8, g.saved(arch.LR))
		return
	}
	g.readUser(dst, memory{space: inUser, base: g.saved(arch.SP)}, fixedLength(8), span)
}

// saved loads a register by its DWARF number, of those that all programs have.
func (g *gen) saved(reg int) ir.Reg { return g.machine(reg, g.act.Span) }

// register loads a saved register of the interrupted program.
func (g *gen) register(offset int) ir.Reg {
	return g.b.Load(8, g.context(), offset)
}

// instruction is the address of the probed place: the probe may sit on an equivalent instruction a few bytes behind it.
func (g *gen) instruction() ir.Reg {
	r := g.b.Copy(g.saved(g.c.opts.Arch.IP))
	for _, p := range g.points {
		if p.Skip != g.points[0].Skip {
			return r // not known here which
		}
	}
	g.b.ApplyImm(ir.Sub, r, int64(g.points[0].Skip))
	return r
}

// context is the program's context (in callbacks it was fetched from main's frame).
func (g *gen) context() ir.Reg { return g.ctx }
