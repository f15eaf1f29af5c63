package probe

import (
	"fmt"

	"trocar/internal/binary/types"
)

// Kind is a probe kind.
type Kind uint8

// Kinds.
const (
	Begin Kind = iota
	End
	Self // self:signal:NAME
	Test
	Bench
	Interval
	Profile
	Software
	Hardware
	Uprobe
	Uretprobe
	USDT
	Python
	PythonReturn
	Method
	MethodReturn
	Watchpoint
	Tracepoint
	RawTracepoint
	Kprobe
	Kretprobe
	Fentry
	Fexit
	Iter
)

// Traits is all that the stages behind matching have to know of a kind. A new kind is a row of traits here, and one of
// functions in package match.
type Traits struct {
	Name    string   // as listings and the builtin probe show it
	Aliases []string // short and former names, case matters
	Form    string   // how an attach point is written
	// Group is what the builtin probetype says.
	Group string
	// Program is the type of BPF program that runs at such points, which decides what it finds as its context.
	Program ProgramType
	// Space is the memory that an address without a type means.
	Space types.Space
	// Function: the point is in a function that the builtin func tells; Return: where it returns.
	Function, Return bool
	// Elsewhere: what runs there has nothing to do with the traced process.
	Elsewhere bool
	// Signals: a signal may be sent to what runs there.
	Signals bool
	// Among tells which patterns for several kinds ("*:…") mean this one.
	Among Side
}

// Side is what kinds of probes look at.
type Side uint8

// Sides.
const (
	NoSide       Side = iota // neither, or the same places as another kind
	KernelSide               // the kernel
	ProgramsSide             // programs and libraries
)

