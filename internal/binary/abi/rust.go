package abi

import (
	"strings"

	"trocar/internal/binary/types"
)

// Where rustc's own calling convention returns values, on amd64. It is no promise of the language; these rules are
// those of rustc_abi (layout.rs: which values are one or two scalars) and rustc_target (callconv: adjust_for_rust_abi)
// that have not changed for years: one or two scalars are returned in registers, other values in one if they fit into
// it, else in memory that the caller gave. What a rule does not cover is refused.
//
// Debug info does not say that a function is extern "C". So a place is only told where the C convention has the same,
// or where code that calls the function proves that its result is two scalars.

// rustResult is the place of a result of a type. pair tells that callers were seen to take two registers.
func rustResult(t *types.Type, pair bool) types.Place {
	t = t.Complete()
	no := func(why string) types.Place { return types.Place{Why: why} }
	if t == nil || t.Incomplete {
		return no("the result's type is not complete")
	}
	r := rustLayout{pair: pair}
	whole := r.of(t, 0, 0)
	switch {
	case t.Size == 0:
		return types.Place{Kind: types.InPieces}
	case whole.unknown:
		return no("how Rust returns a value of type " + t.String() + " is not known")
	case t.Size > 16:
		// In memory of which the caller passes the address, in rdi. Optimized code does not return it.
		return types.Place{Kind: types.InMemory, Reg: rdi, Kept: true}
	case r.float && len(whole.scalars) == 1 && t.Size <= 8 && whole.scalars[0].kind == 'f':
		return inXMM(0)
	case r.float && len(whole.scalars) == 2 && whole.scalars[1].at >= 8: // the C convention has the same
		return rustFloats(whole.scalars, t.Size)
	case r.float:
		return no("a part of the result is in xmm0, which BPF cannot read")
	case len(whole.scalars) == 1 && t.Size <= 8:
		return types.Place{Kind: types.InRegister, Reg: rax}
	case len(whole.scalars) == 1: // 128 bits
		return words(t.Size)
	case len(whole.scalars) == 2:
		first, second := whole.scalars[0], whole.scalars[1]
		if second.at >= 8 {
			return words(t.Size)
		}
		if !pair {
			return no("whether its two parts are returned in one register or in two is not known")
		}
		p := types.Place{Kind: types.InPieces, Pieces: []types.Piece{inRegister(first.size, rax)}}
		if gap := second.at - first.size; gap > 0 {
			p.Pieces = append(p.Pieces, types.Piece{Size: gap, Place: types.Place{Kind: types.Constant}})
		}
		p.Pieces = append(p.Pieces, inRegister(second.size, rdx))
		if rest := t.Size - second.at - second.size; rest > 0 {
			p.Pieces = append(p.Pieces, types.Piece{Size: rest, Place: types.Place{Kind: types.Constant}})
		}
		return p
	case t.Size <= 8:
		return types.Place{Kind: types.InRegister, Reg: rax}
	}
	return no("whether it is returned in memory or in two registers is not known")
}

// rustFloats is the place of two scalars in a word each, of which some are floating-point numbers.
func rustFloats(scalars []rustScalar, size int) types.Place {
	p := types.Place{Kind: types.InPieces}
	ints, floats := []int{rax, rdx}, 0
	for i, s := range scalars {
		n := min(8, size-8*i)
		if s.kind == 'f' {
			p.Pieces = append(p.Pieces, types.Piece{Size: n, Place: inXMM(floats)})
			floats++
			continue
		}
		p.Pieces, ints = append(p.Pieces, inRegister(n, ints[0])), ints[1:]
	}
	return p
}

// rustHidden is the place of a result for which rustResult cannot tell whether it is in memory, from where the
// function's first parameter is at the entry: behind the hidden address of the result, or in its place.
func rustHidden(t *types.Type, first types.Place) types.Place {
	r := rustLayout{}
	whole := r.of(t, 0, 0)
	if t.Size <= 8 || t.Size > 16 || whole.unknown || len(whole.scalars) > 0 || r.float {
		return types.Place{}
	}
	if first.Kind == types.InPieces && len(first.Pieces) > 0 {
		first = first.Pieces[0].Place
	}
	if first.Kind != types.InRegister && first.Kind != types.InMemory || len(first.Ops) > 0 {
		return types.Place{}
	}
	switch first.Reg {
	case rsi:
		return types.Place{Kind: types.InMemory, Reg: rdi, Kept: true}
	case rdi:
		return words(t.Size)
	}
	return types.Place{}
}

