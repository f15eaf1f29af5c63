package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
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
	case types.Java:
		g.captureJava(dst, src, from, to, span)
	case types.Python:
		g.capturePython(dst, src, from, to, span)
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

// captureObject captures an object of C++ with what tells its class: see record.ObjectOf. In front of the place that an
// object points to in its virtual table is how far the whole object begins from there (Itanium C++ ABI, 2.5.2).
func (g *gen) captureObject(dst, src memory, from, to *types.Type, span diag.Span) {
	b := g.b
	if to.Lang() == types.DotNet { // its type, and whose
		g.zero(dst, record.ObjectHeader)
		g.store(dst, 8, g.load(src, 8, false, span))
		g.store(dst.at(8), 4, b.OpImm(ir.Shr, b.Call(asm.FnGetCurrentPidTgid), 32))
		if len(to.Elem.Fields) > 0 {
			g.capture(dst.at(record.ObjectHeader+to.Len), src, from, to.Elem, span)
		}
		if to.Len > 0 && src.space == inUser {
			end := b.Label()
			g.zero(dst.at(record.ObjectHeader), to.Len)
			for at, n := 0, record.FirstOfAny; at < to.Len; at, n = at+n, to.Len-record.FirstOfAny {
				to := g.addr(dst.at(record.ObjectHeader + at))
				res := b.Call(asm.FnProbeReadUser, to, ir.I(int64(n)), ir.A(src.base, src.off+at))
				b.IfImm(ir.NE, res, 0, end)
				g.store(dst.at(12), 4, b.Imm(int64(at+n)))
			}
			b.Bind(end)
		}
		return
	}
	g.capture(dst.at(record.ObjectHeader+to.Len), src, from, to.Elem, span)
	g.zero(dst, record.ObjectHeader+to.Len)
	if src.space != inUser {
		return // a copy: its address is not the object's
	}
	end, done := b.Label(), b.Label()
	table := b.Copy(g.load(src, 8, false, span))
	top := memory{space: inScratch, off: g.reserve(8)}
	read := func(dst memory, size int, base ir.Reg, off int, failed ir.Label) {
		res := b.Call(asm.FnProbeReadUser, g.addr(dst), ir.I(int64(size)), ir.A(base, off))
		b.IfImm(ir.NE, res, 0, failed)
	}
	// Of an object that is not made yet nothing is told.
	read(top, 8, table, -16, end)
	distance := b.Copy(g.load(top, 8, false, span))
	b.IfImm(ir.SGT, distance, 0, end)
	b.IfImm(ir.SLT, distance, -1<<20, end)
	g.store(dst, 8, b.Op(ir.Sub, table, g.saved(g.c.opts.Arch.IP)))
	g.store(dst.at(8), 4, b.OpImm(ir.Add, g.point(), 1))
	g.store(dst.at(16), 8, distance)
	whole := b.OpImm(ir.Add, b.Op(ir.Add, src.base, distance), int64(src.off))
	g.store(dst.at(24), 8, whole)
	for at := 0; at < to.Len; at += record.ObjectChunk {
		read(dst.at(record.ObjectHeader+at), record.ObjectChunk, whole, at, done)
		g.store(dst.at(12), 4, b.Imm(int64(at+record.ObjectChunk)))
	}
	b.Bind(done)
	b.Bind(end)
}
