package probe

// Call is how a call is told from all others that are open, in code where thread and stack pointer do not tell: that
// of a runtime which runs its tasks on any of its threads and moves their stacks. A register points to the record of
// the task that runs. Offsets are in bytes.
type Call struct {
	// Unknown is the reason for which calls cannot be told apart; the rest then means nothing. "": they can.
	Unknown string
	// Register has the address of the task's record, by its DWARF number.
	Register int
	// StackEnd is where in the record the end of the stack is. Its distance from the stack pointer stays when the stack is
	// moved.
	StackEnd int
	// Depth is how far the stack pointer is at the point below where it is at the function's entry.
	Depth int64
	// ID is where in the record the task's number is: 64 bits, 0 in the record of a thread, which runs the runtime's
	// own code.
	ID int
	// Thread and Current lead from a thread's record to that of the task it works for: where in the record the address
	// of the thread's data is, and where in these the address of the task's record, 0 if there is none.
	Thread, Current int
	// Tasks is what people and scripts call what runs.
	Tasks Tasks
}

// Tasks are what a runtime runs on threads.
type Tasks struct {
	Name  string // of one
	Short string // what is put in front of its number
	ID    string // the builtin that is its number
	Left  string // what else than a return leaves its calls
	Frame string // the builtin that is the place of a call's frame on its stack, which stays when the stack is moved
}
