package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"trocar/internal/need"
)

// dotnetRuntime is where deps.sh puts a .NET runtime, as part of a program of this name that was published with it.
const (
	dotnetRuntime = "../out/dotnet"
	dotnetProgram = "azmcp"
)

// dotnetApp builds a C# program for .NET, with a compiler of Debian's, and gives the path of what starts it.
func dotnetApp(t *testing.T, source string) string {
	t.Helper()
	need.Root(t)
	if os.Getenv("TROCAR_E2E_TRACER") == "" {
		t.Skip("TROCAR_E2E_TRACER is not set")
	}
	if _, err := os.Stat(filepath.Join(dotnetRuntime, "package")); err != nil {
		t.Skip("SKIPPED: no .NET runtime, which e2e/deps.sh has not fetched")
	}
	mcs, dir := need.Tool(t, "mcs"), t.TempDir()
	name := strings.TrimSuffix(source, ".cs")
	links, err := filepath.Abs(dotnetRuntime)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(links)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		to := e.Name()
		if rest, ok := strings.CutPrefix(to, dotnetProgram); ok { // its settings serve as well
			to = name + rest
		}
		switch to {
		case name, name + ".dll":
			continue
		}
		if err := os.Symlink(filepath.Join(links, e.Name()), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	abs, err := filepath.Abs(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(mcs, "-optimize+", "-nowarn:219", "-out:"+filepath.Join(dir, name+".dll"), abs)
	cmd.Dir = t.TempDir() // in the other one it would take .NET's library
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	// The host starts the assembly whose name is in it, with the settings beside that.
	host, err := os.ReadFile(filepath.Join(links, dotnetProgram))
	if err != nil {
		t.Fatal(err)
	}
	from, to := []byte(dotnetProgram+".dll\x00"), []byte(name+".dll\x00")
	if !bytes.Contains(host, from) || len(to) > len(from) {
		t.Fatal("the host has no room for the assembly's name")
	}
	host = bytes.ReplaceAll(host, from, append(to, make([]byte, len(from)-len(to))...))
	app := filepath.Join(dir, name)
	if err := os.WriteFile(app, host, 0o700); err != nil {
		t.Fatal(err)
	}
	return app
}

// managed is a program that .NET runs. It says "ready", and goes on for each line that it is given.
type managed struct {
	*exec.Cmd
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

func startManaged(t *testing.T, app string, env ...string) *managed {
	t.Helper()
	m := &managed{Cmd: exec.Command(app), t: t}
	m.Env = append(append(os.Environ(), "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1"), env...)
	m.Stderr = os.Stderr
	var err error
	if m.in, err = m.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := m.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.out = bufio.NewReader(out)
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*patience, func() { _ = m.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		if m.ProcessState == nil {
			_ = m.Process.Kill()
			_ = m.Wait()
		}
	})
	m.says("ready")
	return m
}

// says: the program's next line is this one.
func (m *managed) says(want string) {
	m.t.Helper()
	if line, err := m.out.ReadString('\n'); line != want+"\n" {
		m.t.Fatalf("the program says %q, not %q (%v)", line, want, err)
	}
}

// goOn lets the program do its next work.
func (m *managed) goOn() {
	m.t.Helper()
	if _, err := io.WriteString(m.in, "\n"); err != nil {
		m.t.Fatal(err)
	}
}

// ends: the program ends by itself, and is content.
func (m *managed) ends() {
	m.t.Helper()
	if err := m.in.Close(); err != nil {
		m.t.Error(err)
	}
	rest, err := io.ReadAll(m.out)
	if err == nil {
		err = m.Wait()
	}
	if err != nil || len(rest) > 0 {
		m.t.Errorf("the program: %v %s", err, rest)
	}
}

// tracerFails runs a command of the tracer that is refused, and gives what it says.
func tracerFails(args ...string) (string, error) {
	out, err := exec.Command(os.Getenv("TROCAR_E2E_TRACER"), args...).CombinedOutput()
	return string(out), err
}

// traced asks about the program with a command of the tracer, and does something once that is attached. It gives what
// the tracer says of results, and else, when it has ended.
func (m *managed) traced(do func(), args ...string) (results, notes string) {
	m.t.Helper()
	args = append([]string{args[0], "-p", strconv.Itoa(m.Process.Pid)}, args[1:]...)
	cmd := exec.Command(os.Getenv("TROCAR_E2E_TRACER"), args...)
	cmd.Env = append(os.Environ(), attached+"=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if line == attached+"\n" {
		do()
	}
	rest, readErr := io.ReadAll(lines)
	if waitErr := cmd.Wait(); err != nil || readErr != nil || waitErr != nil || line != attached+"\n" {
		m.t.Fatalf("%s: %v %v\n%s%s%s", cmd, readErr, waitErr, line, rest, errs.String())
	}
	return string(rest), errs.String()
}

// aheadOnly: code that was compiled ahead of time is not replaced when it is called often.
const aheadOnly = "DOTNET_TC_CallCounting=0"

// TestDotNetAhead traces methods of .NET that were compiled ahead of time by name: values, results, and all calls of
// several threads, while the program collects garbage and throws exceptions through what is traced.
func TestDotNetAhead(t *testing.T) {
	app := dotnetApp(t, "calls.cs")
	const right = "wrong 0 found 4000 thrown 400"
	core := filepath.Join(filepath.Dir(app), "System.Private.CoreLib.dll")

	program := startManaged(t, app, aheadOnly)
	work := func() { program.goOn(); program.says(right); program.ends() }
	trace, notes := program.traced(work, "trace", "System.IO.File::Exists", "System.Int32::Parse(string)",
		"System.DateTime::Compare", "System.TimeSpan::Compare", "System.Decimal::Compare", "System.Guid::CompareTo(Guid)")
	calls := 0
	var seen []string
	for line := range strings.Lines(trace) {
		if _, call, ok := strings.Cut(line, "System."); ok && strings.Contains(call, ") = ") {
			call, _, _ = strings.Cut(call, " <")
			if rest, ok := strings.CutPrefix(call, "Guid::CompareTo(Guid)(this=0x"); ok {
				_, call, _ = strings.Cut(rest, " ")
			}
			seen = append(seen, call)
			calls++
		}
	}
	for _, want := range []string{
		`IO.File::Exists(string)(path="/proc/self/status") = true`,
		`IO.File::Exists(string)(path="/none/é€😀") = false`,
		`IO.File::Exists(string)(path="") = false`,
		`IO.File::Exists(string)(path=NULL) = false`,
		`Int32::Parse(string)(s="-89") = -89`,
		`IO.File::Exists(string)(path="/none/3/1999") = false`,
		`DateTime::Compare(DateTime,DateTime)(t1=2024-02-29T12:30:15.0000005Z, t2=0001-01-01T00:00:00) = 1`,
		`TimeSpan::Compare(TimeSpan,TimeSpan)(t1=-00:00:01.5000000, t2=1.02:03:04) = -1`,
		`value=00112233-4455-6677-8899-aabbccddeeff) = -1`,
		`Decimal::Compare(Decimal,Decimal)(d1=-12.50, d2=0.0001) = -1`,
	} {
		if !slices.Contains(seen, want) {
			t.Errorf("no call %s", want)
		}
	}
	if calls < 8005 { // and those of the library itself
		t.Errorf("%d calls\n%s", calls, notes)
	}

	program = startManaged(t, app, aheadOnly)
	counts, notes := program.traced(work, "run", "-e", fmt.Sprintf(
		`uprobe:%s:"System.IO.File::Exists(string)" { @entries = count(); }
		uretprobe:%[1]s:"System.IO.File::Exists(string)" /retval/ { @true = count(); }
		uretprobe:%[1]s:"System.IO.File::ReadAllText(string,Encoding)" { @text = count(); }
		uprobe:%[1]s:"System.IO.File::ReadAllText(string,Encoding)" { @reads = count(); }
		uprobe:%[1]s:"System.IO.File::Exists(string)" /args.path == "/none/é€😀"/ { @one = count(); }
		uprobe:%[1]s:"System.IO.File::Exists(string)" /"" == args.path/ { @empty = count(); }
		uprobe:%[1]s:"System.IO.File::Exists(string)" /args.path != "/proc/self/status"/ { @others = count(); }`, core))
	for _, want := range []string{
		"@entries: 8004\n", "@true: 4001\n", "@reads: 400\n", "@one: 1\n", "@empty: 1\n", "@others: 4003\n",
	} {
		if !strings.Contains(counts, want) {
			t.Errorf("no %q\n%s%s", want, counts, notes)
		}
	}
	if strings.Contains(counts, "@text") {
		t.Errorf("calls that threw have returned:\n%s", counts)
	}
}

// TestDotNetStacks: methods that are compiled at run time have names in call stacks, also those that come while the run
// lasts; nothing is left, neither of a run nor of one that was killed.
func TestDotNetStacks(t *testing.T) {
	app := dotnetApp(t, "late.cs")
	program := startManaged(t, app)
	pid := strconv.Itoa(program.Process.Pid)
	native := filepath.Join(filepath.Dir(app), "libSystem.Native.so")
	script := "uprobe:" + native + ":SystemNative_Stat { @[ustack(12)] = count() } interval:ms:50 /@n++ > 20/ { exit() }"
	maps := func() (open []string) {
		fds, err := filepath.Glob("/proc/" + pid + "/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && strings.Contains(to, "perf-"+pid+".map") {
				open = append(open, to)
			}
		}
		return open
	}
	work := func() { program.goOn(); program.says("done") }
	trace, notes := program.traced(work, "run", "-e", script)
	for _, want := range []string{
		"Late::After(List<!!0>,string[])+", "Late::Early(int,string)+", "Late::Main()+",
		"System.IO.Directory::Exists(string)+",
	} {
		if !strings.Contains(trace, want) {
			t.Errorf("no %s\n%s%s", want, trace, notes)
		}
	}
	if strings.Contains(notes, "WARNING") {
		t.Error(notes)
	}
	if left := maps(); len(left) > 0 {
		t.Errorf("the perf map is still written: %q", left)
	}

	// One that is killed leaves no file, and what it had switched on is taken over.
	cmd := exec.Command(os.Getenv("TROCAR_E2E_TRACER"), "-p", pid, "-e", script)
	cmd.Env = append(os.Environ(), attached+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if line != attached+"\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if left := maps(); len(left) != 1 || !strings.HasSuffix(left[0], " (deleted)") {
		t.Errorf("after it was killed: %q", left)
	}
	if trace, _ := program.traced(work, "run", "-e", script); !strings.Contains(trace, "Late::Early(int,string)+") {
		t.Error(trace)
	}
	if left := maps(); len(left) > 0 {
		t.Errorf("the perf map is still written: %q", left)
	}
	if _, err := os.Lstat("/tmp/perf-" + pid + ".map"); err == nil {
		t.Error("a perf map is left")
	}

	about, err := exec.Command(os.Getenv("TROCAR_E2E_TRACER"), "info", pid).CombinedOutput()
	for _, want := range []string{".NET 9.0.1, program late", "has names in call stacks"} {
		if err != nil || !strings.Contains(string(about), want) {
			t.Errorf("%v, no %q\n%s", err, want, about)
		}
	}

	// A stopped program is not waited for.
	if err := program.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	short := "uprobe:" + native + ":SystemNative_Stat { @[ustack(12)] = count() } interval:ms:50 { exit() }"
	if _, notes := program.traced(func() {}, "run", "-e", short); !strings.Contains(notes, "the process is stopped") {
		t.Error(notes)
	}
	if err := program.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	program.ends()
}

// tracerSays runs a command of the tracer that ends by itself.
func tracerSays(t *testing.T, args ...string) string {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.Command(os.Getenv("TROCAR_E2E_TRACER"), args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, errs.String())
	}
	return string(out)
}

