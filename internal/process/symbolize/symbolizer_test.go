package symbolize

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"trocar/internal/binary/objfile"
	"trocar/internal/need"
	"trocar/internal/process/target"
	"trocar/result"
)

// compile builds a program or library of testdata.
func compile(t *testing.T, out, src string, args ...string) string {
	t.Helper()
	cc := "gcc"
	if strings.HasSuffix(src, ".cc") {
		cc = "g++"
	}
	need.Tool(t, cc)
	out = filepath.Join(t.TempDir(), out)
	args = append([]string{"-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", out, "testdata/" +
		src}, args...)
	if b, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", cc, args, err, b)
	}
	return out
}

// program is a running chain.c.
type program struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	pid int
}

func start(t *testing.T, exe string, wrapper ...string) *program {
	t.Helper()
	argv := append(wrapper, exe)
	p := &program{t: t, cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Stderr = os.Stderr
	p.in, _ = p.cmd.StdinPipe()
	out, _ := p.cmd.StdoutPipe()
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.end)
	p.pid, _ = p.expect("ready")
	return p
}

func (p *program) expect(what string) (pid int, addrs []uint64) {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatal("the program said nothing")
	}
	f := strings.Fields(p.out.Text())
	if len(f) < 2 || f[0] != what {
		p.t.Fatalf("the program said %q, want %s", p.out.Text(), what)
	}
	pid, _ = strconv.Atoi(f[1])
	for _, s := range f[2:] {
		a, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		addrs = append(addrs, a)
	}
	return pid, addrs
}

func (p *program) do(line string) { fmt.Fprintln(p.in, line) }

func (p *program) stack(line string) []uint64 {
	p.t.Helper()
	p.do(line)
	_, addrs := p.expect("stack")
	return addrs
}

