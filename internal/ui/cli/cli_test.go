package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"trocar/internal/ui/output"
)

func parse(t *testing.T, args ...string) (*settings, []string) {
	t.Helper()
	s := &settings{}
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s.register(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return s, f.Args()
}

func TestFlagsOfBpftrace(t *testing.T) {
	s, rest := parse(t, "-lvqe", "begin {}", "-dast", "-d", "codegen,dis", "one", "-B", "full", "-kf", "json", "--",
		"--n=1", "two")
	if err := s.check(); err != nil {
		t.Fatal(err)
	}
	if !s.list || !s.verbose || !s.quiet || s.program != "begin {}" || s.warnings != 1 || s.format != "json" ||
		s.buffering != "full" {
		t.Errorf("got %+v", s)
	}
	if want := []string{"ast", "ir", "bytecode"}; !slices.Equal(s.stages, want) {
		t.Errorf("stages %v, not %v", s.stages, want)
	}
	if want := []string{"one", "--n=1", "two"}; !slices.Equal(rest, want) {
		t.Errorf("arguments %q, not %q", rest, want)
	}
}

func TestFlagsThatAreWrong(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-c true -p 1", "Cannot use both -c and -p"},
		{"-kk", "-k is given once"},
		{"-k --no-warnings", "conflicts with --no-warnings"},
		{"-B some", "-B must be either"},
		{"-f yaml", "Invalid output format \"yaml\""},
		{"--mode trace", "--mode can only be"},
		{"--test --mode bench", "--test conflicts"},
		{"--test --bench", "--bench conflicts"},
		{"-d llvm", "invalid option for -d: llvm"},
	} {
		s, _ := parse(t, strings.Fields(c.args)...)
		if err := s.check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, not %q", c.args, err, c.want)
		}
	}
}

func TestParsePID(t *testing.T) {
	for _, c := range []struct {
		text string
		pid  int
		want string
	}{
		{text: "1", pid: 1},
		{text: "0x10", pid: 16},
		{text: "4194304", pid: 0x400000},
		{text: "4194305", want: "Pid out of range: 4194305"},
		{text: "5000000", want: "Pid out of range: 5000000"},
		{text: "99999999999999999999999", want: "Pid out of range"},
		{text: "a1111", want: "Failed to parse pid: invalid integer: a1111"},
		{text: "111a1", want: "Failed to parse pid: invalid trailing bytes: 111a1"},
		{text: "-1", want: "invalid integer: -1"},
	} {
		pid, err := parsePID(c.text)
		if c.want == "" && (err != nil || pid != c.pid) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d, %v", c.text, pid, err)
		}
	}
}

