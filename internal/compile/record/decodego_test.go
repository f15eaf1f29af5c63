package record_test

import (
	"encoding/binary"
	"testing"
	"time"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/result"
)

// TestGoTime compares with package time, whose layout this is.
func TestGoTime(t *testing.T) {
	tt := &types.Type{Kind: types.Struct, Name: "time.Time", Size: 24, Align: 8, Source: &types.Source{Lang: types.Go}}
	d := record.Decoder{Resolver: resolver{}}
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

// goTypes are the types that a program of the tests has, by the address of their description.
var goTypes = func() map[uint64]*types.Type {
	lang := func(form types.Form) *types.Source { return &types.Source{Lang: types.Go, Form: form} }
	str := &types.Type{Kind: types.Struct, Name: "string", Size: 16, Source: lang(types.StringForm)}
	num := &types.Type{Kind: types.Int, Name: "int", Size: 8, Signed: true, Source: lang(types.NoForm)}
	face := &types.Type{Kind: types.Struct, Name: "error", Size: 16, Source: lang(types.InterfaceForm)}
	failure := &types.Type{
		Kind: types.Struct, Name: "pkg.Failure", Size: 40, Source: lang(types.NoForm),
		Fields: []types.Field{
			{Name: "Code", Type: num}, {Name: "Text", Type: str, Offset: 8}, {Name: "Cause", Type: face, Offset: 24},
		},
	}
	pointer := func(name string, elem *types.Type) *types.Type {
		return &types.Type{Kind: types.Pointer, Name: name, Size: 8, Elem: elem, Source: lang(types.NoForm)}
	}
	return map[uint64]*types.Type{
		1: num, 2: str, 3: pointer("*pkg.Failure", failure),
		4: pointer("*errors.errorString", &types.Type{
			Kind: types.Struct, Name: "errors.errorString", Size: 16, Source: lang(types.NoForm),
			Fields: []types.Field{{Name: "s", Type: str}},
		}),
		5: {Kind: types.Pointer, Name: "map[string]int", Size: 8, Elem: types.TVoid, Source: lang(types.MapForm)},
		6: {Kind: types.Pointer, Name: "func()", Size: 8, Elem: types.TVoid, Source: lang(types.ClosureForm)},
	}
}()

// words puts numbers and texts, which are padded to n bytes, one behind the other.
func words(parts ...any) (b []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = binary.LittleEndian.AppendUint64(b, uint64(p))
		case string:
			b = append(b, p...)
			b = append(b, make([]byte, -len(b)&7)...)
		}
	}
	return b
}

func TestGoInterface(t *testing.T) {
	nodes := record.Nodes{Len: 2, Raw: 40, FirstText: 8, Texts: 1}
	face := record.IfaceOf(&types.Type{Name: "error"}, nodes)
	d := record.Decoder{Resolver: resolver{}, Trailer: ".."}
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{nil, "nil"},
		{words(1, 1, 0x10, 0, 8, -5), "int(-5)"},
		{words(1, 2, 0x10, 0, 16, 0x99, 3, 0, 0, 0, 1, 3, "a\x00c"), `string("a\x00c")`},
		{words(1, 2, 0x10, 0, 16, 0x99, 9, 0, 0, 0, 1, 9, "abcdefgh"), `string("abcdefgh"..)`},
		{words(1, 2, 0x10, 0, 16, 0x99, 3), `string(<not read>)`},
		{words(1, 4, 0, 0), "*errors.errorString(nil)"},
		{words(1, 4, 0x10, 0, 16, 0x99, 3, 0, 0, 0, 1, 3, "bad"), `*errors.errorString("bad")`},
		{
			words(1, 3, 0x10, 0, 40, 7, 0x99, 3, 0x55, 0x66, 9, 3, "bad", 4, 0x20, 25, 16, 0x88, 2, 0, 0, 0, 1, 2, "no"),
			`*pkg.Failure{ .Code = 7, .Text = "bad", .Cause = *errors.errorString("no") }`,
		},
		{
			words(1, 3, 0x10, 0, 40, 7, 0x99, 3, 0x55, 0x66, 9, 3, "bad"),
			`*pkg.Failure{ .Code = 7, .Text = "bad", .Cause = <not read> }`,
		},
		{words(1, 3, 0x10, 0, 40, 7, 0x99, 0, 0, 0), `*pkg.Failure{ .Code = 7, .Text = "", .Cause = nil }`},
		{words(1, 3, 0x10, 0, 8, 7), `*pkg.Failure{ .Code = 7, … }`},
		{words(1, 5, 0x10, 0, 8, 3), "map[string]int{ … of 3 }"},
		{words(1, 5, 0), "map[string]int(nil)"},
		{words(1, 6, 0x10, 0, 8, 42), "func()(pkg.f42)"},
		{words(2, 1, 0x10), "an unknown type(0x10)"},
		{words(1, 99, 0x10), "an unknown type(0x10)"},
		{words(1, 2, 0x10, 0, -1, 0x99, -1, 0, 0, 0, 1, -1, "abcdefgh"), `string("abcdefgh"..)`},
	} {
		for form, typ := range forms(t, face) {
			var v result.Value
			b := make([]byte, face.Size)
			copy(b, c.b)
			d.Value(&v, typ, b)
			if v.String() != c.want {
				t.Errorf("%s %s, want %s", form, v.String(), c.want)
			}
		}
	}
}

func TestGoCaptured(t *testing.T) {
	num := goTypes[1]
	entries := record.EntriesOf(&types.Type{Name: "map[string]int"}, record.TextOf(8, 1), num, 2)
	pointed := record.PointedOf(&types.Type{Name: "*int"}, num)
	d := record.Decoder{Resolver: resolver{}, Trailer: ".."}
	for _, c := range []struct {
		t    *types.Type
		b    []byte
		want string
	}{
		{entries, nil, "nil"},
		{entries, words(1, 0), "{}"},
		{entries, words(1, 2, 2, 1, "a", -1, 0, 0, 5), `{ ["a"] = -1, [""] = 5 }`},
		{entries, words(1, 3, 2, 1, "a", -1, 1, "b", 5), `{ ["a"] = -1, ["b"] = 5, … of 3 }`},
		{entries, words(1, 3, 0), `{ … of 3 }`},
		{entries, words(1, 900, 900, 1, "a", 1, 1, "b", 2), `{ ["a"] = 1, ["b"] = 2, … of 900 }`},
		{pointed, words(0, 7), "nil"},
		{pointed, words(16, 7), "0x10(7)"},
		{record.ChannelOf(&types.Type{Name: "chan int"}), words(1, 2, 3, 1), "{ .len = 2, .cap = 3, .closed = true }"},
		{record.ChannelOf(&types.Type{Name: "chan int"}), words(0), "nil"},
		{record.TClosure, words(5, 1), "pkg.f5"},
		{record.TClosure, words(5, 0), "nil"},
		{record.BytesOf(&types.Type{Name: "[]uint8"}, 8), words(3, "a\x00\xff"), `a\x00\xff`},
		{record.BytesOf(&types.Type{Name: "[]uint8"}, 8), words(9, "abcdefgh"), `abcdefgh..`},
		{record.BytesOf(&types.Type{Name: "net.IP"}, 16), words(4, "\x7f\x00\x00\x01"), `127.0.0.1`},
	} {
		for form, typ := range forms(t, c.t) {
			var v result.Value
			b := make([]byte, c.t.Size)
			copy(b, c.b)
			d.Value(&v, typ, b)
			if v.String() != c.want {
				t.Errorf("%s %s, want %s", form, v.String(), c.want)
			}
		}
	}
}
