package codegen

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
	"trocar/internal/script/diag"
)

// Go's interfaces and maps as they are shown: the dynamic type and, where that begins with a string, the string (an
// error's message); the number of entries.

// Offsets in the runtime's descriptions of types and interfaces (internal/abi of the Go source; 1.21 to 1.26).
const (
	itabType     = 8
	abiKind      = 23 // one byte, whose lower five bits are a reflect.Kind
	abiPtrElem   = 48
	abiFields    = 56 // of a struct: pointer and number
	abiNumFields = 64
	fieldType    = 8

	goKindPointer = 22
	goKindString  = 24
	goKindStruct  = 25
)

// captureEntries reads a map's number of entries: the first word of its header, both of 1.24's maps (used) and of older
// ones (count).
func (g *gen) captureEntries(dst, src memory, span diag.Span) {
	b := g.b
	p, end := b.Copy(g.load(src, 8, false, span)), b.Label()
	g.zero(dst, 16)
	g.store(dst, 8, p)
	b.IfImm(ir.EQ, p, 0, end)
	g.store(dst.at(8), 8, g.load(memory{space: inUser, base: p}, 8, false, span))
	b.Bind(end)
}

// captureIface reads an interface: see types.IfaceOf.
func (g *gen) captureIface(dst, src memory, from, to *types.Type, span diag.Span) {
	b := g.b
	at := func(base ir.Reg, off int) ir.Reg {
		return b.Copy(g.load(memory{space: inUser, base: base, off: off}, 8, false, span))
	}
	kind := func(t ir.Reg) ir.Reg {
		return b.OpImm(ir.And, g.load(memory{space: inUser, base: t, off: abiKind}, 1, false, span), 31)
	}
	g.zero(dst, to.Size)
	end := b.Label()
	t := b.Copy(g.load(src, 8, false, span))
	data := b.Copy(g.load(src.at(8), 8, false, span))
	b.IfImm(ir.EQ, t, 0, end)
	if from.Form() == types.GoIfaceForm {
		b.Set(t, at(t, itabType))
	}
	// The type's address relative to the probed instruction is the same in every process.
	g.store(dst, 8, b.Op(ir.Sub, t, g.register(g.c.opts.Arch.IP)))
	g.store(dst.at(8), 4, b.OpImm(ir.Add, g.point(), 1))
	g.store(dst.at(16), 8, data)
	b.IfImm(ir.EQ, data, 0, end)

	k, isString, notPointer := b.Copy(kind(t)), b.Label(), b.Label()
	b.IfImm(ir.EQ, k, goKindString, isString)
	b.IfImm(ir.NE, k, goKindPointer, notPointer)
	b.Set(t, at(t, abiPtrElem))
	b.Set(k, kind(t))
	b.Bind(notPointer)
	b.IfImm(ir.NE, k, goKindStruct, end)
	b.IfImm(ir.EQ, at(t, abiNumFields), 0, end)
	b.Set(t, at(at(t, abiFields), fieldType))
	b.IfImm(ir.NE, kind(t), goKindString, end)
	b.Bind(isString)
	p, n := at(data, 0), at(data, 8)
	b.IfImm(ir.SLT, n, 0, end)
	b.IfImm(ir.EQ, p, 0, end)
	g.store(dst.at(24), 8, b.OpImm(ir.Add, n, 1))
	g.readN(dst.at(32), p, n, to.Size-32, span)
	b.Bind(end)
}
