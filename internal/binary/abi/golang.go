package abi

import "trocar/internal/binary/types"

// Go's calling convention (ABIInternal, src/cmd/compile/abi-internal.md of the Go source): a value is passed in
// registers, each part of it in the next free one of its class, or on the stack if not all of its parts get one. The
// registers begin anew for the results.

// GoConvention is Go's calling convention on a CPU. Of a nil one nothing is known.
type GoConvention struct {
	Integers []int // the integer registers in order, by DWARF numbers
	Floats   int   // how many floating-point registers there are
	// Frame is the distance from the stack pointer, where it points at the return address, to the arguments.
	Frame int
	SP    int // the stack pointer, by its DWARF number
	G     int // what points to the running goroutine's g, by its DWARF number
}

// goAMD64 is that of amd64: rax rbx rcx rdi rsi r8 r9 r10 r11, X0 to X14, and g in r14.
var goAMD64 = GoConvention{Integers: []int{0, 3, 2, 5, 4, 8, 9, 10, 11}, Floats: 15, Frame: 8, SP: rsp, G: 14}

// Go is Go's calling convention; nil if it is not known.
func (a *Arch) Go() *GoConvention {
	if a == nil || a.Name != "amd64" {
		return nil
	}
	return &goAMD64
}

// OwnIntegers are the registers of integers, arguments or results, in order, of code that a runtime runs by a
// convention of its own.
func (a *Arch) OwnIntegers() []int {
	if g := a.Go(); g != nil {
		return g.Integers
	}
	return nil
}

// goSequence assigns places to values in order.
type goSequence struct {
	*GoConvention
	ints, floats int
	stack        int
	abi0         bool // everything is on the stack
}

// Places gives the places of a Go function's arguments (the receiver first) at its entry, and of its results where it
// returns; the stack pointer points at the return address in both. With abi0 the function follows the older convention
// of assembly, which passes all on the stack. A place is nil for a value of a type that is not known in full; then
// those behind it are as well.
func (g *GoConvention) Places(args, results []*types.Type, abi0 bool) (in, out []*types.Place) {
	if g == nil {
		return make([]*types.Place, len(args)), make([]*types.Place, len(results))
	}
	s := goSequence{GoConvention: g, abi0: abi0}
	known := true
	in, known = s.assign(args, known)
	s.stack = (s.stack + 7) &^ 7
	s.ints, s.floats = 0, 0
	out, _ = s.assign(results, known)
	return in, out
}

func (s *goSequence) assign(list []*types.Type, known bool) ([]*types.Place, bool) {
	places := make([]*types.Place, len(list))
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
func (s *goSequence) place(t *types.Type) *types.Place {
	before := *s
	p := types.Place{Kind: types.InPieces}
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
	return &types.Place{Kind: types.InMemory, Reg: s.SP, Offset: int64(s.Frame + at)}
}

// alignment is a type's, also where that of its elements was not known when it was made.
func alignment(t *types.Type, depth int) int {
	t = t.Complete()
	if t.Kind == types.Array && t.Elem != nil && depth < 64 {
		return alignment(t.Elem, depth+1)
	}
	return t.Align
}

// parts assigns the parts of a value that begins at an offset of the whole; false if not all get a register.
func (s *goSequence) parts(t *types.Type, at int, p *types.Place, depth int) bool {
	t = t.Complete()
	if depth > 64 || t == nil || t.Incomplete {
		return false
	}
	if t.Size == 0 {
		return true
	}
	switch t.Kind {
	case types.Struct:
		for _, f := range t.Fields {
			if !s.parts(f.Type, at+f.Offset, p, depth+1) {
				return false
			}
		}
		return true
	case types.Array:
		switch t.Len {
		case 0:
			return true
		case 1:
			return s.parts(t.Elem, at, p, depth+1)
		}
		return false
	case types.Float:
		if s.floats == s.Floats {
			return false
		}
		s.floats++
		put(p, at, t.Size, types.Place{Why: "it is in a floating-point register, which BPF cannot read", Vector: s.floats})
		return true
	case types.Bool, types.Int, types.Enum, types.Pointer, types.Func:
		if t.Size > 8 || s.ints == len(s.Integers) {
			return false
		}
		put(p, at, t.Size, types.Place{Kind: types.InRegister, Reg: s.Integers[s.ints]})
		s.ints++
		return true
	}
	return false
}

// put appends a piece at an offset.
func put(p *types.Place, at, size int, place types.Place) {
	if gap := at - pieceBytes(p.Pieces); gap > 0 {
		p.Pieces = append(p.Pieces, padding(gap))
	}
	p.Pieces = append(p.Pieces, types.Piece{Size: size, Place: place})
}

// padding stands for bytes without a value.
func padding(n int) types.Piece {
	return types.Piece{Size: n, Place: types.Place{Kind: types.Constant}}
}

func pieceBytes(pieces []types.Piece) (n int) {
	for i := range pieces {
		n += pieces[i].Size
	}
	return n
}
