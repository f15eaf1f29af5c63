package codegen

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
	"trocar/internal/script/diag"
)

// Go's own kinds as they are shown: funcs by name, channels by how full they are, pointers with what they point to. See
// gomap.go for maps, goiface.go for interfaces.

// captureManaged captures Go's own kinds.
func (g *gen) captureManaged(dst, src memory, from, to *types.Type, span diag.Span) bool {
	switch to.Kind {
	case types.Iface:
		g.captureIface(dst, src, from, to, span)
	case types.Entries:
		g.captureMap(dst, src, from, to, span)
	case types.Channel:
		g.captureChannel(dst, src, from, span)
	case types.Closure:
		g.captureClosure(dst, src, span)
	case types.Pointed:
		g.capturePointed(dst, src, from, to, span)
	default:
		return false
	}
	return true
}

// user loads an integer from the process's memory.
func (g *gen) user(base ir.Reg, off, size int, span diag.Span) ir.Reg {
	return g.b.Copy(g.load(memory{space: inUser, base: base, off: off}, size, false, span))
}

func (g *gen) captureChannel(dst, src memory, from *types.Type, span diag.Span) {
	b := g.b
	p, end := b.Copy(g.load(src, 8, false, span)), b.Label()
	g.zero(dst, 32)
	g.store(dst, 8, p)
	b.IfImm(ir.EQ, p, 0, end)
	at, _ := from.ChannelLayout()
	g.store(dst.at(8), 8, g.user(p, at[0], 8, span))
	g.store(dst.at(16), 8, g.user(p, at[1], 8, span))
	g.store(dst.at(24), 8, g.user(p, at[2], 4, span))
	b.Bind(end)
}

// captureClosure reads where a func's code is: a func is a pointer to a closure, which begins with that.
func (g *gen) captureClosure(dst, src memory, span diag.Span) {
	b := g.b
	p, end := b.Copy(g.load(src, 8, false, span)), b.Label()
	g.zero(dst, 16)
	b.IfImm(ir.EQ, p, 0, end)
	// The distance from the probed instruction is the same in every process.
	g.store(dst, 8, b.Op(ir.Sub, g.user(p, 0, 8, span), g.saved(g.c.opts.Arch.IP)))
	g.store(dst.at(8), 4, b.OpImm(ir.Add, g.point(), 1))
	b.Bind(end)
}

func (g *gen) capturePointed(dst, src memory, from, to *types.Type, span diag.Span) {
	b := g.b
	end := b.Label()
	if f, ok := from.Held(); ok { // a smart pointer
		src, from = src.at(f.Offset), f.Type.Complete()
	}
	g.zero(dst, to.Size)
	g.told(dst, func() {
		p := b.Copy(g.load(src, 8, false, span))
		g.store(dst, 8, p)
		b.IfImm(ir.EQ, p, 0, end)
		fail := g.onFail
		g.onFail = func(memory) { fail(memory{space: inUser, base: p}) } // whichever part of it
		g.capture(dst.at(8), memory{space: inUser, base: p}, from.Elem.Complete(), to.Elem, span)
	})
	b.Bind(end)
}
