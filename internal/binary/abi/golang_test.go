package abi

import (
	"fmt"
	"testing"

	"trocar/internal/binary/types"
)

func TestGoPlaces(t *testing.T) {
	word := types.TInt64
	str := types.RecordOf([]string{"str", "len"}, []*types.Type{types.PointerTo(types.TUint8, types.User), types.TInt64})
	str.Kind = types.Struct
	float := &types.Type{Kind: types.Float, Name: "float64", Size: 8, Align: 8}
	pair := &types.Type{
		Kind: types.Struct, Size: 16, Align: 8,
		Fields: []types.Field{{Type: types.TInt32}, {Type: word, Offset: 8}},
	}
	show := func(p *types.Place) string {
		if p == nil {
			return "?"
		}
		s := ""
		switch p.Kind {
		case types.InRegister:
			return fmt.Sprintf("r%d", p.Reg)
		case types.InMemory:
			return fmt.Sprintf("sp+%d", p.Offset)
		case types.Unavailable:
			return "x"
		case types.Constant:
			return "pad"
		}
		for _, piece := range p.Pieces {
			q := piece.Place
			switch q.Kind {
			case types.InRegister:
				s += fmt.Sprintf("r%d:%d ", q.Reg, piece.Size)
			case types.Unavailable:
				s += fmt.Sprintf("x:%d ", piece.Size)
			default:
				s += fmt.Sprintf("pad:%d ", piece.Size)
			}
		}
		return s
	}
	for _, c := range []struct {
		args, results []*types.Type
		abi0          bool
		in, out       string
	}{
		{[]*types.Type{word, str, types.TBool}, []*types.Type{word, str}, false, "[r0 r3:8 r2:8  r5]", "[r0 r3:8 r2:8 ]"},
		{[]*types.Type{float, word}, []*types.Type{float, word}, false, "[x r0]", "[x r0]"},
		// All or nothing: the string needs two registers where one is left, the word behind it gets that.
		{
			[]*types.Type{word, word, word, word, word, word, word, word, str, word},
			[]*types.Type{word},
			false,
			"[r0 r3 r2 r5 r4 r8 r9 r10 sp+8 r11]", "[r0]",
		},
		{
			[]*types.Type{types.ArrayOf(word, 1), types.ArrayOf(word, 2), types.TInt8},
			[]*types.Type{types.ArrayOf(word, 2), word},
			false, "[r0 sp+8 r3]", "[sp+24 r0]",
		},
		{[]*types.Type{pair}, []*types.Type{pair}, false, "[r0:4 pad:4 r3:8 ]", "[r0:4 pad:4 r3:8 ]"},
		{[]*types.Type{types.TInt8, word}, []*types.Type{types.TInt8, types.TInt32}, true, "[sp+8 sp+16]", "[sp+24 sp+28]"},
		{[]*types.Type{word, nil}, []*types.Type{word}, false, "[r0 ?]", "[?]"},
	} {
		in, out := AMD64.Go().Places(c.args, c.results, c.abi0)
		text := func(list []*types.Place) string {
			var s []string
			for _, p := range list {
				s = append(s, show(p))
			}
			return fmt.Sprint(s)
		}
		if text(in) != c.in || text(out) != c.out {
			t.Errorf("%s, %s, want %s, %s", text(in), text(out), c.in, c.out)
		}
	}
}
