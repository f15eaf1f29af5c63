package types

import "fmt"

// RegClass is the class of an eightbyte by the System V ABI for amd64 (3.2.3).
type RegClass uint8

// Classes. Values of X87Class are passed in memory, and returned in a register of the floating-point unit.
const (
	NoClass RegClass = iota
	IntegerClass
	SSEClass
	SSEUpClass // the upper half of a vector register
	X87Class
	X87UpClass
)

// ByAddress tells whether values of a class of C++ are passed and returned by address, as it is not trivial to copy or
// destroy them (Itanium C++ ABI, 3.1.1).
func (t *Type) ByAddress() bool {
	t = t.Complete()
	return t != nil && t.Source != nil && (t.Source.InMemory || len(t.Source.VBases) > 0)
}

// Classify gives the classes of the one or two eightbytes of a value that is passed or returned by the System V ABI;
// nil: in memory.
func (t *Type) Classify() []RegClass {
	t = t.Complete()
	if t == nil || t.Size == 0 || t.Incomplete || t.ByAddress() {
		return nil
	}
	if t.Form() == VectorForm {
		// One register, of 128, 256 or 512 bits.
		classes := []RegClass{SSEClass}
		for len(classes) < t.Size/8 {
			classes = append(classes, SSEUpClass)
		}
		return classes
	}
	if t.Size > 16 {
		return nil
	}
	classes := make([]RegClass, (t.Size+7)/8)
	if !t.classify(0, classes, 0) {
		return nil
	}
	for i, c := range classes {
		switch c {
		case X87UpClass:
			if i == 0 || classes[i-1] != X87Class {
				return nil
			}
		case SSEUpClass:
			if i == 0 || classes[i-1] != SSEClass {
				classes[i] = SSEClass
			}
		}
	}
	return classes
}