// TwoScalars tells of a result type that RustResult of AMD64 needs proof of: that callers take two registers.
func TwoScalars(t *types.Type) bool {
	t = t.Complete()
	if t == nil || t.Size == 0 || t.Size > 8 || t.Incomplete {
		return false
	}
	r := rustLayout{pair: true}
	whole := r.of(t, 0, 0)
	return !whole.unknown && !r.float && len(whole.scalars) == 2
}

// Undivided tells a type of Rust of which a value is passed whole or not at all, in registers: as one number.
func Undivided(t *types.Type) bool {
	t = t.Complete()
	if t == nil || t.Size == 0 || t.Incomplete {
		return false
	}
	r := rustLayout{}
	whole := r.of(t, 0, 0)
	switch {
	case whole.unknown || r.float:
		return false
	case t.Size <= 8:
		return len(whole.scalars) < 2
	}
	return t.Kind == types.Int && t.Size == 16
}

// inRegister is a part of a value in a register.
func inRegister(size, reg int) types.Piece {
	return types.Piece{Size: size, Place: types.Place{Kind: types.InRegister, Reg: reg}}
}

// words is a value in rax and rdx.
func words(size int) types.Place {
	return types.Place{Kind: types.InPieces, Pieces: []types.Piece{inRegister(8, rax), inRegister(size-8, rdx)}}
}

// rustScalar is a number or pointer in a value.
type rustScalar struct {
	at, size int
	kind     byte // 'u' or 's': unsigned or signed number, 'i': a number, 'p': a pointer, 'f': a float
}

// rustRepr is what rustc takes a value for: one or two scalars, or memory (none).
type rustRepr struct {
	scalars []rustScalar
	unknown bool
}

// rustLayout finds the representation of a type, and on the way what is in it.
type rustLayout struct {
	float bool // a floating-point number
	pair  bool // callers were seen to take two registers
}

var unknownRepr = rustRepr{unknown: true}

func (r *rustLayout) of(t *types.Type, at, depth int) rustRepr {
	t = t.Complete()
	if depth > 16 || t.Incomplete || strings.Contains(t.Name, "core_arch") || strings.Contains(t.Name, "simd") {
		return unknownRepr
	}
	if t.Size == 0 {
		return rustRepr{}
	}
	one := func(kind byte) rustRepr {
		return rustRepr{scalars: []rustScalar{{at, t.Size, kind}}}
	}
	switch t.Kind {
	case types.Int, types.Bool:
		if t.Signed {
			return one('s')
		}
		return one('u')
	case types.Enum:
		return one('i')
	case types.Float:
		r.float = true
		return one('f')
	case types.Pointer:
		return one('p')
	case types.Array:
		if e := r.of(t.Elem, at, depth+1); e.unknown {
			return e
		}
		return rustRepr{}
	case types.Struct:
		if vs := variantsOf(t.Source); vs != nil {
			return r.variants(t, vs, at, depth)
		}
		return r.fields(t, at, depth)
	}
	return unknownRepr
}

func variantsOf(s *types.Source) *types.Variants {
	if s == nil {
		return nil
	}
	return s.Variants
}

// fields is the representation of a struct or variant (LayoutCalculator::univariant): that of the only member, or a
// pair if there are two scalars at their natural places.
func (r *rustLayout) fields(t *types.Type, at, depth int) rustRepr {
	var reprs []rustRepr
	var sizes []types.Field
	for _, f := range t.Fields {
		if f.BitSize > 0 || f.Type.Incomplete {
			return unknownRepr
		}
		if f.Type.Size == 0 {
			continue
		}
		n := r.of(f.Type, at+f.Offset, depth+1)
		if n.unknown {
			return n
		}
		reprs, sizes = append(reprs, n), append(sizes, f)
	}
	switch {
	case len(reprs) == 1 && sizes[0].Offset == 0 && sizes[0].Type.Size == t.Size:
		return reprs[0]
	case len(reprs) == 2 && len(reprs[0].scalars) == 1 && len(reprs[1].scalars) == 1:
		return pairOf(reprs[0].scalars[0], reprs[1].scalars[0], t, at)
	}
	return rustRepr{}
}

