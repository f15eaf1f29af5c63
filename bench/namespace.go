package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// inNamespace is set in the environment of a bench that runs in mounts of its own.
const inNamespace = "TROCAR_BENCH_NAMESPACE"

const tracefsDir = "/sys/kernel/tracing"

// withTracefs runs the rest of the program where other tracers find tracefs: they need it mounted. Where it is not,
// bench runs itself again in a mount namespace of its own and mounts it there, which nobody else sees and which ends
// with it. done tells that it has, with that run's error.
func withTracefs() (done bool, err error) {
	if os.Getenv(inNamespace) != "" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return false, fmt.Errorf("making mounts private: %w", err)
		}
		if err := unix.Mount("tracefs", tracefsDir, "tracefs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			fmt.Fprintf(os.Stderr, "no tracefs for other tracers: %v\n", err)
		}
		return false, nil
	}
	var st unix.Statfs_t
	if err := unix.Statfs(tracefsDir, &st); err == nil && int64(st.Type) == unix.TRACEFS_MAGIC {
		return false, nil
	}
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	again.Env = append(os.Environ(), inNamespace+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err = again.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return true, errReported
	}
	return true, err
}

// errReported is an error that was written already.
var errReported = errors.New("")
