package codegen

import (
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// Calls of interpreted functions all come by at the same few places. A map has those that are meant, by the address of
// their code: what stands for the point's cookie, and what must be found besides.

// In the value of the map.
const (
	meantCookie = 0
	meantBegin  = 8
	meantMarks  = 16
)

// interpreted leaves unless an interpreted function begins that is meant.
func (g *gen) interpreted(quit ir.Label) {
	if next := g.points[0].Next; next != 0 {
		g.b.If(ir.NE, g.saved(g.c.opts.Arch.IP), g.b.Imm(int64(next)), quit)
	}
	if away := g.points[0].Away; away != 0 {
		first := g.user(g.saved(g.c.opts.Arch.IP), 0, 1, g.act.Span)
		g.b.IfImm(ir.EQ, first, int64(away), quit)
	}
	of := g.points[0].Interpreted
	if of == nil {
		return
	}
	b, span := g.b, g.act.Span
	name := fmt.Sprintf("code%d", len(g.c.out.Programs))
	g.c.out.Maps = append(g.c.out.Maps, g.meant(name))
	g.whichSlot = b.Slot(8)
	frame := b.Copy(g.saved(of.Frame))
	code := g.user(frame, of.Code, 8, span)
	key := b.Slot(8)
	b.Store(8, ir.FP, key, code)
	found := b.Copy(b.Call(asm.FnMapLookupElem, ir.M(name), ir.A(ir.FP, key)))
	b.IfImm(ir.EQ, found, 0, quit)
	b.Store(8, ir.FP, g.whichSlot, b.Load(8, found, meantCookie))
	for i, off := range of.Marks {
		b.If(ir.NE, g.user(code, off, 8, span), b.Load(8, found, meantMarks+8*i), quit)
	}
	if of.Begin == 0 {
		return
	}
	b.If(ir.NE, g.user(frame, of.At, 8, span), b.Load(8, found, meantBegin), quit)
	if of.Version != 0 {
		made := g.user(code, of.Made, 8, span)
		if of.Lock == 0 {
			b.If(ir.NE, g.user(b.Imm(int64(of.Version)), 0, 8, span), made, quit)
			return
		}
		once := b.Label()
		b.If(ir.EQ, g.user(b.Imm(int64(of.Version)), 0, 8, span), made, once)
		thread := g.user(g.user(b.Imm(int64(of.Lock)), 0, 8, span), of.Holder, 8, span)
		b.IfImm(ir.EQ, g.user(thread, of.Tracing, 4, span), 0, quit)
		b.Bind(once)
	}
}

// which is what stands for the cookie of the function's point.
func (g *gen) which() ir.Reg { return g.b.Load(8, g.frame, g.whichSlot) }

func meantSize(of *probe.Interpreted) uint32 { return uint32(meantMarks + 8*len(of.Marks)) }

// meant makes the map. Of a function's several points, which are the places, it has the first.
func (g *gen) meant(name string) *ebpf.MapSpec {
	m := &ebpf.MapSpec{Name: name, Type: ebpf.Hash, KeySize: 8, ValueSize: meantSize(g.points[0].Interpreted)}
	known := map[uint64]bool{}
	for i, p := range g.points {
		of := p.Interpreted
		if known[of.OfCode] {
			continue
		}
		known[of.OfCode] = true
		n := g.firstCookie + uint64(i)
		value := make([]byte, m.ValueSize)
		binary.LittleEndian.PutUint64(value[meantCookie:], n|g.c.functionOf(p, n)<<functionShift)
		for j, word := range of.OfMarks {
			binary.LittleEndian.PutUint64(value[meantMarks+8*j:], word)
		}
		binary.LittleEndian.PutUint64(value[meantBegin:], of.Begin)
		m.Contents = append(m.Contents, ebpf.MapKV{Key: of.OfCode, Value: value})
	}
	m.MaxEntries = uint32(len(m.Contents))
	return m
}

// capturePython captures an object of Python: see record.PythonOf.
func (g *gen) capturePython(dst, src memory, from, to *types.Type, span diag.Span) {
	b := g.b
	g.zero(dst, to.Size)
	end := b.Label()
	g.told(dst, func() {
		p := b.Copy(g.load(src, 8, false, span))
		g.store(dst, 8, p)
		b.IfImm(ir.EQ, p, 0, end)
		word := g.user(p, record.PythonSized, 8, span)
		g.store(dst.at(record.PythonWord), 8, word)
		class := g.user(p, record.PythonClass, 8, span)
		flags := g.user(class, record.PythonFlags, 8, span)
		g.store(dst.at(record.PythonBits), 8, flags)
		name := memory{space: inUser, base: g.user(class, record.PythonName, 8, span)}
		g.readString(dst.at(record.PythonType), fixedLength(record.PythonText-record.PythonType), name, span)
		number, text, bytes := b.Label(), b.Label(), b.Label()
		value := func() { g.store(dst, 8, b.Imm(1)) } // where it is does not count: equal values are equal
		has := func(bit int64, to ir.Label) { b.IfImm(ir.NE, b.OpImm(ir.And, b.OpImm(ir.Shr, flags, bit), 1), 0, to) }
		has(record.PythonIsInt, number)
		has(record.PythonIsStr, text)
		has(record.PythonIsBytes, bytes)
		const float, heap = 0x74616f6c66, 1 << 9
		b.If(ir.NE, g.load(dst.at(record.PythonType), 8, false, span), b.Imm(float), end)
		b.IfImm(ir.NE, b.OpImm(ir.And, flags, heap), 0, end)
		value()
		b.Jump(end)

		most := to.Size - record.PythonText
		read := func(at, n ir.Reg) {
			g.readN(dst.at(record.PythonText), at, n, most, span)
			b.Jump(end)
		}
		b.Bind(number)
		value()
		n := b.Copy(word)
		if from.Len == record.PythonLongStr { // the sign is that of the number of digits
			positive := b.Label()
			b.IfImm(ir.SGE, n, 0, positive)
			b.Apply(ir.Neg, n, n)
			b.Bind(positive)
		} else {
			b.ApplyImm(ir.Shr, n, 3)
		}
		b.ApplyImm(ir.Shl, n, 2)
		read(b.OpImm(ir.Add, p, record.PythonDigits), n)

		b.Bind(bytes)
		value()
		read(b.OpImm(ir.Add, p, record.PythonBytes), b.Copy(word))

		b.Bind(text)
		value()
		state := g.user(p, record.PythonState, 4, span)
		const form = 0x1f << 2 // and not whether there is one object for all equal ones
		g.store(dst.at(record.PythonStateAt), 4, b.OpImm(ir.And, state, form))
		at := b.Copy(b.OpImm(ir.Add, p, int64(from.Len)))
		here := b.Label()
		const compactAndASCII, compact = 3 << 5, 1 << 5
		of := b.Copy(b.OpImm(ir.And, state, compactAndASCII))
		b.IfImm(ir.EQ, of, compactAndASCII, here)
		b.Set(at, b.OpImm(ir.Add, p, int64(from.Bits)))
		b.IfImm(ir.EQ, of, compact, here)
		b.Set(at, g.user(at, 0, 8, span))
		b.Bind(here)
		length := b.Copy(word)
		b.Apply(ir.Mul, length, b.OpImm(ir.And, b.OpImm(ir.Shr, state, 2), 7))
		read(at, length)
	})
	b.Bind(end)
}
