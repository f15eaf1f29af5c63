package main

import (
	"bufio"
	"bytes"
	"context"
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

// patience bounds every wait: a tracer that does not attach is an error, not a hang.
const patience = 5 * time.Minute

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
	line, err := t.out.ReadString('\n')
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
	return t.cmd.Wait()
}

// session is a tracer at work. What it prints is counted and sorted at once, so that the reader keeps up with it.
type session struct {
	cmd      *exec.Cmd
	cancel   context.CancelFunc
	begin    time.Time
	attached time.Duration // from exec
	first    time.Duration // from exec to the first line of an event; valid once firstLine is closed

	firstLine chan struct{}
	read      chan struct{} // closed when all output is read; then these are valid:
	events    int           // lines that begin with a digit: printf's
	other     []string      // all other lines
	stderr    bytes.Buffer
}

// trace starts a tracer and waits until its probes are attached.
func (t tracer) trace(args ...string) (*session, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s := &session{
		cmd: exec.CommandContext(ctx, t.path, args...), cancel: cancel,
		firstLine: make(chan struct{}), read: make(chan struct{}),
	}
	s.cmd.Env = append(os.Environ(), notice+"=1")
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	s.begin = time.Now()
	if err := s.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	ready := make(chan struct{})
	go s.sort(out, ready)
	select {
	case <-ready:
		return s, nil
	case <-s.read:
		err := s.wait()
		return nil, fmt.Errorf("%s %q did not attach (%w): %s", t.name, args, err, s.stderr.String())
	}
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

// wait waits for the tracer's end.
func (s *session) wait() error {
	defer s.cancel()
	<-s.read
	return s.cmd.Wait()
}

// end asks the tracer to end and gives how long that took.
func (s *session) end() (time.Duration, error) {
	begin := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return 0, err
	}
	err := s.wait()
	return time.Since(begin), err
}

// counted is the number behind "@: ", or the sum of a histogram's bars.
func (s *session) counted() int {
	sum := 0
	for _, line := range s.other {
		if n, ok := strings.CutPrefix(line, "@: "); ok {
			n, _ := strconv.Atoi(n)
			return n
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
