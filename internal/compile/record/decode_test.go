package record

import (
	"testing"

	"trocar/internal/binary/types"
	"trocar/result"
)

// TestDecodeWide decodes integers that no register holds.
func TestDecodeWide(t *testing.T) {
	bytes := func(low byte, rest byte) []byte {
		b := make([]byte, 16)
		for i := range b {
			b[i] = rest
		}
		b[0] = low
		return b
	}
	for _, tt := range []struct {
		signed bool
		b      []byte
		want   string
	}{
		{true, bytes(0xfb, 0xff), "-5"},
		{false, bytes(0xfb, 0xff), "340282366920938463463374607431768211451"},
		{true, bytes(7, 0), "7"},
	} {
		var v result.Value
		(&Decoder{}).Value(&v, &types.Type{Kind: types.Int, Size: 16, Align: 16, Signed: tt.signed}, tt.b)
		if v.Text != tt.want {
			t.Errorf("%x: %q, want %q", tt.b, v.Text, tt.want)
		}
	}
	var v result.Value
	wide := &types.Type{Kind: types.Int, Size: 16, Align: 16, Signed: true}
	(&Decoder{}).bits(&v, types.Field{Type: wide, BitSize: 5, BitOffset: 3}, []byte{0xf0})
	if v.Text != "-2" {
		t.Errorf("bit-field of a wide type: %q", v.Text)
	}
}
