package golang

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"trocar/internal/binary/objfile"
	"trocar/internal/process/runtimes/golang/pclntab"
)

// TestDynamicNames compares names with what the program itself says of its types.
func TestDynamicNames(t *testing.T) {
	const src = `package main

import (
	"errors"
	"fmt"
	"unsafe"
)

type leaf struct{ Name string }

func main() {
	for _, v := range []any{leaf{}, &leaf{}, 1, "text", errors.New("x"), map[string][]leaf{}, [3]*leaf{}, func(int) error { return nil }} {
		fmt.Printf("%d %T\n", *(*uintptr)(unsafe.Pointer(&v)), v)
	}
}
`
	dir := t.TempDir()
	path := filepath.Join(dir, "main.go")
	if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"", "-s -w"} {
		prog := filepath.Join(dir, "prog")
		if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags="+flags, "-o", prog,
			path).CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		out, err := exec.Command(prog).Output()
		if err != nil {
			t.Fatal(err)
		}
		f := openFile(t, prog)
		p := Open(f)
		var addr uint64
		var want string
		n := 0
		for _, line := range splitLines(out) {
			if _, err := fmt.Sscanf(line, "%d", &addr); err != nil {
				t.Fatal(err)
			}
			want = line[len(fmt.Sprint(addr))+1:]
			if got, ok := p.Dynamic(addr); !ok || got.Name != want {
				t.Errorf("%#x: %v %v, want %q", addr, got, ok, want)
			}
			n++
		}
		if n != 8 {
			t.Errorf("%d types", n)
		}
		for _, bad := range []uint64{0, 1, addr + 1<<40, ^uint64(0) - 3} {
			if got, ok := p.Dynamic(bad); ok {
				t.Errorf("%#x: %q", bad, got.Name)
			}
		}
		if v := pclntab.Version(f); len(v) < 5 || v[:4] != "go1." {
			t.Errorf("version %q", v)
		}
	}
}

// TestDescriptions compares kinds, sizes and fields with what reflect says of them in the program.
func TestDescriptions(t *testing.T) {
	const src = `package main

import (
	"errors"
	"fmt"
	"reflect"
	"time"
	"unsafe"
)

type inner struct{ A, B int8 }

type leaf struct {
	inner
	Name string
	next *leaf
	List [3]uint16
	M    map[string]int
	_    bool
	F    func()
	Any  any
	Err  error
}

func main() {
	for _, v := range []any{
		leaf{}, true, 1, uintptr(1), 1.5, 1i, "text", errors.New("x"), map[string]leaf{}, [3]*leaf{}, []byte{},
		time.Time{}, time.Second, make(chan int), unsafe.Pointer(nil),
	} {
		t := reflect.TypeOf(v)
		fmt.Printf("%d %s %d %d", *(*uintptr)(unsafe.Pointer(&v)), t, t.Kind(), t.Size())
		switch t.Kind() {
		case reflect.Array:
			fmt.Printf(" %d %s", t.Len(), t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				f := t.Field(i)
				fmt.Printf(" %s:%s:%d:%v", f.Name, f.Type, f.Offset, f.Anonymous)
			}
		}
		fmt.Println()
	}
}
`
	dir := t.TempDir()
	path := filepath.Join(dir, "main.go")
	if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"-ldflags=-s -w"}, {"-buildmode=pie"}} {
		prog := filepath.Join(dir, "prog")
		args := append([]string{"build", "-buildvcs=false", "-o", prog}, flags...)
		if out, err := exec.Command("go", append(args, path)...).CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		out, err := exec.Command(prog).Output()
		if err != nil {
			t.Fatal(err)
		}
		p := Open(openFile(t, prog))
		none := &desc{}
		at := func(addr uint64) *desc {
			if d := p.desc(addr); d != nil {
				return d
			}
			return none
		}
		var slide uint64
		n := 0
		for _, line := range splitLines(out) {
			var addr uint64
			if _, err := fmt.Sscanf(line, "%d", &addr); err != nil {
				t.Fatal(err)
			}
			if n == 0 && p.types < 1<<32 && addr > 1<<40 { // position-independent: loaded elsewhere
				slide = addr &^ 0xfff
				for ; slide > 0 && slide > addr-1<<28; slide -= 0x1000 {
					if at(addr-slide).str == "main.leaf" {
						break
					}
				}
			}
			d := at(addr - slide)
			got := fmt.Sprintf("%d %s %d %d", addr, d.str, d.kind, d.size)
			switch d.kind {
			case kindArray:
				got += fmt.Sprintf(" %d %s", d.length, at(d.elem).str)
			case kindStruct:
				for _, m := range d.fields {
					got += fmt.Sprintf(" %s:%s:%d:%v", m.name, at(m.typ).str, m.offset, m.embedded)
				}
			}
			if typ, ok := p.Dynamic(addr - slide); !ok || typ.Size != d.size || len(typ.Fields) != len(d.fields) &&
				d.kind == kindStruct {
				t.Errorf("%v: %s as a type: %v, %v", flags, d.str, typ, ok)
			}
			if got != line {
				t.Errorf("%v: %s, want %s", flags, got, line)
			}
			n++
		}
		if n != 15 {
			t.Errorf("%d types", n)
		}
	}
}

func openFile(t *testing.T, path string) *objfile.File {
	t.Helper()
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f.ReadTables(pclntab.Read)
	t.Cleanup(func() { f.Close() })
	return f
}

func splitLines(b []byte) (lines []string) {
	start := 0
	for i, c := range b {
		if c == '\n' {
			lines = append(lines, string(b[start:i]))
			start = i + 1
		}
	}
	return lines
}
