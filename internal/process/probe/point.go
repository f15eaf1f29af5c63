// Package probe owns the vocabulary of probes, as data: the kinds with their traits, a point that a probe is
// attached to, the variables in scope there, and what a script needs to know of its points. How points are found is
// package match's.
package probe

import (
	"errors"

	"trocar/internal/binary/types"
	"trocar/internal/script/syntax"
)

// Point is one place, fully known: what package kernel attaches to. Which fields count depends on Kind.
type Point struct {
	Kind Kind
	Name string // the full name as the builtin `probe` shows it: "uprobe:/usr/bin/bash:readline"
	Func string // what the builtin `func` shows for it ("" : looked up from the address)

	// Uprobe, Uretprobe, USDT.
	Path   string // file to attach to, as it can be opened from our own root
	File   FileID // what was at Path when the point was found
	Offset uint64 // file offset of the instruction
	Addr   uint64 // its virtual address in the file
	Entry  bool   // Uprobe: a function's entry, where the return address is on top of the stack and no frame is set up
	// Skip is the distance in bytes from the place that was asked for to Offset, an equivalent and cheaper instruction: to
	// be taken off the instruction pointer.
	Skip int
	// Inlined marks a place where the function was inlined: the code around it is another's.
	Inlined bool
	Copied  bool // Entry: the function was inlined elsewhere, as a program without debug information tells
	Pattern bool // it was found by a pattern, not by its name
	// AtReturn, Uretprobe: the place is an instruction with which the function returns, and is probed itself. The return
	// address is on top of the stack.
	AtReturn bool
	Tail     bool // AtReturn: it goes on in another function, which returns in its place
	// Frame, AtReturn: where the return address is there; nil: on top of the stack.
	Frame *Frame
	// of a place that is not its entry: address of the function's first instruction, 0 if it has none of its own
	Start uint64
	Call  *Call // in Go code; nil: calls are told apart by thread and stack pointer
	// Texts, where Needs.Given asks for them, are the registers that have the addresses of texts .
	Texts  types.TextWord
	RefCtr uint64 // USDT: file offset of the semaphore, 0: none
	PID    int    // only this process; 0: all
	// Stepped: the kernel executes the instruction by stepping over a copy of it, and cannot emulate it.
	Stepped bool

	// Made: the function's code is made while the process runs, and is found then; Offset and Addr are not used. Start is
	// that of the code that the file has, if there is some, else a number of the function's own.
	Made *Made

	// Interpreted, Python: which of the functions that come by is meant; Start is that of the point's.
	Interpreted *Interpreted

	// Interval, Profile: period in nanoseconds, or Freq in hertz (one of both). Software, Hardware: Period in events.
	Period, Freq uint64
	Config       uint64 // Software, Hardware: perf's event number

	// Method: the calls that an interpreter executes, each of which reads the word at Addr with the instruction before the
	// one at Next. 0: the calls of its code.
	Next uint64
	// Away is what the first byte of the code at Addr becomes when its calls go elsewhere from there; 0: it is not known.
	Away byte

	// Method, MethodReturn: Addr is where its code is in the process now, 0 if it has none yet; Start tells methods apart.

	// Watchpoint.
	WatchLen  int
	WatchMode string // r, w, x combined

	// Tracepoint "category"/"event", RawTracepoint event, Kprobe/Fentry function, Iter target, Self signal name.
	Category, Event string

	Scope *Scope
}

// Frame is the place of a return address: Offset bytes behind what the register has, which is a DWARF number.
type Frame struct {
	Reg    int
	Offset int64
}

// FileID is what a file is, and whether it was written to since. The zero FileID is not known.
type FileID struct {
	Dev, Inode    uint64
	Size, Changed int64 // in nanoseconds since 1970
}

// FunctionStart is the address of the first instruction of the function that the point is the entry of or returns from.
func (p *Point) FunctionStart() uint64 {
	if p.Start != 0 {
		return p.Start
	}
	return p.Addr - uint64(p.Skip)
}

// Keeps tells whether the place of a return's result is only known at the entry.
func (p *Point) Keeps() bool {
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
	if s.Retval == nil {
		return false
	}
	t := s.Retval.Type
	return t.Kind == types.Struct && t.Size == 0 && t.Name == NoResults
}

// Locals are those of a scope's variables that are no parameters; first is the number of the first.
func (s *Scope) Locals() (vars []Var, first int) {
	first = len(s.Args)
	for first > 0 && s.Args[first-1].Local {
		first--
	}
	return s.Args[first:], first
}

// NoResults names the type of what a function returns that returns nothing.
const NoResults = "results"

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
	// Entries, where Needs.Duration asks for them, are the entries of the functions that Points are the returns of.
	Entries []*Point
}

// ErrAmbiguous is returned for a name that means several things.
var ErrAmbiguous = errors.New("it has several values")

// ErrSeveral tells that a name is that of several variables.
var ErrSeveral = errors.New("there are several variables of that name")

// ErrUnavailable tells that a variable of a name has no value that can be read.
var ErrUnavailable = errors.New("it is not available")

// Clone is a copy of the scope that may be changed: an empty one of nil.
func (s *Scope) Clone() *Scope {
	if s == nil {
		return &Scope{}
	}
	c := *s
	return &c
}

// MaxArgN is for how many arguments by position it is said why they are not available.
const MaxArgN = 10

// NoArgN are arguments by position that are not available, for the same reason.
func NoArgN(why string) (places []types.Place) {
	for range MaxArgN {
		places = append(places, types.Unknown("%s", why))
	}
	return places
}
