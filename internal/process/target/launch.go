package target

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/kballard/go-shellquote"
	"golang.org/x/sys/unix"
)

// SplitCommand makes words of a command's text as a shell does: blanks part them, quotes and backslashes keep them
// together. Nothing is expanded, and no other character means anything.
func SplitCommand(text string) ([]string, error) {
	words, err := shellquote.Split(text)
	switch {
	case errors.Is(err, shellquote.UnterminatedSingleQuoteError):
		return nil, fmt.Errorf("the command %q has a single quote that is not closed", text)
	case errors.Is(err, shellquote.UnterminatedDoubleQuoteError):
		return nil, fmt.Errorf("the command %q has a double quote that is not closed", text)
	case errors.Is(err, shellquote.UnterminatedEscapeError):
		return nil, fmt.Errorf("the command %q ends with a backslash", text)
	}
	return words, err
}

// LaunchError says why a command could not be started.
type LaunchError struct {
	Command string
	Err     error
	Hint    string // a way out, or ""
}

func (e *LaunchError) Error() string { return fmt.Sprintf("can't run %q: %v", e.Command, e.Err) }

func (e *LaunchError) Unwrap() error { return e.Err }

// Status is the exit status that a shell and env(1) give in this case: 127 if there is no such command, otherwise 126.
func (e *LaunchError) Status() int {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return 127
	}
	return 126
}

// Exit is how a process ended.
type Exit struct {
	Code   int            // status given to exit, if no signal ended it
	Signal syscall.Signal // 0: none
	Core   bool           // a core was dumped
	Forked bool           // it had started other processes
}

// Status is the number by which a shell would tell of it: the code, or 128 and the signal.
func (e Exit) Status() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return e.Code
}

func (e Exit) String() string {
	switch {
	case e.Signal != 0 && e.Core:
		return fmt.Sprintf("signal %v (core dumped)", e.Signal)
	case e.Signal != 0:
		return fmt.Sprintf("signal %v", e.Signal)
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Child is a process that we started. It is held right after exec: its program is mapped, but nothing of it has run,
// not even the dynamic loader. Release lets it go. If we die before, the kernel kills it; if we die after, the kernel
// sends it SIGTERM.
type Child struct {
	pid  PID
	name string // of the command

	once     sync.Once
	release  chan struct{} // closed by Release
	orders   chan func()   // what is done while it is held, by the thread that holds it
	detached chan struct{} // closed when it runs, or has ended; then err is set
	err      error
	done     chan struct{} // closed when it is reaped; then exit is set
	exit     Exit

	mu    sync.Mutex
	ended bool // its id may be another process's
}

// Launch starts a command, held, with an environment of "NAME=value" each. argv[0] is searched in the PATH of that,
// then in the working directory, as bpftrace does. It inherits our working directory and standard files. An error is a
// *LaunchError.
func Launch(argv, env []string) (*Child, error) {
	if len(argv) == 0 {
		return nil, &LaunchError{Err: errors.New("the command is empty")}
	}
	exe, err := findProgram(argv[0], env)
	if err != nil {
		return nil, err
	}
	c := &Child{
		name: argv[0], release: make(chan struct{}), orders: make(chan func()), detached: make(chan struct{}),
		done: make(chan struct{}),
	}
	started := make(chan error)
	go c.run(exe, argv, env, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

func findProgram(name string, env []string) (string, error) {
	pathVar := ""
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			pathVar = value
			if pathVar == "" {
				pathVar = "."
			}
			break
		}
	}
	if p := (Root{}).LookPath(name, pathVar); len(p) > 0 {
		return p[0], nil
	}
	if !strings.Contains(name, "/") {
		if name != "" && (Root{}).Executable("./"+name) {
			return "./" + name, nil
		}
		return "", &LaunchError{Command: name, Err: notFound{}}
	}
	// With a folder: let exec say what is wrong.
	return name, nil
}

type notFound struct{}

func (notFound) Error() string        { return "not found in PATH" }
func (notFound) Is(target error) bool { return target == fs.ErrNotExist }

// run starts the process, waits and reaps it. All of it happens on one thread, because ptrace answers only to the
// thread that started the process, and PR_SET_PDEATHSIG means the death of that thread.
func (c *Child) run(exe string, argv, env []string, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.start(exe, argv, env); err != nil {
		started <- err
		return
	}
	started <- nil
	c.hold()
	close(c.detached)
	c.reap()
	close(c.done)
}

// hold returns when the process runs or has ended.
func (c *Child) hold() {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-c.release:
			if err := unix.PtraceDetach(int(c.pid)); err != nil && err != unix.ESRCH {
				c.err = fmt.Errorf("releasing %s (process %d): %w", c.name, c.pid, err)
			}
			return
		case order := <-c.orders:
			order()
		case <-tick.C: // somebody may kill it meanwhile
			if c.hasEnded(unix.WNOHANG) {
				return
			}
		}
	}
}

