// Package runtimes is the contract of languages whose code is not probed as C's is: because a runtime runs it on
// threads of its own choosing, moves its stacks, passes arguments in other registers, or makes code while the program
// runs.
//
// One package below this one knows one runtime. It is asked by matching (package match, whose list names all runtimes),
// while a run lasts for the types of values, and by nobody else: what it knows of a place goes into the place's
// probe.Point, as data.
package runtimes

import (
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// File is an opened program or library, as a runtime looks at it.
type File struct {
	Name   string // for messages
	Object *objfile.File
	PID    int // the process that it is looked at for, 0: none
	// Debug is its debug information, opened when it is first asked for.
	Debug func() (*debuginfo.Info, error)
}

// Runtime is a language's runtime.
type Runtime struct {
	Name string // of the language
	// NoDebug is how a program is built with the debug information that it lacks.
	NoDebug string
	// Functions reads the table of functions that the runtime has in its programs; nil: there is no such table.
	Functions objfile.TableReader
	// Open looks at a file; nil: the runtime has no code in it. It must be cheap for files of others.
	Open func(File) Code
	// Inside looks for the runtime in a process; nil: it is not there. The field may be nil.
	Inside func(pid int) Process
	// Parks is the function in which what waits for a lock does so without a thread that waits in the kernel, as the
	// runtime schedules by itself; its first argument is the word that is waited for. "": there is none.
	Parks string
	// Waits are functions in the stacks of what waits. The field may be nil.
	Waits []Wait
	// Renews: it compiles functions anew that are in files, and runs that code instead.
	Renews bool
	// Types names the types of objects in a process; nil: that cannot be. The field may be nil.
	Types func(pid int) Types
	// Methods opens what makes code in a process; nil without an error: it is not there. The field may be nil.
	Methods func(pid int) (Methods, error)
	// Readable makes of a name that the runtime has written to a perf map what people read; ok is false for names of
	// others. The field may be nil.
	Readable func(name string) (text string, ok bool)
}

// Wait is a function that tells, in the stack of a thread or task that waits, what it waits for.
type Wait struct {
	Function string // its name; with a "*" at one end, of several
	Kind     string // as package flame has them
	// Own: it is part of a lock of the runtime's own, which is made of what other functions tell.
	Own bool
}

// Types names types of objects by the addresses of the types' descriptions in the process.
type Types interface {
	Name(addr uint64) (name string, ok bool)
	Close() error
}

// Code is what of a file a runtime runs. Addresses are the file's own. Methods are not called concurrently.
type Code interface {
	// At tells whether the code at an address was made by the runtime's compiler.
	At(addr uint64) bool
	// Owns tells whether it was made by that or by the runtime's assembler. Such code has jumps to computed places for
	// switches only, and no parts that lie elsewhere.
	Owns(addr uint64) bool
	// Site is the distance of the instruction to probe from a function's entry, by its first instructions.
	Site(text []byte) int
	// Numbered tells whether arg0, arg1 … are parameters by their number, so that their types are needed.
	Numbered() bool
	// Assembly is the scope of a function in the runtime's assembly, which may have its arguments anywhere; nil: it is
	// none.
	Assembly(addr uint64) *probe.Scope
	// Call is how calls of the code at an address are told apart; nil: by thread and stack pointer, as in C. With exact,
	// debug information is opened for it.
	Call(addr uint64, exact bool) *probe.Call
	// NoReturn tells why the return of a function cannot be seen; nil: at the instructions that return. It is asked for
	// every function of the file: return addresses may not be replaced where the runtime walks or moves stacks.
	NoReturn(fn *objfile.Func) *probe.Refusal
	// Exits are the places where the return of a function is probed, if that is not each instruction that returns (nil).
	Exits(fn *objfile.Func) ([]Exit, *probe.Refusal)
	// Inside tells why a place inside of the function at start must not be probed; nil: it may be.
	Inside(start, addr uint64) *probe.Refusal
	// Result is what is known where a function returns; nil: nothing.
	Result(fn *objfile.Func) *probe.Scope

	// Entry gives a function's entry the arguments that the program tells of without debug information.
	Entry(entry uint64, p *probe.Point)
	// Ruled tells whether the calling convention places all arguments of a function that debug information knows.
	Ruled(fn *debuginfo.Function) bool
	// Arguments places the arguments of such a function, in the point's scope, by the calling convention.
	Arguments(fn *debuginfo.Function, p *probe.Point)

	// Declaration is a function as its source might have it, without debug information.
	Declaration(entry uint64) (Declaration, bool)
	// TypeNamed finds a type without debug information.
	TypeNamed(name string) (*types.Type, bool)
	// Copies are the places where a function was inlined, without debug information. Those without ranges have no code.
	Copies(name string) []Copy
	// Dynamic is the type that has its description at an address, as the program's values refer to it.
	Dynamic(addr uint64) (*types.Type, bool)
}

// MadeCode is a Code whose functions are compiled while the program runs.
type MadeCode interface {
	Code
	// Made are the functions that a query fits.
	Made(q *objfile.Query) []MadeMethod
	// MadeScope is what is known where such code of a function begins, or returns.
	MadeScope(number uint32, atReturn bool) *probe.Scope
}

// Unnumbered is behind the addresses that files have: the numbers of functions without code in the file begin there.
const Unnumbered = 1 << 48

// MadeMethod is a function that is compiled while the program runs.
type MadeMethod struct {
	Number uint32 // in its file
	Name   string
	Ahead  uint64 // where the file has code of it; 0: nowhere
	Made   *probe.Made
}

// Exit is a place where a function is left.
type Exit struct {
	Addr  uint64
	Frame probe.Frame
	Tail  bool // it goes on in another function, which returns in its place
}

// Declaration is a function as people read it.
type Declaration struct {
	Text   string
	Params []string // as declarations; what cannot be told stands there with the reason
	File   string
	Line   int
	// Copies counts the places where it was inlined, for which the whole file may have to be read; nil: it is not known.
	Copies func() int
}

// Copy is a place where a function was inlined.
type Copy struct {
	Outer  uint64 // address of the function that it is in
	Ranges []debuginfo.Range
}
