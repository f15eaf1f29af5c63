package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
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

	"trocar/internal/need"
)

var allSoftware = flag.Bool("all-software", false, "TestSoftware: the largest programs, too, which takes some minutes")

// software is what real machines have: each pattern stands for all functions of a program or library, and the command
// uses it. What is not installed is left out.
var software = []struct {
	pattern string
	command []string
	large   bool
}{
	{"*", []string{"redis-server", "--version"}, false},
	{"*", []string{"nginx", "-v"}, false},
	{"*", []string{"bash", "-c", "true"}, false},
	{"*", []string{"/usr/bin/python3", "-c", "pass"}, false},
	{"*", []string{"busybox", "true"}, false},
	{"*", []string{"rg", "--version"}, false},
	{"libcrypto:*", []string{"openssl", "version"}, false},
	{"libc:*", []string{"true"}, true},
	{"libstdc++:*", []string{"clang", "--version"}, true},
	{"libclang-cpp:*", []string{"clang", "--version"}, true},
	{"*", []string{"/usr/lib/postgresql/15/bin/postgres", "--version"}, true},
	{"*", []string{"node", "--version"}, true},
	{"*", []string{"docker", "--version"}, true},
	{"*", []string{"terraform", "--version"}, true},
	{"*", []string{"caddy", "version"}, true},
}

// eachSoftware goes through what is installed here: the file that a pattern is about, or a name for it.
func eachSoftware(t *testing.T, visit func(t *testing.T, file, pattern string, command []string)) {
	need.Root(t)
	for _, sw := range software {
		if _, err := exec.LookPath(sw.command[0]); err != nil || sw.large && !*allSoftware {
			continue
		}
		file, _, of := strings.Cut(sw.pattern, ":")
		if !of {
			file = sw.command[0]
		}
		t.Run(strings.ReplaceAll(filepath.Base(file), "*", ""), func(t *testing.T) { visit(t, file, sw.pattern, sw.command) })
	}
}

// aboutAll are the commands whose question is about functions.
var aboutAll = []string{"count", "latency", "stack", "trace", "dist"}

// asked is a question about all functions of a pattern.
func asked(kind, pattern string, rest ...string) []string {
	args := []string{kind, pattern}
	if kind == "dist" {
		args = append(args, "duration")
	}
	return append(args, rest...)
}

// TestSoftware: whatever is asked about all functions of a program, it is answered, or nothing of what is asked is
// there and the reason is told.
func TestSoftware(t *testing.T) {
	path := tracerFor(t)
	eachSoftware(t, func(t *testing.T, file, pattern string, command []string) {
		questions := [][]string{{"list", "-x", file}, {"info", file}}
		for _, kind := range []string{"syscalls", "profile", "offcpu", "locks", "leaks"} {
			questions = append(questions, append([]string{kind, "--"}, command...))
		}
		for _, kind := range aboutAll {
			questions = append(questions, append(asked(kind, pattern, "--"), command...))
		}
		for _, args := range questions {
			out, err := exec.Command(path, args...).CombinedOutput()
			var ended *exec.ExitError
			switch {
			case err == nil:
			case errors.As(err, &ended) && ended.ExitCode() == 3 && strings.Contains(string(out), "ERROR: no"):
			default:
				t.Errorf("trocar %s: %v\n%.2000s", strings.Join(args, " "), err, out)
			}
		}
	})
}