func (p *program) end() {
	p.in.Close()
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// names are the frames as bpftrace would print them, with ? for what has none.
func names(frames []result.Frame) string {
	var s []string
	for _, f := range frames {
		if f.Symbol == "" {
			s = append(s, "?")
		} else {
			s = append(s, f.Symbol)
		}
	}
	return strings.Join(s, " ")
}

func newSymbolizer(t *testing.T) *Symbolizer {
	s := New(Options{})
	t.Cleanup(s.Close)
	return s
}

func hit(pid int, f *File, addrs []uint64) Hit {
	h := Hit{PID: pid, File: f, IP: addrs[0]}
	for _, sym := range []string{"stack"} {
		fn, err := f.elf.Match(objfile.NewQuery(sym, ""))
		if err != nil || len(fn) != 1 {
			panic(fmt.Sprint("no stack: ", err))
		}
		h.Offset, _ = f.elf.Offset(fn[0].Addr)
	}
	return h
}

const chain = "stack branch trunk main"

func TestLiveStack(t *testing.T) {
	for _, kind := range [][]string{{"-pie"}, {"-no-pie"}, {"-static"}, {"-static-pie"}} {
		exe := compile(t, "chain", "chain.c", kind...)
		s := newSymbolizer(t)
		p := start(t, exe)
		addrs := p.stack("s")
		frames := s.Stack(nil, Hit{PID: p.pid}, addrs)
		if got := names(frames[:4]); got != chain {
			t.Errorf("%v: %s, want %s", kind, got, chain)
		}
		for i, f := range frames[:4] {
			if f.Module != exe || f.Addr != addrs[i] || f.BuildID == "" || (f.Offset == 0) != (i == 0) {
				t.Errorf("%v: frame %d: %+v", kind, i, f)
			}
			if sym := s.Symbol(Hit{PID: p.pid}, f.Addr-f.Offset); sym.Symbol != f.Symbol || sym.Offset != 0 {
				t.Errorf("%v: start of %s: %+v", kind, f.Symbol, sym)
			}
		}
		if !strings.Contains(strings.Join(kind, ""), "static") {
			if got := frames[4].Symbol; !strings.HasPrefix(got, "__libc_start_c") {
				t.Errorf("%v: caller of main is %q", kind, got)
			}
		}
	}
}

// The program has ended when its stack is named.
func TestAfterExit(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	p := start(t, exe)
	s := newSymbolizer(t)
	if err := s.Snapshot(p.pid); err != nil {
		t.Fatal(err)
	}
	addrs := p.stack("s")
	p.end()
	frames := s.Stack(nil, Hit{PID: p.pid}, addrs)
	if got := names(frames[:4]); got != chain {
		t.Errorf("snapshot taken in time: %s", got)
	}
	if frames[4].Symbol == "" {
		t.Error("snapshot taken in time: no name in libc")
	}

	s = newSymbolizer(t)
	frames = s.Stack(nil, Hit{PID: p.pid}, addrs)
	if got := names(frames); got != "? ? ? ? ?" {
		t.Errorf("nothing known: %s", got)
	}
	if st := s.Stats(); st.Gone != 5 || st.Processes != 1 || st.Frames != 5 {
		t.Errorf("nothing known: %+v", st)
	}

	f := s.Probed(exe)
	frames = s.Stack(nil, hit(p.pid, f, addrs), addrs)
	if got := names(frames); got != chain+" ?" {
		t.Errorf("anchored: %s", got)
	}
	if f := frames[1]; f.Module != exe || f.Offset == 0 || f.ModuleOffset == 0 || f.BuildID == "" {
		t.Errorf("anchored: %+v", f)
	}
	// A record that contradicts itself gives no names.
	h := hit(p.pid, f, addrs)
	h.Offset += 8
	if got := names(s.Stack(nil, h, addrs)); got != "? ? ? ? ?" {
		t.Errorf("wrong anchor: %s", got)
	}
}

// Each run of a position independent program has other addresses.
func TestShortLived(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	s := newSymbolizer(t)
	f := s.Probed(exe)
	for range 20 {
		p := start(t, exe)
		addrs := p.stack("s")
		p.end()
		if got := names(s.Stack(nil, hit(p.pid, f, addrs), addrs)); got != chain+" ?" {
			t.Fatal(got)
		}
	}
}

// After exec old mappings must not serve, even if nobody told.
func TestExec(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	p := start(t, exe)
	s := newSymbolizer(t)
	f := s.Probed(exe)
	one := p.stack("s")
	if got := names(s.Stack(nil, hit(p.pid, f, one), one)[:4]); got != chain {
		t.Errorf("before: %s", got)
	}
	p.do("x")
	p.expect("ready")
	two := p.stack("s")
	if got := names(s.Stack(nil, hit(p.pid, f, two), two)); !strings.HasPrefix(got, chain+" __libc_start_c") {
		t.Errorf("after: %s", got)
	}
	// What comes late from before is still known.
	if got := names(s.Stack(nil, hit(p.pid, f, one), one)); !strings.HasPrefix(got, chain+" __libc_start_c") {
		t.Errorf("late: %s", got)
	}
	// Without anchor the change is seen when an address is not covered.
	p.do("x")
	p.expect("ready")
	three := p.stack("s")
	if got := names(s.Stack(nil, Hit{PID: p.pid}, three)[:4]); got != chain {
		t.Errorf("without anchor: %s", got)
	}
}

func TestLoadedLater(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	lib := compile(t, "libthrough.so", "through.cc", "-shared", "-fPIC")
	for _, mangled := range []bool{false, true} {
		p := start(t, exe)
		s := New(Options{Mangled: mangled})
		defer s.Close()
		s.Snapshot(p.pid)
		want := "stack hall::Door::pass(int (*)()) through main"
		if mangled {
			want = "stack _ZN4hall4Door4passEPFivE through main"
		}
		addrs := p.stack("l " + lib)
		frames := s.Stack(nil, Hit{PID: p.pid}, addrs)
		if got := names(frames[:4]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if frames[1].Module != lib {
			t.Errorf("module %s, want %s", frames[1].Module, lib)
		}
		maps, err := target.PID(p.pid).Maps()
		if err != nil {
			t.Fatal(err)
		}
		first := slices.IndexFunc(maps, func(m target.Mapping) bool { return m.Path == lib && m.Offset == 0 })
		fn, err := s.Probed(lib).elf.Match(objfile.NewQuery("through", ""))
		if err != nil || len(fn) != 1 || first < 0 || frames[2].Addr-frames[2].Offset != maps[first].Start+fn[0].Addr {
			t.Errorf("%v at %#x, want %+v behind the start of %+v", frames[2], frames[2].Addr, fn, maps)
		}
	}
}

// A file deleted or replaced is still the one that is mapped.
func TestReplaced(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	p := start(t, exe)
	other, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(exe)
	os.WriteFile(exe, other, 0o755)
	s := newSymbolizer(t)
	addrs := p.stack("s")
	if got := names(s.Stack(nil, Hit{PID: p.pid}, addrs)[:4]); got != chain {
		t.Error(got)
	}
	os.Remove(exe)
	p2 := start(t, compile(t, "chain", "chain.c", "-pie"))
	addrs = p2.stack("s")
	if got := names(s.Stack(nil, Hit{PID: p2.pid}, addrs)[:4]); got != chain {
		t.Error(got)
	}
}

func TestNoReturn(t *testing.T) {
	p := start(t, compile(t, "chain", "chain.c", "-pie"))
	s := newSymbolizer(t)
	s.Snapshot(p.pid)
	addrs := p.stack("n")
	if got := names(s.Stack(nil, Hit{PID: p.pid}, addrs)[:3]); got != "stack stop main" {
		t.Error(got)
	}
}

// A child that only forked has its parent's mappings, but its own id.
func TestForked(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	p := start(t, exe)
	s := newSymbolizer(t)
	f := s.Probed(exe)
	p.do("f")
	pid, addrs := p.expect("stack")
	if pid == p.pid {
		t.Fatal("no child")
	}
	if got := names(s.Stack(nil, hit(pid, f, addrs), addrs)[:2]); got != "stack main" {
		t.Error(got)
	}
}

func TestJIT(t *testing.T) {
	p := start(t, compile(t, "chain", "chain.c", "-pie"))
	p.do("j")
	_, code := p.expect("code")
	at := code[0] + 0x20
	s := newSymbolizer(t)
	name := "/tmp/perf-" + strconv.Itoa(p.pid) + ".map"
	t.Cleanup(func() { os.Remove(name) })
	put := func(text string, flags int) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|flags, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(text)
		f.Close()
	}
	symbol := func() string {
		t.Helper()
		expire(s)
		f := s.Symbol(Hit{PID: p.pid}, at)
		return fmt.Sprintf("%s+%d", f.Symbol, f.Offset)
	}
	if got := symbol(); got != "+0" {
		t.Errorf("no map: %s", got)
	}
	put(fmt.Sprintf("%x 18 early\n%x 10 half", code[0], at), os.O_TRUNC)
	if got := symbol(); got != "+0" {
		t.Errorf("half a line: %s", got)
	}
	put(" Main::run(int)\n", os.O_APPEND)
	if got := symbol(); got != "half Main::run(int)+0" {
		t.Errorf("grown: %s", got)
	}
	put(fmt.Sprintf("%x 1000 all\n", code[0]), os.O_TRUNC)
	if got := symbol(); got != "half Main::run(int)+0" { // found, so not read anew
		t.Errorf("rewritten: %s", got)
	}
	at += 0x100
	if got := symbol(); got != "all+288" {
		t.Errorf("rewritten: %s", got)
	}
	os.Remove(name)
	p.end()
	if got := symbol(); got != "all+288" {
		t.Errorf("ended: %s", got)
	}
	// A file of another user counts for nothing.
	t.Run("of others", func(t *testing.T) {
		need.Root(t)
		p = start(t, compile(t, "chain", "chain.c", "-pie"))
		p.do("j")
		_, code = p.expect("code")
		at = code[0]
		name = "/tmp/perf-" + strconv.Itoa(p.pid) + ".map"
		t.Cleanup(func() { os.Remove(name) })
		put(fmt.Sprintf("%x 18 foreign\n", code[0]), os.O_TRUNC)
		if err := os.Chown(name, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if got := symbol(); got != "+0" {
			t.Errorf("another user's: %s", got)
		}
		// Nor does what is not a file.
		os.Remove(name)
		if err := exec.Command("mkfifo", name).Run(); err == nil {
			if got := symbol(); got != "+0" {
				t.Errorf("FIFO: %s", got)
			}
		}
	})
}

// Container: other mount and PID namespaces, a path that exists in there only.
func TestContainer(t *testing.T) {
	need.Root(t)
	exe := compile(t, "chain", "chain.c", "-static-pie")
	root := t.TempDir()
	os.MkdirAll(root+"/opt", 0o755)
	os.MkdirAll(root+"/proc", 0o755)
	os.MkdirAll(root+"/old", 0o755)
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(root+"/opt/chain", b, 0o755)
	script := `mount --make-rprivate / && mount --bind $0 $0 && cd $0 && mount -t proc proc proc && pivot_root . old && exec /opt/chain`
	p := start(t, root, "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script)
	var host target.PID
	all, _ := target.All()
	for _, pid := range all {
		if exe, _, err := pid.Exe(); err == nil && exe == "/opt/chain" {
			host = pid
		}
	}
	if p.pid != 1 || host == 0 {
		t.Fatalf("inside %d, outside %d", p.pid, host)
	}
	addrs := p.stack("s")
	s := newSymbolizer(t)
	f := s.Probed(fmt.Sprintf("/proc/%d/root/opt/chain", host))
	if f.Err() != nil {
		t.Fatal(f.Err())
	}
	frames := s.Stack(nil, hit(int(host), f, addrs), addrs)
	if got := names(frames[:4]); got != chain || frames[0].Module != "/opt/chain" {
		t.Errorf("%s in %s", got, frames[0].Module)
	}
	p.end()
	frames = s.Stack(nil, hit(int(host), f, addrs), addrs)
	if got := names(frames[:4]); got != chain {
		t.Errorf("after its end: %s", got)
	}
	fresh := hit(int(host), f, addrs)
	fresh.PID = 1 << 22 // never seen
	if got := names(s.Stack(nil, fresh, addrs)[:4]); got != chain {
		t.Errorf("never seen: %s", got)
	}
}

func TestVDSO(t *testing.T) {
	s := newSymbolizer(t)
	v := s.vdso.file()
	if v == nil {
		t.Skip("no vDSO here")
	}
	maps, err := target.PID(os.Getpid()).Maps()
	if err != nil {
		t.Fatal(err)
	}
	for i := range maps {
		if maps[i].Path != "[vdso]" {
			continue
		}
		fn, err := v.elf.Match(objfile.NewQuery("*clock_gettime", ""))
		if err != nil || len(fn) == 0 {
			t.Fatal(err)
		}
		f := s.Symbol(Hit{PID: os.Getpid()}, maps[i].Start+fn[0].Addr+2)
		if !strings.Contains(f.Symbol, "clock_gettime") || f.Offset != 2 || f.Module != "[vdso]" {
			t.Errorf("%+v", f)
		}
	}
}

func TestLimits(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	s := newSymbolizer(t)
	s.limits = limits{processes: 4, mappings: 1000, files: 100}
	f := s.Probed(exe)
	for i := range 12 {
		p := start(t, exe)
		addrs := p.stack("s")
		if got := names(s.Stack(nil, hit(p.pid, f, addrs), addrs)[:4]); got != chain {
			t.Errorf("%d: %s", i, got)
		}
		p.end()
		if len(s.procs) > 4 {
			t.Errorf("%d processes kept", len(s.procs))
		}
	}
	for pid := range s.procs {
		s.drop(pid)
	}
	if s.mapped != 0 || len(s.files.byID) != 1 || f.refs != 0 {
		t.Errorf("left: %d mappings, %d files, %d references", s.mapped, len(s.files.byID), f.refs)
	}
}

// What is remembered costs little.
func BenchmarkStack(b *testing.B) {
	s := New(Options{})
	defer s.Close()
	addrs := make([]uintptr, 32)
	addrs = addrs[:runtime.Callers(0, addrs)]
	var stack []uint64
	for _, a := range addrs {
		stack = append(stack, uint64(a))
	}
	var frames []result.Frame
	b.ReportAllocs()
	for b.Loop() {
		frames = s.Stack(frames[:0], Hit{PID: os.Getpid()}, stack)
	}
	b.ReportMetric(float64(len(stack)), "frames")
	if names(frames[:1]) == "?" {
		b.Error(frames[0].Symbol)
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s := New(Options{})
	defer s.Close()
	for b.Loop() {
		s.Snapshot(os.Getpid())
		s.drop(target.PID(os.Getpid()))
	}
}

func BenchmarkKernelLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var k kernel
		k.load(b.Context())
	}
}

// expire makes everything that is trusted for some time old, as if that had passed.
func expire(s *Symbolizer) {
	for _, p := range s.procs {
		p.checked, p.next = time.Time{}, time.Time{}
		for _, space := range p.spaces {
			if space.jit != nil {
				space.jit.tried = time.Time{}
			}
		}
	}
}
