package trocar

import (
	"fmt"
	"os"

	"trocar/internal/process/runtimes/cpython"
	"trocar/internal/process/target"
)

// resolve finds the process of a container.
func (t *Target) resolve() error {
	if t.Container == "" {
		return nil
	}
	pid, err := Container(t.Container)
	if err != nil {
		return err
	}
	t.Container, t.PID, t.Follow = "", pid, true
	return nil
}

// several tells whether others than one process are traced, so that probes are attached for all.
func (t *Target) several() bool { return t.Follow || len(t.Others) > 0 }

// processes are those that are named.
func (t *Target) processes() []int {
	if t.PID == 0 {
		return nil
	}
	return append([]int{t.PID}, t.Others...)
}

// exists finds out whether the processes and the thread exist.
func (t *Target) exists() error {
	for _, pid := range t.processes() {
		if !target.PID(pid).Exists() {
			return fmt.Errorf("process %d: %w", pid, target.ErrGone)
		}
	}
	return t.leaders()
}

// leaders finds out whether what is given as a process is one, and what is given as a thread of it.
func (t *Target) leaders() error {
	for _, pid := range t.processes() {
		if leader, err := target.PID(pid).Leader(); err == nil && int(leader) != pid {
			return &ThreadError{Thread: pid, PID: int(leader)}
		}
	}
	if t.Thread != 0 {
		if leader, err := target.PID(t.Thread).Leader(); err != nil || int(leader) != t.PID {
			return fmt.Errorf("process %d has no thread %d: %w", t.PID, t.Thread, ErrNotFound)
		}
	}
	return nil
}

// ThreadError is that what was given as a process is a thread.
type ThreadError struct{ Thread, PID int }

func (e *ThreadError) Error() string {
	return fmt.Sprintf("%d is no process, but a thread of process %d", e.Thread, e.PID)
}

// ProcessOf is the process that a thread is of, as this machine numbers them; of a process it is the process itself.
func ProcessOf(thread int) (pid int, err error) {
	leader, err := target.PID(thread).Leader()
	return int(leader), err
}

// oneProgram refuses processes that run different programs: a function would be looked for in the first one's only.
func (t *Target) oneProgram() error {
	var first os.FileInfo
	for _, pid := range t.processes() {
		exe := fmt.Sprintf("/proc/%d/exe", target.PID(pid).Living())
		info, err := os.Stat(exe)
		if err != nil {
			return fmt.Errorf("process %d: its program cannot be opened: %w", pid, err)
		}
		if first == nil {
			first = info
		} else if !os.SameFile(first, info) {
			return fmt.Errorf("%w: processes %d and %d run different programs: name the program or library, or trace one "+
				"of them",
				ErrRequest, t.PID, pid)
		}
	}
	return nil
}

// everywhere tells whether all processes are meant.
func (t *Target) everywhere() bool {
	return t.PID == 0 && t.Held == 0 && t.Container == "" && len(t.Command) == 0
}

// running is the process that runs already, 0: there is none; atStart the command that has not begun to.
func (t *Target) running() int {
	if t.Loading != nil {
		return t.Held
	}
	return t.PID
}

func (t *Target) atStart() int {
	if t.Loading != nil {
		return 0
	}
	return t.Held
}

func (t *Target) loading() cpython.Loading {
	if t.Loading == nil {
		return cpython.Loading{}
	}
	return cpython.Loading(*t.Loading)
}
