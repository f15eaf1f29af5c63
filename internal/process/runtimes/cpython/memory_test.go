package cpython

import (
	"bytes"
	"encoding/binary"
	"testing"
)

const page = 4096

// memoryOf is a process's memory from an address on.
func memoryOf(data []byte, minor int) *memory {
	from := bytes.NewReader(append(make([]byte, page), data...))
	return newMemory(from, version(minor))
}

func TestVersions(t *testing.T) {
	for minor, want := range map[int]bool{10: false, 11: true, 12: true, 13: true, 14: false} {
		if got := version(minor) != nil; got != want {
			t.Errorf("3.%d: %t", minor, got)
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		minor       int
		n, state    uint64
		at          int
		text, want  string
		ok, noClass bool
	}{
		{minor: 12, n: 3, state: 1<<2 | 3<<5, at: 40, text: "abc", want: "abc", ok: true},
		{minor: 11, n: 3, state: 1<<2 | 3<<5, at: 48, text: "abc", want: "abc", ok: true},
		{minor: 13, n: 1, state: 1<<2 | 1<<5, at: 56, text: "\xe9", want: "é", ok: true},
		{minor: 11, n: 1, state: 2<<2 | 1<<5, at: 72, text: "\xac\x20", want: "€", ok: true},
		{minor: 12, n: 1, state: 4<<2 | 1<<5, at: 56, text: "\x00\xf6\x01\x00", want: "😀", ok: true},
		{minor: 12, n: 1 << 40, state: 1<<2 | 3<<5},
		{minor: 12, n: 3, state: 1 << 2},
		{minor: 12, n: 3, state: 3<<2 | 3<<5},
		{minor: 12, n: 3, state: 1<<2 | 3<<5, at: 40, text: "abc", noClass: true},
	} {
		const class = page + 512
		data := make([]byte, page)
		binary.LittleEndian.PutUint64(data[objectType:], class)
		binary.LittleEndian.PutUint64(data[strLength:], c.n)
		binary.LittleEndian.PutUint64(data[strState:], c.state)
		copy(data[c.at:], c.text)
		if !c.noClass {
			binary.LittleEndian.PutUint64(data[512+typeFlags:], isStr)
		}
		if got, ok := memoryOf(data, c.minor).text(page); got != c.want || ok != c.ok {
			t.Errorf("%+v: %q, %t", c, got, ok)
		}
	}
}

// A process's memory may be anything, also while it is read.
func FuzzFunctions(f *testing.F) {
	f.Add([]byte("abc"), uint8(11), uint64(page))
	f.Fuzz(func(t *testing.T, data []byte, minor uint8, at uint64) {
		if version(int(minor)) == nil {
			return
		}
		m := memoryOf(data, int(minor))
		in := &Interpreter{m: m, lay: m.lay, globals: at, types: map[string]uint64{}}
		for i, name := range exported {
			in.types[name] = at + uint64(i)*8
		}
		found, _ := in.Functions()
		for _, fn := range found {
			if fn.Qualified == "" && fn.Code == 0 {
				t.Errorf("%+v", fn)
			}
		}
		w := walk{in: in, seen: map[uint64]bool{}, modules: map[uint64]string{}}
		w.object(at, 0)
		w.code(at, "", 0)
	})
}
