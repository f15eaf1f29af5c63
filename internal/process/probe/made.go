package probe

// Made tells the code that a runtime makes of one function. It lies in memory of no file, where the kernel places no
// uprobes: hardware breakpoints are put on it, and follow it when it is made anew.
type Made struct {
	// Keys are those of the runtime's notes of code (runtimes.Note) that is this function's.
	Keys []string
	// Several: code of several instances bears the same names, so that none of it takes the place of another.
	Several bool
	// Result: what a return gives is asked for, which is not known where it goes on in another function.
	Result bool
	// Inlined: callers may have it in their code. Then these calls are not seen.
	Inlined bool
	Func    string // the name for messages
	// Source is where the file has what the function is compiled from; 0: it is not known.
	Source uint64
}

// Compiler is the function with which a runtime compiles. By its end it is known where the code will be, of which the
// program knows later.
type Compiler struct {
	Entry   *Point
	Returns []*Point
	// Of its arguments, by number: Request points to what is asked for, in which the address of what is compiled is at
	// SourceAt; Code and Size point to where it puts the address of the code, and its size in 4 bytes.
	Request, SourceAt, Code, Size int
}

// Program is the type of BPF program that runs at the point.
func (p *Point) Program() ProgramType {
	if p.Made != nil {
		return BreakProgram
	}
	return p.Kind.Traits().Program
}

// BreaksName is the map that has what stands for the cookies of a program's breakpoints, by their addresses, and behind
// that how often the program has run there.
func BreaksName(program string) string { return program + "at" }

// MostBreaks is how many addresses that has: breakpoints are few, and code is made anew.
const MostBreaks = 4096
