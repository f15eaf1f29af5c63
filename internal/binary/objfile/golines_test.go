package objfile

import (
	"runtime"
	"strings"
	"testing"
)

// TestTableFrames compares what the table tells of this test's own code with what the runtime makes of it.
func TestTableFrames(t *testing.T) {
	f, err := Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table := f.funcTable()
	if table == nil {
		t.Fatal("no table of functions")
	}
	places, inlined, padding := 0, 0, 0
	for i := 0; i < table.n; i += 7 {
		entry, end, _, ok := table.at(i)
		if !ok || runtime.FuncForPC(uintptr(entry)) == nil {
			continue
		}
		for addr := entry; addr < min(end, entry+600); addr += 5 {
			got := f.TableFrames(addr)
			if got == nil {
				padding++
				continue
			}
			// As if it were a return address; what was inlined is only gone through if another one follows.
			walk := runtime.CallersFrames([]uintptr{uintptr(addr) + 1, 1})
			for more := true; more; {
				var want runtime.Frame
				want, more = walk.Next()
				if len(got) == 0 {
					t.Fatalf("%#x: the runtime has %s more", addr, want.Function)
				}
				g := got[0]
				got = got[1:]
				generic := strings.Contains(g.Name, "[") // the runtime leaves out type arguments, and has no name at 0
				if want.Function == "" || generic {
					want.Function = g.Name
				}
				if g.Line != want.Line || g.File != want.File || g.Name != want.Function || g.Inlined != (len(got) > 0) {
					t.Fatalf("%#x: %+v, the runtime has %s %s:%d", addr, g, want.Function, want.File, want.Line)
				}
				if g.Inlined {
					inlined++
				}
				places++
			}
			if len(got) == 1 && !got[0].Inlined && got[0].Name == runtime.FuncForPC(uintptr(entry)).Name() {
				got = nil // the runtime hides wrappers
			}
			if len(got) > 0 {
				t.Fatalf("%#x: %+v more than the runtime has", addr, got)
			}
		}
	}
	if places < 10_000 || inlined < 1000 || padding > places/20 {
		t.Errorf("only %d frames were compared, %d of them inlined; %d places are said to be padding", places, inlined,
			padding)
	}
	if got := f.TableFrames(1); got != nil {
		t.Errorf("no code: %+v", got)
	}
}

// TestTableInSection finds the table of this test where an external linker has put it among other data, with what looks
// like a header in front of it.
func TestTableInSection(t *testing.T) {
	f := open(t, "/proc/self/exe")
	want := f.funcTable()
	if want == nil {
		t.Fatal("no table of functions")
	}
	moved := open(t, "/proc/self/exe")
	var at *Section
	for i := range moved.sections {
		switch s := &moved.sections[i]; s.Name {
		case ".gopclntab", ".data.rel.ro.gopclntab":
			at = s
		case ".data.rel.ro", ".rodata":
			s.Name = ".other"
		}
	}
	data := moved.sectionBytes(at)
	decoy := append([]byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}, make([]byte, 56)...)
	decoy = append(decoy, 0, 0, 0xf1, 0xff, 0xff, 0xff, 0, 0) // not where one can be
	section := append(decoy, data...)
	if got := moved.goHeader(section); got != len(decoy) {
		t.Errorf("found at %d, it is at %d", got, len(decoy))
	}
	at.Name = ".data.rel.ro"
	before := at.Addr
	at.Addr, at.Offset, at.Size = at.Addr-64, at.Offset-64, at.Size+64
	if got := moved.tablePlace().addr; got != before {
		t.Errorf("the table is at %#x, found at %#x", before, got)
	}
	if got := moved.funcTable(); got == nil || got.n != want.n || got.text != want.text {
		t.Errorf("%+v, want %d functions from %#x", got, want.n, want.text)
	}
	if f.goModule() == 0 || moved.goModule() != f.goModule() {
		t.Errorf("module data at %#x, want %#x", moved.goModule(), f.goModule())
	}
}
