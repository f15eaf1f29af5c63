// Package probe owns the probe kinds: the grammar of their attach points, how a specification is matched to points in
// binaries and processes, and which variables are in scope there.
//
// Matching changes nothing and needs no more rights than to read the target; attaching is package kernel's.
package probe

import (
	"trocar/internal/binary/btf"
	"trocar/internal/binary/types"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
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
	Watchpoint
	Tracepoint
	RawTracepoint
	Kprobe
	Kretprobe
	Fentry
	Fexit
	Iter
)

// Point is one place, fully known: what package kernel attaches to. Which fields count depends on Kind.
type Point struct {
	Kind Kind
	Name string // the full name as the builtin `probe` shows it: "uprobe:/usr/bin/bash:readline"
	Func string // what the builtin `func` shows for it ("" : looked up from the address)

	// Uprobe, Uretprobe, USDT.
	Path   string // file to attach to, as it can be opened from our own root
	Offset uint64 // file offset of the instruction
	Addr   uint64 // its virtual address in the file
	Entry  bool   // Uprobe: a function's entry, where the return address is on top of the stack and no frame is set up
	Skip   int    // bytes from the place that was asked for to Offset, an equivalent and cheaper instruction: to be taken off the instruction pointer
	// Inlined marks a place where the function was inlined: the code around it is another's.
	Inlined bool
	Copied  bool // Entry: the function was inlined elsewhere, as a program without debug information tells
	Pattern bool // it was found by a pattern, not by its name
	// AtReturn, Uretprobe: the place is an instruction with which the function returns, and is probed itself. The return
	// address is on top of the stack.
	AtReturn bool
	Start    uint64     // AtReturn, Inlined: address of the function's first instruction, 0 if it has none of its own
	Go       *GoRuntime // in Go code
	RefCtr   uint64     // USDT: file offset of the semaphore, 0: none
	PID      int        // only this process; 0: all

	// Interval, Profile: period in nanoseconds, or Freq in hertz (one of both). Software, Hardware: Period in events.
	Period, Freq uint64
	Config       uint64 // Software, Hardware: perf's event number

	// Watchpoint.
	WatchLen  int
	WatchMode string // r, w, x combined

	// Tracepoint "category"/"event", RawTracepoint event, Kprobe/Fentry function, Iter target, Self signal name.
	Category, Event string

	Scope *Scope
}

// FunctionStart is the address of the first instruction of the function that the point is the entry of or returns from.
func (p *Point) FunctionStart() uint64 {
	if p.Start != 0 {
		return p.Start
	}
	return p.Addr - uint64(p.Skip)
}

// keeps tells whether the place of a return's result is only known at the entry.
func (p *Point) keeps() bool {
	return p.Scope != nil && p.Scope.Retval != nil && p.Scope.Retval.Place.Kept
}

// Scope is what a script can see at a point besides the CPU's registers. Points with equal scopes share a program.
type Scope struct {
	Args      []Var         // by name: `args.x`, and behind them the local variables: `vars.x`
	Retval    *Var          // typed result, where known
	Results   []string      // Go: the names of the results; if there are several, Retval is a struct of them
	ArgN      []types.Place // USDT: arg0, arg1 …; nil: by the C calling convention
	ArgNTypes []*types.Type // beside ArgN
	// ArgsType is the whole of `args` when it is a struct in kernel memory (tracepoint records): fields at offsets of
	// the context. Nil otherwise.
	ArgsType *types.Type
}

// Nothing tells whether it is known that the function has no result.
func (s *Scope) Nothing() bool {
	return s.Retval != nil && s.Retval.Type.Kind == types.Struct && s.Retval.Type.Size == 0 && s.Retval.Type.Name == noResult
}

// noResult names the type of what a function returns that returns nothing.
const noResult = "results"

// Var is a variable and its place.
type Var struct {
	Name  string
	Type  *types.Type
	Place types.Place
	Local bool // a local variable
}

// Match is what one attach point of a script matched.
type Match struct {
	Spec   *syntax.AttachPoint
	Points []*Point
	// Entries, where Options.Entries asks for them, are the entries of the functions that Points are the returns of.
	Entries []*Point
}

// Options of matching.
type Options struct {
	PID       int // -p
	ChildPID  int // -c: a process held at exec
	Unsafe    bool
	Missing   string // config missing_probes: error, warn, ignore
	MaxProbes int
	Demangle  bool
	NeedArgs  func(*syntax.AttachPoint) bool // whether types of arguments are asked for; nil: always
	NeedVars  func(*syntax.AttachPoint) bool // whether local variables are asked for; nil: never
	// NeedArgN tells whether arguments by position are asked for, nil: always. In Go code they need types, too.
	NeedArgN func(*syntax.AttachPoint) bool
	// Names tells whether the names of an attach point's points are seen (by the builtins probe and func); nil: always.
	// Where not, names that a pattern found stay mangled.
	Names func(*syntax.AttachPoint) bool
	// Entries tells whether return probes need the entries of their functions as well; nil: never.
	Entries func(*syntax.AttachPoint) bool
	// Goroutine tells whether the script asks at an attach point's points which goroutine runs; nil: never. Functions that a
	// pattern found and where that is not known are left out.
	Goroutine func(*syntax.AttachPoint) bool
	// Variants adds to a function those that the compiler made of it for some of its callers.
	Variants bool
	// OutOfLine leaves inlined copies of functions out.
	OutOfLine bool
	// Declared asks List for functions' declarations.
	Declared bool
	// Filter leaves out points by their name (--probe-filter); begin and end always stay. Nil: all.
	Filter func(name string) bool
	// DebugDirs are folders in which debug files are looked for first (--debuginfo).
	DebugDirs []string
	// KernelType finds a type of the kernel by its name in C; nil: none is known.
	KernelType func(name string) *types.Type
	// Prototype tells what a function of the kernel takes, or (raw) a tracepoint; nil: not known.
	Prototype func(name string, raw bool) (btf.Prototype, bool)
	// TraceableFunctions is a file with the kernel's functions to take instead of available_filter_functions.
	TraceableFunctions string
}

// Result of matching all probes of a script: one entry for each syntax.Probe, in order.
type Result struct {
	Matches [][]Match
	Diags   diag.List

	files *files // open as long as types may be completed from them
}
