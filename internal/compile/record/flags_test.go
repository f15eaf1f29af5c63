package record

import (
	"testing"

	"trocar/internal/binary/types"
	"trocar/result"
)

func TestFlags(t *testing.T) {
	enum := func(size int, values ...int64) *types.Type {
		e := &types.Type{Kind: types.Enum, Name: "e", Size: size}
		for i, v := range values {
			e.Enums = append(e.Enums, types.Enumerator{Name: string(rune('A' + i)), Value: v})
		}
		return e
	}
	for _, c := range []struct {
		t    *types.Type
		n    byte
		want string
	}{
		{enum(4, 0, 1, 2, 4), 3, "B|C"},
		{enum(4, 0, 1, 2, 4), 7, "B|C|D"},
		{enum(4, 0, 1, 2, 4), 0, "A"},
		{enum(4, 0, 1, 2, 4), 13, "B|D|0x8"},
		{enum(4, 0, 1, 2, 4), 8, "8"},
		{enum(4, 1, 2, 4, 3), 3, "D"},
		{enum(4, 1, 2, 4, 3), 7, "A|B|C"},
		{enum(4, 0, 1, 2), 3, "3"},       // a list
		{enum(4, 0, 1, 2, 4, 9), 6, "6"}, // a list
		{enum(1, 1, 2, 4, -128), 129, "A|D"},
	} {
		var v result.Value
		d := Decoder{}
		d.Value(&v, c.t, []byte{c.n, 0, 0, 0, 0, 0, 0, 0})
		if got := v.String(); got != c.want {
			t.Errorf("%d of %v: %s, want %s", c.n, c.t.Enums, got, c.want)
		}
	}
}
