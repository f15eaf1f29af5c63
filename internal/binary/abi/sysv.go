package abi

import (
	"fmt"
	"slices"

	"trocar/internal/binary/types"
)

// regClass is the class of an eightbyte by the System V ABI for amd64 (3.2.3).
type regClass uint8

// Classes. Values of x87Class are passed in memory, and returned in a register of the floating-point unit.
const (
	noClass regClass = iota
	integerClass
	sseClass
	sseUpClass // the upper half of a vector register
	x87Class
	x87UpClass
)

// classesOf gives the classes of the one or two eightbytes of a value that is passed or returned by the System V ABI;
// nil: in memory.
func classesOf(t *types.Type) []regClass {
	t = t.Complete()
	if t == nil || t.Size == 0 || t.Incomplete || t.ByAddress() {
		return nil
	}
	if t.Form() == types.VectorForm {
		// One register, of 128, 256 or 512 bits.
		classes := []regClass{sseClass}
		for len(classes) < t.Size/8 {
			classes = append(classes, sseUpClass)
		}
		return classes
	}
	if t.Size > 16 {
		return nil
	}
	classes := make([]regClass, (t.Size+7)/8)
	if !classify(t, 0, classes, 0) {
		return nil
	}
	for i, c := range classes {
		switch c {
		case x87UpClass:
			if i == 0 || classes[i-1] != x87Class {
				return nil
			}
		case sseUpClass:
			if i == 0 || classes[i-1] != sseClass {
				classes[i] = sseClass
			}
		}
	}
	return classes
}

