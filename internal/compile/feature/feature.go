// Package feature names what kernels offer that not all of them have, and which trocar makes use of: one vocabulary for
// the stages that compile, for the loader and for reports.
//
// A Set answers whether a kernel has a feature. The package kernel answers for the running kernel, by trying, when
// asked; Of answers for a version, so that what an older kernel would be given can be seen and tested anywhere.
package feature

import (
	"fmt"
	"strconv"
	"strings"
)

// Feature is something that some kernels from 5.10 on lack: newer ones have it, or builds and lockdown may leave it
// out.
type Feature uint8

// Features, in the order of reports.
const (
	RingBuf Feature = iota
	UprobeMulti
	UprobeMultiPID
	UprobeSession
	AttachCookie
	SleepableUprobe
	Loop
	StackTables
	ForEachMapElem
	AtomicFetch
	MapLookupPercpu
	KtimeTAI
	ProbeWriteUser
	TailCall
	TaskRegs
	KernelBTF
	FloatRegisters

	Count // how many there are
)

// Info describes a feature.
type Info struct {
	Name  string // as reports and --no-feature show it
	Since string // the first version of Linux that has it
	Use   string // what it is for
	// Without is what happens on kernels that lack it.
	Without string
}

var infos = [Count]Info{
	RingBuf:     {"ring buffers", "5.8", "events", "nothing can be traced"},
	UprobeMulti: {"multi-uprobe links", "6.6", "attaching fast", "each uprobe has a link of its own"},
	// 46ba0e49b642 ("bpf: fix multi-uprobe PID filtering logic"): before it only the thread with that id ran the program.
	UprobeMultiPID: {
		"multi-uprobe links of one process", "6.10", "uprobes of one process (-p)", "they have links of their own",
	},
	UprobeSession: {
		"uprobe sessions (one link for entry and return)", "6.13", "duration", "a program at the entry and a map",
	},
	AttachCookie: {
		"cookies of probes", "5.15", "one program for many points", "one program for each point that is reported by name",
	},
	SleepableUprobe: {
		"sleepable uprobe programs", "6.0", "reading memory that is paged out", "such reads fail, and are counted",
	},
	Loop: {"bpf_loop", "5.17", "loops", "loops have bounds that the verifier follows; some are refused"},
	StackTables: {
		"walks of user stacks by tables", "6.1", "whole stacks of code without frame pointers",
		"they are walked by frame pointers",
	},
	ForEachMapElem: {
		"bpf_for_each_map_elem", "5.13", "for over a map, len", "refused",
	},
	AtomicFetch: {"atomic operations with a result", "5.12", "@x++ as a value", "two CPUs may see one value"},
	MapLookupPercpu: {
		"bpf_map_lookup_percpu_elem", "5.19", "reading aggregations in the script", "it is refused",
	},
	KtimeTAI:       {"bpf_ktime_get_tai_ns", "6.1", "nsecs(tai)", "refused; sw_tai works everywhere"},
	ProbeWriteUser: {"writing to user memory (bpf_probe_write_user)", "4.8", "write_user", "it is refused"},
	TailCall: {
		"tail calls beside functions", "6.0", "stacks that belong to one run of a program",
		"nothing: kernels without them share no stacks",
	},
	TaskRegs:  {"bpf_task_pt_regs", "5.15", "syscall_id", "it is refused"},
	KernelBTF: {"its own type information (BTF)", "4.18", "types of the kernel", "the script must define them"},
	FloatRegisters: {
		"floating-point registers", "6.0", "arguments and results that are in them", "such values are not shown",
	},
}

// Info is the description of f.
func (f Feature) Info() Info {
	if f >= Count {
		return Info{Name: "unknown"}
	}
	return infos[f]
}

func (f Feature) String() string { return f.Info().Name }

// List lists all features, in the order of reports.
func List() []Feature {
	all := make([]Feature, Count)
	for i := range all {
		all[i] = Feature(i)
	}
	return all
}

// Named finds the features that a name stands for: its own, or one of those that bpftrace's --no-feature takes.
func Named(name string) (fs []Feature, ok bool) {
	switch name {
	case "uprobe_multi":
		return []Feature{UprobeMulti, UprobeMultiPID, UprobeSession}, true
	case "kprobe_multi", "kprobe_session":
		return nil, true // not made use of
	}
	for f, info := range infos {
		if info.Name == name {
			return []Feature{Feature(f)}, true
		}
	}
	return nil, false
}

// Set answers what a kernel offers. It is asked only for what a script needs, since each answer may cost a system call.
type Set interface{ Has(Feature) bool }

// Fixed is a set that is known: bit n is feature n.
type Fixed uint32

// None is a kernel that offers nothing of it, All one that offers everything.
const (
	None Fixed = 0
	All  Fixed = 1<<Count - 1
)

// Has tells whether f is in the set.
func (s Fixed) Has(f Feature) bool { return s>>f&1 != 0 }

// With is the set with more features.
func (s Fixed) With(fs ...Feature) Fixed {
	for _, f := range fs {
		s |= 1 << f
	}
	return s
}

// Without is the set with fewer features.
func (s Fixed) Without(fs ...Feature) Fixed {
	for _, f := range fs {
		s &^= 1 << f
	}
	return s
}

// Of is what a version of Linux ("5.10", "6.6.30-rc1") has, as it was released: distributions add to theirs.
func Of(version string) (Fixed, error) {
	major, minor, err := parse(version)
	if err != nil {
		return None, err
	}
	var s Fixed
	for _, f := range List() {
		a, b, err := parse(f.Info().Since)
		if err != nil {
			return None, err
		}
		if major > a || major == a && minor >= b {
			s = s.With(f)
		}
	}
	return s, nil
}

// parse reads the first two numbers of a version.
func parse(version string) (major, minor int, err error) {
	first, rest, ok := strings.Cut(version, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	major, err = strconv.Atoi(first)
	if err == nil {
		minor, err = strconv.Atoi(rest[:end])
	}
	if !ok || err != nil || major < 0 {
		return 0, 0, fmt.Errorf("%q is not a Linux version: two numbers are expected, such as 6.6", version)
	}
	return major, minor, nil
}
