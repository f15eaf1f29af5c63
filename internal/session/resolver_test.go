package session

import (
	"encoding/binary"
	"slices"
	"testing"

	"trocar/internal/compile/record"
)

// TestPlausible: where the kernel walks into data, a stack ends; words of text are no frames of Python.
func TestPlausible(t *testing.T) {
	text := binary.LittleEndian.Uint64([]byte("walk it "))
	words := binary.LittleEndian.Uint64([]byte("hostname"))
	python := uint64(record.PythonFrame | 3<<record.PythonIndexShift | 0x7f12_3456_7890)
	for _, c := range []struct {
		name     string
		pythonic bool
		addrs    []uint64
		want     int
	}{
		{"code", false, []uint64{0x401000, 0x7f0000001000}, 2},
		{"text", false, []uint64{0x401000, words, 0x401000}, 1},
		{"other text", false, []uint64{0x401000, text}, 1},
		{"-1", false, []uint64{0x401000, ^uint64(0), 0x401000}, 1},
		{"-1 in Python's", true, []uint64{0x401000, ^uint64(0), 0x401000}, 1},
		{"no Python", false, []uint64{0x401000, python}, 1},
		{"Python", true, []uint64{0x401000, python, 0x402000}, 3},
		{"a small number", false, []uint64{0x401000, 17}, 1},
	} {
		n := &resolver{pythonic: c.pythonic}
		if got := n.plausible(c.addrs); !slices.Equal(got, c.addrs[:c.want]) {
			t.Errorf("%s: %#x, want %d of %#x", c.name, got, c.want, c.addrs)
		}
	}
}
