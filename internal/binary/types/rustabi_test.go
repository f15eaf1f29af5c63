package types

import (
	"fmt"
	"testing"
)

// shownPlace is a place in short: registers by number, "mem", or the reason in quotes.
func shownPlace(p Place) string {
	switch p.Kind {
	case InRegister:
		return fmt.Sprint("r", p.Reg)
	case InMemory:
		return fmt.Sprintf("mem(%d, kept %v)", p.Reg, p.Kept)
	case Constant:
		return "-"
	case InPieces:
		s := "["
		for _, piece := range p.Pieces {
			s += fmt.Sprintf(" %d:%s", piece.Size, shownPlace(piece.Place))
		}
		return s + " ]"
	case Unavailable:
		return "no"
	}
	return "?"
}

// TestRustHidden: the first parameter tells whether a hidden one is in front of it.
func TestRustHidden(t *testing.T) {
	three := &Type{Kind: Array, Size: 12, Align: 4, Len: 3, Elem: TUint32}
	for _, c := range []struct {
		first Place
		want  string
	}{
		{Place{Kind: InRegister, Reg: 4}, "mem(5, kept true)"},
		{Place{Kind: InMemory, Reg: 4}, "mem(5, kept true)"},
		{Place{Kind: InPieces, Pieces: []Piece{{8, Place{Kind: InRegister, Reg: 4}}, {8, Place{Kind: InRegister, Reg: 1}}}}, "mem(5, kept true)"},
		{Place{Kind: InRegister, Reg: 5}, "[ 8:r0 4:r1 ]"},
		{Place{Kind: InRegister, Reg: 17}, "no"},
		{Place{Kind: InMemory, Reg: 7}, "no"},
		{Place{}, "no"},
	} {
		if got := shownPlace(RustHidden(three, c.first)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.first, got, c.want)
		}
	}
}

// TestRustResult holds the rules against what rustc 1.95 does.
func TestRustResult(t *testing.T) {
	rust := func(typ Type) *Type {
		s := Source{Lang: Rust}
		if typ.Source != nil {
			s = *typ.Source
			s.Lang = Rust
		}
		typ.Source = &s
		return &typ
	}
	num := func(size int, signed bool) *Type {
		return rust(Type{Kind: Int, Name: "n", Size: size, Align: size, Signed: signed})
	}
	float := rust(Type{Kind: Float, Name: "f64", Size: 8, Align: 8})
	ptr := rust(Type{Kind: Pointer, Size: 8, Align: 8, Elem: TUint8})
	fields := func(size, align int, f ...Field) *Type {
		return rust(Type{Kind: Struct, Name: "k::S", Size: size, Align: align, Fields: f})
	}
	at := func(off int, typ *Type) Field { return Field{Name: "f", Type: typ, Offset: off} }
	array := func(n int, elem *Type) *Type { return rust(*ArrayOf(elem, n)) }
	enum := func(size, align int, discr *Type, list ...Variant) *Type {
		vs := &Variants{List: list}
		if discr != nil {
			vs.Discr = Field{Type: discr}
		}
		return rust(Type{Kind: Struct, Name: "k::E", Size: size, Align: align, Source: &Source{Variants: vs}})
	}
	is := func(n uint64, typ *Type) Variant {
		return Variant{Name: "V", Type: typ, Discrs: []VariantRange{{n, n}}}
	}
	other := func(typ *Type) Variant { return Variant{Name: "O", Type: typ, Default: true} }
	option32 := enum(8, 4, num(4, false), is(0, fields(8, 4)), is(1, fields(8, 4, at(4, num(4, false)))))
	for _, c := range []struct {
		name string
		typ  *Type
		want string
		pair string // with proof that two registers are taken
	}{
		{"u8", num(1, false), "r0", ""},
		{"u128", num(16, false), "[ 8:r0 8:r1 ]", ""},
		{"f64", float, "no", ""},
		{"()", RustUnit(), "[ ]", ""},
		{"&str", fields(16, 8, at(0, ptr), at(8, num(8, false))), "[ 8:r0 8:r1 ]", ""},
		{"struct of one", fields(4, 4, at(0, num(4, false))), "r0", ""},
		{"two halves", fields(8, 4, at(0, num(4, false)), at(4, num(4, false))), "no", "[ 4:r0 4:r1 ]"},
		{"(u32, u8)", fields(8, 4, at(0, num(4, false)), at(4, num(1, false))), "no", "[ 4:r0 1:r1 3:- ]"},
		{"(u8, u32)", fields(8, 4, at(0, num(1, false)), at(4, num(4, false))), "no", "[ 1:r0 3:- 4:r1 ]"},
		{"three", fields(6, 2, at(0, num(2, false)), at(2, num(2, false)), at(4, num(2, false))), "r0", ""},
		{"three words", fields(12, 4, at(0, num(4, false)), at(4, num(4, false)), at(8, num(4, false))), "no", ""},
		{"[u8; 8]", array(8, num(1, false)), "r0", ""},
		{"[u8; 9]", array(9, num(1, false)), "no", ""},
		{"packed", fields(5, 1, at(0, num(1, false)), at(1, num(4, false))), "r0", ""},
		{"String", fields(24, 8, at(0, num(8, false)), at(8, ptr), at(16, num(8, false))), "mem(5, kept true)", ""},
		{"with a float", fields(16, 8, at(0, num(8, false)), at(8, float)), "no", ""},
		{"Option<u32>", option32, "no", "[ 4:r0 4:r1 ]"},
		{"Option<u64>", enum(16, 8, num(8, false), is(0, fields(16, 8)), is(1, fields(16, 8, at(8, num(8, true))))), "[ 8:r0 8:r1 ]", ""},
		{"Option<&T>", enum(8, 8, num(8, false), is(0, fields(8, 8)), other(fields(8, 8, at(0, ptr)))), "r0", ""},
		{"Option<&str>", enum(16, 8, num(8, false), is(0, fields(16, 8)), other(fields(16, 8, at(0, fields(16, 8, at(0, ptr), at(8, num(8, false))))))), "[ 8:r0 8:r1 ]", ""},
		{"Result<u32, i8>", enum(8, 4, num(1, false), is(0, fields(8, 4, at(4, num(4, false)))), is(1, fields(8, 4, at(1, num(1, true))))), "r0", ""},
		{"Result<u32, i32>", enum(8, 4, num(4, false), is(0, fields(8, 4, at(4, num(4, false)))), is(1, fields(8, 4, at(4, num(4, true))))), "r0", ""},
		{"Result<u64, Box<u8>>", enum(16, 8, num(8, false), is(0, fields(16, 8, at(8, num(8, false)))), is(1, fields(16, 8, at(8, ptr)))), "no", ""},
		{"a niche of which the others hold something", enum(8, 4, num(4, false), is(1, fields(8, 4, at(4, num(1, false)))), other(fields(8, 4, at(0, num(4, false))))), "r0", ""},
		{"no variants", enum(8, 8, nil), "no", ""},
		{"incomplete", rust(Type{Kind: Struct, Name: "k::T", Size: 8, Incomplete: true}), "no", ""},
	} {
		if got := shownPlace(RustResult(c.typ, false)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if c.pair == "" {
			continue
		}
		if got := shownPlace(RustResult(c.typ, true)); got != c.pair || !TwoScalars(c.typ) {
			t.Errorf("%s with proof: %s, want %s", c.name, got, c.pair)
		}
	}
}
