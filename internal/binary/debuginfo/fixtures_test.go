package debuginfo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"trocar/internal/binary/objfile"
)

// Programs for tests are built once, by compilers that may be missing: then their tests are skipped.

var built = struct {
	sync.Mutex
	dir   string
	paths map[string]string
	why   map[string]string
}{paths: make(map[string]string), why: make(map[string]string)}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// build runs a command line in which $OUT stands for the program to make and $SRC for testdata; several commands are
// separated by "&&". It returns the program's path.
func build(t testing.TB, command string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if path, ok := built.paths[command]; ok {
		return path
	}
	if why, ok := built.why[command]; ok {
		t.Skip(why)
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "debuginfo")
		if err != nil {
			t.Fatal(err)
		}
		built.dir = dir
	}
	src, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(built.dir, "p")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "prog")
	for _, one := range strings.Split(command, "&&") {
		one = strings.ReplaceAll(strings.ReplaceAll(one, "$OUT", out), "$SRC", src)
		args := strings.Fields(one)
		if _, err := exec.LookPath(args[0]); err != nil {
			built.why[command] = args[0] + " is not installed"
			t.Skip(built.why[command])
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOWORK=off")
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", one, err, msg)
		}
	}
	built.paths[command] = out
	return out
}

// need skips a test where a program is missing.
func need(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(program + " is not installed")
	}
}

// open opens a program's debug info.
func open(t testing.TB, path string) *Info {
	t.Helper()
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	in, err := Open(f)
	if err != nil {
		f.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		f.Close()
	})
	return in
}

// Command lines of the programs.
const (
	plainO0   = "gcc -O0 -g -o $OUT $SRC/plain.c"
	plainO2   = "gcc -O2 -g -o $OUT $SRC/plain.c"
	plainO2v4 = "gcc -O2 -g -gdwarf-4 -o $OUT $SRC/plain.c"
	plainO2v3 = "gcc -O2 -g -gdwarf-3 -o $OUT $SRC/plain.c"
	plainO2v2 = "gcc -O2 -g -gdwarf-2 -gstrict-dwarf -o $OUT $SRC/plain.c"
	clangO0   = "clang-14 -O0 -g -o $OUT $SRC/plain.c"
	clangO2   = "clang-14 -O2 -g -gdwarf-4 -o $OUT $SRC/plain.c"
	bookO0    = "g++ -std=c++17 -O0 -g -o $OUT $SRC/book.cpp"
	bookO2    = "g++ -std=c++17 -O2 -g -o $OUT $SRC/book.cpp"
	bookO2v4  = "g++ -std=c++17 -O2 -g -gdwarf-4 -fdebug-types-section -o $OUT $SRC/book.cpp"
	bookLTO   = "g++ -std=c++17 -O2 -g -flto -o $OUT $SRC/book.cpp"
	clbookO0  = "clang++-14 -std=c++17 -O0 -g -o $OUT $SRC/book.cpp"
	clbookO2  = "clang++-14 -std=c++17 -O2 -g -o $OUT $SRC/book.cpp"
	rustO0    = "rustc -g -o $OUT $SRC/shapes.rs"
	rustO2    = "rustc -g -O -o $OUT $SRC/shapes.rs"
	goProgram = "cp $SRC/gokinds.go.txt main.go && go mod init kinds && go build -o $OUT ."
)

// run returns what a command prints.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	need(t, name)
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
