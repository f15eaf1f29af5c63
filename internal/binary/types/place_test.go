package types

import "testing"

// TestMissing: a place must tell every byte of a value but the padding behind its last member.
func TestMissing(t *testing.T) {
	pair := &Type{
		Kind: Struct, Size: 16, Align: 8,
		Fields: []Field{{Name: "a", Type: TUint64}, {Name: "b", Type: TUint8, Offset: 8}},
	}
	reg := Place{Kind: InRegister, Reg: 5}
	for _, tt := range []struct {
		what    string
		p       Place
		size    int
		missing bool
	}{
		{"all pieces", Place{Kind: InPieces, Pieces: []Piece{{8, reg}, {1, reg}}}, pair.Extent(), false},
		{"one piece too few", Place{Kind: InPieces, Pieces: []Piece{{8, reg}}}, pair.Extent(), true},
		{"a piece nowhere", Place{Kind: InPieces, Pieces: []Piece{{8, reg}, {8, Place{Why: "optimized out"}}}}, 16, true},
		{"register", reg, 8, false},
		{"register for more", reg, 16, true},
		{"memory", Place{Kind: InMemory, Reg: 7}, 160, false},
	} {
		if _, missing := tt.p.Missing(tt.size); missing != tt.missing {
			t.Errorf("%s: missing %v", tt.what, missing)
		}
	}
}

// TestExtentOfMany: a type that has another twice, which has others twice, is not gone through member by member.
func TestExtentOfMany(t *testing.T) {
	one := TUint64
	for range 60 {
		one = &Type{Kind: Struct, Size: 16, Fields: []Field{{Type: one}, {Type: one, Offset: 8}}}
	}
	if got := one.Extent(); got != 16 {
		t.Errorf("%d bytes", got)
	}
}

func TestVariants(t *testing.T) {
	vs := &Variants{Discr: Field{Type: TInt8}, List: []Variant{
		{Name: "low", Discrs: []VariantRange{{^uint64(1), 1}}},
		{Name: "seven", Discrs: []VariantRange{{7, 7}}},
		{Name: "other", Default: true},
	}}
	for discr, want := range map[uint64]string{
		0: "low", 1: "low", 0xfe: "low", 0xff: "low", 7: "seven", 2: "other",
		0x80: "other",
	} {
		if got := vs.Of(discr, false); got == nil || got.Name != want {
			t.Errorf("%#x: %v, want %s", discr, got, want)
		}
	}
}
