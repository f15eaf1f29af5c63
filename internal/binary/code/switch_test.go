package code

import (
	"testing"

	"trocar/internal/binary/abi"
)

func TestSwitch(t *testing.T) {
	const addr = 0x1000
	lea := []byte{0x48, 0x8d, 0x15, 0xf9, 0x0f, 0, 0} // lea 0xff9(%rip),%rdx: 0x2000
	for _, c := range []struct {
		name   string
		before []byte
		jump   []byte
		tables []Table
		ok     bool
	}{
		{"distances", append(append([]byte{}, lea...), 0x48, 0x01, 0xd0), []byte{0xff, 0xe0}, []Table{{0x2000, true}}, true},
		{
			"with notrack", append(append([]byte{}, lea...), 0x48, 0x01, 0xd0),
			[]byte{0x3e, 0xff, 0xe0},
			[]Table{{0x2000, true}},
			true,
		},
		{
			"add the other way, r9", append(append([]byte{}, lea...), 0x4d, 0x03, 0xc8),
			[]byte{0x41, 0xff, 0xe1},
			[]Table{{0x2000, true}},
			true,
		},
		{"another register is added to", append(append([]byte{}, lea...), 0x48, 0x01, 0xd0), []byte{0xff, 0xe1}, nil, false},
		{"a pointer", append(append([]byte{}, lea...), 0x48, 0x8b, 0x07), []byte{0xff, 0xe0}, nil, false},
		{"addresses", nil, []byte{0xff, 0x24, 0xfd, 0x10, 0x20, 0x40, 0}, []Table{{0x402010, false}}, true},
		{"addresses behind a register", lea, []byte{0xff, 0x24, 0xc2}, []Table{{0x2000, false}}, true},
		{
			"loaded first", append(append([]byte{}, lea...), 0x48, 0x8b, 0x04, 0xfa),
			[]byte{0xff, 0xe0},
			[]Table{{0x2000, false}},
			true,
		},
		{
			"the same register", append(append([]byte{}, lea...), 0x48, 0x8b, 0x14, 0xca, 0x48, 0x83, 0xc7, 0x01),
			[]byte{0xff, 0xe2},
			[]Table{{0x2000, false}},
			true,
		},
		{
			"loaded by an address",
			[]byte{0x48, 0x8b, 0x04, 0xfd, 0x10, 0x20, 0x40, 0},
			[]byte{0xff, 0xe0},
			[]Table{{0x402010, false}},
			true,
		},
		{
			"the table of another register", append(append([]byte{}, lea...), 0x48, 0x8b, 0x04, 0xfe),
			[]byte{0xff, 0xe0},
			[]Table{{0x2000, false}},
			true,
		},
		{
			"a call between", append(append([]byte{}, lea...), 0xe8, 0, 0, 0, 0, 0x48, 0x8b, 0x04, 0xfa),
			[]byte{0xff, 0xe0},
			[]Table{{0x2000, false}},
			true,
		},
		{"loaded, not scaled", append(append([]byte{}, lea...), 0x48, 0x8b, 0x04, 0x3a), []byte{0xff, 0xe0}, nil, false},
		{"an address added", []byte{0x48, 0x05, 0x10, 0x20, 0x40, 0}, []byte{0xff, 0xe0}, []Table{{0, true}}, true},
		{"not scaled", lea, []byte{0xff, 0x24, 0x02}, nil, false},
		{"a member of a virtual table", nil, []byte{0xff, 0x60, 0x10}, nil, false},
		{"a call", nil, []byte{0xff, 0xd0}, nil, false},
		{"cut off", nil, []byte{0xff, 0x24, 0xfd, 0}, nil, false},
		{"nothing", nil, nil, nil, false},
	} {
		fn := append(append([]byte{}, c.before...), c.jump...)
		var starts []int
		for at := 0; at < len(c.before); {
			starts = append(starts, at)
			in, ok := Decode(abi.AMD64, fn[at:])
			if !ok {
				t.Fatalf("%s: not decoded", c.name)
			}
			at += in.Len
		}
		tables, ok := Switch(abi.AMD64, fn, addr, append(starts, len(c.before)), len(c.before))
		if ok != c.ok || len(tables) != len(c.tables) || ok && tables[0] != c.tables[0] {
			t.Errorf("%s: %v, %v", c.name, tables, ok)
		}
	}
	if _, ok := Switch(abi.ARM64, []byte{0, 0, 0x1f, 0xd6}, addr, []int{0}, 0); ok {
		t.Error("arm64")
	}
}

func FuzzSwitch(f *testing.F) {
	f.Add([]byte{0x48, 0x8d, 0x15, 0, 0, 0, 0, 0x48, 0x01, 0xd0, 0xff, 0xe0}, 10)
	f.Fuzz(func(t *testing.T, fn []byte, at int) {
		if at < 0 || at > len(fn) {
			return
		}
		var starts []int
		for i := 0; i < at; {
			starts = append(starts, i)
			in, ok := Decode(abi.AMD64, fn[i:])
			if !ok {
				break
			}
			i += in.Len
		}
		Switch(abi.AMD64, fn, 0x1000, starts, at)
	})
}
