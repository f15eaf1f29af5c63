package record

import (
	"bytes"
	"encoding/binary"
	"testing"

	"trocar/internal/binary/types"
	"trocar/result"
)

// TestSocketAddress: the bytes of struct sockaddr by family, as programs pass them (man 7 ip, unix, netlink, vsock).
func TestSocketAddress(t *testing.T) {
	in6 := append([]byte{10, 0, 0x01, 0xbb, 0, 0, 0, 0}, make([]byte, 15)...)
	in6 = append(in6, 1, 3, 0, 0, 0)
	for _, c := range []struct {
		bytes []byte
		want  string
	}{
		{[]byte{2, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, "127.0.0.1:80"},
		{in6, "[::1%3]:443"},
		{in6[:24], "[::1]:443"},
		{append([]byte{1, 0}, "/run/x\x00left over"...), "/run/x"},
		{append([]byte{1, 0}, "\x00name\x00y"...), "@name\x00y"},
		{[]byte{1, 0}, "AF_UNIX"},
		{[]byte{0, 0, 1, 2}, "AF_UNSPEC"},
		{[]byte{16, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0}, "netlink:5/0x3"},
		{[]byte{40, 0, 0, 0, 0xe8, 3, 0, 0, 2, 0, 0, 0}, "vsock:2:1000"},
		{[]byte{2, 0, 0, 80}, "family 2, 4 bytes"},
		{[]byte{17, 0, 1, 1}, "family 17, 4 bytes"},
		{[]byte{2}, "an address of 1 bytes"},
		{nil, "an address of 0 bytes"},
	} {
		b := make([]byte, SockAddrOf(64).Size)
		binary.LittleEndian.PutUint64(b, uint64(len(c.bytes)))
		copy(b[8:], c.bytes)
		var v result.Value
		(&Decoder{}).Value(&v, SockAddrOf(64), b)
		if v.Text != c.want {
			t.Errorf("% x: %q, not %q", c.bytes, v.Text, c.want)
		}
	}
}

// TestNotRead: of what has not been looked at the address is shown, of what could not be read why.
func TestNotRead(t *testing.T) {
	for _, typ := range []*types.Type{SockAddrOf(16), TextOf(16, 1), ListOf(types.TInt32, 4), InPlaceOf(types.TInt32)} {
		for word, want := range map[uint64]string{
			NotRead | 0x1000: "0x1000", Missing | 0x1000: "<unreadable 0x1000>", Missing: "NULL",
		} {
			b := make([]byte, typ.Size)
			binary.LittleEndian.PutUint64(b, word)
			var v result.Value
			(&Decoder{}).Value(&v, typ, b)
			if got := v.String(); got != want {
				t.Errorf("%s, %#x: %q, not %q", typ, word, got, want)
			}
		}
	}
}

// TestWordsOfNumbers: numbers that are made of several.
func TestWordsOfNumbers(t *testing.T) {
	open := &types.Type{Kind: types.Enum, Size: 4, Signed: true, Enums: []types.Enumerator{
		{Name: "WRONLY", Value: 1, Mask: 3},
		{Name: "RDONLY", Value: 0, Mask: 3},
		{Name: "SYNC", Value: 0o30, Mask: 0o30},
		{Name: "DSYNC", Value: 0o10, Mask: 0o10},
		{Name: "CREAT", Value: 0o100, Mask: 0o100},
	}}
	one := &types.Type{Kind: types.Enum, Size: 4, Signed: true, Enums: []types.Enumerator{
		{Name: "CWD", Value: -100, Mask: -1}, {Name: "ZERO", Value: 0, Mask: -1},
	}}
	flags := &types.Type{Kind: types.Enum, Size: 4, Enums: []types.Enumerator{{Name: "A", Value: 4, Mask: 4}}}
	mode := &types.Type{Kind: types.Enum, Size: 4, Source: &types.Source{Form: types.OctalForm}, Enums: []types.Enumerator{
		{Name: "S_IFIFO", Value: 0o10000, Mask: 0o170000},
	}}
	hex := &types.Type{Kind: types.Enum, Size: 8, Source: &types.Source{Form: types.HexForm}}
	for _, c := range []struct {
		t    *types.Type
		n    uint64
		want string
	}{
		{open, 0, "RDONLY"},
		{open, 1 | 0o100, "WRONLY|CREAT"},
		{open, 0o30, "RDONLY|SYNC"},
		{open, 0o10, "RDONLY|DSYNC"},
		{open, 2 | 0o400, "0x102"},
		{one, 0xffffff9c, "CWD"},
		{one, 0, "ZERO"},
		{one, 3, "3"},
		{flags, 0, "0"},
		{flags, 12, "A|0x8"},
		{flags, 8, "0x8"},
		{mode, 0o644, "0644"},
		{mode, 0, "0"},
		{mode, 0o10600, "S_IFIFO|0600"},
		{hex, 0, "0x0"},
		{hex, 0x1f, "0x1f"},
	} {
		b := binary.LittleEndian.AppendUint64(nil, c.n)
		var v result.Value
		(&Decoder{}).Value(&v, c.t, b)
		if got := v.String(); got != c.want {
			t.Errorf("%#x: %q, not %q", c.n, got, c.want)
		}
	}
}

func FuzzSocketAddress(f *testing.F) {
	f.Add([]byte{2, 0, 0, 80, 127, 0, 0, 1})
	f.Add([]byte{1, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:min(len(b), 64)]
		value := binary.LittleEndian.AppendUint64(nil, uint64(len(b)))
		value = append(value, append(bytes.Clone(b), make([]byte, 64-len(b))...)...)
		var v result.Value
		(&Decoder{}).Value(&v, SockAddrOf(64), value)
		if v.Kind != result.Address && v.Kind != result.String {
			t.Errorf("% x: %v", b, v)
		}
	})
}
