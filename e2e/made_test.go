package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fires: hardware breakpoints fire here, without which code that is made at run time cannot be probed.
func fires(t *testing.T) bool {
	t.Helper()
	ok, err := condition("fires:breakpoint")
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// calls has the program call its methods so often, and waits until it has.
func (m *managed) calls(n, all int) {
	m.t.Helper()
	if _, err := io.WriteString(m.in, strconv.Itoa(n)+"\n"); err != nil {
		m.t.Fatal(err)
	}
	m.says(fmt.Sprintf("calls %d wrong 0", all))
}

const (
	fibonacci = "SampleApp.Providers.FibonacciProvider::calculateFibonacciValue"
	echo      = "SampleApp.Providers.EchoProvider::calculateEchoValue"
)

// TestDotNetMade: methods that are compiled while the program runs are traced by name, from their first call on: with
// arguments and results, all calls of all threads, and on while they are compiled again.
func TestDotNetMade(t *testing.T) {
	app := dotnetApp(t, "jits.cs")
	if !fires(t) {
		t.Skip("debug registers do not work on this machine")
	}
	program := startManaged(t, app)
	pid := strconv.Itoa(program.Process.Pid)

	list := tracerSays(t, "list", "-p", pid, "SampleApp.Providers.*::calculate*")
	if want := `jits.dll:"` + fibonacci + "(int)\"\n"; !strings.Contains(list, want) {
		t.Errorf("no %q in\n%s", want, list)
	}

	trace, notes := program.traced(func() { program.calls(10, 10) }, "trace", "-n", "10", fibonacci)
	if n := strings.Count(trace, "(this=SampleApp.Providers.FibonacciProvider, pos=10) = 89 <"); n != 10 ||
		!strings.Contains(notes, fibonacci+"(int) is not compiled yet: its calls are seen from the first on") {
		t.Errorf("%d calls\n%s%s", n, trace, notes)
	}
	trace, notes = program.traced(func() { program.calls(10, 20) }, "trace", echo, "-n", "10")
	for _, want := range []string{"abc", "abcdef", "abcdefghi", "abcdefghijkl", "abcdefghijklmno"} {
		if !strings.Contains(trace, fmt.Sprintf("echo=%q) = %[1]q <", want)) {
			t.Errorf("no %s\n%s%s", want, trace, notes)
		}
	}
	// A generic method has the arguments that are certain. Calls that throw do not return.
	trace, notes = program.traced(func() { program.calls(10, 30) }, "trace", "-n", "2", "Jits::Sum")
	if strings.Count(trace, "Jits::Sum<T>(T[],int)(") != 2 ||
		!strings.Contains(notes, "which instance of the generic code") {
		t.Errorf("%s%s", trace, notes)
	}

	dll := filepath.Join(filepath.Dir(app), "jits.dll")
	trace, notes = program.traced(func() { program.calls(10, 40); program.ends() }, "run", "-e", fmt.Sprintf(
		`uprobe:%s:"%s" { @entries = count() } uretprobe:%[1]s:"%s" /retval == "abc"/ { @abc = count() }
		uretprobe:%[1]s:"%[2]s" { @returns = count() }`, dll, echo, echo))
	// Three of the four debug registers are in use: if it is compiled again just now they do not suffice for returns from
	// the former code, which is told.
	few := strings.Contains(notes, "debug registers were not enough")
	for _, want := range []string{"@entries: 12\n", "@returns: 10\n", "@abc: 2\n"} {
		if !strings.Contains(trace, want) && !(few && !strings.HasPrefix(want, "@entries")) {
			t.Errorf("no %s\n%s%s", want, trace, notes)
		}
	}

	// All calls are counted through all compilations, and are those that the program has made.
	program = startManaged(t, app)
	const most = 30_000
	work := func() {
		all := 0
		for _, n := range []int{1000, 1000, 1000, 1000, most - 4000} {
			all += n
			program.calls(n, all)
			time.Sleep(150 * time.Millisecond) // the runtime counts calls only when nothing new was compiled for a while
		}
	}
	compiled := ""
	counts, notes := program.traced(func() {
		work()
		compiled = tracerSays(t, "perf-map", "-p", strconv.Itoa(program.Process.Pid))
		program.ends()
	}, "count", fibonacci, echo)
	told := strings.Contains(notes, "WARNING")
	if strings.Contains(notes, "at the very moment") {
		t.Errorf("the compiler has not told of code in time:\n%s", notes)
	}
	for method, want := range map[string]int{fibonacci: most, echo: most + 10} { // those that throw
		m := regexp.MustCompile(`(?m)^ *(\d+) .*` + regexp.QuoteMeta(method)).FindStringSubmatch(counts)
		if m == nil {
			t.Fatalf("no %s in\n%s%s", method, counts, notes)
		}
		if n, _ := strconv.Atoi(m[1]); n > want || n != want && !told {
			t.Errorf("%s: %d calls, not %d\n%s", method, n, want, notes)
		}
	}
	if !strings.Contains(compiled, fibonacci+"(int)[OptimizedTier1]") {
		t.Errorf("it was not compiled again:\n%s", notes)
	}
}

// TestDotNetMadeLeft: nothing is left of a trace of such code that was killed, and the program goes on.
func TestDotNetMadeLeft(t *testing.T) {
	app := dotnetApp(t, "jits.cs")
	if !fires(t) {
		t.Skip("debug registers do not work on this machine")
	}
	program := startManaged(t, app)
	pid := program.Process.Pid
	cmd := exec.Command(os.Getenv("TROCAR_E2E_TRACER"), "trace", "-p", strconv.Itoa(pid), fibonacci, echo)
	cmd.Env = append(os.Environ(), attached+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len(attached))
	if _, err := io.ReadFull(out, line); err != nil || string(line) != attached {
		t.Fatalf("%q, %v", line, err)
	}
	program.calls(100, 100)
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	program.calls(1000, 1100)
	trace, notes := program.traced(func() { program.calls(10, 1110) }, "trace", "-n", "10", fibonacci)
	if strings.Count(trace, "pos=10) = 89 <") != 10 {
		t.Errorf("%s%s", trace, notes)
	}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.Contains(to, ".map") {
			t.Errorf("the perf map is still written: %s", to)
		}
	}
	program.ends()
}

