package probe

// PythonStacks is how call stacks of Python functions are found in a process: where CPython keeps frames of its own,
// and in which part of its code they run. Offsets are in bytes, addresses those of the process.
type PythonStacks struct {
	// Loop are the parts of the main loop's code: a frame of it in a native stack stands for Python's frames, up to that
	// with which it was entered.
	Loop [][2]uint64
	// Main is where the address of the interpreter is, Threads where that has its first thread. A thread has the next one
	// at Next, at ID what its thread pointer is, and at Running its innermost frame, or with Indirect the address of what
	// has that at Indirect-1.
	Main              uint64
	Threads, Next, ID int
	Running, Indirect int
	// In a frame: its code object, what was executed last, its caller's frame, and a byte that is Mark in the frame with
	// which the main loop was entered; Shim: that is no function's.
	Code, Instruction, Previous, Entered int
	Mark                                 int64
	Shim                                 bool
	CodeType                             uint64
	// In a code object: its name and its file, the first line, the table of lines (a bytes object), and its first
	// instruction.
	Name, File, Line, Lines, Instructions int
	Text                                  int // in a text of ASCII: its characters
}
