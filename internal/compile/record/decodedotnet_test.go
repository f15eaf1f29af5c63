package record

import (
	"encoding/binary"
	"testing"

	"trocar/internal/binary/types"
	"trocar/result"
)

func le(words ...uint64) (b []byte) {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// TestDotNetValues: as .NET's ToString("o"), ToString("c") and ToString() write them.
func TestDotNetValues(t *testing.T) {
	minus15 := ^uint64(15_000_000) + 1
	for _, test := range []struct {
		form types.Form
		b    []byte
		want string
	}{
		{types.DotNetDateTimeForm, le(0), "0001-01-01T00:00:00"},
		{types.DotNetDateTimeForm, le(638448066150000005 | 1<<62), "2024-02-29T12:30:15.0000005Z"},
		{types.DotNetDateTimeForm, le(638448066150000000 | 2<<62), "2024-02-29T12:30:15 local time"},
		{types.DotNetDateTimeForm, le(638448066150000000 | 3<<62), "2024-02-29T12:30:15 local time"},
		{types.DotNetDateTimeForm, le(3155378975999999999), "9999-12-31T23:59:59.9999999"},
		{types.DotNetTimeSpanForm, le(0), "00:00:00"},
		{types.DotNetTimeSpanForm, le(minus15), "-00:00:01.5000000"},
		{types.DotNetTimeSpanForm, le(937840000000), "1.02:03:04"},
		{types.DotNetTimeSpanForm, le(1 << 63), "-10675199.02:48:05.4775808"},
		{types.DotNetDateForm, le(738944), "2024-02-29"},
		{types.DotNetTimeForm, le(450150000000), "12:30:15"},
		{
			types.DotNetGuidForm,
			[]byte{0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
			"00112233-4455-6677-8899-aabbccddeeff",
		},
		{types.DotNetDecimalForm, le(0x80020000, 1250), "-12.50"},
		{types.DotNetDecimalForm, le(0x00040000, 1), "0.0001"},
		{types.DotNetDecimalForm, le(0xffffffff<<32, 1<<64-1), "79228162514264337593543950335"},
		{types.DotNetDecimalForm, le(0x001d0000, 1), "?"},
		{types.DotNetDecimalForm, le(1, 1), "?"},
	} {
		var d Decoder
		typ := &types.Type{
			Kind: types.Struct, Name: "T", Size: len(test.b), Source: &types.Source{Lang: types.DotNet, Form: test.form},
		}
		var v result.Value
		d.value(&v, typ, test.b)
		switch {
		case test.want == "?":
			if v.Kind != result.Unavailable {
				t.Errorf("%x: %s", test.b, v.String())
			}
		case v.Text != test.want:
			t.Errorf("%x: %q, want %q", test.b, v.Text, test.want)
		}
		d.value(&v, typ, test.b[:3]) // a damaged recording
	}
	nullable := &types.Type{
		Kind: types.Struct, Name: "Nullable<int>", Size: 8, Align: 4,
		Fields: []types.Field{{Name: "hasValue", Type: types.TUint8}, {Name: "value", Type: types.TInt32, Offset: 4}},
		Source: &types.Source{Lang: types.DotNet, Form: types.DotNetNullableForm},
	}
	for b, want := range map[uint64]string{7 << 32: "NULL", 7<<32 | 1: "7"} {
		var d Decoder
		var v result.Value
		d.value(&v, nullable, le(b))
		if v.String() != want {
			t.Errorf("%x: %s, want %s", b, v.String(), want)
		}
	}
}

// named has one type of objects.
type named struct {
	Resolver
	name string
}

func (n named) ObjectType(tgid uint32, table uint64) (string, bool) {
	return n.name, tgid == 7 && table == 0x7000 && n.name != ""
}

// TestDotNetObject: an object is shown by the type that it is of, with the fields that its declaration tells, or with
// its value if that tells none.
func TestDotNetObject(t *testing.T) {
	field := func(name string, at int) types.Field { return types.Field{Name: name, Type: types.TInt32, Offset: at} }
	object := func(fields ...types.Field) *types.Type {
		of := &types.Type{
			Kind: types.Struct, Name: "Base", Size: 24, Align: 8, Fields: fields,
			Source: &types.Source{Lang: types.DotNet, Form: types.DotNetObjectForm},
		}
		return &types.Type{
			Kind: types.Pointer, Size: 8, Align: 8, Source: &types.Source{Lang: types.DotNet}, Elem: of,
		}
	}
	head := func(kept uint64) []byte { return le(0x1000, 0x7000|1, 7|kept<<32, 0, 0) } // the collector has marked it
	order, text := append(head(0), le(0, 3, 1)...), append(head(112), le(0x7000, 2|'h'<<32|'i'<<48)...)
	for _, test := range []struct {
		of   *types.Type
		name string
		b    []byte
		want string
	}{
		{object(field("count", 8), field("max", 12)), "Order", order, "Order{ .count = 3, .max = 0 }"},
		{object(field("count", 8)), "", order, "{ .count = 3 }"},
		{object(field("_count", 8), field("_freeCount", 16)), "Table", order, "Table{ .Count = 2 }"},
		{object(), "string", text, `string("hi")`},
		{object(), "int", text, "int(2)"},
		{object(), "Order", text, "Order"},
		{object(), "", text, "<its type could not be read in the process>"},
		{object(), "string", head(0), "string"}, // nothing of it was read
		{object(), "Order", le(0), "NULL"},
	} {
		d := Decoder{Resolver: named{name: test.name}}
		to, ok := Capture{Registers: true, Kept: true}.Of(test.of)
		if !ok {
			t.Fatal("an object is not captured")
		}
		var v result.Value
		d.Value(&v, to, append(test.b, make([]byte, 256)...))
		if got := v.String(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
