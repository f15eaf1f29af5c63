package debuginfo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"trocar/internal/binary/objfile"
	"trocar/internal/need"
)

// Programs for tests are built once, by compilers that may be missing: then their tests are skipped.

var built struct {
	sync.Mutex
	dir  string
	made map[string]func() (path, missing string, err error)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// build runs a command line in which $OUT stands for the program to make and $SRC for testdata; several commands are
// separated by "&&". In front of "|" may stand the command line of another program, $BASE in this one. It returns the
// program's path.
func build(t testing.TB, command string) string {
	t.Helper()
	base := ""
	this := command
	if from, rest, ok := strings.Cut(command, "|"); ok {
		base, this = build(t, from), rest
	}
	built.Lock()
	make, ok := built.made[command]
	if !ok {
		if built.made == nil {
			built.made = map[string]func() (string, string, error){}
			dir, err := os.MkdirTemp("", "debuginfo")
			if err != nil {
				built.Unlock()
				t.Fatal(err)
			}
			built.dir = dir
		}
		make = onceBuilt(built.dir, base, this)
		built.made[command] = make
	}
	built.Unlock()
	path, missing, err := make()
	if missing != "" {
		need.Tool(t, missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func onceBuilt(dir, base, command string) func() (string, string, error) {
	var path, missing string
	var err error
	var once sync.Once
	return func() (string, string, error) {
		once.Do(func() { path, missing, err = compile(dir, base, command) })
		return path, missing, err
	}
}

func compile(dir, base, command string) (path, missing string, err error) {
	src, err := filepath.Abs("testdata")
	if err != nil {
		return "", "", err
	}
	if dir, err = os.MkdirTemp(dir, "p"); err != nil {
		return "", "", err
	}
	out := filepath.Join(dir, "prog")
	names := strings.NewReplacer("$OUT", out, "$SRC", src, "$BASE", base)
	for _, one := range strings.Split(command, "&&") {
		args := strings.Fields(names.Replace(one))
		if _, err := exec.LookPath(args[0]); err != nil {
			return "", args[0], nil
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOWORK=off")
		if msg, err := cmd.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("%s: %w\n%s", one, err, msg)
		}
	}
	return out, "", nil
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
	clangO0   = "clang -O0 -g -o $OUT $SRC/plain.c"
	clangO2   = "clang -O2 -g -gdwarf-4 -o $OUT $SRC/plain.c"
	bookO0    = "g++ -std=c++17 -O0 -g -o $OUT $SRC/book.cpp"
	bookO2    = "g++ -std=c++17 -O2 -g -o $OUT $SRC/book.cpp"
	bookO2v4  = "g++ -std=c++17 -O2 -g -gdwarf-4 -fdebug-types-section -o $OUT $SRC/book.cpp"
	bookLTO   = "g++ -std=c++17 -O2 -g -flto -o $OUT $SRC/book.cpp"
	clbookO0  = "clang++ -std=c++17 -O0 -g -o $OUT $SRC/book.cpp"
	clbookO2  = "clang++ -std=c++17 -O2 -g -o $OUT $SRC/book.cpp"
	rustO0    = "rustc -g -o $OUT $SRC/shapes.rs"
	rustO2    = "rustc -g -O -o $OUT $SRC/shapes.rs"
	goProgram = "cp $SRC/gokinds.go.txt main.go && go mod init kinds && go build -o $OUT ."
)

// run returns what a command prints.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	need.Tool(t, name)
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
