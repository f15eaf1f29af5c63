package types

import (
	"fmt"
	"slices"
)

// Place says where a value is at a probe point, in a form from which code can be made: a register, memory at
// register+offset, a fixed value, or pieces of these.
type Place struct {
	Kind PlaceKind
	// DWARF register number of the CPU (amd64: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15 r8-r15, 16
	// rip)
	Reg    int
	Offset int64   // InMemory: added to the register; InContext: where in the context
	Derefs []int64 // InMemory: for each, read a pointer at the address so far, then add this
	Value  uint64  // Constant
	Pieces []Piece // Pieces: one after the other
	Why    string  // Unavailable: the reason, for people
	// Ops computes the address (InMemory) or the value (Computed) where registers and pointers alone don't say it; Reg,
	// Offset and Derefs then mean nothing.
	Ops []PlaceOp
	// Kept, of a result in memory: the register is as it was at the function's entry, where the caller passed the address.
	Kept bool
	// Vector, of an unavailable value: 1 and the number of the floating-point register that it is in (see abi.Floats); 0:
	// that is not why.
	Vector int
	// Pointee is where that lies which the value points to, for a pointer that itself exists nowhere.
	Pointee *Place
}

// Unknown is the place of what is not available, with the reason.
func Unknown(format string, args ...any) Place {
	return Place{Kind: Unavailable, Why: fmt.Sprintf(format, args...)}
}

// Loaded is the place of what has an address in the file that is probed, wherever that is loaded.
func Loaded(addr uint64) Place {
	return Place{Kind: InMemory, Ops: []PlaceOp{{Code: PushLoaded}, {Code: PushConst, Arg: int64(addr)}, {Code: Add}}}
}

// Absolute is the place of what has an address that is the same in each process.
func Absolute(addr uint64) Place {
	return Place{Kind: InMemory, Ops: []PlaceOp{{Code: PushConst, Arg: int64(addr)}}}
}

// OfKernel tells a place in memory of the kernel, where it keeps registers of the process.
func (p Place) OfKernel() bool {
	return p.Kind == InMemory && len(p.Ops) > 0 && p.Ops[0].Code == PushFloat
}

// KernelPartly tells so of the value or a part of it.
func (p Place) KernelPartly() bool {
	return p.OfKernel() ||
		p.Kind == InPieces && slices.ContainsFunc(p.Pieces, func(o Piece) bool { return o.Place.KernelPartly() })
}

// Steps are the operations with which the address (InMemory) or the value (Computed) comes about.
func (p Place) Steps() []PlaceOp {
	if len(p.Ops) > 0 {
		return append([]PlaceOp(nil), p.Ops...)
	}
	ops := []PlaceOp{{Code: PushReg, Reg: p.Reg}}
	add := func(n int64) {
		if n != 0 {
			ops = append(ops, PlaceOp{Code: PushConst, Arg: n}, PlaceOp{Code: Add})
		}
	}
	add(p.Offset)
	for _, d := range p.Derefs {
		ops = append(ops, PlaceOp{Code: Load, Arg: 8})
		add(d)
	}
	return ops
}

// InMemoryPartly tells whether the value, or a part of it, is read from the process's memory.
func (p Place) InMemoryPartly() bool {
	for _, piece := range p.Pieces {
		if p.Kind == InPieces && piece.Place.InMemoryPartly() {
			return true
		}
	}
	return p.Kind == InMemory
}

// PlaceOp is a step of a computation on a stack of 64-bit values.
type PlaceOp struct {
	Code PlaceCode
	Reg  int   // PushReg, PushFloat
	Arg  int64 // PushConst, and the number of bytes for Load
}

// PlaceCode tells what a PlaceOp does. Two-operand steps take b, then a from the stack and push a OP b.
type PlaceCode uint8

