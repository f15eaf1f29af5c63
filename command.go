package trocar

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"trocar/internal/kernel"
	"trocar/internal/process/match"
	"trocar/internal/process/runtimes/cpython"
	"trocar/internal/process/runtimes/dotnet"
	"trocar/internal/process/target"
)

// CommandLine is a command to start.
type CommandLine struct {
	// Words are the program and its arguments. A program without a folder is looked for in the PATH of Env, then in the
	// working directory.
	Words []string
	// Env is its environment, "NAME=value" each, as os.Environ gives it. Nil: it has none.
	Env []string
	// Until are names or patterns of functions that a runtime makes while the program runs (Request.Awaits): the command
	// is held where the first module that they may be in is about to be executed, of .NET the program's own. Nil: at its
	// first instruction.
	Until []string
	// Stacks: call stacks are wanted (Request.Stacks). If the program is Python whose interpreter is in a library, the
	// command is held when the dynamic loader has mapped that, because it takes its address to show frames of Python.
	Stacks bool
	// Waits is called, on another goroutine, if the command goes on for WaitsAfter without such a module; nil: nobody is
	// told.
	Waits func()
}

// WaitsAfter is how long a command goes on before that is told.
const WaitsAfter = 3 * time.Second

// Command is a process that was started and is held: at its first instruction, where its program is mapped but nothing
// of it has run, not even the dynamic loader; or, with CommandLine.Until, where a module is about to be executed. If
// this process dies before it is released, the kernel kills it.
type Command struct {
	child   *target.Child
	loading *Loading // what it is about to execute; nil: its first instruction
}

// Start starts a command and holds it. It has our working directory and standard files. Program.Run releases it,
// Close ends it. Ctx is for the start alone. Errors are *StartError.
func Start(ctx context.Context, c CommandLine) (*Command, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	child, err := target.Launch(c.Words, c.Env)
	if err != nil {
		var launch *target.LaunchError
		if errors.As(err, &launch) {
			return nil, &StartError{Command: launch.Command, Err: launch.Err, Hint: launch.Hint, status: launch.Status()}
		}
		return nil, err
	}
	cmd := &Command{child: child}
	if len(c.Until) == 0 && c.Stacks {
		// Of one that ends meanwhile it is told when it is released.
		if err := cpython.Await(child); err != nil && !errors.Is(err, target.ErrEnded) {
			child.Kill(0)
			return nil, err
		}
	}
	if len(c.Until) > 0 {
		if c.Waits != nil {
			defer time.AfterFunc(WaitsAfter, c.Waits).Stop()
		}
		interrupt := context.AfterFunc(ctx, func() { _ = child.Signal(syscall.SIGKILL) })
		err := cmd.advance(c)
		interrupt()
		if err != nil {
			child.Kill(0)
			switch {
			case ctx.Err() != nil:
				err = ctx.Err()
			case errors.Is(err, target.ErrEnded) && c.python():
				err = errors.New("the command ended without executing a Python module that may contain it")
			case errors.Is(err, target.ErrEnded):
				err = errors.New("the command ended without starting a program of .NET; if it starts another process that " +
					"does, trace that one with -p")
			}
			return nil, fmt.Errorf("%s: %w", strings.Join(c.Until, ", "), err)
		}
	}
	return cmd, nil
}

// python tells whether what the command is held for is of Python.
func (c *CommandLine) python() bool {
	kind, _, _ := strings.Cut(c.Until[0], ":")
	return match.IsPython(kind)
}

// advance has the command go on until the module is there.
func (c *Command) advance(line CommandLine) error {
	pid := c.child.PID()
	if !line.python() {
		var awaited dotnet.Awaited
		return c.child.AdvanceMapped(func(file string) bool {
			program, ok := awaited.Begins(file)
			c.loading = &Loading{Module: program}
			return ok
		})
	}
	if fire, err := kernel.BreakpointsFire(); err == nil && !fire {
		return errors.New("the debug registers of this machine have no effect, by which the command would be " +
			"stopped: start it, and trace it with -p")
	}
	awaited := cpython.Awaited{Command: line.Words}
	for _, f := range line.Until {
		if kind, name, _ := strings.Cut(f, ":"); match.IsPython(kind) {
			awaited.Patterns = append(awaited.Patterns, name)
		}
	}
	return c.child.Advance(func() (uint64, bool) { return awaited.Place(pid) }, func(code uint64) bool {
		l, ok := awaited.Begins(pid, code)
		if ok {
			c.loading = &Loading{Code: l.Code, Module: l.Module}
		}
		return ok
	})
}

// Hold makes the command the target.
func (c *Command) Hold(t *Target) { t.Held, t.Loading = c.PID(), c.loading }

// PID is the command's process id, for Target.Held.
func (c *Command) PID() int { return int(c.child.PID()) }

// Close ends the command if it is still held, and returns when it has ended. Of one that Program.Run was given
// nothing is left to do.
func (c *Command) Close() error {
	c.child.Kill(0)
	return nil
}

// StartError says why a command could not be started.
type StartError struct {
	Command string
	Err     error
	Hint    string // a way out, or ""
	status  int
}

func (e *StartError) Error() string {
	return (&target.LaunchError{Command: e.Command, Err: e.Err}).Error()
}

func (e *StartError) Unwrap() error { return e.Err }

// Status is the exit status that a shell and env(1) give in this case: 127 if there is no such command, otherwise 126.
func (e *StartError) Status() int { return e.status }

// ExitStatus is how a command ended.
type ExitStatus struct {
	Code   int            // given to exit, if no signal ended it
	Signal syscall.Signal // that ended it; 0: none
	Core   bool           // a core was dumped
	Forked bool           // it had started other processes
}

// Status is the number by which a shell tells of it: the code, or 128 and the signal.
func (e ExitStatus) Status() int { return target.Exit(e).Status() }

// String is like "exit status 1" or "signal killed".
func (e ExitStatus) String() string { return target.Exit(e).String() }

// SplitCommand makes words of a command's text as a shell does: blanks part them, quotes and backslashes keep them
// together. Nothing is expanded, and no other character means anything.
func SplitCommand(text string) ([]string, error) { return target.SplitCommand(text) }
