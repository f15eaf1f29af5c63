package pclntab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"trocar/internal/binary/objfile"
	"trocar/internal/need"
)

// open opens a file for the length of the test.
func open(t *testing.T, path string) *objfile.File {
	t.Helper()
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	f.ReadTables(Read)
	return f
}

func match(t *testing.T, f *objfile.File, pattern string) []objfile.Func {
	t.Helper()
	funcs, err := f.Match(objfile.NewQuery(pattern, ""))
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	return funcs
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// symbols are the addresses of a file's symbols, as another reader has them.
func symbols(t *testing.T, path string) map[string]uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]uint64{}
	for _, s := range list {
		at[s.Name] = s.Value
	}
	return at
}

// TestFrames compares what the table tells of this test's own code with what the runtime makes of it.
func TestFrames(t *testing.T) {
	f := open(t, "/proc/self/exe")
	table := Of(f)
	if table == nil {
		t.Fatal("no table of functions")
	}
	places, inlined, padding := 0, 0, 0
	for i := 0; i < table.n; i += 7 {
		entry, end, _, ok := table.At(i)
		if !ok || runtime.FuncForPC(uintptr(entry)) == nil {
			continue
		}
		for addr := entry; addr < min(end, entry+600); addr += 5 {
			got := table.Frames(addr)
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
			if len(got) == 1 && !got[0].Inlined && plain(got[0].Name) == plain(runtime.FuncForPC(uintptr(entry)).Name()) {
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
	if got := table.Frames(1); got != nil {
		t.Errorf("no code: %+v", got)
	}
}

// plain is a name without type arguments, which the runtime leaves out.
func plain(name string) string {
	before, _, found := strings.Cut(name, "[")
	if i := strings.LastIndexByte(name, ']'); found && i > 0 {
		return before + name[i+1:]
	}
	return name
}

// TestFunctions: stripped programs have the functions that the others have.
func TestFunctions(t *testing.T) {
	need.Tool(t, "go")
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/plain\n\ngo 1.21\n")
	write(t, dir, "main.go", `package main

import "os"

type server struct{ n int }

//go:noinline
func (s *server) handle(r string) int { return s.n + len(r) }

//go:noinline
func pick[T any](a, b T) T { return a }

func main() { s := &server{len(os.Args)}; println(s.handle("x"), pick(1, 2), pick("a", "b")) }
`)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"plain", nil},
		{"stripped", []string{"-ldflags=-s -w"}},
		{"pie", []string{"-buildmode=pie", "-ldflags=-s -w"}},
	} {
		if c.name == "pie" && testing.Short() {
			continue // the first time, all of the standard library is compiled anew
		}
		plain, out := filepath.Join(dir, c.name+".full"), filepath.Join(dir, c.name)
		var full []string
		for _, a := range c.args {
			if !strings.HasPrefix(a, "-ldflags") {
				full = append(full, a)
			}
		}
		t.Setenv("CGO_ENABLED", "0")
		run(t, dir, "go", append(append([]string{"build"}, full...), "-o", plain, ".")...)
		run(t, dir, "go", append(append([]string{"build"}, c.args...), "-o", out, ".")...)
		want := symbols(t, plain)
		f := open(t, out)
		if !IsGo(f) || Of(f) == nil {
			t.Errorf("%s: not known to be Go", c.name)
		}
		for _, name := range []string{"main.main", "main.(*server).handle", "runtime.mallocgc"} {
			funcs := match(t, f, name)
			if len(funcs) != 1 || funcs[0].Size == 0 {
				t.Errorf("%s: %s: %+v", c.name, name, funcs)
				continue
			}
			// The stripped build has the same code, at the same place but for the tables in front.
			if ref := open(t, plain); funcs[0].Addr != want[name] && string(ref.Bytes(want[name], 8)) !=
				string(f.Bytes(funcs[0].Addr, 8)) {
				t.Errorf("%s: %s at %#x is not the function at %#x", c.name, name, funcs[0].Addr, want[name])
			}
			if s, ok := f.Lookup(funcs[0].Addr + 3); !ok || s.Name != name {
				t.Errorf("%s: lookup of %s: %+v %v", c.name, name, s, ok)
			}
		}
		if n := len(match(t, f, "main.pick*")); n < 2 {
			t.Errorf("%s: %d instances of pick", c.name, n)
		}
	}
}

// TestTableInSection finds the table of this test where an external linker has put it among other data, with what looks
// like a header in front of it.
func TestTableInSection(t *testing.T) {
	f := open(t, "/proc/self/exe")
	want := Of(f)
	if want == nil {
		t.Fatal("no table of functions")
	}
	const room = 64 // in front of the table, in the section
	image, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	own, _ := tableSection(f)
	copy(image[own.Offset-room:], []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}) // of a table without functions
	copy(image[own.Offset-5:], []byte{0xf1, 0xff, 0xff, 0xff, 0})             // not where one can be
	renameSections(t, image, func(name string, head []byte) string {
		switch name {
		case own.Name:
			for _, field := range []int{0x10, 0x18} { // address, offset
				v := head[field:]
				binary.LittleEndian.PutUint64(v, binary.LittleEndian.Uint64(v)-room)
			}
			binary.LittleEndian.PutUint64(head[0x20:], own.Size+room)
			return ".rodata"
		case ".rodata", ".data.rel.ro":
			return ""
		}
		return name
	})
	moved, err := objfile.New("moved", image)
	if err != nil {
		t.Fatal(err)
	}
	moved.ReadTables(Read)
	got := Of(moved)
	if got == nil || got.place.addr != own.Addr || got.n != want.n || got.text != want.text {
		t.Fatalf("%+v, want %d functions from %#x", got, want.n, want.text)
	}
	if want.Module() == 0 || got.Module() != want.Module() {
		t.Errorf("module data at %#x, want %#x", got.Module(), want.Module())
	}
}

