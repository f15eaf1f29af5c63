package probe

import "fmt"

// ProgramType is a type of BPF program, as far as attaching or its context differ.
type ProgramType uint8

// Program types.
const (
	NoProgram            ProgramType = iota // of what is no kind of probe
	RunProgram                              // run by us (BPF_PROG_TEST_RUN): begin, end, self, test
	BenchProgram                            // run by us many times, an XDP program: bench
	PerfProgram                             // interval, profile, software, hardware, watchpoint
	BreakProgram                            // uprobe, uretprobe on code that is made at run time: a hardware breakpoint
	UprobeProgram                           // uprobe, uretprobe, usdt
	KprobeProgram                           // kprobe, kretprobe
	TracepointProgram                       // tracepoint
	RawTracepointProgram                    // rawtracepoint
	FentryProgram                           // fentry: loaded for one kernel function
	FexitProgram                            // fexit: loaded for one kernel function
	IterProgram                             // iter: run by us, once for each object of the kernel's
)

// Context is what a program is given.
type Context uint8

// Contexts.
const (
	NoContext Context = iota // nothing that means anything
	Registers                // struct pt_regs
	PerfData                 // struct bpf_perf_event_data, which begins with struct pt_regs
	Record                   // a tracepoint's record, as its format file describes it
	Words                    // an array of 64-bit words: arguments, and behind them (fexit) the result
	Object                   // struct bpf_iter__NAME
)

// HasRegisters tells whether a context begins with the registers of what was interrupted.
func (c Context) HasRegisters() bool { return c == Registers || c == PerfData }

// programType describes a type.
type programType struct {
	name    string
	context Context
	byUs    bool
	cookie  bool
}

// programTypes describes each type.
var programTypes = [...]programType{
	NoProgram:            {name: "no program"},
	RunProgram:           {name: "run", byUs: true},
	BenchProgram:         {name: "bench", byUs: true},
	PerfProgram:          {name: "perf event", context: PerfData},
	BreakProgram:         {name: "breakpoint", context: PerfData},
	UprobeProgram:        {name: "uprobe", context: Registers, cookie: true},
	KprobeProgram:        {name: "kprobe", context: Registers, cookie: true},
	TracepointProgram:    {name: "tracepoint", context: Record},
	RawTracepointProgram: {name: "raw tracepoint", context: Words},
	FentryProgram:        {name: "fentry", context: Words},
	FexitProgram:         {name: "fexit", context: Words},
	IterProgram:          {name: "iterator", context: Object},
}

// ProgramTypes are all types there are; NoProgram is none.
func ProgramTypes() []ProgramType {
	var all []ProgramType
	for i := range programTypes[1:] {
		all = append(all, ProgramType(i+1))
	}
	return all
}

func (t ProgramType) traits() programType {
	if int(t) < len(programTypes) {
		return programTypes[t]
	}
	return programType{name: fmt.Sprintf("program type %d", t)}
}

// String names the type for messages.
func (t ProgramType) String() string { return t.traits().name }

// Context is what such a program finds in its first register.
func (t ProgramType) Context() Context { return t.traits().context }

// RunByUs tells whether such programs are never attached, but run when we ask for it and without a context.
func (t ProgramType) RunByUs() bool { return t.traits().byUs }

// HasCookie tells whether such a program can ask which of its points was hit (bpf_get_attach_cookie, 5.15). Perf
// events could, but those that threads inherit have no cookie (perf_event_alloc in kernel/events/core.c).
func (t ProgramType) HasCookie() bool { return t.traits().cookie }
