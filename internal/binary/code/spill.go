package code

import (
	"slices"

	"trocar/internal/binary/abi"
)

// maxSpills bounds the instructions at a function's start that ReadSpills looks at.
const maxSpills = 64

// Spill is a place near a function's start, and what the code before it has stored in the frame.
type Spill struct {
	At    int   // bytes of code before it
	Depth int64 // how far the stack pointer is below where it was at the start
	// Framed tells that the frame pointer leads to the caller's frame.
	Framed bool
	// Stores are those of registers as they were at the start, which nothing has overwritten since: 8 bytes and less.
	// Their distances count from the stack pointer at the place.
	Stores  []Store
	changed uint16  // general registers, by their numbers in instructions
	written []Store // all that is stored
}

// Kept tells whether a general register, by its DWARF number, has what it had at the start.
func (s *Spill) Kept(arch *abi.Arch, reg int) bool {
	for n := range 16 {
		if arch.Encoded(n) == reg {
			return s.changed&(1<<n) == 0
		}
	}
	return false
}

// Wrote tells whether something was stored in memory that is off bytes above the stack pointer at the place.
func (s *Spill) Wrote(off, size int64) bool {
	off -= s.Depth
	return slices.ContainsFunc(s.written, func(w Store) bool { return overlap(&w, off, size) })
}

func overlap(s *Store, off, size int64) bool {
	return int64(s.Off) < off+size && off < int64(s.Off+s.Size)
}

// ReadSpills reads what code stores in its frame that begins with the stack pointer at the return address, up to the
// first instruction from which it may go on elsewhere, may store something at an address that is not known here, or
// may change a floating-point register. Of CPUs other than x86-64 nothing is known.
func ReadSpills(arch *abi.Arch, text []byte) (list []Spill) {
	if arch != abi.AMD64 {
		return nil
	}
	sp, bp, bases := frameBase{known: true}, frameBase{}, 1
	var stores, written []Store // from the stack pointer at the start
	var changed uint16
	for at := 0; len(list) < maxSpills && at < len(text); {
		in, ok := Decode(arch, text[at:])
		if !ok || in.Op == Ret || in.Op == Jump || in.Op == CondJump || in.Op == Call || in.Op == Trap {
			return list
		}
		b := text[at : at+in.Len]
		before := sp
		st, sp2, bp2, bases2, wrote := frameEffect(b, sp, bp, bases)
		if sp, bp, bases = sp2, bp2, bases2; !sp.known || sp.from != 0 || sp.off > before.off {
			return list
		}
		vector, plain := vectorStored(b)
		if !plain || st.size == 0 && mayStore(b) {
			return list
		}
		if st.size > 0 {
			if st.from != 0 {
				return list
			}
			stores = slices.DeleteFunc(slices.Clone(stores), func(s Store) bool { return overlap(&s, st.off, st.size) })
			s := Store{Reg: vector, Float: true, Size: int(st.size), Off: int(st.off)}
			written = append(written, s)
			if vector < 0 && st.reg >= 0 {
				s.Reg, s.Float = arch.Encoded(st.reg), false
			}
			if s.Reg >= 0 && s.Size <= 8 && (s.Float || changed&(1<<st.reg) == 0) {
				stores = append(stores, s)
			}
		}
		changed |= wrote
		at += in.Len
		here := Spill{At: at, Depth: -sp.off, Framed: bp.known && bp.from == 0, changed: changed, written: written}
		for _, s := range stores {
			s.Off -= int(sp.off)
			here.Stores = append(here.Stores, s)
		}
		list = append(list, here)
	}
	return list
}

