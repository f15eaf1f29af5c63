package code

import (
	"testing"

	"trocar/internal/binary/abi"
)

// TestStackStore takes the moves apart with which Go saves arguments.
func TestStackStore(t *testing.T) {
	for _, c := range []struct {
		code string
		want Store
		ok   bool
	}{
		{"\x48\x89\x44\x24\x08", Store{0, false, 8, 8}, true},
		{"\x48\x89\x5c\x24\x10", Store{3, false, 8, 16}, true},
		{"\x4c\x89\x9c\x24\x80\x00\x00\x00", Store{11, false, 8, 128}, true},
		{"\x44\x89\x44\x24\x18", Store{8, false, 4, 24}, true},
		{"\x66\x89\x4c\x24\x0a", Store{2, false, 2, 10}, true},
		{"\x40\x88\x7c\x24\x09", Store{5, false, 1, 9}, true},
		{"\xf2\x0f\x11\x44\x24\x10", Store{0, true, 8, 16}, true},
		{"\xf3\x44\x0f\x11\x54\x24\x10", Store{10, true, 4, 16}, true},
		{"\x48\x89\x44\x25\x08", Store{}, false}, // another base
		{"\x48\x89\x04\x24", Store{0, false, 8, 0}, true},
		{"\x48\x8b\x44\x24\x08", Store{}, false}, // a load
		{"\x48", Store{}, false},
		{"", Store{}, false},
	} {
		got, ok := StackStore(abi.AMD64, []byte(c.code))
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%x: %+v %v", c.code, got, ok)
		}
	}
}
