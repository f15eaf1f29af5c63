package types

// Place says where a value is at a probe point, in a form from which code can be made: a register, memory at
// register+offset, a fixed value, or pieces of these.
type Place struct {
	Kind   PlaceKind
	Reg    int     // DWARF register number of the CPU (amd64: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15 r8-r15, 16 rip)
	Offset int64   // InMemory: added to the register
	Derefs []int64 // InMemory: for each, read a pointer at the address so far, then add this
	Value  uint64  // Constant
	Pieces []Piece // Pieces: one after the other
	Why    string  // Unavailable: the reason, for people
}

// PlaceKind is the form of a Place.
type PlaceKind uint8

// Forms.
const (
	Unavailable PlaceKind = iota
	InRegister            // the value is the register
	InMemory              // the value is in the process's memory
	Constant
	InPieces
)

// Piece is a part of a value.
type Piece struct {
	Size  int
	Place Place
}