func TestScript(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(file, []byte("end {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{name: "trocar", in: strings.NewReader("begin {}")}
	for _, c := range []struct {
		program   string
		given     bool
		args      []string
		want      script
		wantError string
	}{
		{program: "begin {}", given: true, args: []string{"a", "--n=1", "b", "--on"}, want: script{
			name: "stdin", text: "begin {}", positional: []string{"a", "b"}, named: []string{"n=1", "on"},
		}},
		{args: []string{file, "-"}, want: script{name: file, text: "end {}", positional: []string{"-"}}},
		{args: []string{"-", "x"}, want: script{name: "stdin", text: "begin {}", positional: []string{"x"}}},
		{wantError: "filename or -e 'program' required"},
		{args: []string{file + ".bt"}, wantError: "failed to open file '" + file + ".bt': No such file or directory"},
		{args: []string{filepath.Dir(file)}, wantError: "Is a directory"},
		{program: "", given: true, want: script{name: "stdin"}},
	} {
		got, err := a.script(&settings{program: c.program}, c.given, c.args)
		switch {
		case c.wantError != "":
			if err == nil || !strings.Contains(err.Error(), c.wantError) {
				t.Errorf("%q: error %v, not %q", c.args, err, c.wantError)
			}
		case err != nil:
			t.Errorf("%q: %v", c.args, err)
		case got.name != c.want.name || got.text != c.want.text || !slices.Equal(got.positional, c.want.positional) ||
			!slices.Equal(got.named, c.want.named):
			t.Errorf("%q: %+v, not %+v", c.args, got, c.want)
		}
	}
}

// TestThreads: a thread is not taken for a process.
func TestThreads(t *testing.T) {
	runtime.LockOSThread() // and the thread ends with the test
	other := make(chan int)
	go func() {
		runtime.LockOSThread()
		other <- syscall.Gettid()
		<-other
	}()
	tid := <-other
	defer close(other)
	if tid == os.Getpid() {
		tid = syscall.Gettid()
	}
	for _, args := range [][]string{
		{"trace", "-x", "/proc/self/exe", "-p", strconv.Itoa(tid), "main.main"},
		{"-p", strconv.Itoa(tid), "-e", "uprobe:/proc/self/exe:main.main { }"},
	} {
		var out, errOut bytes.Buffer
		a := &app{name: "trocar", in: strings.NewReader(""), out: &out, err: &errOut}
		status := a.main(t.Context(), args)
		want := fmt.Sprintf("%d is no process, but a thread of process %d\n"+
			"HINT: -p %[2]d traces the whole process, --tid %[1]d", tid, os.Getpid())
		if status != exitUsage || !strings.Contains(errOut.String(), want) {
			t.Errorf("%q: status %d: %s, not %q", args, status, errOut.String(), want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		name, args  string
		status      int
		out, errOut string
	}{
		{"trocar", "--version", exitDone, "trocar v", ""},
		{"trocar", "version", exitDone, "trocar v", ""},
		{"bpftrace", "-V", exitDone, "bpftrace v0.", ""},
		{"trocar", "-h", exitDone, "\nUSAGE:\n", ""},
		{"trocar", "", exitUsage, "", "\nUSAGE:\n"},
		{"bpftrace", "-idonotexist", exitUsage, "", "\nUSAGE:\n"},
		{"bpftrace", "--aa=20 -e x", exitUsage, "", "\nUSAGE:\n"},
		{"trocar", "-idonotexist", exitUsage, "", "HINT: trocar --help lists the flags\n"},
		{"trocar", "--aa=20 -e x", exitUsage, "", "HINT: trocar --help lists the flags\n"},
		{"trocar", "--unsave -e x", exitUsage, "", "HINT: did you mean --unsafe?\n"},
		{"trocar", "trace --mim 3 f", exitUsage, "", "HINT: did you mean --min?\n"},
		{"trocar", "latency --args x f", exitUsage, "", "HINT: --args is a flag of trace\n"},
		{"trocar", "trase", exitUsage, "", "did you mean trace?\n"},
		{"trocar", "tpo", exitUsage, "", "HINT: there is no command 'tpo' either; trocar --help lists the commands\n"},
		{"trocar", "no-such-file.bt", exitUsage, "", "ERROR: failed to open file 'no-such-file.bt'"},
		// Only the first word that is no flag can be a command, and none can if we are called bpftrace.
		{"trocar", "-v list -x /nonexistent", exitNoMatch, "", "/nonexistent"},
		{"trocar", "-p 1 -f nothing trace f", exitUsage, "", "Invalid output format"},
		{"trocar", "-kq version", exitUsage, "", "unknown shorthand flag: 'k' in -kq"},
		{"trocar", "-e end{} --dry-run version --fmt", exitDone, "end", ""},
		{"trocar", "list uprobe:/bin/sh:no_such_function", exitNoMatch, "", "No matches for"},
		{
			"trocar", "list -x /bin/sh *no_such_function*", exitNoMatch, "",
			"nothing matches uprobe:/bin/sh:*no_such_function*",
		},
		{"bpftrace", "version", exitUsage, "", "failed to open file 'version'"},
		{"trocar", "version x", exitUsage, "", "unknown command \"x\""},
		{"trocar", "help demo", exitDone, "Trace a small built-in workload", ""},
		{"trocar", "completion bash", exitDone, "bash completion", ""},
		{"trocar", "__complete de", exitDone, "demo\t", ""},
	} {
		t.Run(c.name+" "+c.args, func(t *testing.T) {
			var out, errOut bytes.Buffer
			a := &app{name: c.name, in: strings.NewReader(""), out: &out, err: &errOut}
			status := a.main(context.Background(), strings.Fields(c.args))
			if status != c.status {
				t.Errorf("status %d, not %d", status, c.status)
			}
			if !strings.Contains(out.String(), c.out) || c.out == "" && out.Len() > 0 {
				t.Errorf("stdout %q, not %q", out.String(), c.out)
			}
			if !strings.Contains(errOut.String(), c.errOut) {
				t.Errorf("stderr %q, not %q", errOut.String(), c.errOut)
			}
		})
	}
}

// TestUsageNamesAllFlags: a flag without a line in the help is not there for anyone.
func TestUsageNamesAllFlags(t *testing.T) {
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	(&settings{}).register(f)
	f.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && !strings.Contains(usageText, "--"+flag.Name) &&
			(flag.Shorthand == "" || !strings.Contains(usageText, "    -"+flag.Shorthand+" ")) {
			t.Errorf("--%s is not in the help", flag.Name)
		}
	})
}

func TestSplitPatterns(t *testing.T) {
	for text, want := range map[string][]string{
		"uprobe:a:b,uprobe:a:c":                        {"uprobe:a:b", "uprobe:a:c"},
		`uprobe:a:"S<int, char>::f(int, long)",usdt:*`: {`uprobe:a:"S<int, char>::f(int, long)"`, "usdt:*"},
		"uprobe:a:f(int, long)":                        {"uprobe:a:f(int, long)"},
		"*":                                            {"*"},
	} {
		if got := splitPatterns(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestFormats: each format of the table is in the help, in completion, and accepted.
func TestFormats(t *testing.T) {
	var usage strings.Builder
	(&app{name: "trocar"}).usage(&usage)
	list := strings.Join(output.Names(), ", ")
	if !strings.Contains(usage.String(), "output format: "+list+"\n") {
		t.Errorf("the help does not list %s", list)
	}
	words := formatNames()
	for i, f := range output.Formats() {
		s := &settings{format: f.Name}
		if err := s.check(); err != nil || s.machine() != f.Machine {
			t.Errorf("%s: %v, for programs: %v", f.Name, err, s.machine())
		}
		if words[i] != f.Name+"\t"+f.Help {
			t.Errorf("%s is completed as %q", f.Name, words[i])
		}
	}
	err := (&settings{format: "jsonx"}).check()
	if err == nil || err.Error() != "Invalid output format \"jsonx\"\nValid formats: 'text', 'json', 'records'" {
		t.Errorf("got %v", err)
	}
}
