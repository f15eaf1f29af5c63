package types

import "testing"

func TestDefine(t *testing.T) {
	alias := func(t *Type, name string) *Type { return t.Derive(func(d *Type) { d.Source.Alias = name }) }
	node := &Type{Kind: Struct, Name: "struct node", Size: 48, Align: 8, Fields: []Field{
		{Name: "next", Type: PointerTo(&Type{Kind: Struct, Name: "struct node", Incomplete: true}, AnySpace)},
		{Type: &Type{Kind: Union, Size: 8, Fields: []Field{
			{Name: "i", Type: &Type{Kind: Int, Name: "int", Size: 4}},
			{Type: &Type{Kind: Struct, Size: 8, Fields: []Field{{Name: "c", Type: ArrayOf(TChar, 8)}}}},
		}}, Offset: 8},
		{Name: "many", Type: ArrayOf(PointerTo(&Type{Kind: Struct, Fields: []Field{{Name: "x", Type: alias(TUint32, "u32")}}},
			AnySpace), 2), Offset: 16},
		{
			Name:   "kind",
			Type:   &Type{Kind: Enum, Size: 4, Enums: []Enumerator{{Name: "A"}, {Name: "B", Value: 1 << 31}}},
			Offset: 32,
		},
		{Name: "low", Type: alias(TUint8, "u8"), Offset: 36, BitSize: 3},
		{Name: "t", Type: alias(&Type{Kind: Struct, Name: "atomic_t", Size: 4}, "atomic_t"), Offset: 40},
	}}
	for _, tt := range []struct {
		t    *Type
		want string
	}{
		{node, `struct node {
	struct node *next;
	union {
		int i;
		struct {
			char c[8];
		};
	};
	struct {
		u32 x;
	} *many[2];
	enum {
		A = 0,
		B = 2147483648,
	} kind;
	u8 low: 3;
	atomic_t t;
};`},
		{
			&Type{Kind: Enum, Name: "enum e", Size: 4, Signed: true, Enums: []Enumerator{{Name: "MINUS", Value: -1}}},
			"enum e {\n\tMINUS = -1,\n};",
		},
		{
			alias(&Type{Kind: Struct, Name: "atomic_t", Size: 4, Fields: []Field{{Name: "counter", Type: TInt32}}}, "atomic_t"),
			"struct atomic_t {\n\tint32 counter;\n};",
		},
		{PointerTo(TChar, AnySpace), "char *;"},
		{Stub(&Type{Kind: Struct, Name: "struct node"}, func() *Type {
			return &Type{Kind: Struct, Name: "struct node", Fields: []Field{{Name: "x", Type: TInt8}}}
		}), "struct node {\n\tint8 x;\n};"},
	} {
		if got := Define(tt.t); got != tt.want {
			t.Errorf("got\n%s\nwant\n%s", got, tt.want)
		}
	}
}

// TestDefineBounded writes a type that contains itself, and one of more members than anybody reads.
func TestDefineBounded(t *testing.T) {
	loop := &Type{Kind: Struct}
	loop.Fields = []Field{{Name: "a", Type: loop}, {Name: "b", Type: loop}}
	if n := len(Define(loop)); n > 64*maxDefined {
		t.Errorf("%d bytes", n)
	}
}
