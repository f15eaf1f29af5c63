package record

import (
	"encoding/binary"
	"encoding/hex"
	"testing"
)

// describePython makes the description of a code object.
func describePython(first int, name, file string, lines []byte) []byte {
	b := make([]byte, PythonCodeSize)
	binary.LittleEndian.PutUint32(b[CodeLine:], uint32(first))
	put := func(p PythonPart, text []byte) {
		binary.LittleEndian.PutUint32(b[p.Length:], uint32(len(text)))
		copy(b[p.At:p.At+p.Most], text)
	}
	put(CodeName, []byte(name))
	put(CodeFile, []byte(file))
	put(CodeLines, lines)
	return b
}

// TestPythonLines compares the lines of a function's instructions with those that CPython 3.11 tells itself
// (co_positions).
func TestPythonLines(t *testing.T) {
	table, err := hex.DecodeString("8000e0090ad8090af103010a0b8041e50d12903189588c58f000070511f0000705118801d80b0cf0" +
		"00010915d80c14f002040911dd0c0d8861d80e0ff103010d11f400010d11f000010d11f000010d11" +
		"f8e50f19f000010911f000010911f000010911d80c108844884488448844f8f8f8f8f003010911f8" +
		"f8f8f004010c0ff000010c0fd80c0df003010c0ff100010c0ff400010c0ff00001050f")
	if err != nil {
		t.Fatal(err)
	}
	c := PythonCodeOf(describePython(1, "f", "/x.py", table))
	want := []struct{ line, count int }{
		{1, 1},
		{3, 1},
		{4, 1},
		{3, 3},
		{5, 17},
		{6, 2},
		{7, 1},
		{8, 1},
		{9, 7},
		{10, 1},
		{9, 9},
		{0, 1},
		{11, 9},
		{12, 5},
		{0, 4},
		{11, 1},
		{0, 3},
		{13, 2},
		{14, 1},
		{13, 9},
		{0, 5},
	}
	i := 0
	for _, w := range want {
		for range w.count {
			if got := c.LineOf(i); got != w.line {
				t.Errorf("instruction %d is in line %d, want %d", i, got, w.line)
			}
			i++
		}
	}
	if c.Name != "f" || c.File != "/x.py" {
		t.Errorf("%+v", c)
	}
	if c := PythonCodeOf(describePython(7, "g", "", make([]byte, CodeLines.Most+1))); c.LineOf(0) != 0 || c.Name != "g" {
		t.Errorf("%+v", c)
	}
	if c := PythonCodeOf(nil); c.LineOf(0) != 0 {
		t.Errorf("%+v", c)
	}
}

func FuzzPythonCode(f *testing.F) {
	f.Add(describePython(1, "f", "x.py", []byte{0xf0, 3, 1, 9, 0x11, 0xf8}), 3)
	f.Fuzz(func(t *testing.T, value []byte, index int) {
		c := PythonCodeOf(value)
		c.LineOf(index)
	})
}