// renameSections gives the sections of an image other names, of those that are there.
func renameSections(t *testing.T, image []byte, rename func(name string, head []byte) string) {
	t.Helper()
	half := func(at int) int { return int(binary.LittleEndian.Uint16(image[at:])) }
	long := func(at int) int { return int(binary.LittleEndian.Uint64(image[at:])) }
	heads, size, count, strings := long(0x28), half(0x3a), half(0x3c), half(0x3e)
	at := heads + strings*size
	names := image[long(at+0x18):][:long(at+0x20)]
	for i := range count {
		head := image[heads+i*size:][:size]
		name := rename(string(text(names, uint64(binary.LittleEndian.Uint32(head)))), head)
		k := bytes.Index(names, append([]byte(name), 0))
		if k < 0 {
			t.Fatalf("no section is named %s", name)
		}
		binary.LittleEndian.PutUint32(head, uint32(k))
	}
}

// TestIndexedNames: names of generic functions are found in all their forms, at first and once there are indexes.
func TestIndexedNames(t *testing.T) {
	var names []string
	open(t, "/proc/self/exe").Functions(func(s *objfile.Symbol) bool {
		if i := strings.IndexByte(s.Name, '['); i > 0 && len(names) < 300 {
			names = append(names, strings.Clone(s.Name), strings.Clone(s.Name[:i]), s.Name[:i]+"[...]")
		}
		return true
	})
	if len(names) < 100 {
		t.Fatalf("%d names", len(names))
	}
	indexed := open(t, "/proc/self/exe")
	for range 40 {
		match(t, indexed, "no::such<name>")
	}
	for _, name := range names {
		fresh := open(t, "/proc/self/exe")
		if want, got := match(t, fresh, name), match(t, indexed, name); !reflect.DeepEqual(want, got) {
			t.Errorf("%s: %+v with an index, %+v without", name, got, want)
		}
	}
}