// start returns with the process held at exec.
func (c *Child) start(exe string, argv, env []string) error {
	fail := func(err error, hint string) error { return &LaunchError{Command: argv[0], Err: err, Hint: hint} }

	// A signal to the process group (Ctrl-C) that reached the new process between PTRACE_TRACEME and exec would stop it
	// there, and us with it, for ForkExec waits for the exec. So signals are blocked until then, but for SIGTRAP: that is
	// what exec stops by.
	old, err := blockSignals()
	if err != nil {
		return fail(err, "")
	}
	pid, err := syscall.ForkExec(exe, argv, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGTERM},
	})
	restoreSignals(old)
	switch {
	case err == nil:
	case errors.Is(err, syscall.EPERM):
		return fail(err, "the command is held by ptrace until the probes are attached; a seccomp filter or "+
			"kernel.yama.ptrace_scope=3 may forbid that here: start the program yourself and use -p PID")
	case errors.Is(err, syscall.ENOEXEC):
		return fail(err, "it is not a program of this machine; a script needs a first line like #!/bin/sh")
	case errors.Is(err, fs.ErrNotExist) && (Root{}).Exists(exe):
		return fail(errors.New("its interpreter does not exist (the loader in its ELF header, or the first line of the "+
			"script)"), "")
	default:
		return fail(err, "")
	}
	c.pid = PID(pid)

	var ws syscall.WaitStatus
	if err := wait(pid, &ws, 0); err != nil {
		syscall.Kill(pid, syscall.SIGKILL)
		return fail(fmt.Errorf("waiting for its exec: %w", err), "")
	}
	if !ws.Stopped() { // killed before it came to exec
		return fail(fmt.Errorf("it exited before exec: %v", exitOf(ws)), "")
	}
	// The stop is exec's SIGTRAP. From here on our end, even by SIGKILL, is its end as well (Linux 3.8).
	err = unix.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL)
	if err == nil {
		// The mask was inherited and survives exec.
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGMASK, uintptr(pid), unsafe.Sizeof(old),
			uintptr(unsafe.Pointer(&old)), 0, 0)
		if errno != 0 {
			err = errno
		}
	}
	if err != nil {
		syscall.Kill(pid, syscall.SIGKILL)
		wait(pid, &ws, 0)
		return fail(fmt.Errorf("holding it at exec: %w", err), "")
	}
	return nil
}

// kernelSigset is the kernel's sigset_t, not the C library's.
type kernelSigset uint64

func blockSignals() (old kernelSigset, err error) {
	all := ^kernelSigset(1 << (unix.SIGTRAP - 1))
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)),
		uintptr(unsafe.Pointer(&old)), unsafe.Sizeof(all), 0, 0)
	if errno != 0 {
		return 0, fmt.Errorf("blocking signals: %w", errno)
	}
	return old, nil
}

func restoreSignals(old kernelSigset) {
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, unsafe.Sizeof(old), 0, 0)
}

// hasEnded waits for the end of the process without reaping it, so that its id stays its own.
func (c *Child) hasEnded(options int) bool {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, int(c.pid), &info, unix.WEXITED|unix.WNOWAIT|options, nil)
		switch err {
		case unix.EINTR:
		case nil:
			return info.Signo != 0
		default: // ECHILD: somebody else reaped it
			return true
		}
	}
}

func (c *Child) reap() {
	c.hasEnded(0)
	forked := c.pid.Started(Stat{})
	c.mu.Lock()
	defer c.mu.Unlock()
	var ws syscall.WaitStatus
	if wait(int(c.pid), &ws, 0) == nil {
		c.exit = exitOf(ws)
		c.exit.Forked = forked
	}
	c.ended = true
}

func wait(pid int, ws *syscall.WaitStatus, options int) error {
	for {
		_, err := syscall.Wait4(pid, ws, options, nil)
		if err != syscall.EINTR {
			return err
		}
	}
}

func exitOf(ws syscall.WaitStatus) Exit {
	if ws.Signaled() {
		return Exit{Signal: ws.Signal(), Core: ws.CoreDump()}
	}
	return Exit{Code: ws.ExitStatus()}
}

// PID is the process's id.
func (c *Child) PID() PID { return c.pid }

// Release lets the process run. It may be called more than once, and after the process's end.
func (c *Child) Release() error {
	c.once.Do(func() { close(c.release) })
	<-c.detached
	return c.err
}

// Done is closed when the process has ended and Exit is known.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit is how the process ended; call it after Done.
func (c *Child) Exit() Exit {
	<-c.done
	return c.exit
}

// Signal sends the process a signal, if it still lives.
func (c *Child) Signal(sig syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	return syscall.Kill(int(c.pid), sig)
}

// Kill ends the process: with SIGTERM, as bpftrace does, and if it is held or hasn't ended after the grace, with
// SIGKILL. It returns when the process has ended.
func (c *Child) Kill(grace time.Duration) {
	select {
	case <-c.release:
		if c.Signal(syscall.SIGTERM) == nil {
			t := time.NewTimer(grace)
			defer t.Stop()
			select {
			case <-c.done:
				return
			case <-t.C:
			}
		}
	default: // never ran: nothing to tidy up
	}
	c.Signal(syscall.SIGKILL)
	<-c.done
}
