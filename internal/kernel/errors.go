package kernel

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"trocar/internal/process/probe"
)

// LacksError says that this kernel lacks something.
type LacksError struct {
	Feature string // what, as people call it
	Since   string // the first kernel that has it ("" : a matter of configuration)
	Way     string // the way out
}

func (e *LacksError) Error() string {
	s := "this kernel lacks " + e.Feature
	if e.Since != "" {
		s += fmt.Sprintf(" (Linux %s has it, this is %s)", e.Since, Release())
	}
	if e.Way != "" {
		s += ": " + e.Way
	}
	return s
}

// PermissionError says that we may not do what was asked.
type PermissionError struct {
	What  string // what was asked
	Cause string // why it was refused
	Way   string // the way out
	Err   error
}

func (e *PermissionError) Error() string {
	s := "not permitted to " + e.What
	switch {
	case e.Cause != "":
		s += ": " + e.Cause
	case e.Err != nil:
		s += ": " + e.Err.Error()
	}
	if e.Way != "" {
		s += "; " + e.Way
	}
	return s
}

func (e *PermissionError) Unwrap() error { return e.Err }

// Unavailable tells whether err is for want of rights or of a kernel's feature (exit status 4), not a failure of the
// work.
func Unavailable(err error) bool {
	var lacks *LacksError
	var perm *PermissionError
	return errors.As(err, &lacks) || errors.As(err, &perm)
}

// AttachError says that one point could not be attached.
type AttachError struct {
	Program string
	Point   *probe.Point
	Err     error
}

func (e *AttachError) Error() string { return fmt.Sprintf("cannot attach %s: %v", e.Point.Name, e.Err) }

func (e *AttachError) Unwrap() error { return e.Err }

// VerifierError says that the kernel's verifier refused a program. It is a fault of our compiler, unless the program is
// too large.
type VerifierError struct {
	Program string
	Reason  string // the verifier's last words
	Log     string // all of them
	Err     error
}

func (e *VerifierError) Error() string {
	return fmt.Sprintf("the kernel refused the program of %s: %s", e.Program, e.Reason)
}

func (e *VerifierError) Unwrap() error { return e.Err }

// lastWords takes the reason out of a verifier log: the last line that is not a statistic.
func lastWords(log string) string {
	log = strings.TrimRight(log, "\x00\n ")
	for log != "" {
		i := strings.LastIndexByte(log, '\n')
		line := strings.TrimSpace(log[i+1:])
		switch {
		case line == "",
			strings.HasPrefix(line, "processed "),
			strings.HasPrefix(line, "max_states"),
			strings.HasPrefix(line, "verification time"),
			strings.HasPrefix(line, "stack depth"),
			strings.HasPrefix(line, "mark_precise"):
		default:
			return line
		}
		if i < 0 {
			break
		}
		log = log[:i]
	}
	return "no reason given"
}

// explain turns what the kernel answered when we tried what (an infinitive: "load a program") into an error with cause
// and way out. Errors that have nothing to do with rights come back wrapped.
func explain(what string, err error) error {
	if err == nil {
		return nil
	}
	var perm *PermissionError
	var lacks *LacksError
	if errors.As(err, &perm) || errors.As(err, &lacks) {
		return err
	}
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		cause, way := whyNot()
		return &PermissionError{What: what, Cause: cause, Way: way, Err: err}
	case errors.Is(err, unix.ENOSYS):
		return &LacksError{Feature: "bpf(2)", Way: "the kernel was built without CONFIG_BPF_SYSCALL, or a sandbox blocks " +
			"the call"}
	case errors.Is(err, unix.EMFILE):
		return fmt.Errorf("cannot %s: too many open files (limit %s); raise it with ulimit -n", what, fileLimit())
	}
	return fmt.Errorf("cannot %s: %w", what, err)
}

// whyNot looks for the reason of an EPERM.
func whyNot() (cause, way string) {
	r := readRights()
	switch {
	case r.UserNS:
		return "this is a user namespace (rootless container?), whose root has no privileges in the kernel",
			"run trocar on the host"
	case len(r.Missing) > 0:
		return "missing " + strings.Join(r.Missing, ", "),
			"run it as root, or allow it with setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep on trocar"
	case r.Lockdown == "confidentiality":
		return "the kernel is locked down (confidentiality)", "boot with lockdown=integrity or without secure boot"
	case r.Seccomp:
		return "a seccomp filter is active (container runtime?)", "run the container with --privileged or with a profile " +
			"that allows bpf and perf_event_open"
	}
	return "", "a security module (SELinux, AppArmor, BPF LSM) may deny it: see dmesg"
}

// rights is what this process may do.
type rights struct {
	Missing  []string // capabilities that tracing needs
	UserNS   bool
	Seccomp  bool
	Lockdown string // none, integrity, confidentiality; "" unknown
}

// Capability numbers (linux/capability.h); CAP_PERFMON and CAP_BPF are from 5.8.
const (
	capSysAdmin = 21
	capSysNice  = 23
	capPerfmon  = 38
	capBPF      = 39
)

func readRights() rights {
	var r rights
	status, _ := os.ReadFile("/proc/self/status")
	if effective := capabilities(); effective&(1<<capSysAdmin) == 0 {
		if effective&(1<<capBPF) == 0 {
			r.Missing = append(r.Missing, "CAP_BPF")
		}
		if effective&(1<<capPerfmon) == 0 {
			r.Missing = append(r.Missing, "CAP_PERFMON")
		}
	}
	if mode, ok := statusField(string(status), "Seccomp:"); ok {
		r.Seccomp = mode != "0"
	}
	// The initial user namespace maps everything onto itself.
	if ids, err := os.ReadFile("/proc/self/uid_map"); err == nil {
		f := strings.Fields(string(ids))
		r.UserNS = len(f) != 3 || f[0] != "0" || f[1] != "0" || f[2] != "4294967295"
	}
	r.Lockdown = lockdown()
	return r
}

// capabilities are those that this process has, all if that is not known.
func capabilities() uint64 {
	status, _ := os.ReadFile("/proc/self/status")
	hex, _ := statusField(string(status), "CapEff:")
	effective, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return ^uint64(0)
	}
	return effective
}

// lockdown reads the mode in brackets: "none [integrity] confidentiality".
func lockdown() string {
	text, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(text), "[")
	mode, _, _ := strings.Cut(after, "]")
	return mode
}

func statusField(status, name string) (string, bool) {
	i := strings.Index(status, "\n"+name)
	if i < 0 {
		return "", false
	}
	line, _, _ := strings.Cut(status[i+1+len(name):], "\n")
	return strings.TrimSpace(line), true
}

func fileLimit() string {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return "unknown"
	}
	return strconv.FormatUint(l.Cur, 10)
}

// Release is the running kernel's release.
func Release() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
