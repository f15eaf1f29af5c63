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
			t.Skipf("go build: %v\n%s", err, out)
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
