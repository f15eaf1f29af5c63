package types

import (
	"fmt"
	"strings"
	"testing"
)

// shownLayout is a layout as text: the offset (with the bit), the size, bytes unused in front, and the line.
func shownLayout(t *Type) string {
	var b strings.Builder
	for _, l := range Layout(t) {
		if l.GapBits > 0 {
			fmt.Fprintf(&b, "gap %db\n", l.GapBits)
		}
		if l.Gap > 0 {
			fmt.Fprintf(&b, "gap %d\n", l.Gap)
		}
		switch {
		case l.Text == "":
		case l.Bits:
			fmt.Fprintf(&b, "%d:%d+%db|%s\n", l.Offset, l.Bit, l.Size, l.Text)
		case l.Offset < 0:
			fmt.Fprintf(&b, "|%s\n", l.Text)
		default:
			fmt.Fprintf(&b, "%d+%d|%s\n", l.Offset, l.Size, l.Text)
		}
	}
	return b.String()
}

func TestLayout(t *testing.T) {
	num := &Type{Kind: Int, Name: "int", Size: 4, Align: 4, Signed: true}
	in := func(lang Language, typ Type) *Type {
		s := Source{Lang: lang}
		if typ.Source != nil {
			s = *typ.Source
			s.Lang = lang
		}
		typ.Source = &s
		return &typ
	}
	for _, c := range []struct {
		name string
		t    *Type
		want string
	}{
		{"c", in(C, Type{Kind: Struct, Name: "struct s", Size: 24, Fields: []Field{
			{Name: "a", Type: num, BitSize: 3},
			{Name: "b", Type: num, BitSize: 7, BitOffset: 3},
			{Type: in(C, Type{
				Kind: Union, Size: 8,
				Fields: []Field{{Name: "x", Type: num}, {Name: "y", Type: ArrayOf(num, 2)}},
			}), Offset: 8},
			{Name: "z", Type: num, Offset: 16},
		}}), `0+24|struct s {
0:0+3b|    int a : 3;
0:3+7b|    int b : 7;
gap 6b
gap 6
8+8|    union {
8+4|        int x;
8+8|        int y[2];
|    };
16+4|    int z;
gap 4
|};
`},
		{"c++", in(CPlusPlus, Type{Kind: Struct, Name: "ns::D", Size: 8, Source: &Source{Class: true}, Fields: []Field{
			{
				Type: in(CPlusPlus, Type{Kind: Struct, Name: "ns::B", Size: 4, Fields: []Field{{Name: "b", Type: num}}}),
				Base: true,
			},
			{Name: "d", Type: num, Offset: 4},
		}}), `0+8|class ns::D {
0+4|    ns::B; // base class
4+4|    int d;
|};
`},
		{
			"go", in(Go, Type{Kind: Struct, Name: "main.T", Size: 4, Fields: []Field{{Name: "n", Type: in(Go, *num)}}}),
			`0+4|type main.T struct {
0+4|    n int
|}
`,
		},
		{"rust, ordered by its compiler", in(Rust, Type{Kind: Struct, Name: "m::S", Size: 8, Fields: []Field{
			{Name: "a", Type: in(Rust, Type{Kind: Bool, Name: "bool", Size: 1}), Offset: 4},
			{Name: "n", Type: in(Rust, *num)},
		}}), `0+8|struct m::S {
0+4|    n: int,
4+1|    a: bool,
gap 3
|}
`},
		{"rust", in(Rust, Type{Kind: Struct, Name: "m::E", Size: 8, Source: &Source{Variants: &Variants{
			Discr: Field{Type: in(Rust, Type{Kind: Int, Name: "u32", Size: 4})},
			List: []Variant{
				{
					Name: "One", Type: in(Rust, Type{
						Kind: Struct, Size: 8,
						Fields: []Field{{Name: "v", Type: in(Rust, Type{Kind: Int, Name: "i32", Size: 4}), Offset: 4}},
					}),
					Discrs: []VariantRange{{1, 1}},
				},
				{Name: "Other", Default: true},
			},
		}}}), `0+8|enum m::E {
0+4|    // discriminant: u32
|    One { // 1
4+4|        v: i32,
|    },
|    Other, // any other
|}
`},
		{
			"enum", in(C, Type{Kind: Enum, Name: "enum e", Size: 4, Signed: true, Enums: []Enumerator{{Name: "A", Value: -1}}}),
			`0+4|enum e {
|    A = -1,
|};
`,
		},
		{"alias", in(C, *num), "|int\n"},
	} {
		if got := shownLayout(c.t); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestLayoutBounded: a type that contains itself, as only a hostile file has it.
func TestLayoutBounded(t *testing.T) {
	loop := &Type{Kind: Struct, Size: 8}
	loop.Fields = []Field{{Type: loop}, {Type: loop}}
	if n := len(Layout(loop)); n > maxDefined {
		t.Errorf("%d lines", n)
	}
}
