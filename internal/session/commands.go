package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"trocar/internal/binary/opener"
	"trocar/internal/compile/record"
	"trocar/result"
)

// failed says that what an action asked for was not done.
func (s *Session) failed(l *record.Layout, format string, args ...any) error {
	d := result.Diagnostic{Severity: result.Error, Text: fmt.Sprintf(format, args...)}
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
// background. If ctx is done the command is interrupted, as from a terminal, where the interrupt that ends us goes to
// it as well.
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
	done := make(chan struct{})
	defer close(done)
	stop := context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended meanwhile, which is as well
		select {
		case <-done:
		case <-time.After(commandGrace):
			_ = cmd.Process.Kill()
			for _, p := range pipes {
				p.Close()
			}
		}
	})
	defer stop()
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
