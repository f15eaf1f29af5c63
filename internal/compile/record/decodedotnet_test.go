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
