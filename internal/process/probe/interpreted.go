package probe

// Interpreted tells the calls of one function of many that an interpreter executes at the same place. Offsets are in
// bytes, addresses those of the process.
type Interpreted struct {
	Frame int // the register that has the address of the call's frame, by its DWARF number
	// Code and At are where the frame has the address of the function's code and what was executed last, Marks where the
	// code has words by which it differs from code that comes to lie there later.
	Code, At int
	Marks    []int
	// OfCode, OfMarks and Begin are what must be there when the function begins; Begin is 0 where it ends.
	OfCode  uint64
	OfMarks []uint64
	Begin   uint64
	// Version is where the process has a number that must be the same as that at Made of the code: else the instruction is
	// executed anew. 0: it is not.
	Version uint64
	Made    int
	// Lock is where the process has the address of the lock that the thread has which executes the instruction. The lock
	// has the thread's at Holder, and that a number at Tracing: while it is not 0, nothing is executed anew. 0: it is.
	Lock            uint64
	Holder, Tracing int
}
