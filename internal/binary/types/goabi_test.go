package types

import (
	"fmt"
	"testing"
)

func TestGoPlaces(t *testing.T) {
	word := TInt64
	str := RecordOf([]string{"str", "len"}, []*Type{PointerTo(TUint8, User), TInt64})
	str.Kind = Struct
	float := &Type{Kind: Float, Name: "float64", Size: 8, Align: 8}
	pair := &Type{Kind: Struct, Size: 16, Align: 8, Fields: []Field{{Type: TInt32}, {Type: word, Offset: 8}}}
	show := func(p *Place) string {
		if p == nil {
			return "?"
		}
		s := ""
		switch p.Kind {
		case InRegister:
			return fmt.Sprintf("r%d", p.Reg)
		case InMemory:
			return fmt.Sprintf("sp+%d", p.Offset)
		case Unavailable:
			return "x"
		case Constant:
			return "pad"
		}
		for _, piece := range p.Pieces {
			q := piece.Place
			switch q.Kind {
			case InRegister:
				s += fmt.Sprintf("r%d:%d ", q.Reg, piece.Size)
			case Unavailable:
				s += fmt.Sprintf("x:%d ", piece.Size)
			default:
				s += fmt.Sprintf("pad:%d ", piece.Size)
			}
		}
		return s
	}
	for _, c := range []struct {
		args, results []*Type
		abi0          bool
		in, out       string
	}{
		{[]*Type{word, str, TBool}, []*Type{word, str}, false, "[r0 r3:8 r2:8  r5]", "[r0 r3:8 r2:8 ]"},
		{[]*Type{float, word}, []*Type{float, word}, false, "[x r0]", "[x r0]"},
		// All or nothing: the string needs two registers where one is left, the word behind it gets that.
		{[]*Type{word, word, word, word, word, word, word, word, str, word}, []*Type{word}, false, "[r0 r3 r2 r5 r4 r8 r9 r10 sp+8 r11]", "[r0]"},
		{[]*Type{ArrayOf(word, 1), ArrayOf(word, 2), TInt8}, []*Type{ArrayOf(word, 2), word}, false, "[r0 sp+8 r3]", "[sp+24 r0]"},
		{[]*Type{pair}, []*Type{pair}, false, "[r0:4 pad:4 r3:8 ]", "[r0:4 pad:4 r3:8 ]"},
		{[]*Type{TInt8, word}, []*Type{TInt8, TInt32}, true, "[sp+8 sp+16]", "[sp+24 sp+28]"},
		{[]*Type{word, nil}, []*Type{word}, false, "[r0 ?]", "[?]"},
	} {
		in, out := GoPlaces(c.args, c.results, c.abi0)
		text := func(list []*Place) string {
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
