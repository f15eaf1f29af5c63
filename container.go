package trocar

import "trocar/internal/process/target"

// Container is the process id of the first process of a running container, given its id, the beginning of that, or its name.
func Container(name string) (int, error) {
	pid, err := target.Container(name)
	return int(pid), err
}

// ErrNoContainer says that no running container has an id or name.
var ErrNoContainer = target.ErrNoContainer
