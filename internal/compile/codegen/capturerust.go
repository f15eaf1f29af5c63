package codegen

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
	"trocar/internal/script/diag"
)

// captureRust captures a value of Rust of a shape; false if it is captured as other structures are. The type to capture
// in is that of record.Capture.
func (g *gen) captureRust(dst, src memory, s types.RustShape, to *types.Type, span diag.Span) bool {
	b := g.b
	switch {
	case s.Kind == types.RustInner:
		f := s.Parts[0]
		g.capture(dst, src.at(f.Offset), f.Type, to, span)
	case s.Kind == types.RustDyn && to.Kind == types.Dyn:
		g.zero(dst, to.Size)
		g.store(dst, 8, g.load(src.at(s.Parts[0].Offset), 8, false, span))
		table := g.load(src.at(s.Parts[1].Offset), 8, false, span)
		// The table's address relative to the probed instruction is the same in every process.
		g.store(dst.at(8), 8, b.Op(ir.Sub, table, g.saved(g.c.opts.Arch.IP)))
		g.store(dst.at(16), 4, b.OpImm(ir.Add, g.point(), 1))
	case s.Kind == types.RustCounted && to.Kind == types.Pointer:
		g.fetch(dst, src.at(s.Parts[0].Offset), to.Size, span)
	case s.Kind == types.RustCounted:
		p := b.Copy(g.load(src.at(s.Parts[0].Offset), 8, false, span))
		g.capture(dst, memory{space: inUser, base: p}, s.Parts[0].Type.Elem, to, span)
	case s.Kind == types.RustParts && len(to.Fields) == len(s.Parts):
		g.zeroPadding(dst, to)
		for i, f := range s.Parts {
			out := to.Fields[i]
			if s.Implied == i+1 {
				n := b.Copy(g.load(src.at(f.Offset), 8, false, span))
				b.ApplyImm(ir.Sub, n, 1)
				g.store(dst.at(out.Offset), 8, n)
				continue
			}
			g.capture(dst.at(out.Offset), src.at(f.Offset), f.Type, out.Type, span)
		}
	default:
		return false
	}
	return true
}

// captureVariants captures the alternative that the discriminant tells.
func (g *gen) captureVariants(dst, src memory, from *types.Variants, to *types.Type, span diag.Span) {
	b := g.b
	end := b.Label()
	g.zero(dst, to.Size)
	held := func(i int) {
		one, out := from.List[i], to.Alternatives().List[i]
		if one.Type == nil {
			return
		}
		t, src, dst := one.Type.Complete(), src.at(one.Offset), dst.at(out.Offset)
		if t == out.Type || one.Name == "" {
			g.capture(dst, src, t, out.Type, span)
			return
		}
		for i, f := range t.Fields {
			g.capture(dst.at(out.Type.Fields[i].Offset), src.at(f.Offset), f.Type, out.Type.Fields[i].Type, span)
		}
	}
	t := from.Discr.Type
	if t == nil {
		if len(from.List) > 0 {
			held(0)
		}
		return
	}
	d := b.Copy(g.load(src.at(from.Discr.Offset), min(t.Size, 8), false, span))
	g.store(dst, min(t.Size, 8), d)
	wide := b.Label() // the discriminant is larger than any that is named
	if t.Size > 8 {
		high := b.Copy(g.load(src.at(from.Discr.Offset+8), 8, false, span))
		g.store(dst.at(8), 8, high)
		b.If(ir.NE, high, b.Imm(0), wide)
	}
	other := -1
	for i, one := range from.List {
		if one.Default {
			other = i
		}
		if len(one.Discrs) == 0 {
			continue
		}
		this, next := b.Label(), b.Label()
		for _, r := range one.Discrs {
			// By the discriminant's size: ranges of signed ones may be sign-extended, and wrap.
			n := b.Op(ir.Sub, d, b.Imm(int64(r.Low)))
			b.Extend(n, min(t.Size, 8), false)
			b.If(ir.LE, n, b.Imm(int64(from.Cut(r.High-r.Low))), this)
		}
		b.Jump(next)
		b.Bind(this)
		held(i)
		b.Jump(end)
		b.Bind(next)
	}
	b.Bind(wide)
	if other >= 0 {
		held(other)
	}
	b.Bind(end)
}
