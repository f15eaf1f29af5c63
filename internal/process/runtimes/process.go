package runtimes

import (
	"strings"

	"trocar/internal/process/probe"
)

// Process is a runtime at work in a process. Its methods are not called concurrently.
type Process interface {
	About() About
	// Names has the runtime write the names of the code that it has made to the perf map of the process, anew each time;
	// it does nothing where the runtime does that by itself, or cannot. It takes two seconds at most. An error says why
	// names are missing.
	Names() error
	// Close takes back what Names has left.
	Close() error
}

// About is what is to be said of a runtime in a process.
type About struct {
	Version string // "": it is not known
	// Has is what can be had of it as it was started, Lacks what cannot, with the way out.
	Has, Lacks []string
	// Stacks is why call stacks lack frames or names of the runtime's functions, with the way out; "": they do not.
	Stacks string
}

// Maker is a Process whose runtime makes code while it runs, and writes notes of it.
type Maker interface {
	Process
	// Notes calls fn with the notes that were written since the last call. Names comes before.
	Notes(fn func(Note)) error
	// Note reads one as it is written; ok is false for what tells of no function's code.
	Note(line string) (b Note, ok bool)
	// Writes is the number of the file, in the process, that notes are written to.
	Writes() (fd int, ok bool)
	// Compiler is the function that compiles.
	Compiler() (*probe.Compiler, error)
	// Mapped is where a place of a file is in the memory of the process.
	Mapped(file string, off uint64) []uint64
}

// Note tells of the code of one function, or of one instance of it, that was made.
type Note struct {
	Addr, Size uint64
	Keys       []string // of its function, the one that tells most first; see probe.Made
	Name       string   // with what instance it is of
	Tier       string   // how it was compiled, in the runtime's words
	Rank       int      // of several of one name that there are, that with the highest is run
}

// WithoutTypes is the name of a method without the arguments of its own type parameters, which stand at its end: others
// are in the names of interfaces, and names that a compiler makes begin like that.
func WithoutTypes(name string) string {
	depth := 0
	for i := len(name) - 1; i > 0 && strings.HasSuffix(name, ">"); i-- {
		switch name[i] {
		case '>':
			depth++
		case '<':
			if depth--; depth == 0 {
				return name[:i]
			}
		}
	}
	return name
}

// NotEntered is the rank of code that calls do not begin with: it goes on where a loop of other code was.
const NotEntered = -1