// TestDotNetOffsets: offsets and addresses of methods are those where they are called.
func TestDotNetOffsets(t *testing.T) {
	app := dotnetApp(t, "late.cs")
	program := startManaged(t, app, aheadOnly)
	pid := strconv.Itoa(program.Process.Pid)
	const method = "System.IO.Directory::Exists(string)"
	var offset, address, size uint64
	lines := strings.Split(strings.TrimSpace(tracerSays(t, "offsets", "-p", pid, "*CoreLib.dll", method)), "\n")
	line := lines[len(lines)-1]
	if n, err := fmt.Sscanf(line, "0x%x 0x%x 0x%x "+method, &offset, &address, &size); n != 3 || len(lines) != 3 {
		t.Fatalf("%q: %v", lines, err)
	}
	core := filepath.Join(filepath.Dir(app), "System.Private.CoreLib.dll")
	var own struct {
		Offset uint64
		Addr   uint64 `json:"file_address"`
	}
	text := tracerSays(t, "offsets", "-f", "json", core, method)
	if err := json.Unmarshal([]byte(text), &own); err != nil || own.Offset != offset {
		t.Errorf("of the file: %v, %s", err, text)
	}
	compiled := tracerSays(t, "perf-map", "-p", pid)
	for _, want := range []string{
		fmt.Sprintf("%x %x %s[PreJIT]\n", address, size, method), " Late::Main()[QuickJitted]\n",
	} {
		if !strings.Contains(compiled, want) {
			t.Errorf("the perf map has no %q", want)
		}
	}
	// What there is not is refused, with a way to see what there is.
	refused, err := exec.Command(os.Getenv("TROCAR_E2E_TRACER"), "trace", "-p", pid, "Late::Earlier").CombinedOutput()
	if err == nil || !strings.Contains(string(refused), "has such a method") ||
		!strings.Contains(string(refused), "trocar perf-map -p "+pid) {
		t.Errorf("%v\n%s", err, refused)
	}
	// The addresses are those of the calls.
	script := fmt.Sprintf("uprobe:%s:%#x /reg(\"ip\") == %#x/ { @calls = count(); }", core, own.Addr, address)
	hits, notes := program.traced(func() { program.goOn(); program.says("done"); program.ends() }, "run", "-e", script)
	if !strings.Contains(hits, "@calls: 4000\n") {
		t.Errorf("%s%s", hits, notes)
	}
}
