package trocar

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/btf"
	"trocar/internal/compile/feature"
	"trocar/internal/kernel"
	"trocar/internal/process/target"
)

// Machine is what a compiled program depends on besides the script and the traced files: the CPU and the kernel.
// Inspect gives the running one, NewMachine any other; of that, all features are assumed that its release of Linux has.
// The fields may be changed before a machine is used first, not behind that.
type Machine struct {
	// CPU is "amd64" or "arm64", as Go names them.
	CPU string
	// Release is the kernel's, as uname(1) has it: "6.12.0-amd64".
	Release string
	// CPUs is how many the kernel may have; they are numbered from 0.
	CPUs int
	// KernelTypes are the kernel's types (BTF); zero: it shows none.
	KernelTypes KernelTypes
	// PIDNamespace is the one that processes are numbered in; nil: the initial one.
	PIDNamespace *PIDNamespace

	running  bool
	once     sync.Once
	features *kernel.Features // see offers
}

// KernelTypes says where the types of a kernel are.
type KernelTypes struct {
	Path string `json:"path,omitempty"` // of a file like /sys/kernel/btf/vmlinux
	Data []byte `json:"data,omitempty"` // the content of one, in place of a path
}

// PIDNamespace is a PID namespace by its file below /proc/PID/ns.
type PIDNamespace struct{ Dev, Ino uint64 }

// Inspect looks at the running machine. It is quick: what the kernel can do is found out when a program needs it
// first, by trying, so that without the rights to trace all features seem to be absent.
func Inspect(ctx context.Context) (*Machine, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	host, err := abi.Host()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMachine, err)
	}
	m := &Machine{CPU: host.Name, Release: kernel.Release(), CPUs: kernel.PossibleCPUs(), running: true}
	if btf.New(btf.Kernel()).Available() {
		m.KernelTypes = KernelTypes(btf.Kernel())
	}
	if ns, err := target.OwnPIDNamespace(); err == nil && !ns.Initial {
		m.PIDNamespace = &PIDNamespace{Dev: ns.Dev, Ino: ns.Inode}
	}
	return m, nil
}

// ErrMachine is returned (wrapped) for a machine that trocar does not know, or on which something cannot be done.
var ErrMachine = errors.New("machine")

// NewMachine is a machine with one CPU of a kind ("amd64", "arm64") and the kernel of a release of Linux ("5.10" or
// later), without the kernel's types. Compile makes programs for it on any machine.
func NewMachine(cpu, release string) (*Machine, error) {
	m := &Machine{CPU: cpu, Release: release, CPUs: 1}
	return m, m.check()
}

// check finds what is wrong with a machine.
func (m *Machine) check() error {
	version, ok := versionOf(m.Release)
	switch {
	case m.arch() == nil:
		return fmt.Errorf("%w: CPU %q is not known, only %s", ErrMachine, m.CPU, abi.Names(" and "))
	case m.CPUs < 1:
		return fmt.Errorf("%w: it has %d CPUs", ErrMachine, m.CPUs)
	case m.running:
	case !ok:
		return fmt.Errorf("%w: release %q does not begin with a kernel version", ErrMachine, m.Release)
	case version < oldest:
		return fmt.Errorf("%w: Linux %s is older than 5.10, the oldest that trocar traces on", ErrMachine, m.Release)
	}
	return nil
}

// offers are the features of its kernel.
func (m *Machine) offers() *kernel.Features {
	m.once.Do(func() {
		types := btf.Source(m.KernelTypes)
		if m.running {
			m.features = kernel.NewFeaturesWith(types)
			return
		}
		// The release was looked at by check.
		set, _ := feature.Of(m.Release)
		if !btf.New(types).Available() {
			set = set.Without(feature.KernelBTF)
		}
		m.features = kernel.AssumedFeatures(types, set)
	})
	return m.features
}

// filteredReturns tells whether seccomp filters see the system call with which calls return whose return address the
// kernel replaced (uretprobe(2), which came with 6.11; 6.14 lets it pass).
func (m *Machine) filteredReturns() bool {
	version, ok := versionOf(m.Release)
	return !ok || version >= 6<<16|11 && version < 6<<16|14
}

