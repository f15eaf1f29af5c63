package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"trocar/internal/binary/opener"
	"trocar/internal/compile/record"
	"trocar/internal/process/target"
	"trocar/result"
)

// failed says that what an action asked for was not done.
func (s *Session) failed(l *record.Layout, format string, args ...any) error {
	d := result.Diagnostic{Severity: result.Error, Text: result.Messagef(format, args...)}
	return s.emit(&result.Notice{Head: s.head(l), Diagnostic: d})
}

// cat shows the beginning of a file.
func (s *Session) cat(l *record.Layout, name string) error {
	f, err := opener.Asked(name)
	if err != nil {
		return s.failed(l, "failed to open file '%s' (%s)", name, cause(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(s.in.Config.MaxCatBytes)))
	if err != nil {
		return s.failed(l, "failed to read file '%s' (%s)", name, cause(err))
	}
	return s.emit(&result.Cat{Head: s.head(l), Text: string(text)})
}

// cause is an error without the path that the message has already, in the C library's words.
func cause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return result.Strerror(int64(errno))
	}
	return err.Error()
}

// system runs a command and shows what it prints. A run that is about to end starts none, but for its end probes.
func (s *Session) system(l *record.Layout, command string) error {
	if s.ctx.Err() != nil && !s.ending {
		s.lateCommands++
		return nil
	}
	ctx := s.caller
	if s.ending {
		ctx = context.WithoutCancel(ctx)
	}
	out, err := shell(ctx, command, s.in.Errors)
	if err != nil {
		return s.failed(l, "system(): %v", err)
	}
	return s.emit(&result.System{Head: s.head(l), Text: out})
}

// commandGrace is how long a command may go on when ctx is done, and whoever holds what it writes to.
const commandGrace = time.Second

// shell runs a command and returns what it printed. It waits for all that write to its output, also in the
// background. If ctx is done the command is interrupted with all that it has started, as from a terminal, where the
// interrupt that ends us goes to them as well; what is left a moment later is killed.
func shell(ctx context.Context, command string, errors io.Writer) (string, error) {
	cmd := exec.Command("/bin/sh", "-c", command)
	var pipes []io.ReadCloser
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	pipes = append(pipes, stdout)
	if _, file := errors.(*os.File); file || errors == nil {
		cmd.Stderr = errors
	} else {
		stderr, err := cmd.StderrPipe()
		if err != nil {
			return "", err
		}
		pipes = append(pipes, stderr)
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	done, ended := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		started := startedBy(target.PID(cmd.Process.Pid))
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended meanwhile, which is as well
		started.signal(syscall.SIGINT)
		select {
		case <-done:
		case <-time.After(commandGrace):
			_ = cmd.Process.Kill()
			for _, p := range pipes {
				p.Close()
			}
		}
		started.signal(syscall.SIGKILL)
	})
	defer func() {
		close(done)
		if !stop() {
			<-ended
		}
	}()
	// Reading ends with the last that writes, or is ended.
	var copying sync.WaitGroup
	if len(pipes) > 1 {
		copying.Go(func() { _, _ = io.Copy(errors, pipes[1]) })
	}
	var out bytes.Buffer
	_, _ = io.Copy(&out, stdout)
	copying.Wait()
	_ = cmd.Wait() // its status is of no interest
	return out.String(), nil
}

// family are processes, by when they were started: an id may become another's.
type family map[target.PID]target.Stat

// startedBy are the processes that one has started, and those that these have, as long as their parents live.
func startedBy(pid target.PID) family {
	all := family{}
	for left := []target.PID{pid}; len(left) > 0; left = left[1:] {
		children, err := left[0].Children()
		if err != nil {
			continue // it has ended
		}
		for _, c := range children {
			st, err := c.Stat()
			if _, known := all[c]; err == nil && !known {
				all[c] = st
				left = append(left, c)
			}
		}
	}
	return all
}

// signal sends a signal to those that still are what they were.
func (f family) signal(sig syscall.Signal) {
	for pid, then := range f {
		if now, err := pid.Stat(); err == nil && now.Start == then.Start && !now.Dead() {
			_ = syscall.Kill(int(pid), sig)
		}
	}
}
