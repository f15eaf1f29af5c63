package types

// Go's calling convention (ABIInternal, src/cmd/compile/abi-internal.md of the Go source; amd64): a value is passed in
// registers, each part of it in the next free one of its class, or on the stack if not all of its parts get one. The
// registers begin anew for the results.

// goIntegers are the integer registers by DWARF number: RAX RBX RCX RDI RSI R8 R9 R10 R11.
var goIntegers = [...]int{0, 3, 2, 5, 4, 8, 9, 10, 11}

const (
	goFloats = 15 // X0 to X14
	// goFrame is the distance from the stack pointer, where it points at the return address, to the arguments.
	goFrame  = 8
	amd64RSP = 7
)

// goSequence assigns places to values in order.
type goSequence struct {
	ints, floats int
	stack        int
	abi0         bool // everything is on the stack
}

// GoPlaces gives the places of a Go function's arguments (the receiver first) at its entry, and of its results where it
// returns; the stack pointer points at the return address in both. With abi0 the function follows the older convention
// of assembly, which passes all on the stack. A place is nil for a value of a type that is not known in full; then those
// behind it are as well.
func GoPlaces(args, results []*Type, abi0 bool) (in, out []*Place) {
	s := goSequence{abi0: abi0}
	known := true
	in, known = s.assign(args, known)
	s.stack = (s.stack + 7) &^ 7
	s.ints, s.floats = 0, 0
	out, _ = s.assign(results, known)
	return in, out
}

func (s *goSequence) assign(list []*Type, known bool) ([]*Place, bool) {
	places := make([]*Place, len(list))
	for i, t := range list {
		t = t.Complete()
		if !known || t == nil || t.Incomplete || t.Align <= 0 && t.Size > 0 {
			known = false
			continue
		}
		places[i] = s.place(t)
	}
	return places, known
}

// place assigns one value.
func (s *goSequence) place(t *Type) *Place {
	before := *s
	p := Place{Kind: InPieces}
	if !s.abi0 && t.Size > 0 {
		if ok := s.parts(t, 0, &p, 0); ok {
			if len(p.Pieces) == 1 && p.Pieces[0].Size == t.Size {
				return &p.Pieces[0].Place
			}
			if pad := t.Size - pieceBytes(p.Pieces); pad > 0 {
				p.Pieces = append(p.Pieces, padding(pad))
			}
			return &p
		}
		*s = before
	}
	if a := alignment(t, 0); a > 1 {
		s.stack = (s.stack + a - 1) / a * a
	}
	at := s.stack
	s.stack += t.Size
	return &Place{Kind: InMemory, Reg: amd64RSP, Offset: int64(goFrame + at)}
}

// alignment is a type's, also where that of its elements was not known when it was made.
func alignment(t *Type, depth int) int {
	t = t.Complete()
	if t.Kind == Array && t.Elem != nil && depth < 64 {
		return alignment(t.Elem, depth+1)
	}
	return t.Align
}

// parts assigns the parts of a value that begins at an offset of the whole; false if not all get a register.
func (s *goSequence) parts(t *Type, at int, p *Place, depth int) bool {
	t = t.Complete()
	if depth > 64 || t == nil || t.Incomplete {
		return false
	}
	if t.Size == 0 {
		return true
	}
	switch t.Kind {
	case Struct:
		for _, f := range t.Fields {
			if !s.parts(f.Type, at+f.Offset, p, depth+1) {
				return false
			}
		}
		return true
	case Array:
		switch t.Len {
		case 0:
			return true
		case 1:
			return s.parts(t.Elem, at, p, depth+1)
		}
		return false
	case Float:
		if s.floats == goFloats {
			return false
		}
		p.put(at, t.Size, Place{Kind: Unavailable, Why: "it is in a floating-point register, which BPF cannot read"})
		s.floats++
		return true
	case Bool, Int, Enum, Pointer, Func:
		if t.Size > 8 || s.ints == len(goIntegers) {
			return false
		}
		p.put(at, t.Size, Place{Kind: InRegister, Reg: goIntegers[s.ints]})
		s.ints++
		return true
	}
	return false
}

// put appends a piece at an offset.
func (p *Place) put(at, size int, place Place) {
	if gap := at - pieceBytes(p.Pieces); gap > 0 {
		p.Pieces = append(p.Pieces, padding(gap))
	}
	p.Pieces = append(p.Pieces, Piece{Size: size, Place: place})
}

// padding stands for bytes without a value.
func padding(n int) Piece { return Piece{Size: n, Place: Place{Kind: Constant}} }

func pieceBytes(pieces []Piece) (n int) {
	for i := range pieces {
		n += pieces[i].Size
	}
	return n
}