// vectorStored is the floating-point register that an instruction stores, by its number; -1: none. plain tells that no
// such register is changed.
func vectorStored(in []byte) (reg int, plain bool) {
	x := x86{b: in, long: true}
	if _, ok := x.opcode(); !ok || x.vector || x.opMap > 1 || x.opMap == 0 && x.op >= 0xd8 && x.op <= 0xdf {
		return -1, false
	}
	if x.opMap == 0 {
		return -1, true
	}
	switch {
	case x.op == 0x11 && x.at < len(in) && in[x.at]>>6 != 3:
		return int(in[x.at]>>3&7 | x.rex&4<<1), true
	case x.op == 0x1e, x.op == 0x1f, x.op >= 0x40 && x.op <= 0x4f, x.op == 0xaf, x.op == 0xb6, x.op == 0xb7, x.op == 0xbe,
		x.op == 0xbf: // nops, cmov, imul, movzx, movsx
		return -1, true
	}
	return -1, false
}

// Farewell is where a function begins to give up its frame before it returns, and which floating-point registers it has
// just stored in the frame or loaded from there.
type Farewell struct {
	At     int   // bytes of code before the place
	Depth  int64 // how far the stack pointer is there below where it is when the function returns
	Floats []Store
	From   int // where the code begins that Floats are known by
}

// ReadFarewell reads the code in front of the instruction at ret, which returns, if it ends the frame by adding to the
// stack pointer and restoring the frame pointer. False: it does not, or the CPU is not known.
func ReadFarewell(arch *abi.Arch, text []byte, ret int) (l Farewell, ok bool) {
	if arch != abi.AMD64 {
		return l, false
	}
	var starts []int
	for at := 0; at < ret; {
		in, ok := Decode(arch, text[at:])
		if !ok {
			return l, false
		}
		starts = append(starts, at)
		at += in.Len
	}
	n := len(starts)
	for n > 0 && text[starts[n-1]] == 0x90 { // nop
		n--
	}
	if n < 3 || text[starts[n-1]] != 0x5d { // pop %rbp
		return l, false
	}
	l.At = starts[n-2]
	_, sp, _, _, _ := frameEffect(text[l.At:starts[n-1]], frameBase{known: true}, frameBase{}, 1)
	if b := text[l.At:]; b[0] != 0x48 || b[1] != 0x83 && b[1] != 0x81 || b[2] != 0xc4 || !sp.known || sp.off <= 0 {
		return l, false
	}
	l.Depth, l.From = sp.off+8, l.At
	var stored []Store
	for n -= 3; n >= 0 && l.At-starts[n] < maxPrologue; n-- {
		in := text[starts[n]:starts[n+1]]
		s, ok := StackStore(arch, in)
		loads := !ok
		if loads {
			s, ok = stackLoad(arch, in)
		}
		over := func(o Store) bool { return overlap(&o, int64(s.Off), int64(s.Size)) }
		if !ok {
			if !harmlessBefore(arch, in) {
				break
			}
			continue
		}
		if slices.ContainsFunc(stored, over) {
			break
		}
		known := func(o Store) bool { return o.Reg == s.Reg }
		if l.From = starts[n]; s.Float && !slices.ContainsFunc(l.Floats, known) {
			l.Floats = append(l.Floats, s)
		}
		if !loads {
			stored = append(stored, s)
		}
	}
	return l, true
}

// harmlessBefore tells an instruction that changes neither memory nor the stack pointer nor a floating-point register,
// and behind which the code goes on.
func harmlessBefore(arch *abi.Arch, in []byte) bool {
	d, ok := Decode(arch, in)
	_, plain := vectorStored(in)
	_, sp, _, _, _ := frameEffect(in, frameBase{known: true}, frameBase{}, 1)
	switch d.Op {
	case Ret, Jump, CondJump, Call, Trap:
		return false
	}
	return ok && plain && sp == (frameBase{known: true}) && !mayStore(in)
}

// stackLoad is StackStore of what loads a register from N(%rsp).
func stackLoad(arch *abi.Arch, in []byte) (s Store, ok bool) {
	turned := slices.Clone(in)
	for i, c := range turned {
		switch {
		case c == 0x10 && i > 0 && turned[i-1] == 0x0f:
			turned[i] = 0x11
		case c == 0x8b:
			turned[i] = 0x89
		case c&0xf0 == 0x40, c == 0xf2, c == 0xf3, c == 0x0f:
			continue
		}
		return StackStore(arch, turned)
	}
	return s, false
}
