package uapi

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	values "trocar/internal/binary/types"
)

// cpus are those whose system calls are known, with the names that their constants have in golang.org/x/sys/unix.
func cpus(t *testing.T) map[string]*abi.Arch {
	t.Helper()
	out := map[string]*abi.Arch{}
	for _, name := range []string{"amd64", "arm64"} {
		a := abi.ByName(name)
		if a == nil || len(Of(a)) == 0 {
			t.Fatalf("the system calls of %s are not known", name)
		}
		out[name] = a
	}
	return out
}

func find(t *testing.T, a *abi.Arch, name string) *Call {
	t.Helper()
	n, ok := a.Syscall(name)
	if !ok || Of(a)[n] == nil {
		t.Fatalf("%s is not known", name)
	}
	return Of(a)[n]
}

var whenForm = regexp.MustCompile(`^[0-5](&0[0-7x]*[0-9a-f]*|&[0-9]+|(/0[0-9a-fx]+)?[=!][0-9a-fx,]+)$`)

// TestLines: every line means something, and every kind of number has words.
func TestLines(t *testing.T) {
	called, words := lines()
	used := map[string]bool{"filetype": true, "epoll": true, "poll": true, "locktype": true, "lockwhence": true}
	plain := map[string]bool{}
	for _, k := range strings.Fields("d u l z x p mode text argv in out addr " +
		"int timespec rlimit64 epoll_event pollfd open_how filelock") {
		plain[k] = true
	}
	for name, line := range called {
		var params []string
		list := strings.Fields(line)
		registers := 0
		for _, w := range list {
			n, kind, _ := strings.Cut(w, ":")
			params = append(params, n)
			if !strings.HasPrefix(n, "^") {
				registers++
			} else if strings.ContainsAny(kind, "([") || strings.Contains(line, "(") {
				t.Errorf("%s: counts and other meanings", name)
			}
		}
		if registers > MaxParams {
			t.Errorf("%s has %d parameters", name, registers)
		}
		for i, w := range list {
			_, kind, ok := strings.Cut(w, ":")
			kind, when, sometimes := strings.Cut(kind, "?")
			if sometimes && !whenForm.MatchString(when) || strings.HasPrefix(w, "^") && !sometimes {
				t.Errorf("%s: %s is given at no time that is known", name, w)
			}
			kind, _, _ = strings.Cut(kind, "/")
			kind = strings.TrimSuffix(kind, "*")
			kind, count, _ := cutCount(kind)
			if !ok || !plain[kind] && words[kind] == "" {
				t.Errorf("%s: %s is of no kind", name, w)
			}
			used[kind] = true
			counts := count == "" || strings.Trim(count, "0123456789") == ""
			for _, p := range params {
				counts = counts || p == count
			}
			if !counts || kind == "out" && i+1 == len(list) {
				t.Errorf("%s: nothing counts %s", name, w)
			}
		}
	}
	for kind := range words {
		if !used[kind] {
			t.Errorf("nothing is of the kind %s", kind)
		}
	}
}

// TestNames: each system call that is described is one of a CPU.
func TestNames(t *testing.T) {
	called, _ := lines()
	for name := range called {
		known := false
		for _, a := range cpus(t) {
			_, ok := a.Syscall(name)
			known = known || ok
		}
		if !known {
			t.Errorf("%s is no system call", name)
		}
	}
}

// TestWords compares all words with the constants of golang.org/x/sys/unix, which are made from the kernel's headers.
func TestWords(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Skip("golang.org/x/sys is not here")
	}
	for cpu, a := range cpus(t) {
		known := constants(t, filepath.Join(strings.TrimSpace(string(dir)), "unix"), cpu)
		compared := 0
		tables := tablesOf(a)
		for kind := range tables.words {
			n := tables.number(kind)
			for _, e := range n.Enums {
				// Some are written otherwise there, or are of glibc's, whose value differs.
				want, ok := known[e.Name]
				if !ok || e.Name == "O_LARGEFILE" {
					continue
				}
				compared++
				if mask := ^uint64(0) >> (64 - 8*n.Size); uint64(want)&mask != uint64(e.Value)&mask {
					t.Errorf("%s: %s is %#x, not %#x", cpu, e.Name, want, e.Value)
				}
			}
		}
		if compared < 300 {
			t.Errorf("%s: only %d words were compared", cpu, compared)
		}
	}
}

