package record

import (
	"testing"

	"trocar/internal/binary/types"
	"trocar/result"
)

// Numbers of more than 64 bits that float64 has no place for keep what they are.
func TestExtended(t *testing.T) {
	x87 := func(sign, exp uint16, m uint64) []byte {
		b := make([]byte, 16)
		for i := range 8 {
			b[i] = byte(m >> (8 * i))
		}
		b[8], b[9] = byte(exp), byte((exp|sign<<15)>>8)
		return b
	}
	quad := func(high, low uint64) []byte {
		b := make([]byte, 16)
		for i := range 8 {
			b[i], b[8+i] = byte(low>>(8*i)), byte(high>>(8*i))
		}
		return b
	}
	long := &types.Type{Kind: types.Float, Name: "long double", Size: 16}
	f128 := &types.Type{Kind: types.Float, Name: "_Float128", Size: 16}
	for _, c := range []struct {
		t    *types.Type
		b    []byte
		want string
	}{
		{long, x87(0, 0x7ffe, 1<<64-1), "1.189731495357231765e+4932"},
		{long, x87(1, 0x7ffe, 1<<64-1), "-1.189731495357231765e+4932"},
		{long, x87(0, 0, 1), "3.6451995318824746025e-4951"},
		{long, x87(0, 0x7fff, 1<<63), "inf"},
		{long, x87(1, 0x7fff, 1<<63), "-inf"},
		{long, x87(0, 0x7fff, 3<<62), "nan"},
		{long, x87(0, 0, 0), "0"},
		{long, x87(1, 0x3fff, 3<<62), "-1.5"},
		{f128, quad(0x3fff800000000000, 0), "1.5"},
		{f128, quad(0x7ffeffffffffffff, 1<<64-1), "1.189731495357231765085759326628007e+4932"},
		{f128, quad(0x8000000000000000, 1), "-6.475175119438025111e-4966"},
		{f128, quad(0x7fff000000000000, 0), "inf"},
	} {
		var d Decoder
		var v result.Value
		d.float(&v, c.t, c.b)
		if got := v.String(); got != c.want {
			t.Errorf("% x: %s, not %s", c.b, got, c.want)
		}
	}
}
