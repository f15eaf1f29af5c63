package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
)

// code is how one builtin becomes instructions.
type code struct {
	// helper: the builtin is what a helper function of the kernel gives that takes no arguments, or a part of it.
	helper asm.BuiltinFunc
	part   part
	// scalar makes a value that fits a register.
	scalar func(g *gen, e *check.Call) ir.Reg
	// memory makes a value of type t at dst.
	memory func(g *gen, dst memory, e *check.Call, t *types.Type)
	// effect runs a call whose value is dropped; without it the value is made all the same.
	effect func(g *gen, e *check.Call)
	// callback: the code has a function besides the main one.
	callback func(e *check.Call) bool
	// none: why check lets no call of it through.
	none string
}

// part is which bits of a helper's result are meant.
type part uint8

const (
	whole part = iota
	low32
	high32
)

// codes are those of all builtins, by ID.
type codes [builtin.NumIDs]code

// newCodes lists them, group by group in the order of the reference.
func newCodes() *codes {
	c := &codes{}
	c.process()
	c.probeInfo()
	c.clocks()
	c.output()
	c.mapOps()
	c.text()
	c.memory()
	c.stacks()
	c.system()
	c.elsewhere()
	return c
}

// elsewhere lists the builtins that are something else, or known, before code is made.
func (c *codes) elsewhere() {
	for id := builtin.None + 1; id < builtin.NumIDs; id++ {
		switch f := builtin.Get(id); {
		case f.IsAggregation():
			c[id].none = "it stands behind an assignment to a map"
		case f.CompileTime:
			c[id].none = "it is known when compiling"
		}
	}
	for _, id := range []builtin.ID{builtin.PPID, builtin.PComm, builtin.LeaderTID, builtin.LeaderComm} {
		c[id].none = "it is a field of the task"
	}
	for _, id := range []builtin.ID{builtin.Args, builtin.Vars} {
		c[id].none = "it is an expression of its own"
	}
	for _, id := range []builtin.ID{builtin.Assert, builtin.ContainerOf} {
		c[id].none = "it is a macro"
	}
	for _, id := range []builtin.ID{builtin.KPtr, builtin.UPtr, builtin.IsErr, builtin.StrCap, builtin.Tracer} {
		c[id].none = "check makes another expression of it"
	}
	c[builtin.SkbOutput].none = "no packet captures are written"
}

// callScalar makes the value of a builtin that fits a register.
func (g *gen) callScalar(e *check.Call) ir.Reg {
	c := &g.c.codes[e.Fn.ID]
	switch {
	case c.scalar != nil:
		return c.scalar(g, e)
	case c.helper == asm.FnUnspec:
		g.noCode(e)
	case c.part == low32:
		return g.b.Low32(g.b.Call(c.helper))
	case c.part == high32:
		return g.b.OpImm(ir.Shr, g.b.Call(c.helper), 32)
	}
	return g.b.Call(c.helper)
}

// callInto makes the value of a builtin that lives in memory.
func (g *gen) callInto(dst memory, e *check.Call, t *types.Type) {
	c := &g.c.codes[e.Fn.ID]
	if c.memory == nil {
		g.noCode(e)
	}
	c.memory(g, dst, e, t)
}

// callEffect runs a builtin whose value is dropped.
func (g *gen) callEffect(e *check.Call) {
	c := &g.c.codes[e.Fn.ID]
	switch t := e.T; {
	case c.effect != nil:
		c.effect(g, e)
	case t.Kind == types.None || t.Kind == types.Void:
		g.noCode(e)
	case t.IsScalar():
		g.callScalar(e)
	default:
		g.place(e)
	}
}

// noCode refuses a call that should not have come here.
func (g *gen) noCode(e *check.Call) {
	why := g.c.codes[e.Fn.ID].none
	if why == "" {
		why = "there is no code for a value of type " + e.T.String()
	}
	refuse(e.Span, "internal: %s() is no call: %s", e.Fn.Names[0], why)
}

// truth makes 1 if r is as the condition says, else 0.
func (g *gen) truth(c ir.Cond, r ir.Reg, imm int64) ir.Reg {
	t, end := g.b.Imm(1), g.b.Label()
	g.b.IfImm(c, r, imm, end)
	g.b.SetImm(t, 0)
	g.b.Bind(end)
	return t
}