// classify merges the classes of t at an offset; false: in memory.
func classify(t *types.Type, off int, classes []regClass, depth int) bool {
	t = t.Complete()
	if depth > 16 || t.Incomplete {
		return false
	}
	put := func(at int, c regClass) bool {
		i := at / 8
		if i >= len(classes) {
			return false
		}
		switch old := classes[i]; {
		case old == c, c == noClass:
		case old == noClass:
			classes[i] = c
		case old == integerClass || c == integerClass:
			classes[i] = integerClass
		case old == x87Class || old == x87UpClass || c == x87Class || c == x87UpClass:
			return false
		default:
			classes[i] = sseClass
		}
		return true
	}
	set := func(list ...regClass) bool {
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
	case types.Bool, types.Int, types.Enum, types.Pointer:
		return set(integerClass)
	case types.Float:
		switch {
		case t.Size <= 8:
			return set(sseClass)
		case t.Size == 16 && t.IsQuad():
			return set(sseClass, sseUpClass)
		}
		return set(x87Class, x87UpClass)
	case types.Array:
		if t.Form() == types.VectorForm {
			return set(sseClass, sseUpClass)
		}
		for i := range max(t.Len, 0) {
			if !classify(t.Elem, off+i*t.Elem.Size, classes, depth+1) {
				return false
			}
		}
		return true
	case types.Struct, types.Union:
		if t.Source != nil && (len(t.Source.VBases) > 0 || t.Source.Variants != nil || t.Source.InMemory) {
			return false
		}
		for _, f := range t.Fields {
			if f.Artificial {
				return false // a virtual table: not trivially copyable
			}
			if f.BitSize > 0 {
				first, last := f.BitOffset/8, (f.BitOffset+f.BitSize-1)/8
				if !put(off+f.Offset+first, integerClass) || !put(off+f.Offset+last, integerClass) {
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
			if !classify(f.Type, off+f.Offset, classes, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// cSequence assigns places to the arguments of a C or C++ function in order.
type cSequence struct {
	ints, floats, stack int
}

// DWARF's numbers of registers (psABI AMD64 supplement, figure 3.36).
const (
	rax = 0
	rdx = 1
	rsi = 4
	rdi = 5
	rbp = 6
	rsp = 7
	rip = 16
)

const (
	cFloats = 8 // xmm0 to xmm7
	cFrame  = 8 // from the stack pointer at the entry, which points at the return address, to the arguments
)

// cIntegers are the argument registers by DWARF number: RDI RSI RDX RCX R8 R9.
var cIntegers = [...]int{5, 4, 1, 2, 8, 9}

// cPlaces gives the places of the arguments of a C or C++ function at its entry on amd64 (System V ABI, 3.2.3; Itanium
// C++ ABI, 3.1): of the hidden pointer to the result first, then of `this` and the others. A place is nil for a value
// of a type that is not known in full; then those behind it are as well.
func cPlaces(args []*types.Type, result *types.Type) []*types.Place {
	var s cSequence
	places := make([]*types.Place, len(args))
	if result = result.Complete(); result != nil && result.Kind != types.Void {
		known, memory := returned(result)
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

// wideVector tells a vector of more than 128 bits, or a structure of one: it is in a register only where the compiler
// was told that the CPU has such.
func wideVector(t *types.Type) bool {
	for range 16 {
		t = t.Complete()
		switch {
		case t == nil || t.Size <= 16:
			return false
		case t.Form() == types.VectorForm:
			return true
		case t.Kind == types.Struct && len(t.Fields) == 1:
			t = t.Fields[0].Type
		case t.Kind == types.Array && t.Len == 1:
			t = t.Elem
		default:
			return false
		}
	}
	return false
}

// unclear tells a structure that may be passed in registers, but of which a part is of a type that is not known.
func unclear(t *types.Type, depth int) bool {
	t = t.Complete()
	switch {
	case t.Size > 16 || depth > 16:
		return false
	case t.Incomplete:
		return true
	case t.Kind == types.Array:
		return t.Elem != nil && unclear(t.Elem, depth+1)
	case t.Kind == types.Struct, t.Kind == types.Union:
		return slices.ContainsFunc(t.Fields, func(f types.Field) bool { return f.Type != nil && unclear(f.Type, depth+1) })
	}
	return false
}

// returned tells whether a value is returned in memory.
func returned(t *types.Type) (known, memory bool) {
	switch {
	case t.Incomplete || t.Size == 0 && t.Kind != types.Struct:
		return false, false
	case t.ByAddress():
		return true, true
	case t.Form() == types.ComplexForm:
		return true, false
	case t.Empty():
		return true, false
	case wideVector(t), unclear(t, 0):
		return false, false
	case t.Form() == types.VectorForm:
		return true, false
	}
	return true, classesOf(t) == nil
}

// cResult is the place of a function's result where it returns.
func cResult(t *types.Type) types.Place {
	known, memory := returned(t)
	switch {
	case !known:
		return types.Place{Why: fmt.Sprintf("where a result of type %s is returned is not known", t)}
	case memory:
		return types.Place{Kind: types.InMemory, Reg: 0} // the caller's; its address is returned
	case t.Empty():
		return types.Place{Kind: types.InPieces, Pieces: []types.Piece{padding(t.Size)}}
	}
	classes := classesOf(t)
	switch {
	case t.Form() == types.ComplexForm && t.Size > 16:
		return types.Unknown("in registers of the floating-point unit (st0, st1), which BPF cannot read")
	case classes != nil && classes[0] == x87Class:
		p := types.Unknown("in a register of the floating-point unit (st0), which BPF cannot read")
		p.Vector = 17
		return p
	case t.Form() == types.VectorForm, t.Kind == types.Float:
		return inXMM(0)
	case t.Form() == types.ComplexForm && t.Size == 8:
		return inXMM(0)
	case t.IsScalar():
		return types.Place{Kind: types.InRegister, Reg: 0}
	}
	integer := [...]int{0, 1} // rax, rdx
	ints, floats := 0, 0
	p := types.Place{Kind: types.InPieces}
	for i, c := range classes {
		piece := types.Piece{Size: min(8, t.Size-8*i)}
		switch c {
		case integerClass:
			piece.Place = types.Place{Kind: types.InRegister, Reg: integer[ints]}
			ints++
		case noClass:
			piece.Place = types.Place{Kind: types.Constant}
		case sseUpClass:
			p.Pieces[i-1].Size += piece.Size
			continue
		default:
			piece.Place = inXMM(floats)
			floats++
		}
		p.Pieces = append(p.Pieces, piece)
	}
	return p
}

// inXMM is the place of what is in the lower bytes of a vector register.
func inXMM(n int) types.Place {
	return types.Place{Why: fmt.Sprintf("in xmm%d, which BPF cannot read", n), Vector: n + 1}
}

// place assigns one argument.
func (s *cSequence) place(t *types.Type) *types.Place {
	if t == nil || t.Incomplete {
		return nil
	}
	switch {
	case t.ByAddress():
		if s.ints < len(cIntegers) {
			s.ints++
			return &types.Place{Kind: types.InMemory, Reg: cIntegers[s.ints-1]}
		}
		p := s.onStack(8)
		p.Derefs = []int64{0}
		return p
	case t.Empty():
		return &types.Place{Kind: types.InPieces, Pieces: []types.Piece{padding(t.Size)}}
	case t.Size == 0, wideVector(t), unclear(t, 0):
		return nil
	}
	var classes []regClass
	if t.Form() == types.ComplexForm {
		switch t.Size {
		case 8:
			classes = []regClass{sseClass}
		case 16:
			classes = []regClass{sseClass, sseClass}
		}
	} else {
		classes = classesOf(t)
	}
	ints, floats := 0, 0
	for _, c := range classes {
		switch c {
		case integerClass:
			ints++
		case sseClass:
			floats++
		case x87Class:
			return s.inStack(t)
		}
	}
	if classes == nil || s.ints+ints > len(cIntegers) || s.floats+floats > cFloats {
		return s.inStack(t)
	}
	p := types.Place{Kind: types.InPieces}
	for i, c := range classes {
		piece := types.Piece{Size: min(8, t.Size-8*i)}
		switch c {
		case integerClass:
			piece.Place = types.Place{Kind: types.InRegister, Reg: cIntegers[s.ints]}
			s.ints++
		case sseClass:
			piece.Place = inXMM(s.floats)
			s.floats++
		case noClass:
			piece.Place = types.Place{Kind: types.Constant}
		default: // the upper half of the last one
			p.Pieces[i-1].Size += piece.Size
			continue
		}
		p.Pieces = append(p.Pieces, piece)
	}
	if len(p.Pieces) == 1 {
		return &p.Pieces[0].Place
	}
	if ints == 0 && t.Kind != types.Struct && t.Kind != types.Union {
		return &p.Pieces[0].Place
	}
	return &p
}

// inStack assigns memory on the stack to a value. nil: where it begins depends on an alignment that is not known.
func (s *cSequence) inStack(t *types.Type) *types.Place {
	if t.Align > 8 && s.stack%t.Align != 0 {
		if !sureAlign(t) {
			return nil
		}
		s.stack = (s.stack + t.Align - 1) / t.Align * t.Align
	}
	return s.onStack(t.Size)
}

// onStack assigns memory on the stack, in eightbytes.
func (s *cSequence) onStack(size int) *types.Place {
	at := s.stack
	s.stack += (size + 7) &^ 7
	return &types.Place{Kind: types.InMemory, Reg: rsp, Offset: int64(cFrame + at)}
}

// sureAlign tells whether a type is certainly aligned as its members say. Debug information does not tell of those that
// are packed, which are aligned to less: but these have none of the gaps that other ones have, or members where those
// cannot be.
func sureAlign(t *types.Type) bool {
	t = t.Complete()
	switch t.Kind {
	case types.Array:
		return t.Elem != nil && sureAlign(t.Elem)
	case types.Struct, types.Union, types.Record, types.Tuple:
	default:
		return true
	}
	if t.Form() == types.ComplexForm || t.Form() == types.VectorForm {
		return true
	}
	roundUp := func(n, to int) int { return (n + to - 1) / to * to }
	most, end, gap := 1, 0, false
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Type == nil || f.BitSize > 0 {
			return false
		}
		a := max(f.Type.Align, 1)
		if f.Offset%a != 0 {
			return false
		}
		most = max(most, a)
		gap = gap || t.Kind != types.Union && a == t.Align && f.Offset != roundUp(end, a/2)
		end = max(end, f.Offset+f.Type.Size)
	}
	return most < t.Align || gap || t.Size != roundUp(end, max(t.Align/2, 1))
}
