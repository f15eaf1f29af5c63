package objfile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGoTypeName compares names with what the program itself says of its types.
func TestGoTypeName(t *testing.T) {
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
		if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags="+flags, "-o", prog, path).CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		out, err := exec.Command(prog).Output()
		if err != nil {
			t.Fatal(err)
		}
		f := open(t, prog)
		var addr uint64
		var want string
		n := 0
		for _, line := range splitLines(out) {
			if _, err := fmt.Sscanf(line, "%d", &addr); err != nil {
				t.Fatal(err)
			}
			want = line[len(fmt.Sprint(addr))+1:]
			if got, ok := f.GoTypeName(addr); got != want || !ok {
				t.Errorf("%#x: %q %v, want %q", addr, got, ok, want)
			}
			n++
		}
		if n != 8 {
			t.Errorf("%d types", n)
		}
		for _, bad := range []uint64{0, 1, addr + 1<<40, ^uint64(0) - 3} {
			if got, ok := f.GoTypeName(bad); ok {
				t.Errorf("%#x: %q", bad, got)
			}
		}
		if v := f.GoVersion(); len(v) < 5 || v[:4] != "go1." {
			t.Errorf("version %q", v)
		}
	}
}

// TestGoType compares kinds, sizes and fields with what reflect says of them in the program.
func TestGoType(t *testing.T) {
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
	for _, v := range []any{leaf{}, true, 1, uintptr(1), 1.5, 1i, "text", errors.New("x"), map[string]leaf{}, [3]*leaf{}, []byte{}, time.Time{}, time.Second, make(chan int), unsafe.Pointer(nil)} {
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
		f := open(t, prog)
		base, _ := f.goTypes()
		var slide uint64
		n := 0
		for _, line := range splitLines(out) {
			var addr uint64
			if _, err := fmt.Sscanf(line, "%d", &addr); err != nil {
				t.Fatal(err)
			}
			if n == 0 && base < 1<<32 && addr > 1<<40 { // position-independent: loaded elsewhere
				slide = addr &^ 0xfff
				for ; slide > 0 && slide > addr-1<<28; slide -= 0x1000 {
					if typ, ok := f.GoType(addr - slide); ok && typ.Name == "main.leaf" {
						break
					}
				}
			}
			typ, ok := f.GoType(addr - slide)
			got := fmt.Sprintf("%d %s %d %d", addr, typ.Name, typ.Kind, typ.Size)
			name := func(at uint64) string {
				d, _ := f.GoType(at)
				return d.Name
			}
			switch typ.Kind {
			case GoArray:
				got += fmt.Sprintf(" %d %s", typ.Len, name(typ.Elem))
			case GoStruct:
				for _, m := range typ.Fields {
					got += fmt.Sprintf(" %s:%s:%d:%v", m.Name, name(m.Type), m.Offset, m.Embedded)
				}
			}
			if got != line || !ok {
				t.Errorf("%v: %s, want %s", flags, got, line)
			}
			n++
		}
		if n != 15 {
			t.Errorf("%d types", n)
		}
	}
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