// TestDotNetCommand: of a command all calls are traced, from the first on: of its own methods, of such as are in a file
// that it loads later, and of those that were compiled ahead of time and end in another method.
func TestDotNetCommand(t *testing.T) {
	app := dotnetApp(t, "jits.cs")
	if !fires(t) {
		t.Skip("debug registers do not work on this machine")
	}
	t.Setenv("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
	run := func(args ...string) (out, notes string) {
		t.Helper()
		var errs strings.Builder
		cmd := exec.Command(os.Getenv("TROCAR_E2E_TRACER"), args...)
		cmd.Stdin, cmd.Stderr = strings.NewReader("10\n"), &errs
		text, err := cmd.Output()
		if err != nil || !strings.Contains(string(text), "calls 10 wrong 0\n") {
			t.Fatalf("%s: %v\n%s%s", cmd, err, text, errs.String())
		}
		return string(text), errs.String()
	}
	for _, command := range [][]string{{app}, {"env", "A=B", app}, {"/bin/sh", "-c", "exec " + app}} {
		trace, notes := run(append([]string{"trace", fibonacci, "--"}, command...)...)
		// Types have no names once it has ended. Of two threads that call it first, one's return may be missing, which is
		// told.
		told := strings.Contains(notes, "at the very moment of the compilation")
		if n := strings.Count(trace, ", pos=10) = 89 <"); n != 10 && !told || n < 8 {
			t.Errorf("%q: %d calls\n%s%s", command, n, trace, notes)
		}
		if strings.Contains(notes, "WARNING") && !told {
			t.Errorf("%q: %s", command, notes)
		}
	}
	counts, notes := run("-c", app, "-e", fmt.Sprintf(`uprobe:%s:"%s" { @[args.echo] = count() }
		uprobe:"System.Console::WriteLine(string,object,object)" { @lines = count() }`, filepath.Join(filepath.Dir(app),
		"jits.dll"), echo))
	for _, want := range []string{"@[abc]: 2\n", "@[NULL]: 2\n", "@lines: 1\n"} {
		if !strings.Contains(counts, want) {
			t.Errorf("no %s\n%s%s", want, counts, notes)
		}
	}
	for text, args := range map[string][]string{
		"has such a method":                      {"trace", "Jits::None", "--", app},
		"without starting a program of .NET":     {"trace", "Jits::Sum", "--", "env", app + ".none", app},
		"in a process (-p PID) or a command (-c": {"trace", "-x", filepath.Join(filepath.Dir(app), "jits.dll"), "Jits::Sum"},
	} {
		if out, err := tracerFails(args...); err == nil || !strings.Contains(out, text) {
			t.Errorf("%q: %v, no %q\n%s", args, err, text, out)
		}
	}
}

// TestDotNetTail: calls of a method that goes on in another one are shown, with a result only where it returns itself.
func TestDotNetTail(t *testing.T) {
	app := dotnetApp(t, "jumps.cs")
	if !fires(t) {
		t.Skip("debug registers do not work on this machine")
	}
	program := startManaged(t, app, "DOTNET_TieredCompilation=0")
	work := func() { program.goOn(); program.says("wrong 0") }
	work() // all is compiled
	trace, notes := program.traced(work, "trace", "-n", "10", "Jumps::Outer")
	for want, n := range map[string]int{
		`Jumps::Outer(string)(path="path") = ? <`: 5, `Jumps::Outer(string)(path="empty") = "" <`: 5,
	} {
		if strings.Count(trace, want) != n || strings.Contains(notes, "WARNING") {
			t.Errorf("not %d times %s\n%s%s", n, want, trace, notes)
		}
	}
	results, notes := program.traced(func() { work(); program.ends() }, "run", "-e",
		`uretprobe:"Jumps::Outer" { @ends = count() } uretprobe:"":tail:"Jumps::Outer" { @jumps = count() }`)
	for _, want := range []string{"@ends: 10\n", "@jumps: 5\n"} {
		if !strings.Contains(results, want) {
			t.Errorf("no %s\n%s%s", want, results, notes)
		}
	}
}

// TestDotNetNames: methods have names of the compiler's own, and of the interfaces that declare them.
func TestDotNetNames(t *testing.T) {
	app := dotnetApp(t, "moves.cs")
	if !fires(t) {
		t.Skip("debug registers do not work on this machine")
	}
	t.Setenv("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
	for pattern, want := range map[string]string{
		"Moves+*::MoveNext": `(?m)^ *40 .*Moves\+<.*>c.*::MoveNext\(\)`,
		"Moves+*::*m__*":    `(?m)^ *30 .*Moves\+<Main>c.*::<>m__0\(int\)`,
		"Moves::*CompareTo": `(?m)^ *10 .*Moves::System\.IComparable<Moves>\.CompareTo\(Moves\)`,
		"Moves::System.Collections.Generic.IEnumerable<int>.GetEnumerator": `(?m)^ *10 .*GetEnumerator`,
	} {
		out, err := exec.Command(os.Getenv("TROCAR_E2E_TRACER"), "count", pattern, "--", app).CombinedOutput()
		if err != nil || !regexp.MustCompile(want).Match(out) {
			t.Errorf("%s: %v\n%s", pattern, err, out)
		}
	}
	// No method fails the others.
	out, err := exec.Command(os.Getenv("TROCAR_E2E_TRACER"), "trace", "Moves::*", "--", app).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "  Moves::.ctor()(this=") {
		t.Errorf("%v\n%s", err, out)
	}
}