// classify merges the classes of t at an offset; false: in memory.
func (t *Type) classify(off int, classes []RegClass, depth int) bool {
	t = t.Complete()
	if depth > 16 || t.Incomplete {
		return false
	}
	put := func(at int, c RegClass) bool {
		i := at / 8
		if i >= len(classes) {
			return false
		}
		switch old := classes[i]; {
		case old == c, c == NoClass:
		case old == NoClass:
			classes[i] = c
		case old == IntegerClass || c == IntegerClass:
			classes[i] = IntegerClass
		case old == X87Class || old == X87UpClass || c == X87Class || c == X87UpClass:
			return false
		default:
			classes[i] = SSEClass
		}
		return true
	}
	set := func(list ...RegClass) bool {
		if t.Align > 1 && off%t.Align != 0 {
			return false // unaligned members go to memory
		}
		for at := off; at < off+t.Size; at += 8 {
			c := list[min((at-off)/8, len(list)-1)]
			if !put(at, c) {
				return false
			}
		}
		return true
	}
	switch t.Kind {
	case Bool, Int, Enum, Pointer:
		return set(IntegerClass)
	case Float:
		switch {
		case t.Size <= 8:
			return set(SSEClass)
		case t.Size == 16 && t.IsQuad():
			return set(SSEClass, SSEUpClass)
		}
		return set(X87Class, X87UpClass)
	case Array:
		if t.Form() == VectorForm {
			return set(SSEClass, SSEUpClass)
		}
		for i := range max(t.Len, 0) {
			if !t.Elem.classify(off+i*t.Elem.Size, classes, depth+1) {
				return false
			}
		}
		return true
	case Struct, Union:
		if t.Source != nil && (len(t.Source.VBases) > 0 || t.Source.Variants != nil || t.Source.InMemory) {
			return false
		}
		for _, f := range t.Fields {
			if f.Artificial {
				return false // a virtual table: not trivially copyable
			}
			if f.BitSize > 0 {
				if !put(off+f.Offset+f.BitOffset/8, IntegerClass) || !put(off+f.Offset+(f.BitOffset+f.BitSize-1)/8, IntegerClass) {
					return false
				}
				continue
			}
			if f.Type == nil {
				return false
			}
			if f.Type.Size == 0 || f.Base && f.Type.Empty() {
				continue // an empty base
			}
			if !f.Type.classify(off+f.Offset, classes, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// IsQuad tells a floating-point number of IEEE 754's 128-bit format from x87's, which takes as many bytes.
func (t *Type) IsQuad() bool {
	return t.Name == "__float128" || t.Name == "_Float128" || t.Name == "f128"
}

// Empty tells whether a structure has no member. Such values are not passed at all.
func (t *Type) Empty() bool {
	t = t.Complete()
	if t == nil || t.Kind != Struct && t.Kind != Union || t.Incomplete || t.Alternatives() != nil {
		return false
	}
	for _, f := range t.Fields {
		if f.BitSize > 0 || f.Artificial || f.Type == nil || !f.Type.Empty() {
			return false
		}
	}
	return len(t.sourceVBases()) == 0
}

func (t *Type) sourceVBases() []*Type {
	if t.Source == nil {
		return nil
	}
	return t.Source.VBases
}

// cSequence assigns places to the arguments of a C or C++ function in order.
type cSequence struct {
	ints, floats, stack int
}

const (
	cFloats = 8 // xmm0 to xmm7
	cFrame  = 8 // from the stack pointer at the entry, which points at the return address, to the arguments
)

// cIntegers are the argument registers by DWARF number: RDI RSI RDX RCX R8 R9.
var cIntegers = [...]int{5, 4, 1, 2, 8, 9}

// CPlaces gives the places of the arguments of a C or C++ function at its entry on amd64 (System V ABI, 3.2.3; Itanium C++
// ABI, 3.1): of the hidden pointer to the result first, then of `this` and the others. A place is nil for a value of a type
// that is not known in full; then those behind it are as well.
func CPlaces(args []*Type, result *Type) []*Place {
	var s cSequence
	places := make([]*Place, len(args))
	if result = result.Complete(); result != nil && result.Kind != Void {
		known, memory := result.returned()
		if !known {
			return places
		}
		if memory {
			s.ints++
		}
	}
	for i, t := range args {
		if places[i] = s.place(t.Complete()); places[i] == nil {
			break
		}
	}
	return places
}

// wideVector tells a vector of more than 128 bits, or a structure of one: it is in a register only where the compiler was
// told that the CPU has such.
func (t *Type) wideVector() bool {
	for range 16 {
		t = t.Complete()
		switch {
		case t == nil || t.Size <= 16:
			return false
		case t.Form() == VectorForm:
			return true
		case t.Kind == Struct && len(t.Fields) == 1:
			t = t.Fields[0].Type
		case t.Kind == Array && t.Len == 1:
			t = t.Elem
		default:
			return false
		}
	}
	return false
}

// returned tells whether a value is returned in memory.
func (t *Type) returned() (known, memory bool) {
	switch {
	case t.Incomplete || t.Size == 0 && t.Kind != Struct:
		return false, false
	case t.ByAddress():
		return true, true
	case t.Form() == ComplexForm:
		return true, false
	case t.Empty():
		return true, false
	case t.wideVector():
		return false, false
	case t.Form() == VectorForm:
		return true, false
	}
	return true, t.Classify() == nil
}

// CResult is the place of a function's result where it returns.
func CResult(t *Type) Place {
	t = t.Complete()
	if t == nil {
		return Place{Why: "the type of the result is not known"}
	}
	xmm := func(n int) string { return fmt.Sprintf("in xmm%d, which BPF cannot read", n) }
	known, memory := t.returned()
	switch {
	case !known:
		return Place{Why: fmt.Sprintf("where a result of type %s is returned is not known", t)}
	case memory:
		return Place{Kind: InMemory, Reg: 0} // the caller's; its address is returned
	case t.Empty():
		return Place{Kind: InPieces, Pieces: []Piece{padding(t.Size)}}
	}
	classes := t.Classify()
	switch {
	case t.Form() == ComplexForm && t.Size > 16, classes != nil && classes[0] == X87Class:
		return Place{Why: "in a register of the floating-point unit (st0), which BPF cannot read"}
	case t.Form() == VectorForm, t.Kind == Float:
		return Place{Why: xmm(0)}
	case t.Form() == ComplexForm && t.Size == 8:
		return Place{Why: xmm(0)}
	case t.IsScalar():
		return Place{Kind: InRegister, Reg: 0}
	}
	integer := [...]int{0, 1} // rax, rdx
	ints, floats := 0, 0
	p := Place{Kind: InPieces}
	for i, c := range classes {
		piece := Piece{Size: min(8, t.Size-8*i)}
		switch c {
		case IntegerClass:
			piece.Place = Place{Kind: InRegister, Reg: integer[ints]}
			ints++
		case NoClass:
			piece.Place = Place{Kind: Constant}
		default:
			piece.Place = Place{Why: xmm(floats)}
			floats++
		}
		p.Pieces = append(p.Pieces, piece)
	}
	return p
}

// place assigns one argument.
func (s *cSequence) place(t *Type) *Place {
	if t == nil || t.Incomplete {
		return nil
	}
	switch {
	case t.ByAddress():
		if s.ints < len(cIntegers) {
			s.ints++
			return &Place{Kind: InMemory, Reg: cIntegers[s.ints-1]}
		}
		p := s.onStack(8, 8)
		p.Derefs = []int64{0}
		return p
	case t.Empty():
		return &Place{Kind: InPieces, Pieces: []Piece{padding(t.Size)}}
	case t.Size == 0, t.wideVector():
		return nil
	}
	var classes []RegClass
	if t.Form() == ComplexForm {
		switch t.Size {
		case 8:
			classes = []RegClass{SSEClass}
		case 16:
			classes = []RegClass{SSEClass, SSEClass}
		}
	} else {
		classes = t.Classify()
	}
	ints, floats := 0, 0
	for _, c := range classes {
		switch c {
		case IntegerClass:
			ints++
		case SSEClass:
			floats++
		case X87Class:
			return s.onStack(t.Size, t.Align)
		}
	}
	if classes == nil || s.ints+ints > len(cIntegers) || s.floats+floats > cFloats {
		return s.onStack(t.Size, t.Align)
	}
	p := Place{Kind: InPieces}
	for i, c := range classes {
		piece := Piece{Size: min(8, t.Size-8*i)}
		switch c {
		case IntegerClass:
			piece.Place = Place{Kind: InRegister, Reg: cIntegers[s.ints]}
			s.ints++
		case SSEClass:
			piece.Place = Place{Why: fmt.Sprintf("in xmm%d, which BPF cannot read", s.floats)}
			s.floats++
		case NoClass:
			piece.Place = Place{Kind: Constant}
		default:
			piece.Place = Place{Why: fmt.Sprintf("in xmm%d, which BPF cannot read", s.floats-1)}
		}
		p.Pieces = append(p.Pieces, piece)
	}
	if len(p.Pieces) == 1 {
		return &p.Pieces[0].Place
	}
	if ints == 0 && t.Kind != Struct && t.Kind != Union {
		return &p.Pieces[0].Place
	}
	return &p
}

// onStack assigns memory on the stack, in eightbytes.
func (s *cSequence) onStack(size, align int) *Place {
	if align > 8 {
		s.stack = (s.stack + align - 1) / align * align
	}
	at := s.stack
	s.stack += (size + 7) &^ 7
	return &Place{Kind: InMemory, Reg: amd64RSP, Offset: int64(cFrame + at)}
}

// Slice is the part of a value's place that begins at off and has size bytes. A part that is not available does not
// take the others away.
func (p Place) Slice(off, size int) Place {
	switch p.Kind {
	case InMemory:
		if len(p.Ops) > 0 {
			p.Ops = append(append([]PlaceOp(nil), p.Ops...), PlaceOp{Code: PushConst, Arg: int64(off)}, PlaceOp{Code: Add})
			return p
		}
		if n := len(p.Derefs); n > 0 {
			p.Derefs = append([]int64(nil), p.Derefs...)
			p.Derefs[n-1] += int64(off)
			return p
		}
		p.Offset += int64(off)
		return p
	case InPieces:
		out := Place{Kind: InPieces}
		at := 0
		for _, piece := range p.Pieces {
			lo, hi := max(off, at), min(off+size, at+piece.Size)
			if lo < hi {
				sub := piece.Place
				if lo != at || hi != at+piece.Size {
					sub = sub.Slice(lo-at, hi-lo)
				}
				if lo == off && hi == off+size {
					return sub
				}
				out.Pieces = append(out.Pieces, Piece{Size: hi - lo, Place: sub})
			}
			at += piece.Size
		}
		if at < off+size {
			return Place{Why: "its place is not told in full"}
		}
		return out
	case InRegister:
		if off == 0 {
			return p
		}
		return Place{Kind: Computed, Ops: []PlaceOp{{Code: PushReg, Reg: p.Reg}, {Code: PushConst, Arg: int64(8 * off)}, {Code: ShrUnsigned}}}
	case Constant:
		p.Value >>= 8 * uint(off&7)
		return p
	case Computed:
		if off == 0 {
			return p
		}
		return Place{Kind: Computed, Ops: append(p.Steps(), PlaceOp{Code: PushConst, Arg: int64(8 * off)}, PlaceOp{Code: ShrUnsigned})}
	}
	return p
}
