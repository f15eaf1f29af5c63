package abi

import (
	"fmt"
	"testing"

	"trocar/internal/binary/types"
)

// shownPlace is a place in short: registers by number, "mem", or the reason in quotes.
func shownPlace(p types.Place) string {
	switch p.Kind {
	case types.InRegister:
		return fmt.Sprint("r", p.Reg)
	case types.InMemory:
		return fmt.Sprintf("mem(%d, kept %v)", p.Reg, p.Kept)
	case types.Constant:
		return "-"
	case types.InPieces:
		s := "["
		for _, piece := range p.Pieces {
			s += fmt.Sprintf(" %d:%s", piece.Size, shownPlace(piece.Place))
		}
		return s + " ]"
	case types.Unavailable:
		return "no"
	}
	return "?"
}

// TestRustHidden: the first parameter tells whether a hidden one is in front of it.
func TestRustHidden(t *testing.T) {
	three := &types.Type{Kind: types.Array, Size: 12, Align: 4, Len: 3, Elem: types.TUint32}
	for _, c := range []struct {
		first types.Place
		want  string
	}{
		{types.Place{Kind: types.InRegister, Reg: 4}, "mem(5, kept true)"},
		{types.Place{Kind: types.InMemory, Reg: 4}, "mem(5, kept true)"},
		{
			types.Place{Kind: types.InPieces, Pieces: []types.Piece{
				{Size: 8, Place: types.Place{Kind: types.InRegister, Reg: 4}},
				{Size: 8, Place: types.Place{Kind: types.InRegister, Reg: 1}},
			}},
			"mem(5, kept true)",
		},
		{types.Place{Kind: types.InRegister, Reg: 5}, "[ 8:r0 4:r1 ]"},
		{types.Place{Kind: types.InRegister, Reg: 17}, "no"},
		{types.Place{Kind: types.InMemory, Reg: 7}, "no"},
		{types.Place{}, "no"},
	} {
		if got := shownPlace(AMD64.RustHidden(three, c.first)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.first, got, c.want)
		}
	}
}

// TestRustResult holds the rules against what rustc 1.95 does.
func TestRustResult(t *testing.T) {
	rust := func(typ types.Type) *types.Type {
		s := types.Source{Lang: types.Rust}
		if typ.Source != nil {
			s = *typ.Source
			s.Lang = types.Rust
		}
		typ.Source = &s
		return &typ
	}
	num := func(size int, signed bool) *types.Type {
		return rust(types.Type{Kind: types.Int, Name: "n", Size: size, Align: size, Signed: signed})
	}
	float := rust(types.Type{Kind: types.Float, Name: "f64", Size: 8, Align: 8})
	ptr := rust(types.Type{Kind: types.Pointer, Size: 8, Align: 8, Elem: types.TUint8})
	fields := func(size, align int, f ...types.Field) *types.Type {
		return rust(types.Type{Kind: types.Struct, Name: "k::S", Size: size, Align: align, Fields: f})
	}
	at := func(off int, typ *types.Type) types.Field { return types.Field{Name: "f", Type: typ, Offset: off} }
	array := func(n int, elem *types.Type) *types.Type { return rust(*types.ArrayOf(elem, n)) }
	enum := func(size, align int, discr *types.Type, list ...types.Variant) *types.Type {
		vs := &types.Variants{List: list}
		if discr != nil {
			vs.Discr = types.Field{Type: discr}
		}
		return rust(types.Type{
			Kind: types.Struct, Name: "k::E", Size: size, Align: align,
			Source: &types.Source{Variants: vs},
		})
	}
	is := func(n uint64, typ *types.Type) types.Variant {
		return types.Variant{Name: "V", Type: typ, Discrs: []types.VariantRange{{Low: n, High: n}}}
	}
	other := func(typ *types.Type) types.Variant { return types.Variant{Name: "O", Type: typ, Default: true} }
	option32 := enum(8, 4, num(4, false), is(0, fields(8, 4)), is(1, fields(8, 4, at(4, num(4, false)))))
	for _, c := range []struct {
		name string
		typ  *types.Type
		want string
		pair string // with proof that two registers are taken
	}{
		{"u8", num(1, false), "r0", ""},
		{"u128", num(16, false), "[ 8:r0 8:r1 ]", ""},
		{"f64", float, "no", ""},
		{"()", types.RustUnit(), "[ ]", ""},
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
		{"with a float", fields(16, 8, at(0, num(8, false)), at(8, float)), "[ 8:r0 8:no ]", ""},
		{"Option<u32>", option32, "no", "[ 4:r0 4:r1 ]"},
		{
			"Option<u64>", enum(16, 8, num(8, false), is(0, fields(16, 8)), is(1, fields(16, 8, at(8, num(8, true))))),
			"[ 8:r0 8:r1 ]", "",
		},
		{"Option<&T>", enum(8, 8, num(8, false), is(0, fields(8, 8)), other(fields(8, 8, at(0, ptr)))), "r0", ""},
		{
			"Option<&str>", enum(
				16, 8, num(8, false),
				is(0, fields(16, 8)),
				other(fields(16, 8, at(0, fields(16, 8, at(0, ptr), at(8, num(8, false)))))),
			), "[ 8:r0 8:r1 ]", "",
		},
		{
			"Result<u32, i8>", enum(
				8, 4, num(1, false),
				is(0, fields(8, 4, at(4, num(4, false)))),
				is(1, fields(8, 4, at(1, num(1, true)))),
			), "r0", "",
		},
		{
			"Result<u32, i32>", enum(
				8, 4, num(4, false),
				is(0, fields(8, 4, at(4, num(4, false)))),
				is(1, fields(8, 4, at(4, num(4, true)))),
			), "no", "[ 4:r0 4:r1 ]",
		},
		{
			"Result<u64, Box<u8>>", enum(
				16, 8, num(8, false),
				is(0, fields(16, 8, at(8, num(8, false)))),
				is(1, fields(16, 8, at(8, ptr))),
			), "no", "",
		},
		{
			"a niche of which the others hold something", enum(
				8, 4, num(4, false),
				is(1, fields(8, 4, at(4, num(1, false)))),
				other(fields(8, 4, at(0, num(4, false)))),
			), "r0", "",
		},
		{"no variants", enum(8, 8, nil), "no", ""},
		{"incomplete", rust(types.Type{Kind: types.Struct, Name: "k::T", Size: 8, Incomplete: true}), "no", ""},
	} {
		if got := shownPlace(AMD64.RustResult(c.typ, false)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if c.pair == "" {
			continue
		}
		if got := shownPlace(AMD64.RustResult(c.typ, true)); got != c.pair || !TwoScalars(c.typ) {
			t.Errorf("%s with proof: %s, want %s", c.name, got, c.pair)
		}
	}
}
