package kernel

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
)

// fentry attaches a program that was loaded for one function of the kernel.
func (a *attacher) fentry(p *loadedProgram, i int) error {
	if err := p.each[i].err; err != nil {
		return err
	}
	link, err := bpf(cmdRawTracepointOpen, &attrRawTracepoint{progFD: uint32(p.each[i].prog.FD())})
	runtime.KeepAlive(p)
	if err != nil {
		return explainFentry(target(p.Points[i]), err)
	}
	a.keep(link)
	return nil
}

// progRawTracepoint is the type of programs for tracepoints without a record (enum bpf_prog_type).
const progRawTracepoint = 17

// trampolines names the kernel that has them on this CPU, if it is a later one than trocar needs.
func trampolines() string {
	host, err := abi.Host()
	if err != nil || host.Trampolines == "" {
		return ""
	}
	return " and Linux " + host.Trampolines
}

// explainFentry says why a program cannot be attached to a function of the kernel.
func explainFentry(name string, err error) error {
	const instead = "probe tracepoints, or functions of programs"
	var refused *VerifierError
	switch {
	case errors.As(err, &refused):
		return err
	case errors.Is(err, ebpf.ErrNotSupported):
		return &LacksError{
			Feature: fmt.Sprintf("a description of %s in its types (CONFIG_DEBUG_INFO_BTF)", name),
			Way:     "probe it with kprobe",
		}
	case errors.Is(err, enotsupp):
		return &LacksError{
			Feature: "trampolines for its functions (fentry, fexit)",
			Way:     "it needs CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS" + trampolines() + "; or " + instead,
		}
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		cause, way := whyNot()
		if cause == "" && loads(progRawTracepoint, 0, returnZero()) {
			cause, way = "the kernel takes programs for tracepoints and refuses those for its functions", way+"; "+instead
		}
		what := "attach programs to the kernel's function " + name
		return &PermissionError{What: what, Cause: cause, Way: way, Err: unix.EPERM}
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("another program that modifies %s is attached to it: %w", name, unix.EBUSY)
	case errors.Is(err, unix.E2BIG):
		return fmt.Errorf("the maximum number of programs is already attached to %s: %w", name, unix.E2BIG)
	}
	return err
}