// pairOf is two scalars, if they fill t the way that a pair of them does.
func pairOf(a, b rustScalar, t *types.Type, at int) rustRepr {
	if a.at > b.at {
		a, b = b, a
	}
	align := max(a.size, b.size)
	second := (a.size + b.size - 1) / b.size * b.size
	whole := (second + b.size + align - 1) / align * align
	if a.at != at || b.at != at+second || t.Size != whole || t.Align != 0 && t.Align != align {
		return rustRepr{}
	}
	return rustRepr{scalars: []rustScalar{a, b}}
}

// variants is the representation of an enum (LayoutCalculator::layout_of_enum).
func (r *rustLayout) variants(t *types.Type, vs *types.Variants, at, depth int) rustRepr {
	if strings.Contains(t.Name, "async_") || strings.Contains(t.Name, "coroutine") {
		for _, one := range vs.List {
			if n := r.of(one.Type, at+one.Offset, depth+1); n.unknown {
				return n
			}
		}
		return rustRepr{}
	}
	if len(vs.List) == 0 {
		return unknownRepr
	}
	niche := false
	for _, one := range vs.List {
		if one.Type == nil {
			return unknownRepr
		}
		niche = niche || one.Default
	}
	if vs.Discr.Type == nil {
		return r.of(vs.List[0].Type, at, depth+1)
	}
	tag := r.of(vs.Discr.Type, at+vs.Discr.Offset, depth+1)
	if tag.unknown || len(tag.scalars) != 1 {
		return unknownRepr
	}
	if niche {
		return r.niche(t, vs, at, depth)
	}
	return r.tagged(t, vs, tag.scalars[0], at, depth)
}

// niche: values of one variant that it never has stand for the others. If these hold nothing it is represented as that
// one.
func (r *rustLayout) niche(t *types.Type, vs *types.Variants, at, depth int) rustRepr {
	var main rustRepr
	others := false
	for _, one := range vs.List {
		v := one.Type.Complete()
		if one.Default {
			main = r.fields(v, at+one.Offset, depth+1)
			if variantsOf(v.Source) != nil || one.Offset != 0 {
				return unknownRepr
			}
			continue
		}
		n := r.fields(v, at+one.Offset, depth+1)
		if n.unknown {
			return n
		}
		for _, f := range v.Fields {
			others = others || f.Type.Size > 0
		}
	}
	if main.unknown || !others {
		return main
	}
	return rustRepr{}
}

// tagged: a number in front tells the variant. If every variant holds nothing, or one scalar that is alike and at the
// same place in all, it is a pair.
func (r *rustLayout) tagged(t *types.Type, vs *types.Variants, tag rustScalar, at, depth int) rustRepr {
	var common *rustScalar
	memory := false
	for _, one := range vs.List {
		v := one.Type.Complete()
		n := 0
		for _, f := range v.Fields {
			if f.Type.Size == 0 {
				continue
			}
			if f.Type.Kind == types.Enum && tag.at == at+one.Offset+f.Offset {
				continue // rustc's old form: the tag among the members
			}
			n++
			x := r.of(f.Type, at+one.Offset+f.Offset, depth+1)
			switch {
			case x.unknown:
				return x
			case n > 1 || len(x.scalars) != 1:
				memory = true
			case common == nil:
				common = &x.scalars[0]
			case common.at != x.scalars[0].at || common.size != x.scalars[0].size:
				memory = true
			case common.kind != x.scalars[0].kind || common.kind == 'i':
				if a, b := common.kind, x.scalars[0].kind; a == 'f' || b == 'f' {
					memory = true
					break
				}
				// Numbers of different signs, and a number and a pointer, count as alike in newer versions only, and an enum's
				// sign is not known: callers tell.
				if !r.pair {
					return unknownRepr
				}
			}
		}
	}
	switch {
	case memory:
		return rustRepr{}
	case common == nil:
		if t.Size != tag.size {
			return rustRepr{}
		}
		return rustRepr{scalars: []rustScalar{tag}}
	}
	return pairOf(tag, *common, t, at)
}
