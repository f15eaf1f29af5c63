package codegen_test

import (
	"encoding/binary"
	"testing"
	"time"

	"trocar/internal/binary/types"
	"trocar/internal/compile/codegen"
	"trocar/result"
)

// TestGoTime compares with package time, whose layout this is.
func TestGoTime(t *testing.T) {
	tt := &types.Type{Kind: types.Struct, Name: "time.Time", Size: 24, Align: 8, Source: &types.Source{Lang: types.Go}}
	d := codegen.Decoder{Resolver: resolver{}}
	for _, c := range []struct {
		wall uint64
		ext  int64
		want time.Time
	}{
		{0, 0, time.Time{}},
		{250, 63844806615, time.Date(2024, 2, 29, 12, 30, 15, 250, time.UTC)},
		// With a monotonic clock: seconds since 1885 in 33 bits.
		{1<<63 | 4390461015<<30 | 7, 12345, time.Date(1885, 1, 1, 0, 0, 0, 7, time.UTC).Add(4390461015 * time.Second)},
	} {
		b := binary.LittleEndian.AppendUint64(nil, c.wall)
		b = binary.LittleEndian.AppendUint64(b, uint64(c.ext))
		b = binary.LittleEndian.AppendUint64(b, 0)
		var v result.Value
		d.Value(&v, tt, b)
		if want := c.want.Format(time.RFC3339Nano); v.Text != want {
			t.Errorf("%#x %d: %s, want %s", c.wall, c.ext, v.Text, want)
		}
	}
}

func TestGoInterface(t *testing.T) {
	face := types.IfaceOf(&types.Type{Name: "error"}, 8)
	d := codegen.Decoder{Resolver: resolver{}, Trailer: ".."}
	value := func(delta, point, data, n uint64, text string) []byte {
		var b []byte
		for _, w := range []uint64{delta, point, data, n} {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return append(b, text...)
	}
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{value(0, 0, 0, 0, "\x00\x00\x00\x00\x00\x00\x00\x00"), "nil"},
		{value(5, 1, 0x10, 0, "\x00\x00\x00\x00\x00\x00\x00\x00"), "pkg.T5(0x10)"},
		{value(5, 1, 0x10, 4, "abc\x00\x00\x00\x00\x00"), `pkg.T5{"abc", …}`},
		{value(5, 1, 0x10, 10, "abcdefgh"), `pkg.T5{"abcdefgh".., …}`},
		{value(5, 2, 0x10, 1, "\x00\x00\x00\x00\x00\x00\x00\x00"), `a type that is not known{"", …}`},
		{value(5, 1, 0x10, 1<<63, "abcdefgh"), `pkg.T5{"abcdefgh".., …}`},
	} {
		var v result.Value
		d.Value(&v, face, c.b)
		if v.Text != c.want {
			t.Errorf("%s, want %s", v.Text, c.want)
		}
	}
}
