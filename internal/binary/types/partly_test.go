package types

import "testing"

func structure(name string, size int, fields ...Field) *Type {
	return &Type{Kind: Struct, Name: name, Size: size, Align: 8, Fields: fields}
}

// TestPartly: of a structure the members that are available stay.
func TestPartly(t *testing.T) {
	in := func(n int) Place { return Place{Kind: InRegister, Reg: n} }
	gone := Unknown("gone")
	pieces := func(list ...Piece) Place { return Place{Kind: InPieces, Pieces: list} }
	pair := structure("pair", 16, Field{Name: "a", Type: TInt64}, Field{Name: "b", Type: TInt64, Offset: 8})
	outer := structure("outer", 24, Field{Name: "p", Type: pair}, Field{Name: "c", Type: TInt32, Offset: 16})
	bits := structure("bits", 16, Field{Name: "x", Type: TInt32, BitSize: 3},
		Field{Name: "y", Type: TInt32, BitOffset: 3, BitSize: 9}, Field{Name: "z", Type: TInt64, Offset: 8})
	for _, c := range []struct {
		name  string
		t     *Type
		p     Place
		lacks string
		ok    bool
	}{
		{"all of it", pair, pieces(Piece{8, in(1)}, Piece{8, in(2)}), "", false},
		{"none", pair, pieces(Piece{8, gone}, Piece{8, gone}), "", false},
		{"not in pieces", pair, gone, "", false},
		{"one", pair, pieces(Piece{8, in(1)}, Piece{8, gone}), ".1 gone\n", true},
		{"the end is not told", pair, pieces(Piece{8, in(1)}), ".1 its place is not told in full\n", true},
		{"within", outer, pieces(Piece{8, gone}, Piece{8, in(1)}, Piece{8, gone}), ".0.0 gone\n.1 gone\n", true},
		{
			"the first of the first", outer, pieces(Piece{8, gone}, Piece{16, pieces(Piece{8, in(1)}, Piece{8, in(2)})}),
			".0.0 gone\n", true,
		},
		{"whole members", outer, pieces(Piece{16, gone}, Piece{8, in(1)}), ".0 gone\n", true},
		{"half of a member", outer, pieces(Piece{4, in(1)}, Piece{12, gone}, Piece{8, in(1)}), ".0 gone\n", true},
		{"bits", bits, pieces(Piece{1, in(1)}, Piece{7, gone}, Piece{8, in(2)}), ".1 gone\n", true},
		{"pieces in pieces", pair, pieces(Piece{16, pieces(Piece{8, gone}, Piece{8, in(1)})}), ".0 gone\n", true},
	} {
		known, p, ok := Partly(c.t, c.p)
		if ok != c.ok {
			t.Errorf("%s: %v", c.name, ok)
			continue
		}
		if !ok {
			continue
		}
		if got := known.Lacks(); got != c.lacks {
			t.Errorf("%s: lacks %q, want %q", c.name, got, c.lacks)
		}
		if why, missing := p.Missing(c.t.Extent()); missing || known.Size != c.t.Size {
			t.Errorf("%s: %s", c.name, why)
		}
	}
}