// TestSoftwareCounts: the command counts what a script counts that somebody would write, both at work on one process.
func TestSoftwareCounts(t *testing.T) {
	path := tracerFor(t)
	eachSoftware(t, func(t *testing.T, file, _ string, command []string) {
		held := exec.Command("sh", append([]string{"-c", `read _; exec "$@"`, "sh"}, command...)...)
		goOn, err := held.StdinPipe()
		if err == nil {
			err = held.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer held.Wait()
		defer goOn.Close()
		pid := strconv.Itoa(held.Process.Pid)
		if full, err := exec.LookPath(file); err == nil {
			file = full
		}
		script := `config = { max_map_keys = 65536; cpp_params = false } uprobe:` + file + `:* { @[func] = count() }`
		byScript := trace(t, path, "-e", script, "-p", pid)
		byCommand := trace(t, path, "count", "-x", file, "*", "-p", pid, "-f", "json")
		if byScript == nil || byCommand == nil {
			if byScript != nil || byCommand != nil {
				t.Error("one of both finds nothing")
			}
			return
		}
		goOn.Close()
		want, got := map[string]int{}, map[string]int{}
		for line := range strings.Lines(byScript.rest()) {
			if m := countLine.FindStringSubmatch(line); m != nil {
				n, _ := strconv.Atoi(m[2])
				want[m[1]] += n
			}
		}
		for line := range strings.Lines(byCommand.rest()) {
			var m struct {
				Entries []struct {
					Key   []string
					Value int
				}
			}
			if json.Unmarshal([]byte(line), &m) == nil {
				for _, e := range m.Entries {
					got[strings.Join(e.Key, ", ")] += e.Value
				}
			}
		}
		calls := 0
		for name, n := range want {
			if calls += n; got[name] != n {
				t.Errorf("%s: %d calls, and %d by the script", name, got[name], n)
			}
		}
		for name, n := range got {
			if want[name] == 0 {
				t.Errorf("%s: %d calls, and none by the script", name, n)
			}
		}
		t.Logf("%d functions, %d calls", len(want), calls)
	})
}

var countLine = regexp.MustCompile(`^@\[(.*)\]: (\d+)\n$`)

// tracing is a tracer whose probes are attached.
type tracing struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

// trace waits until a tracer is attached; nil: it has found nothing.
func trace(t *testing.T, path string, args ...string) *tracing {
	t.Helper()
	var stderr bytes.Buffer
	r := &tracing{cmd: exec.Command(path, args...)}
	r.cmd.Env, r.cmd.Stderr = append(os.Environ(), attached+"=1"), &stderr
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewReader(out)
	for {
		line, err := r.out.ReadString('\n')
		if line == attached+"\n" {
			return r
		}
		if err != nil {
			if r.cmd.Wait(); r.cmd.ProcessState.ExitCode() != 3 {
				t.Fatalf("trocar %s: %v\n%s", strings.Join(args, " "), r.cmd.ProcessState, &stderr)
			}
			return nil
		}
	}
}

// rest is what it writes until it ends.
func (r *tracing) rest() string {
	text, _ := io.ReadAll(r.out)
	r.cmd.Wait()
	return string(text)
}

// TestSoftwareInterrupted: a question about all functions ends when it is interrupted, at whatever moment. How long
// that takes is logged: it should be 0.3 s.
func TestSoftwareInterrupted(t *testing.T) {
	path := tracerFor(t)
	const patience = 30 * time.Second
	eachSoftware(t, func(t *testing.T, file, _ string, _ []string) {
		var longest time.Duration
		var when string
		for i, kind := range aboutAll {
			for step := range 4 {
				args := asked(kind, "*", "-x", file)
				cmd := exec.Command(path, args...)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan struct{})
				go func() { cmd.Wait(); close(ended) }()
				moment := time.Duration(20+60*i+step*step*250) * time.Millisecond
				select {
				case <-time.After(moment):
				case <-ended:
					continue // nothing to ask about
				}
				begin := time.Now()
				cmd.Process.Signal(syscall.SIGINT)
				select {
				case <-ended:
				case <-time.After(patience):
					cmd.Process.Kill()
					<-ended
					t.Errorf("trocar %s, interrupted after %v, has not ended %v later", strings.Join(args, " "), moment, patience)
				}
				if took := time.Since(begin); took > longest {
					longest, when = took, kind+" after "+moment.String()
				}
			}
		}
		t.Logf("%v at most (%s)", longest.Round(time.Millisecond), when)
	})
}