// Steps of a computation.
const (
	PushReg PlaceCode = iota
	PushConst
	Load // take an address, push the 1, 2, 4 or 8 bytes there, zero-extended
	Add
	Sub
	Mul
	DivSigned
	ModUnsigned
	And
	Or
	Xor
	Shl // shifts by 64 and more give 0, or the sign for ShrSigned
	ShrUnsigned
	ShrSigned
	Negate
	Invert
	IfEq // comparisons are of signed values and push 1 or 0
	IfNe
	IfLt
	IfLe
	IfGt
	IfGe
	// PushLoaded pushes where the file that is probed is loaded: what its addresses count from.
	PushLoaded
	// PushThread pushes the thread pointer, from which the addresses of a thread's own variables count.
	PushThread
	// PushFloat pushes where the kernel has the copy of a floating-point register, Reg: in its own memory.
	PushFloat
)

// PlaceKind is the form of a Place.
type PlaceKind uint8

// Forms.
const (
	Unavailable PlaceKind = iota
	InRegister            // the value is the register
	InMemory              // the value is in the process's memory
	Constant
	InPieces
	// Computed is a value that is nowhere as such: what InMemory would take as its address is the value.
	Computed
	// InContext is a value in what the kernel gives a program, Offset bytes behind its beginning.
	InContext
)

// Piece is a part of a value.
type Piece struct {
	Size  int
	Place Place
}

// Missing tells whether a part of a value of size bytes can't be had, and why.
func (p Place) Missing(size int) (why string, missing bool) {
	switch p.Kind {
	case Unavailable:
		return p.Why, true
	case InPieces:
		for _, piece := range p.Pieces {
			if why, missing := piece.Place.Missing(piece.Size); missing {
				return why, true
			}
			size -= piece.Size
		}
		if size > 0 {
			return "partly optimized out", true
		}
	case Constant:
		if size > 8 && p.Value != 0 { // but for padding
			return "only a part of its constant value is known", true
		}
	case InRegister, Computed:
		if size > 8 {
			return "partly optimized out", true
		}
	}
	return "", false
}

// Extent is the size of a value without padding at its end, which places need not tell.
func (t *Type) Extent() int {
	left := maxExtent
	return t.extent(&left)
}

// maxExtent bounds the members that are looked at: types that hold others twice, which do so too, have no end of them.
const maxExtent = 10_000

func (t *Type) extent(left *int) int {
	t = t.Complete()
	if t.Kind != Struct || len(t.Fields) == 0 && t.Alternatives() == nil {
		return t.Size
	}
	end := 0
	for _, f := range t.Fields {
		if *left--; *left < 0 {
			return t.Size
		}
		if f.BitSize > 0 {
			end = max(end, f.Offset+(f.BitOffset+f.BitSize+7)/8)
			continue
		}
		end = max(end, f.Offset+f.Type.extent(left))
	}
	if vs := t.Alternatives(); vs != nil {
		if vs.Discr.Type != nil {
			end = max(end, vs.Discr.Offset+vs.Discr.Type.Size)
		}
		for _, one := range vs.List {
			if *left--; *left < 0 {
				return t.Size
			}
			if one.Type != nil {
				end = max(end, one.Offset+one.Type.extent(left))
			}
		}
	}
	return min(end, t.Size)
}

// Slice is the part of a value's place that begins at off and has size bytes. A part that is not available does not
// take the others away.
func (p Place) Slice(off, size int) Place {
	switch p.Kind {
	case Unavailable:
		if off > 0 {
			p.Vector = 0
		}
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
		return Place{Kind: Computed, Ops: []PlaceOp{
			{Code: PushReg, Reg: p.Reg},
			{Code: PushConst, Arg: int64(8 * off)},
			{Code: ShrUnsigned},
		}}
	case Constant:
		p.Value >>= 8 * uint(off&7)
		return p
	case Computed:
		if off == 0 {
			return p
		}
		return Place{Kind: Computed, Ops: append(p.Steps(), PlaceOp{Code: PushConst, Arg: int64(8 * off)},
			PlaceOp{Code: ShrUnsigned})}
	}
	return p
}
