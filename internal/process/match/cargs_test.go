package match

import (
	"testing"

	"trocar/internal/binary/types"
)

// TestOddBits: which structures clang may pass in registers though they look as if they were in memory.
func TestOddBits(t *testing.T) {
	char, i32 := types.IntOf(1, true), types.IntOf(4, true)
	record := func(size int, fields ...types.Field) *types.Type {
		return &types.Type{Kind: types.Struct, Size: size, Align: 1, Fields: fields}
	}
	packed := record(6, types.Field{Type: char}, types.Field{Type: i32, Offset: 1}, types.Field{Type: char, Offset: 5})
	bits := &types.Type{Kind: types.Struct, Size: 4, Align: 4, Fields: []types.Field{{Type: i32, BitSize: 6}}}
	for _, c := range []struct {
		name string
		t    *types.Type
		want bool
	}{
		{"bit-fields in a packed one", record(9, types.Field{Type: bits, Offset: 5}), true},
		{"bit-fields where they are aligned", record(9, types.Field{Type: bits, Offset: 4}), false},
		{"packed", packed, true},
		{"in another one", record(7, types.Field{Type: char}, types.Field{Type: packed, Offset: 1}), true},
		{"in an array", record(12, types.Field{Type: &types.Type{Kind: types.Array, Elem: packed, Len: 2, Size: 12}}), true},
		{"large", record(20, types.Field{Type: i32, Offset: 1}), false},
		{"a bit-field", record(6, types.Field{Type: i32, Offset: 1, BitSize: 32}), false},
		{"aligned", record(8, types.Field{Type: i32}, types.Field{Type: i32, Offset: 4}), false},
		{"a number", i32, false},
		{"nothing", nil, false},
	} {
		if got := oddBits(c.t, 0); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
