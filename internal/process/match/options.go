package match

import (
	"trocar/internal/binary/btf"
	"trocar/internal/binary/image"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes/cpython"
	"trocar/internal/script/diag"
)

// Options of matching.
type Options struct {
	PID      int // -p
	ChildPID int // -c: a process held at exec
	// Loading is a module that the process is about to execute.
	Loading Loading
	Unsafe  bool
	// VectorsStepped tells whether the kernel executes probed vector instructions as they are (code.Hazard.Vector); nil:
	// it does not.
	VectorsStepped func() bool
	// FloatRegisters tells whether programs find what is in floating-point registers, and if not, for want of which right
	// ("": that is not why); nil: they do not.
	FloatRegisters func() (found bool, needs string)
	// Spread: processes that are not known yet are traced as well, like those that PID starts.
	Spread bool
	// Runs is the program that will be started, if there is no process yet.
	Runs string
	// Instructions: returns are caught at instructions wherever these are known, also where results are lost by it.
	Instructions bool
	// FilteredReturns: the kernel's return probes use a system call that filters of a process may forbid.
	FilteredReturns bool
	Missing         string // config missing_probes: error, warn, ignore; or MissingRefused
	MaxProbes       int
	Demangle        bool
	Bare            bool // functions of C++ are named without their parameters, where that is one function
	// Needs is what each probe's code asks of its points, in the probes' order. Nil: types of arguments and results,
	// arguments by position, and names.
	Needs []probe.Needs
	// Asked are names and patterns, with the kind of the probe, of which the script has what they mean one by one; for
	// Result.Late.
	Asked []string
	// Variants adds to a function those that the compiler made of it for some of its callers.
	Variants bool
	// OutOfLine leaves inlined copies of functions out.
	OutOfLine bool
	// Plain: what is matched was not written as a script; messages name functions and files alone.
	Plain bool
	// Declared asks List for functions' declarations.
	Declared bool
	// Filter leaves out points by their name (--probe-filter); begin and end always stay. Nil: all.
	Filter func(name string) bool
	// SearchPath are the folders, separated by colons, in which programs named without a folder are looked for (PATH).
	SearchPath string
	// Images opens the files; nil: a set for them alone. The types of points are complete for as long as the
	// result is not closed, or another user has
	// the file open.
	Images *image.Set
	// KernelType finds a type of the kernel by its name in C; nil: none is known.
	KernelType func(name string) *types.Type
	// Prototype tells what a function of the kernel takes, or (raw) a tracepoint; nil: not known.
	Prototype func(name string, raw bool) (btf.Prototype, bool)
	// TraceableFunctions is a file with the kernel's functions to take instead of available_filter_functions.
	TraceableFunctions string
}

// Loading is a module whose code a held command is about to execute.
type Loading = cpython.Loading

// MissingRefused makes patterns that fit nothing errors, as names are, in place of one about the probe.
const MissingRefused = "refused"

// Result of matching all probes of a script: one entry for each syntax.Probe, in order.
type Result struct {
	Matches [][]probe.Match
	Diags   diag.List

	// Write is the function write of the C library of the process, if there are points on code that is made at run time.
	Write *probe.Point

	files *files // open as long as types may be completed from them
	about [][]*diag.Diagnostic
}
