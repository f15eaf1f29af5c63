package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience bounds every wait for a tracer that does something small: to attach a probe, to see an event, to end. One
// that takes longer has failed.
const patience = 30 * time.Second

// callPatience bounds how long the traced program may take for one row's calls: a million at some microseconds each.
const callPatience = 60 * time.Second

// notice is the line that a tracer writes once attached, if it is in its environment.
const notice = "__BPFTRACE_NOTIFY_PROBES_ATTACHED"

// target is the traced program, driven by lines on its stdin.
type target struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// build compiles a fixture.
func (s *stage) build(name string, source ...string) (string, error) {
	out := filepath.Join(s.dir, name)
	args := append([]string{"-O1", "-o", out}, source...)
	if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc: %w\n%s", err, text)
	}
	return out, nil
}

func launch(path string) (*target, error) {
	t := &target{cmd: exec.Command(path)}
	var err error
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.out = bufio.NewReader(out)
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	if line, err := t.out.ReadString('\n'); err != nil || line != "ready\n" {
		return nil, fmt.Errorf("%s said %q (%w)", path, line, err)
	}
	return t, nil
}

func (t *target) tell(format string, args ...any) error {
	_, err := fmt.Fprintf(t.in, format+"\n", args...)
	return err
}

// call has the target call a function count times and gives nanoseconds for one call.
func (t *target) call(function string, count int) (float64, error) {
	if err := t.tell("%s %d", function, count); err != nil {
		return 0, err
	}
	late := time.AfterFunc(callPatience, func() { t.cmd.Process.Kill() })
	line, err := t.out.ReadString('\n')
	if !late.Stop() {
		return 0, fmt.Errorf("%d calls of %s took more than %v", count, function, callPatience)
	}
	if err != nil {
		return 0, err
	}
	var name string
	var nanoseconds int64
	if _, err := fmt.Sscanf(line, "done %s %d", &name, &nanoseconds); err != nil {
		return 0, fmt.Errorf("the target said %q: %w", line, err)
	}
	return float64(nanoseconds) / float64(count), nil
}

func (t *target) end() error {
	t.in.Close()
	late := time.AfterFunc(patience, func() { t.cmd.Process.Kill() })
	defer late.Stop()
	return t.cmd.Wait()
}

// kill ends it at once. After end it does nothing.
func (t *target) kill() {
	if t.cmd.ProcessState == nil {
		t.cmd.Process.Kill()
		t.cmd.Wait()
	}
}

// session is a tracer at work. What it prints is counted and sorted at once, so that the reader keeps up with it.
type session struct {
	tracer   *tracer
	cmd      *exec.Cmd
	begin    time.Time
	attached time.Duration // from exec
	first    time.Duration // from exec to the first line of an event; valid once firstLine is closed

	firstLine chan struct{}
	read      chan struct{} // closed when all output is read; then these are valid:
	events    int           // lines that begin with a digit: printf's
	other     []string      // all other lines
	stderr    bytes.Buffer
}

// trace starts a tracer and waits until its probes are attached, for some time at most.
func (t *tracer) trace(wait time.Duration, args ...string) (*session, error) {
	if err := t.tried(); err != nil {
		return nil, err
	}
	s := &session{
		tracer: t, cmd: exec.Command(t.path, args...), firstLine: make(chan struct{}), read: make(chan struct{}),
	}
	s.cmd.Env = append(os.Environ(), notice+"=1")
	s.cmd.Stderr = &s.stderr
	s.cmd.WaitDelay = time.Second // for what it started and that has its stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.begin = time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go s.sort(out, ready)
	select {
	case <-ready:
		return s, nil
	case <-s.read:
		err := s.cmd.Wait()
		return nil, fmt.Errorf("did not attach (%w): %s", err, tail(&s.stderr))
	case <-time.After(wait):
		s.kill()
		return nil, t.tooLate("did not attach within %v: %s", wait, tail(&s.stderr))
	}
}

// tail is the end of what a program wrote, in one line.
func tail(b *bytes.Buffer) string {
	const most = 400
	text := strings.Join(strings.Fields(b.String()), " ")
	if len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}

func (s *session) sort(out io.Reader, ready chan<- struct{}) {
	defer close(s.read)
	for text := bufio.NewReaderSize(out, 1<<20); ; {
		line, err := text.ReadSlice('\n')
		switch {
		case err != nil:
			return
		case line[0] >= '0' && line[0] <= '9':
			if s.events++; s.events == 1 {
				s.first = time.Since(s.begin)
				close(s.firstLine)
			}
		case string(line) == notice+"\n":
			s.attached = time.Since(s.begin)
			close(ready)
		default:
			s.other = append(s.other, strings.TrimSpace(string(line)))
		}
	}
}

// end asks the tracer to end and gives how long that took.
func (s *session) end() (time.Duration, error) {
	begin := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return 0, err
	}
	select {
	case <-s.read:
	case <-time.After(patience):
		s.kill()
		return 0, s.tracer.tooLate("did not end within %v of SIGINT: %s", patience, tail(&s.stderr))
	}
	if err := s.cmd.Wait(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, tail(&s.stderr))
	}
	return time.Since(begin), nil
}

// kill ends it at once. After end it does nothing.
func (s *session) kill() {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
}

// counted is the number behind "@: ", or the sum of a histogram's bars, or of what was counted by stack.
func (s *session) counted() int {
	sum := 0
	for _, line := range s.other {
		if n, ok := strings.CutPrefix(line, "@: "); ok {
			n, _ := strconv.Atoi(n)
			return n
		}
		if n, ok := strings.CutPrefix(line, "]: "); ok {
			v, _ := strconv.Atoi(n)
			sum += v
		}
		if _, bar, ok := strings.Cut(line, ")"); ok && line[0] == '[' {
			n, _, _ := strings.Cut(strings.TrimSpace(bar), " ")
			v, _ := strconv.Atoi(n)
			sum += v
		}
	}
	return sum
}

// peak is the most memory that a running process has had, in MB.
func peak(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmHWM", pid)
}
