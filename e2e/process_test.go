package e2e

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long any single thing may take before a case is taken to hang.
const patience = 60 * time.Second

// attached is the line that a tracer writes once its probes are attached, if this is in its environment.
const attached = "__BPFTRACE_NOTIFY_PROBES_ATTACHED"

// running are the background processes of a case.
type (
	running    struct{ processes map[string]*process }
	runningKey struct{}
)

// process is a background process and what it has said so far.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	ended  chan struct{}
	mu     sync.Mutex
	more   *sync.Cond
	stdout bytes.Buffer
	stderr bytes.Buffer
	dones  int // "done" lines that `go` has seen
}

// side is one of a process's two outputs.
type side struct {
	p   *process
	buf *bytes.Buffer
}

func (s side) Write(b []byte) (int, error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.more.Broadcast()
	return s.buf.Write(b)
}

// end kills what a case has left running.
func (r *running) end() {
	for _, p := range r.processes {
		if p.cmd.Process != nil {
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
	}
}

func processes(ts *testscript.TestScript) *running { return ts.Value(runningKey{}).(*running) }

func named(ts *testscript.TestScript, name string) *process {
	p := processes(ts).processes[name]
	if p == nil {
		ts.Fatalf("no process %q was started", name)
	}
	return p
}

func environment(ts *testscript.TestScript) []string {
	env := []string{}
	for _, name := range []string{"PATH", "WORK", "HOME", "TMPDIR", "BPFTRACE_COLOR"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

func launch(ts *testscript.TestScript, args []string, line string, env ...string) {
	name, words := args[0], args[1:]
	path, err := lookPath(ts, words[0])
	ts.Check(err)
	p := &process{cmd: exec.Command(path, words[1:]...), ended: make(chan struct{})}
	p.more = sync.NewCond(&p.mu)
	p.cmd.Args[0] = words[0]
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = append(environment(ts), env...)
	p.cmd.Stdout, p.cmd.Stderr = side{p, &p.stdout}, side{p, &p.stderr}
	p.stdin, err = p.cmd.StdinPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	processes(ts).processes[name] = p
	ts.Setenv(name+"_pid", strconv.Itoa(p.cmd.Process.Pid))
	go func() {
		_ = p.cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		close(p.ended)
		p.more.Broadcast()
	}()
	p.until(ts, regexp.MustCompile("(?m)^"+regexp.QuoteMeta(line)+"$"), 1)
}

func lookPath(ts *testscript.TestScript, name string) (string, error) {
	if strings.Contains(name, "/") {
		return ts.MkAbs(name), nil
	}
	for _, dir := range strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if path, err := exec.LookPath(dir + "/" + name); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// until waits until the process has said what n times.
func (p *process) until(ts *testscript.TestScript, what *regexp.Regexp, n int) {
	late := time.AfterFunc(patience, func() { p.more.Broadcast() })
	defer late.Stop()
	begin := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		said := len(what.FindAll(p.stdout.Bytes(), n))
		if said < n {
			said += len(what.FindAll(p.stderr.Bytes(), n))
		}
		if said >= n {
			return
		}
		select {
		case <-p.ended:
			ts.Fatalf("%v ended (%v) before it said %q\nstdout: %s\nstderr: %s", p.cmd.Args, p.cmd.ProcessState, what, &p.stdout,
				&p.stderr)
		default:
		}
		if time.Since(begin) >= patience {
			ts.Fatalf("%v did not say %q\nstdout: %s\nstderr: %s", p.cmd.Args, what, &p.stdout, &p.stderr)
		}
		p.more.Wait()
	}
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME CMD ARG…")
	}
	launch(ts, args, "ready")
}

func attach(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: attach NAME CMD ARG…")
	}
	launch(ts, args, attached, attached+"=1")
}

func goOn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: go NAME")
	}
	p := named(ts, args[0])
	_, err := io.WriteString(p.stdin, "\n")
	ts.Check(err)
	p.dones++
	p.until(ts, regexp.MustCompile("(?m)^done$"), p.dones)
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await NAME REGEXP")
	}
	what, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	named(ts, args[0]).until(ts, what, 1)
}

func finish(ts *testscript.TestScript, neg bool, args []string) {
	signal := syscall.SIGINT
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		var ok bool
		signal, ok = map[string]syscall.Signal{
			"-0": 0, "-INT": syscall.SIGINT, "-TERM": syscall.SIGTERM, "-KILL": syscall.SIGKILL, "-USR1": syscall.SIGUSR1,
			"-HUP": syscall.SIGHUP, "-QUIT": syscall.SIGQUIT,
		}[args[0]]
		if !ok {
			ts.Fatalf("unknown signal %s", args[0])
		}
		args = args[1:]
	}
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: finish [-SIGNAL] NAME [N]")
	}
	p, want := named(ts, args[0]), 0
	if len(args) == 2 {
		var err error
		want, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	var err error
	if signal != 0 {
		err = p.cmd.Process.Signal(signal)
	} else {
		err = p.stdin.Close()
	}
	if !errors.Is(err, os.ErrClosed) { // it has ended already
		ts.Check(err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		ts.Fatalf("%v did not end\nstdout: %s\nstderr: %s", p.cmd.Args, &p.stdout, &p.stderr)
	}
	delete(processes(ts).processes, args[0])
	show(ts, &p.stdout, &p.stderr)
	expect(ts, p.cmd.ProcessState, want)
}

// show puts what was said where the commands stdout and stderr look, without the word for us.
func show(ts *testscript.TestScript, stdout, stderr *bytes.Buffer) {
	clean := func(b *bytes.Buffer) string { return strings.ReplaceAll(b.String(), attached+"\n", "") }
	_, err := io.WriteString(ts.Stdout(), clean(stdout))
	ts.Check(err)
	_, err = io.WriteString(ts.Stderr(), clean(stderr))
	ts.Check(err)
}

// expect: a process ended by a signal has, as in a shell, status 128 + its number.
func expect(ts *testscript.TestScript, state *os.ProcessState, want int) {
	got := state.ExitCode()
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		got = 128 + int(w.Signal())
	}
	if got != want {
		ts.Fatalf("exit status %d, not %d", got, want)
	}
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N CMD ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	path, err := lookPath(ts, args[1])
	ts.Check(err)
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(path, args[2:]...)
	cmd.Args[0] = args[1]
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environment(ts)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ts.Check(cmd.Start())
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	late.Stop()
	show(ts, &stdout, &stderr)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Check(err)
	}
	expect(ts, cmd.ProcessState, want)
}
