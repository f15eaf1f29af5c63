package objfile

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/need"
)

// tool finds a program or skips the test.
func tool(t testing.TB, name string) string {
	t.Helper()
	return need.Tool(t, name)
}

// run runs a command in dir and gives its output.
func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(tool(t, name), args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}

// write puts text into a file of dir and gives its path.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// build compiles a source text with gcc or g++ (by the name's suffix) and gives the result's path.
func build(t testing.TB, name, source string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	src := write(t, dir, name, source)
	cc := "gcc"
	if strings.HasSuffix(name, ".cc") {
		cc = "g++"
	}
	out := strings.TrimSuffix(src, filepath.Ext(src))
	run(t, dir, cc, append([]string{"-o", out, src}, flags...)...)
	return out
}

// open opens a file for the length of the test.
func open(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// match finds the functions that a pattern fits.
func match(t testing.TB, f *File, pattern, lang string) []Func {
	t.Helper()
	funcs, err := f.Match(NewQuery(pattern, lang))
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	return funcs
}

// nm gives name and address of the symbols that nm shows, several addresses for twins.
func nm(t testing.TB, path string, args ...string) map[string][]uint64 {
	t.Helper()
	syms := map[string][]uint64{}
	for line := range strings.Lines(run(t, "", "nm", append(args, path)...)) {
		if w := strings.Fields(line); len(w) == 3 {
			addr, err := strconv.ParseUint(w[0], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			syms[w[2]] = append(syms[w[2]], addr)
		}
	}
	return syms
}

func names(funcs []Func) (out []string) {
	for i := range funcs {
		out = append(out, Demangle(funcs[i].Name))
	}
	return out
}
