package target

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"trocar/internal/binary/opener"
)

// ErrGone says that a process does not exist (any more). Test with errors.Is.
var ErrGone = opener.ErrGone

// ErrNoMemory says that a process has no user memory: it is a kernel thread or has exited and waits for its parent.
var ErrNoMemory = errors.New("process has no user memory (it is a kernel thread or has exited)")

// ErrChanged says that a file or mapping is no longer the one that was asked for.
var ErrChanged = errors.New("changed meanwhile")

// procError gives an error of reading /proc/PID/what its meaning.
func procError(pid PID, what string, err error) error {
	switch {
	case errors.Is(err, syscall.ESRCH), errors.Is(err, fs.ErrNotExist) && !pid.Exists():
		return fmt.Errorf("process %d: %w", pid, ErrGone)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("process %d: reading its %s is not permitted: run as its user or root (with CAP_SYS_PTRACE): %w",
			pid, what, syscall.EACCES)
	}
	return fmt.Errorf("process %d: reading its %s: %w", pid, what, cause(err))
}

// cause strips the operation and path that package os adds, where the message already tells them.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
