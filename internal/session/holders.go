package session

import (
	"fmt"
	"os"
	"strings"

	"trocar/internal/process/target"
)

// breakpointHolders names the other programs that may have the CPU's breakpoints: those that have events of perf open,
// and the debugger of the process.
func breakpointHolders(pid int) (names []string) {
	add := func(pid int) {
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
			names = append(names, fmt.Sprintf("%s (%d)", strings.TrimSpace(string(comm)), pid))
		}
	}
	if tracer, err := target.PID(pid).Tracer(); err == nil && tracer != 0 {
		add(tracer)
	}
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		var other int
		if _, err := fmt.Sscanf(d.Name(), "%d", &other); err != nil || other == os.Getpid() {
			continue
		}
		fds, _ := os.ReadDir("/proc/" + d.Name() + "/fd")
		for _, fd := range fds {
			if to, err := os.Readlink("/proc/" + d.Name() + "/fd/" + fd.Name()); err == nil &&
				to == "anon_inode:[perf_event]" {
				add(other)
				break
			}
		}
	}
	return names
}
