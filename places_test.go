package trocar

import (
	"testing"

	"trocar/internal/binary/types"
)

func TestPlaceText(t *testing.T) {
	for _, c := range []struct {
		p    types.Place
		want string
	}{
		{types.Place{Kind: types.InRegister, Reg: 5}, "rdi"},
		{types.Place{Kind: types.InMemory, Reg: 7, Offset: 8}, "[rsp+8]"},
		{types.Place{Kind: types.InMemory, Reg: 6, Offset: -24, Derefs: []int64{0, 16}}, "[[[rbp-24]]+16]"},
		{types.Place{Kind: types.Constant, Value: 1<<64 - 5}, "= -5"},
		{types.Place{Kind: types.InPieces, Pieces: []types.Piece{{Size: 8, Place: types.Place{Kind: types.InRegister, Reg: 8}}, {Size: 4, Place: types.Place{Why: "optimized out"}}}}, "r8 (8 bytes), optimized out (4 bytes)"},
		{types.Place{Kind: types.Computed, Reg: 7, Offset: 32}, "= rsp+32"},
		{types.Place{Kind: types.InRegister, Reg: 17}, "xmm0"},
		{types.Place{}, "unavailable"},
	} {
		if got := placeText(types.AMD64, c.p); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
