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
	name := probe.BreaksName(fmt.Sprintf("p%d", len(g.c.out.Programs)))
	if !slices.ContainsFunc(g.c.out.Maps, func(m *ebpf.MapSpec) bool { return m.Name == name }) {
		g.c.out.Maps = append(g.c.out.Maps, &ebpf.MapSpec{
			Name: name, Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: probe.MostBreaks,
		})
	}
	key := b.Slot(8)
	b.Store(8, ir.FP, key, g.saved(g.c.opts.Arch.IP))
	cookie, none := b.Imm(0), b.Label()
	p := b.Call(asm.FnMapLookupElem, ir.M(name), ir.A(ir.FP, key))
	b.IfImm(ir.EQ, p, 0, none)
	b.Set(cookie, b.Load(8, p, 0))
	b.Bind(none)
	return cookie
}
