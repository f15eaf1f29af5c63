package codegen

import (
	"encoding/binary"
	"unicode/utf16"

	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
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
		b.IfImm(ir.EQ, p, 0, end)
		g.store(dst, 8, b.Imm(1)) // where it is does not count: it is moved
		class := g.reference(p, l.Class, l.NarrowClass, l.ClassBase, l.ClassShift, span)
		text := b.Label()
		if from.Source.Item == nil {
			b.If(ir.EQ, class, b.Imm(int64(l.Text)), text)
		}
		g.store(dst.at(record.JavaClass), 8, class)
		g.store(dst.at(record.JavaProcess), 4, b.OpImm(ir.Shr, b.Call(asm.FnGetCurrentPidTgid), 32))
		read := func(at, n ir.Reg) { g.readN(dst.at(record.JavaContent), at, n, int(to.Max), span) }
		if elem := from.Source.Item; elem != nil {
			n := g.user(p, l.Length, 4, span)
			g.store(dst.at(record.JavaLength), 4, n)
			if elem.Size > 0 {
				b.ApplyImm(ir.Mul, n, int64(elem.Size))
				read(b.Copy(b.OpImm(ir.Add, p, int64(l.DataOf(elem)))), n)
			}
			b.Jump(end)
			return
		}
		b.Jump(end)
		b.Bind(text)
		value := g.reference(p, l.Value, l.Narrow, l.Base, l.Shift, span)
		b.IfImm(ir.EQ, value, 0, end) // it is just being made
		g.store(dst.at(record.JavaCoder), 4, b.OpImm(ir.Add, g.user(p, l.Coder, 1, span), 1))
		n := g.user(value, l.Length, 4, span)
		g.store(dst.at(record.JavaBytes), 4, n)
		read(b.Copy(b.OpImm(ir.Add, value, int64(l.Data))), n)
	})
	b.Bind(end)
}

// javaElement is the memory of an array's element. One beyond the end is nowhere, so that it reads as zero.
func (g *gen) javaElement(e *check.Index) memory {
	b := g.b
	elem, _ := e.X.Type().JavaElement()
	l := e.X.Type().Source.Java
	p := b.Copy(g.scalar(e.X))
	n := b.Copy(g.user(p, l.Length, 4, e.Span))
	i := b.Copy(g.scalar(e.I))
	inside, end := b.Label(), b.Label()
	b.If(ir.LT, i, n, inside)
	g.runtimeError(outOfBounds, e.Span)
	b.SetImm(p, 0)
	b.Jump(end)
	b.Bind(inside)
	b.ApplyImm(ir.Mul, i, int64(l.SizeOf(elem)))
	b.Apply(ir.Add, p, i)
	b.ApplyImm(ir.Add, p, int64(l.DataOf(elem)))
	b.Bind(end)
	return memory{space: inUser, base: p}
}

// equalObject goes to unequal unless a captured object of Java or Python is the text s, of which each has as many bytes
// for a character as the widest of them takes.
func (g *gen) equalObject(m memory, t *types.Type, s string, unequal ir.Label, span diag.Span) {
	unit, most, content := 1, int(t.Max), record.JavaContent
	if t.Kind == types.Python {
		most, content = t.Size-record.PythonText, record.PythonText
	}
	for _, r := range s {
		switch {
		case r > 0xffff && t.Kind == types.Python:
			unit = 4
		case r > 0xff:
			unit = max(unit, 2)
		}
	}
	var want []byte
	switch unit {
	case 1:
		for _, r := range s {
			want = append(want, byte(r))
		}
	case 2:
		for _, u := range utf16.Encode([]rune(s)) {
			want = binary.LittleEndian.AppendUint16(want, u)
		}
	default:
		for _, r := range s {
			want = binary.LittleEndian.AppendUint32(want, uint32(r))
		}
	}
	if len(want) > most {
		refuse(span, "the text is too long: it is compared with the first %d bytes", most)
	}
	b := g.b
	base, off := g.ref(m)
	is := func(at, size int, v int64) { b.IfImm(ir.NE, b.Load(ir.Size(size), base, off+at), v, unequal) }
	if t.Kind == types.Java {
		is(record.JavaCoder, 4, int64(unit))
		is(record.JavaBytes, 4, int64(len(want)))
	} else {
		const text = 1 << record.PythonIsStr
		b.IfImm(ir.EQ, b.OpImm(ir.And, b.Load(8, base, off+record.PythonBits), text), 0, unequal)
		kind := b.OpImm(ir.And, b.Load(4, base, off+record.PythonStateAt), 7<<2)
		b.IfImm(ir.NE, kind, int64(unit)<<2, unequal)
		is(record.PythonWord, 8, int64(len(want)/unit))
	}
	g.prefixConst(m.at(content), string(want), len(want), len(want), unequal)
}

// reference reads a reference that an object has, which may be narrow; 0: there is none.
func (g *gen) reference(base ir.Reg, off int, narrow bool, add uint64, shift int, span diag.Span) ir.Reg {
	if !narrow {
		return g.user(base, off, 8, span)
	}
	return g.unnarrow(g.user(base, off, 4, span), add, shift)
}

// unnarrow makes an address of a narrow reference.
func (g *gen) unnarrow(r ir.Reg, add uint64, shift int) ir.Reg {
	b, none := g.b, g.b.Label()
	b.IfImm(ir.EQ, r, 0, none)
	b.ApplyImm(ir.Shl, r, int64(shift))
	if add != 0 {
		b.Apply(ir.Add, r, b.Imm(int64(add)))
	}
	b.Bind(none)
	return r
}
