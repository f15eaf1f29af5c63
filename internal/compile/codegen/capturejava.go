package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
)

// captureJava captures an object of Java: see record.JavaOf.
func (g *gen) captureJava(dst, src memory, from, to *types.Type, span diag.Span) {
	b, l := g.b, from.Source.Java
	g.zero(dst, to.Size)
	end := b.Label()
	g.told(dst, func() {
		p := b.Copy(g.load(src, 8, false, span))
		g.store(dst, 8, p)
		b.IfImm(ir.EQ, p, 0, end)
		g.store(dst.at(record.JavaProcess), 4, b.OpImm(ir.Shr, b.Call(asm.FnGetCurrentPidTgid), 32))
		class := g.reference(p, l.Class, l.NarrowClass, l.ClassBase, l.ClassShift, span)
		g.store(dst.at(record.JavaClass), 8, class)
		read := func(at, n ir.Reg) { g.readN(dst.at(record.JavaContent), at, n, int(to.Max), span) }
		if elem := from.Source.Item; elem != nil {
			n := g.user(p, l.Length, 4, span)
			g.store(dst.at(record.JavaLength), 4, n)
			if elem.Size > 0 {
				b.ApplyImm(ir.Mul, n, int64(elem.Size))
				read(b.Copy(b.OpImm(ir.Add, p, int64(l.Data))), n)
			}
			b.Jump(end)
			return
		}
		b.If(ir.NE, class, b.Imm(int64(l.Text)), end)
		value := g.reference(p, l.Value, l.Narrow, l.Base, l.Shift, span)
		b.IfImm(ir.EQ, value, 0, end) // it is just being made
		g.store(dst.at(record.JavaCoder), 4, b.OpImm(ir.Add, g.user(p, l.Coder, 1, span), 1))
		n := g.user(value, l.Length, 4, span)
		g.store(dst.at(record.JavaBytes), 4, n)
		read(b.Copy(b.OpImm(ir.Add, value, int64(l.Data))), n)
	})
	b.Bind(end)
}

// reference reads a reference that an object has, which may be narrow; 0: there is none.
func (g *gen) reference(base ir.Reg, off int, narrow bool, add uint64, shift int, span diag.Span) ir.Reg {
	if !narrow {
		return g.user(base, off, 8, span)
	}
	b, none := g.b, g.b.Label()
	r := g.user(base, off, 4, span)
	b.IfImm(ir.EQ, r, 0, none)
	b.ApplyImm(ir.Shl, r, int64(shift))
	if add != 0 {
		b.Apply(ir.Add, r, b.Imm(int64(add)))
	}
	b.Bind(none)
	return r
}