// constants are those of package unix for a CPU.
func constants(t *testing.T, dir, cpu string) map[string]int64 {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range []string{"zerrors_linux.go", "zerrors_linux_" + cpu + ".go", "ztypes_linux.go"} {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if os.IsNotExist(err) {
			t.Skip("golang.org/x/sys has other files")
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	conf := types.Config{Error: func(error) {}} // other declarations are in other files
	pkg, _ := conf.Check("unix", fset, files, nil)
	out := map[string]int64{}
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok || c.Val().Kind() != constant.Int {
			continue
		}
		if v, ok := constant.Int64Val(c.Val()); ok {
			out[name] = v
		} else if v, ok := constant.Uint64Val(c.Val()); ok {
			out[name] = int64(v)
		}
	}
	return out
}

// TestCPUs: what differs between CPUs.
func TestCPUs(t *testing.T) {
	for cpu, want := range map[string]struct {
		directory, event int
		clone            string
	}{
		"amd64": {0o200000, 12, "clone_flags newsp parent_tidptr child_tidptr tls"},
		"arm64": {0o40000, 16, "clone_flags newsp parent_tidptr tls child_tidptr"},
	} {
		a := cpus(t)[cpu]
		directory := 0
		for _, e := range find(t, a, "openat").Params[2].Type.Enums {
			if e.Name == "O_DIRECTORY" {
				directory = int(e.Value)
			}
		}
		event := find(t, a, "epoll_ctl").Params[3].Size
		var clone []string
		for _, p := range find(t, a, "clone").Params {
			clone = append(clone, p.Name)
		}
		if directory != want.directory || event != want.event || strings.Join(clone, " ") != want.clone {
			t.Errorf("%s: O_DIRECTORY %#o, epoll_event %d, clone %v", cpu, directory, event, clone)
		}
	}
}

// TestParams: what is read, and by what it is counted.
func TestParams(t *testing.T) {
	a := cpus(t)["arm64"]
	for _, c := range []struct {
		call  string
		param int
		want  Param
	}{
		{"openat", 1, Param{Name: "filename", Read: Text, Len: -1}},
		{"write", 1, Param{Name: "buf", Read: Data, Size: 1, Len: 2}},
		{"read", 1, Param{Name: "buf", Read: Data, Size: 1, Len: 2, Late: true}},
		{"connect", 1, Param{Name: "uservaddr", Read: Address, Size: 1, Len: 2}},
		{"accept", 1, Param{Name: "upeer_sockaddr", Read: Address, Size: 1, Len: 2, Late: true}},
		{"pipe2", 0, Param{Name: "fildes", Read: Struct, Size: 8, Len: -1, Late: true}},
		{"ppoll", 0, Param{Name: "ufds", Read: List, Size: 8, Len: 1, Late: true}},
		{"epoll_pwait", 1, Param{Name: "events", Read: List, Size: 16, Len: -1, Late: true}},
		{"nanosleep", 0, Param{Name: "rqtp", Read: Struct, Size: 16, Len: -1}},
		{"getcwd", 0, Param{Name: "buf", Read: Text, Len: -1, Late: true}},
		{"close", 0, Param{Name: "fd", Len: -1}},
	} {
		got := find(t, a, c.call).Params[c.param]
		if got.Type == nil {
			t.Errorf("%s: no type", c.call)
		}
		if got.Elem != nil && got.Elem.Kind == values.Void {
			t.Errorf("%s: nothing is read", c.call)
		}
		if got.Reg != c.param {
			t.Errorf("%s: %s is in register %d", c.call, got.Name, got.Reg)
		}
		got.Reg, got.Type, got.Elem = 0, nil, nil
		if got != c.want {
			t.Errorf("%s: %+v, not %+v", c.call, got, c.want)
		}
	}
}

// TestSized: each word of a smaller number tells of some of its bits, and holds where it did before.
func TestSized(t *testing.T) {
	_, words := lines()
	tables := tablesOf(cpus(t)["amd64"])
	for kind := range words {
		n := tables.number(kind)
		for _, size := range []int{1, 2, 4, 8} {
			bits := ^uint64(0) >> (64 - 8*size)
			for _, e := range Sized(n, size).Enums {
				if uint64(e.Mask)&bits == 0 || size >= n.Size && uint64(e.Value)&uint64(e.Mask) != uint64(e.Value) {
					t.Errorf("%s of %d bytes: %s is %#x of %#x", kind, size, e.Name, e.Value, e.Mask)
				}
			}
		}
	}
	for _, call := range []string{"unshare", "setns"} {
		for _, e := range Library(abi.AMD64, call).Params[len(Library(abi.AMD64, call).Params)-1].Type.Enums {
			if e.Name == "CLONE_CLEAR_SIGHAND" || e.Name == "CLONE_INTO_CGROUP" {
				t.Errorf("%s has %s", call, e.Name)
			}
		}
	}
}

func TestTracepoints(t *testing.T) {
	for _, name := range []string{"fstat", "openat", "umount2"} {
		if got := Named(Tracepoint(name)); got != name {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := Tracepoint("sendfile"); got != "sendfile64" {
		t.Error(got)
	}
}