// table has the traits of each kind.
var table = [...]Traits{
	Begin: {Name: "begin", Form: "begin", Group: "special", Program: RunProgram, Space: types.AnySpace, Elsewhere: true},
	End:   {Name: "end", Form: "end", Group: "special", Program: RunProgram, Space: types.AnySpace, Elsewhere: true},
	Self: {
		Name: "self", Form: "self:signal:SIGUSR1 or self:code:moved", Group: "special", Program: RunProgram,
		Space: types.AnySpace, Elsewhere: true,
	},
	Test: {Name: "test", Form: "test:NAME", Group: "test", Program: RunProgram, Space: types.AnySpace, Elsewhere: true},
	Bench: {
		Name: "bench", Form: "bench:NAME", Group: "bench", Program: BenchProgram, Space: types.AnySpace, Elsewhere: true,
	},
	Interval: {
		Name: "interval", Aliases: []string{"i"}, Form: "interval:UNIT:COUNT, as in interval:s:1", Group: "interval",
		Program: PerfProgram, Space: types.AnySpace, Elsewhere: true,
	},
	Profile: {
		Name: "profile", Aliases: []string{"p"}, Form: "profile:UNIT:COUNT, as in profile:hz:99", Group: "profile",
		Program: PerfProgram, Space: types.AnySpace, Signals: true,
	},
	Software: {
		Name: "software", Aliases: []string{"s"}, Form: "software:EVENT:COUNT", Group: "software",
		Program: PerfProgram, Space: types.AnySpace, Among: KernelSide,
	},
	Hardware: {
		Name: "hardware", Aliases: []string{"h"}, Form: "hardware:EVENT:COUNT", Group: "hardware",
		Program: PerfProgram, Space: types.AnySpace, Among: KernelSide,
	},
	Uprobe: {
		Name: "uprobe", Aliases: []string{"u"}, Group: "uprobe",
		Form:    "uprobe:FILE:FUNCTION, as in uprobe:/bin/bash:readline or uprobe:libc:malloc",
		Program: UprobeProgram, Space: types.User, Function: true, Signals: true, Among: ProgramsSide,
	},
	Uretprobe: {
		Name: "uretprobe", Aliases: []string{"ur"}, Group: "uretprobe",
		Form:    "uretprobe:FILE:FUNCTION, as in uretprobe:/bin/bash:readline",
		Program: UprobeProgram, Space: types.User, Function: true, Return: true, Signals: true,
	},
	USDT: {
		Name: "usdt", Aliases: []string{"U"}, Form: "usdt:FILE:PROVIDER:PROBE", Group: "usdt",
		Program: UprobeProgram, Space: types.User, Signals: true, Among: ProgramsSide,
	},
	Python: {
		Name: "python", Aliases: []string{"py"}, Form: "python:MODULE.FUNCTION, as in python:app.handle, with -p",
		Group: "python", Program: UprobeProgram, Space: types.User, Function: true, Signals: true,
	},
	PythonReturn: {
		Name: "pythonret", Aliases: []string{"pyret"}, Form: "pythonret:MODULE.FUNCTION, as in pythonret:app.handle, with -p",
		Group: "pythonret", Program: UprobeProgram, Space: types.User, Function: true, Signals: true,
	},
	Method: {
		Name: "method", Aliases: []string{"java"}, Group: "method",
		Form:    "method:CLASS.METHOD, as in method:app.Greeter.greet",
		Program: PerfProgram, Space: types.User, Function: true, Signals: true,
	},
	MethodReturn: {
		Name: "methodret", Aliases: []string{"javaret"}, Group: "methodret",
		Form:    "methodret:CLASS.METHOD, as in methodret:app.Greeter.greet",
		Program: PerfProgram, Space: types.User, Function: true, Signals: true,
	},
	Watchpoint: {
		Name: "watchpoint", Aliases: []string{"w"}, Group: "watchpoint",
		Form: "watchpoint:ADDRESS:LENGTH:MODE or watchpoint:FILE:VARIABLE:MODE, as in watchpoint:0x10000000:8:w or " +
			"watchpoint:./prog:counter:w",
		Program: PerfProgram, Space: types.AnySpace,
	},
	Tracepoint: {
		Name: "tracepoint", Aliases: []string{"t"}, Form: "tracepoint:CATEGORY:EVENT", Group: "tracepoint",
		Program: TracepointProgram, Space: types.Kernel, Signals: true, Among: KernelSide,
	},
	RawTracepoint: {
		Name: "rawtracepoint", Aliases: []string{"rt"}, Form: "rawtracepoint:EVENT", Group: "rawtracepoint",
		Program: RawTracepointProgram, Space: types.Kernel, Signals: true, Among: KernelSide,
	},
	Kprobe: {
		Name: "kprobe", Aliases: []string{"k"}, Form: "kprobe:FUNCTION", Group: "kprobe",
		Program: KprobeProgram, Space: types.Kernel, Function: true, Signals: true, Among: KernelSide,
	},
	Kretprobe: {
		Name: "kretprobe", Aliases: []string{"kr"}, Form: "kretprobe:FUNCTION", Group: "kretprobe",
		Program: KprobeProgram, Space: types.Kernel, Function: true, Return: true, Signals: true,
	},
	Fentry: {
		Name: "fentry", Aliases: []string{"f", "kfunc"}, Form: "fentry:FUNCTION", Group: "fentry",
		Program: FentryProgram, Space: types.Kernel, Function: true, Signals: true, Among: KernelSide,
	},
	Fexit: {
		Name: "fexit", Aliases: []string{"fr", "kretfunc"}, Form: "fexit:FUNCTION", Group: "fexit",
		Program: FexitProgram, Space: types.Kernel, Function: true, Return: true, Signals: true,
	},
	Iter: {
		Name: "iter", Aliases: []string{"it"}, Form: "iter:TARGET", Group: "iter",
		Program: IterProgram, Space: types.Kernel, Elsewhere: true, Among: KernelSide,
	},
}

// Kinds are all kinds there are.
func Kinds() []Kind {
	all := make([]Kind, len(table))
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// Traits is the kind's row. For a number that is no kind it has a name only, and NoProgram, which no stage takes.
func (k Kind) Traits() Traits {
	if int(k) < len(table) {
		return table[k]
	}
	return Traits{Name: fmt.Sprintf("kind %d", k), Space: types.AnySpace}
}

// Moved is the event of self:code:moved: probes of methods are about to follow these to other code. With the name of a
// method behind it it is that of this one.
const Moved = "moved"

// OfMethod tells whether points of the kind are on code that a runtime makes, and follow it.
func (k Kind) OfMethod() bool { return k == Method || k == MethodReturn }

// Breaks tells whether points of the kind take debug registers of the CPU.
func (k Kind) Breaks() bool { return k == Watchpoint || k.OfMethod() }

// String is the kind's name as listings and the builtin `probe` show it.
func (k Kind) String() string { return k.Traits().Name }
