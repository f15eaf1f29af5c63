package codegen

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/ir"
	"trocar/internal/process/probe"
)

// brokenAt is what stands for the cookie at a breakpoint, which has none: a map has it by the address, from who sets
// the breakpoint.
func (g *gen) brokenAt() ir.Reg {
	b := g.b
	cookie, none := b.Imm(0), b.Label()
	p := g.broken(none)
	b.Set(cookie, b.Load(8, p, 0))
	b.Bind(none)
	return cookie
}

// countBreak counts that the program has run at a breakpoint, which may fire without.
func (g *gen) countBreak() {
	none := g.b.Label()
	p := g.broken(none)
	g.b.AtomicAdd(8, p, 8, g.b.Imm(1))
	g.b.Bind(none)
}

// broken is what the map has for the address.
func (g *gen) broken(none ir.Label) ir.Reg {
	b := g.b
	name := probe.BreaksName(fmt.Sprintf("p%d", len(g.c.out.Programs)))
	if !slices.ContainsFunc(g.c.out.Maps, func(m *ebpf.MapSpec) bool { return m.Name == name }) {
		g.c.out.Maps = append(g.c.out.Maps, &ebpf.MapSpec{
			Name: name, Type: ebpf.Hash, KeySize: 8, ValueSize: 16, MaxEntries: probe.MostBreaks,
		})
	}
	key := b.Slot(8)
	b.Store(8, ir.FP, key, g.saved(g.c.opts.Arch.IP))
	p := b.Call(asm.FnMapLookupElem, ir.M(name), ir.A(ir.FP, key))
	b.IfImm(ir.EQ, p, 0, none)
	return p
}
