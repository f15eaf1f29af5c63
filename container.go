package trocar

import "trocar/internal/process/target"

// Container is the process id of the first process of a running container, given its id, the beginning of that, or
// its name.
func Container(name string) (int, error) {
	pid, err := target.Container(name)
	return int(pid), err
}

// Containers are the ids, or names, of the containers that run.
func Containers() []string { return target.Containers() }

// ErrNoContainer says that no running container has an id or name.
var ErrNoContainer = target.ErrNoContainer

// Process is a running process.
type Process struct {
	PID  int
	Comm string // the name of its main thread
	// Program is the path of what it runs, as it sees it.
	Program string
}

// Processes calls yield with the processes that there are, kernel threads aside.
func Processes(yield func(Process)) {
	all, err := target.All()
	if err != nil {
		return
	}
	for _, pid := range all {
		program, _, err := pid.Program()
		if err != nil {
			continue
		}
		if comm, err := pid.Comm(); err == nil {
			yield(Process{int(pid), comm, program})
		}
	}
}