// oldest is the first kernel with all that there is no fallback for: Linux 5.10.
const oldest = 5<<16 | 10

// versionOf reads the version that a release begins with: "6.12.0-amd64" is 6<<16 | 12.
func versionOf(release string) (version uint32, ok bool) {
	major, rest, _ := strings.Cut(release, ".")
	minor := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	a, err := strconv.ParseUint(major, 10, 15)
	b, err2 := strconv.ParseUint(minor, 10, 16)
	return uint32(a<<16 | b), errors.Join(err, err2) == nil
}

// featuresWithout are the kernel's features but some, by name.
func (m *Machine) featuresWithout(names []string) (*kernel.Features, error) {
	if len(names) == 0 {
		return m.offers(), nil
	}
	var without []feature.Feature
	for _, name := range names {
		features, found := feature.Named(name)
		if !found {
			return nil, fmt.Errorf("unknown kernel feature %q (see trocar doctor)", name)
		}
		without = append(without, features...)
	}
	return m.offers().Without(without...), nil
}

// Report is what a machine offers for tracing: rights, settings, features of its kernel.
type Report struct {
	Release, Version string // of the kernel, as uname(1) has them
	CPU              string // as in Machine

	MissingCaps   []string // capabilities that tracing needs and this process lacks
	UserNamespace bool     // this process is root of a user namespace only, which has no rights in the kernel
	Seccomp       bool     // a seccomp filter is on
	Lockdown      string   // "none", "integrity" or "confidentiality"; "": not built in

	Sysctls []Sysctl // those that tracing depends on

	OnlineCPUs, PossibleCPUs int
	RingSize                 int // of the buffer of events, by default, in bytes

	Tracefs   string // where tracefs is mounted; "": nowhere
	TracefsOK bool   // it is mounted, or can be privately

	Sources  []EventSource // of perf events
	Features []Feature     // of the kernel, for BPF programs

	// Nop5Corrupts: a probe on a 5-byte nop inside a function may corrupt a program (Linux 6.18 and before its fix), so
	// that none is placed there.
	Nop5Corrupts bool
	// VectorsStepped: probed vector instructions are executed as they are. Where they are not, none is placed on those
	// that the kernel takes for others; also without the right to try.
	VectorsStepped bool
}

// Sysctl is a setting of the kernel.
type Sysctl struct{ Name, Value string }

// EventSource is a source of perf events.
type EventSource struct {
	Name string
	OK   bool   // it is there
	Use  string // what needs it
}

// Feature is something that not all kernels have.
type Feature struct {
	Name  string // as Request.Disable takes it
	Since string // version of the first kernel that has it
	OK    bool   // it is there
	Needs string // the right for want of which it is not there; "": that is not why
}

// Report asks the machine for everything, which takes some tens of milliseconds. The error is ErrMachine (wrapped):
// it is not the running one.
func (m *Machine) Report(ctx context.Context) (*Report, error) {
	if !m.running {
		return nil, fmt.Errorf("%w: features can only be detected on the running machine", ErrMachine)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k := kernel.Inspect(m.offers())
	r := &Report{
		Release: k.Release, Version: k.Version, CPU: k.Arch,
		MissingCaps: k.MissingCaps, UserNamespace: k.UserNamespace, Seccomp: k.Seccomp, Lockdown: k.Lockdown,
		OnlineCPUs: k.OnlineCPUs, PossibleCPUs: k.PossibleCPUs, RingSize: int(k.RingSize),
		Tracefs: k.Tracefs, TracefsOK: k.TracefsOK, Nop5Corrupts: k.Nop5Corrupts, VectorsStepped: k.VectorsStepped,
	}
	for _, s := range k.Sysctls {
		r.Sysctls = append(r.Sysctls, Sysctl(s))
	}
	for _, s := range k.Sources {
		r.Sources = append(r.Sources, EventSource(s))
	}
	for _, f := range k.Features {
		r.Features = append(r.Features, Feature{f.Name, f.Since, f.OK, f.Needs})
	}
	return r, nil
}

// Unavailable tells whether an error is for want of rights or of something that the kernel lacks.
func Unavailable(err error) bool { return kernel.Unavailable(err) }
