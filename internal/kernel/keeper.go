package kernel

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/cilium/ebpf"
)

// keeper is a process that has the programs of a run open, too, where they are more than are freed at once. A tracer
// that is killed takes its probes along, as those are its alone, but not the programs: the keeper sees that it has
// ended and frees them in groups.
type keeper struct {
	pid   int
	alive *os.File // of which the keeper reads the other end: it ends with us
}

// startKeeper starts a command that calls Keep, with the number of programs as its last argument. Nil: there is no
// need, or it does not start; then nothing but their limit keeps the programs from being freed at once.
func startKeeper(command []string, programs []*ebpf.Program) *keeper {
	if len(command) == 0 || len(programs) <= freeGroup || freesAtOnce(Release()) {
		return nil
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	defer null.Close()
	end, alive, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer end.Close()
	// It has nothing else of ours, neither the output, whose reader may wait for its end, nor the folder.
	files := []uintptr{end.Fd(), null.Fd(), null.Fd()}
	for _, p := range programs {
		files = append(files, uintptr(p.FD()))
	}
	argv := append(append([]string{}, command...), strconv.Itoa(len(programs)))
	pid, err := syscall.ForkExec(command[0], argv, &syscall.ProcAttr{
		Dir: "/", Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		alive.Close()
		return nil
	}
	return &keeper{pid, alive}
}

// Keep is what a keeper does: it waits until the process that has started it has no use for the programs any more, or
// has ended, and frees them. The programs are the files behind the standard ones.
func Keep(programs int) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP) // they are for that process
	var kept []*ebpf.Program
	for i := range programs {
		if p, err := ebpf.NewProgramFromFD(3 + i); err == nil {
			kept = append(kept, p)
		}
	}
	var b [1]byte
	for {
		if _, err := os.Stdin.Read(b[:]); err != nil {
			break
		}
	}
	free(kept)
}

// free closes the programs and waits until the keeper has freed them. It tells whether there was one.
func (k *keeper) free(programs []*ebpf.Program) bool {
	if k == nil {
		return false
	}
	defer k.alive.Close()
	if pid, err := k.wait(syscall.WNOHANG); pid != 0 || err != nil {
		return false // somebody has ended it
	}
	for _, p := range programs {
		p.Close()
	}
	k.alive.Close()
	_, _ = k.wait(0)
	return true
}

func (k *keeper) wait(options int) (pid int, err error) {
	for {
		if pid, err = syscall.Wait4(k.pid, nil, options, nil); err != syscall.EINTR {
			return pid, err
		}
	}
}
