package kernel

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
	"trocar/internal/compile/feature"
	"trocar/internal/process/tracefs"
)

// Report is what this machine offers.
type Report struct {
	Release, Version, Arch string

	MissingCaps   []string // capabilities that tracing needs and this process lacks
	UserNamespace bool     // whose root has no rights in the kernel
	Seccomp       bool
	Lockdown      string // none, integrity, confidentiality; "" : not built in

	Sysctls []Sysctl

	OnlineCPUs, PossibleCPUs int
	RingSize                 uint32 // default of the ring buffer

	// Tracefs is where tracefs is mounted; "" with TracefsOK: nowhere, but a detached mount works.
	Tracefs   string
	TracefsOK bool

	Sources  []Source
	Features []FeatureState

	Nop5Corrupts, VectorsStepped bool
}

// Sysctl is a setting of the kernel.
type Sysctl struct{ Name, Value string }

// Source is one of perf's event sources.
type Source struct {
	Name string
	OK   bool
	Use  string // what needs it
}

// FeatureState is a feature and whether it is there.
type FeatureState struct {
	Feature feature.Feature
	feature.Info
	OK    bool
	Needs string // the right for want of which it is not there
}

// Inspect asks for everything, which takes some tens of milliseconds.
func Inspect(f *Features) *Report {
	r := &Report{
		Nop5Corrupts: f.Nop5Corrupts(), VectorsStepped: f.VectorsStepped(), RingSize: DefaultRingSize(0),
		PossibleCPUs: possibleCPUs(),
	}
	if host, err := abi.Host(); err == nil {
		r.Arch = host.Name
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		r.Release, r.Version = unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Version[:])
	}
	mine := readRights()
	r.MissingCaps, r.UserNamespace, r.Seccomp, r.Lockdown = mine.Missing, mine.UserNS, mine.Seccomp, mine.Lockdown
	for _, name := range []string{
		"kernel.unprivileged_bpf_disabled", "kernel.perf_event_paranoid", "kernel.perf_event_max_sample_rate",
		"kernel.kptr_restrict", "kernel.yama.ptrace_scope", "net.core.bpf_jit_enable",
	} {
		text, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
		if err == nil {
			r.Sysctls = append(r.Sysctls, Sysctl{name, strings.TrimSpace(string(text))})
		}
	}
	if cpus, err := onlineCPUs(); err == nil {
		r.OnlineCPUs = len(cpus)
	}
	if t, err := tracefs.Open(); err == nil {
		r.TracefsOK, r.Tracefs = true, t.MountPoint()
		t.Close()
	}
	for _, s := range []Source{
		{Name: "uprobe", Use: "uprobes before 6.6"},
		{Name: "kprobe", Use: "kprobe, kretprobe"},
		{Name: "breakpoint", Use: "watchpoint"},
		{Name: "tracepoint", Use: "tracepoint"},
		{Name: "software", Use: "interval, profile, software"},
		{Name: "cpu", Use: "hardware"},
	} {
		_, err := os.Stat(filepath.Join("/sys/bus/event_source/devices", s.Name))
		s.OK = err == nil
		if s.Name == "breakpoint" && s.OK {
			// Without the rights to try, what the kernel says counts.
			fires, err := BreakpointsFire()
			s.OK = fires || err != nil
		}
		r.Sources = append(r.Sources, s)
	}
	for _, x := range feature.List() {
		state := FeatureState{Feature: x, Info: x.Info(), OK: f.Has(x)}
		if x == feature.FloatRegisters {
			state.Needs = FloatsNeed(f)
		}
		r.Features = append(r.Features, state)
	}
	return r
}
