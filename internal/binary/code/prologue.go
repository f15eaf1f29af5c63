package code

import (
	"encoding/binary"
	"slices"

	"trocar/internal/binary/abi"
)

// DWARF numbers of the two registers that frames are addressed by on x86-64.
const (
	dwarfRBP = 6
	dwarfRSP = 7
)

const (
	// maxPrologue bounds the code at a function's start in which stores are looked for.
	maxPrologue = 1024
	// maxSkipped is how far a branch may lead over a part of it, like the one of variadic functions around their
	// vector registers.
	maxSkipped = 256
)

// Slot is memory of a function's frame, at a distance from a register (by its DWARF number) as that is where the
// slot is looked at.
type Slot struct {
	Reg  int
	Off  int64
	Size int64
}

// frameBase is what a register holds: a distance from one of the addresses that the frame is built on. The first
// is the canonical frame address; an alignment of the stack pointer begins another one.
type frameBase struct {
	known bool
	from  int
	off   int64
}

// atEntry is what the stack pointer holds at a function's entry: the return address lies above.
var atEntry = frameBase{known: true, off: -8}

type frameStore struct {
	at        int // the end of the instruction
	from      int
	off, size int64
	reg       int  // the general register that is stored, by its DWARF number; -1: something else
	kept      bool // which has what it had at the entry
	constant  bool // what is stored is value, in the instruction
	value     int64
}

// Prologue tells what the code at a function's start stores in its frame, as long as it runs through from the entry.
type Prologue struct {
	// Ends are the places that all calls pass, each behind an instruction of Ends before it; the first is behind
	// the first one.
	Ends []int
	// Homes tells that the function is called by a convention in which the memory above its frame has room for what
	// is passed in registers, as that of Windows.
	Homes bool
	// Begun is where statements may begin: what is stored behind it need not be what was passed.
	Begun  int
	rsp    map[int]frameBase
	rbp    map[int]frameBase
	stores []frameStore
	// changed are the general registers that were written up to a place, by their numbers in instructions.
	changed map[int]uint16
	encoded []int // numbers in instructions, by DWARF number
}

// ReadPrologue reads the start of a function, up to the first instruction from which the code may go on elsewhere.
// A branch over a few instructions is followed both ways: what only one of them stores does not count. With calls
// it reads on behind calls too. False: the CPU's instructions are not known here.
func ReadPrologue(arch *abi.Arch, fn []byte, calls bool) (*Prologue, bool) {
	if arch != abi.AMD64 {
		return nil, false
	}
	p := &Prologue{rsp: map[int]frameBase{}, rbp: map[int]frameBase{}, changed: map[int]uint16{}, encoded: make([]int, 16)}
	for n := range p.encoded {
		p.encoded[arch.Encoded(n)] = n
	}
	changed := uint16(0)
	sp, bp := atEntry, frameBase{}
	bases, skip := 1, 0
	fn = fn[:min(len(fn), maxPrologue)]
	for at := 0; at < len(fn); {
		in, ok := Decode(arch, fn[at:])
		if !ok {
			return p, true
		}
		end := at + in.Len
		switch in.Op {
		case Ret, Jump, Trap:
			return p, true
		case Call:
			if !calls {
				return p, true
			}
		case CondJump:
			to := at + int(in.Target)
			if to < end || to > at+maxSkipped || to > len(fn) {
				return p, true
			}
			skip = max(skip, to)
		}
		before := sp
		var store frameStore
		var wrote uint16
		store, sp, bp, bases, wrote = frameEffect(fn[at:end], sp, bp, bases)
		if store.reg >= 0 {
			store.kept = changed&(1<<store.reg) == 0
			store.reg = arch.Encoded(store.reg)
		}
		changed |= wrote
		if skip > at && sp != before {
			return p, true // the branches do not meet in the same frame
		}
		if store.size > 0 && at >= skip {
			store.at = end
			p.stores = append(p.stores, store)
		}
		if at = end; at < skip {
			continue
		}
		p.Ends = append(p.Ends, at)
		p.rsp[at], p.rbp[at], p.changed[at] = sp, bp, changed
	}
	return p, true
}

// homes is how much room the convention of Windows has above the return address for what is passed in registers.
const homes = 32

// Stores tells whether all of the slot was written before the place at, one of Ends, and nothing of it twice: then
// it has what the function stored first. What lies above the frame was there when the function was called, if the
// function has not changed it; what Homes tells of counts only if it was stored, and that as the caller passed it.
func (p *Prologue) Stores(at int, s Slot) bool {
	base := p.base(at, s.Reg)
	if !base.known || s.Size <= 0 || s.Size > maxPrologue {
		return false
	}
	low := base.off + s.Off
	home := base.from == 0 && low >= 0
	if home && (!p.Homes || low >= homes) {
		return !slices.ContainsFunc(p.stores, func(st frameStore) bool {
			return st.at <= at && st.from == 0 && st.off < low+s.Size && low < st.off+st.size
		})
	}
	written := make([]bool, s.Size)
	for _, st := range p.stores {
		if st.at > at || st.from != base.from || home && !st.kept && (st.at > p.Begun || st.constant) {
			continue
		}
		for i := max(st.off, low); i < min(st.off+st.size, low+s.Size); i++ {
			if written[i-low] {
				return false
			}
			written[i-low] = true
		}
	}
	for _, w := range written {
		if !w {
			return false
		}
	}
	return true
}

// StoresAbove tells whether something is stored above the function's frame, in what belongs to its caller.
func (p *Prologue) StoresAbove() bool {
	return slices.ContainsFunc(p.stores, func(st frameStore) bool { return st.from == 0 && st.off >= 0 })
}

// Above tells a slot that is above the function's frame, where callers put arguments: how far it is above the stack
// pointer at the entry.
func (p *Prologue) Above(at int, s Slot) (off int64, ok bool) {
	base := p.base(at, s.Reg)
	low := base.off + s.Off
	return low + 8, base.known && base.from == 0 && low >= 0
}

// base is what one of the two registers of the frame has at a place.
func (p *Prologue) base(at, reg int) frameBase {
	switch reg {
	case dwarfRSP:
		return p.rsp[at]
	case dwarfRBP:
		return p.rbp[at]
	}
	return frameBase{}
}

// Constant is the number that one instruction before the place at has stored into all of the slot.
func (p *Prologue) Constant(at int, s Slot) (value uint64, ok bool) {
	base := p.base(at, s.Reg)
	if !p.Stores(at, s) || s.Size > 8 {
		return 0, false
	}
	for _, st := range p.stores {
		if st.at <= at && st.constant && st.from == base.from && st.off == base.off+s.Off && st.size == s.Size {
			return uint64(st.value) & (1<<(8*s.Size) - 1), true
		}
	}
	return 0, false
}

// Kept tells whether a register (by its DWARF number) has at a place, one of Ends, what it had at the function's
// entry.
func (p *Prologue) Kept(at, reg int) bool {
	if reg == dwarfRSP {
		return p.rsp[at] == atEntry
	}
	changed, ok := p.changed[at]
	return ok && reg >= 0 && reg < len(p.encoded) && changed&(1<<p.encoded[reg]) == 0
}

// allRegisters are what an instruction may write whose effects are not known here.
const allRegisters = 0xffff

// frameEffect is what an instruction does to the frame: what it stores there, and the two registers afterwards.
// What it is not known to leave alone is not known afterwards. wrote are the general registers that it may change.
func frameEffect(b []byte, sp, bp frameBase, bases int) (st frameStore, sp2, bp2 frameBase, bases2 int, wrote uint16) {
	x := x86{b: b, long: true}
	if _, ok := x.opcode(); !ok {
		return st, frameBase{}, frameBase{}, bases, allRegisters
	}
	modrm := x.at
	reg, rm, mod := byte(0), byte(0), byte(3)
	if modrm < len(b) {
		reg, rm, mod = b[modrm]>>3&7|x.rex&4<<1, b[modrm]&7|x.rex&1<<3, b[modrm]>>6
	}
	write := func(r byte, v frameBase) {
		wrote |= 1 << r
		if x.rex == 0 && r >= 4 && r < 8 && x.onBytes() {
			wrote |= 1 << (r - 4) // these are the second bytes, like ah
		}
		switch r {
		case 4:
			sp = v
		case 5:
			bp = v
		}
	}
	from := func(r byte) frameBase {
		switch r {
		case 4:
			return sp
		case 5:
			return bp
		}
		return frameBase{}
	}
	mem, memOK := frameAddress(b, modrm, x.rex, sp, bp)
	stored := func(n int64) {
		if mod != 3 && memOK && !x.seg && !x.adSize {
			st = frameStore{from: mem.from, off: mem.off, size: n, reg: -1}
		}
	}
	word := int64(4)
	if x.rex&8 != 0 {
		word = 8
	} else if x.opSize {
		word = 2
	}
	imm := func() int64 {
		if x.op == 0x81 && len(b) >= 4 {
			return int64(int32(binary.LittleEndian.Uint32(b[len(b)-4:])))
		}
		return int64(int8(b[len(b)-1]))
	}
	switch {
	case x.vector:
		// Some have a general register as their destination: those of BMI, and moves out of vector registers.
		switch {
		case x.opMap != 1, b[0] == 0x62, mod == 3 && x.op == 0x7e, x.op == 0x2c, x.op == 0x2d, x.op == 0x50,
			x.op == 0x93, x.op == 0xc5, x.op == 0xd7:
			return st, frameBase{}, frameBase{}, bases, allRegisters
		}
		stored(vectorStore(x.op, vexPrefix(b), vexWide(b)))
	case x.opMap == 1:
		switch x.op {
		case 0x1e, 0x1f, 0x0b, 0x18, 0x0d:
			if x.op == 0x1e && mod == 3 && reg&7 == 1 { // rdssp
				write(rm, frameBase{})
			}
		case 0x01, 0x05, 0x31, 0x33, 0xa2, 0xc7: // system calls, and what writes several registers, like rdtscp
			wrote = allRegisters
		case 0x11, 0x29, 0x2b, 0x7f, 0xd6, 0xe7, 0x13, 0x17:
			stored(vectorStore(x.op, ssePrefix(&x), false))
		case 0x10, 0x28, 0x6f, 0x57, 0xef, 0x14, 0x16, 0x12, 0x6c, 0x62, 0x54, 0x58, 0x59, 0x5a, 0x5c, 0x5e, 0x6e, 0x2a:
			// To a vector register.
		default:
			switch {
			case x.op >= 0x80 && x.op <= 0x8f:
				return st, sp, bp, bases, wrote
			case x.op >= 0xc8 && x.op <= 0xcf: // bswap
				write(x.op&7|x.rex&1<<3, frameBase{})
				return st, sp, bp, bases, wrote
			case x.op == 0xb0, x.op == 0xb1: // cmpxchg
				wrote |= 1 << 0
			}
			write(reg, frameBase{})
			if mod == 3 {
				write(rm, frameBase{})
			}
		}
	case x.opMap != 0:
		write(reg, frameBase{})
		if x.opMap == 3 { // pextrq has its destination there, and pcmpistri is one to rcx
			wrote |= 1 << 1
			if mod == 3 {
				write(rm, frameBase{})
			}
		}
	case x.op >= 0x50 && x.op <= 0x57:
		if x.opSize {
			sp = frameBase{}
			break
		}
		sp.off -= 8 // what is saved, or room: no parameter
	case x.op == 0x68, x.op == 0x6a:
		sp.off -= 8
	case x.op >= 0x58 && x.op <= 0x5f:
		sp.off += 8
		write(x.op&7|x.rex&1<<3, frameBase{})
	case x.op == 0x81 || x.op == 0x83:
		if mod != 3 {
			break
		}
		v := from(rm)
		switch b[modrm] >> 3 & 7 {
		case 7: // cmp
			return st, sp, bp, bases, wrote
		case 0, 5:
			n := imm()
			if b[modrm]>>3&7 == 5 {
				n = -n
			}
			v.off += n
			v.known = v.known && x.rex&8 != 0
		case 4: // and: the stack pointer is aligned
			v = frameBase{known: rm == 4, from: bases}
			bases++
		default:
			v = frameBase{}
		}
		write(rm, v)
	case x.op == 0x89 && mod == 3:
		v := from(reg)
		v.known = v.known && x.rex&8 != 0
		write(rm, v)
	case x.op == 0x8b && mod == 3:
		v := from(rm)
		v.known = v.known && x.rex&8 != 0
		write(reg, v)
	case x.op == 0x8d:
		mem.known = memOK && x.rex&8 != 0
		write(reg, mem)
	case x.op == 0x88, x.op == 0xc6:
		stored(1)
		if x.op == 0x88 && (x.rex != 0 || reg < 4) { // else it is a second byte: ah
			st.reg = int(reg)
		}
		st.constant, st.value = x.op == 0xc6, int64(int8(b[len(b)-1]))
		switch {
		case mod != 3:
		case x.rex == 0:
			wrote |= 1 << (rm & 3)
		default:
			write(rm, frameBase{})
		}
	case x.op == 0x89, x.op == 0xc7:
		stored(word)
		if x.op == 0x89 {
			st.reg = int(reg)
		}
		if x.op == 0xc7 && word == 2 {
			st.constant, st.value = true, int64(int16(binary.LittleEndian.Uint16(b[len(b)-2:])))
		} else if x.op == 0xc7 {
			st.constant, st.value = true, int64(int32(binary.LittleEndian.Uint32(b[len(b)-4:])))
		}
		if mod == 3 {
			write(rm, frameBase{})
		}
	case x.op == 0x38, x.op == 0x39, x.op == 0x3a, x.op == 0x3b, x.op == 0x84, x.op == 0x85, x.op == 0x90,
		x.op >= 0x70 && x.op <= 0x7f:
	case x.op == 0xe8, x.op == 0xff && reg&7 == 2: // calls keep those two
		wrote = allRegisters
	case x.op >= 0xb0 && x.op <= 0xb7 && x.rex == 0:
		wrote |= 1 << (x.op & 3)
	case x.op >= 0xb0 && x.op <= 0xbf:
		write(x.op&7|x.rex&1<<3, frameBase{})
	case x.op >= 0xd8 && x.op <= 0xdf:
		stored(x87Store(x.op, reg&7))
		if x.op == 0xdf && mod == 3 { // fnstsw
			wrote |= 1 << 0
		}
	case x.op < 0x40 && x.op&7 < 2: // arithmetic into the operand that may be in memory
		if mod == 3 {
			write(rm, frameBase{})
		}
	case x.op < 0x40 && x.op&7 < 4, x.op == 0x63, x.op == 0x69, x.op == 0x6b, x.op == 0x8b, x.op == 0x8a:
		write(reg, frameBase{})
	case x.op >= 0x80 && x.op < 0x88,
		x.op == 0xc0, x.op == 0xc1, x.op >= 0xd0 && x.op < 0xd4, x.op == 0xf6, x.op == 0xf7, x.op == 0xfe,
		x.op == 0xff && reg&7 < 2: // inc, dec
		if x.op|1 == 0xf7 { // multiplications and divisions
			wrote |= 1<<0 | 1<<2
		}
		if x.op|1 == 0x87 { // xchg: of the others these bits are a part of the opcode
			write(reg, frameBase{})
		}
		if mod == 3 {
			write(rm, frameBase{})
		}
	default:
		if op := x.op; op < 0x40 || op == 0xa8 || op == 0xa9 || op == 0x98 || op == 0x99 {
			wrote |= 1<<0 | 1<<2 // on rax, and into rdx
			break
		}
		sp, bp, wrote = frameBase{}, frameBase{}, allRegisters
	}
	return st, sp, bp, bases, wrote
}

// onBytes tells whether an instruction is on single bytes (Intel SDM, volume 2, tables ).
func (x *x86) onBytes() bool {
	op := x.op
	switch x.opMap {
	case 0:
		return op < 0x40 && op&1 == 0 || op >= 0xb0 && op <= 0xb7 || op >= 0xd0 && op <= 0xd3 && op&1 == 0 ||
			op >= 0x80 && op <= 0x8a && op&1 == 0 || op == 0xc0 || op == 0xc6 || op == 0xf6 || op == 0xfe
	case 1:
		return op&0xf0 == 0x90 || op == 0xb0 || op == 0xc0
	}
	return true
}

// frameAddress is the address of a memory operand relative to the stack or the frame pointer, without an index.
func frameAddress(b []byte, modrm int, rex byte, sp, bp frameBase) (a frameBase, ok bool) {
	if modrm >= len(b) || rex&1 != 0 {
		return a, false
	}
	mod, rm, at := b[modrm]>>6, b[modrm]&7, modrm+1
	switch {
	case mod == 3:
		return a, false
	case rm == 4:
		if at >= len(b) || b[at] != 0x24 || rex&2 != 0 { // the stack pointer, no index
			return a, false
		}
		a, at = sp, at+1
	case rm == 5 && mod != 0:
		a = bp
	default:
		return a, false
	}
	switch {
	case mod == 1 && at < len(b):
		a.off += int64(int8(b[at]))
	case mod == 2 && at+4 <= len(b):
		a.off += int64(int32(binary.LittleEndian.Uint32(b[at:])))
	case mod != 0:
		return a, false
	}
	return a, a.known
}

// x87Store is how many bytes an instruction of the 387 stores from one of its registers; 0: it stores none, or that is
// not known.
func x87Store(op, reg byte) int64 {
	switch {
	case op == 0xd9 && (reg == 2 || reg == 3):
		return 4
	case op == 0xdd && (reg == 2 || reg == 3):
		return 8
	case op == 0xdb && reg == 7:
		return 10
	}
	return 0
}

// ssePrefix is the prefix that chooses among the instructions of one opcode, as VEX numbers it: none, 66, f3, f2.
func ssePrefix(x *x86) byte {
	switch {
	case x.rep == 0xf3:
		return 2
	case x.rep == 0xf2:
		return 3
	case x.opSize:
		return 1
	}
	return 0
}

func vexPrefix(b []byte) byte {
	if b[0] == 0xc5 {
		return b[1] & 3
	}
	return b[2] & 3
}

func vexWide(b []byte) bool {
	if b[0] == 0xc5 {
		return b[1]&4 != 0
	}
	return b[2]&4 != 0
}

// vectorStore is how many bytes an instruction of map 1 stores from a vector register; 0: it stores none, or that
// is not known.
func vectorStore(op, prefix byte, wide bool) int64 {
	full := int64(16)
	if wide {
		full = 32
	}
	switch {
	case op == 0x11 && prefix == 2:
		return 4
	case op == 0x11 && prefix == 3, op == 0xd6 && prefix == 1, (op == 0x13 || op == 0x17) && prefix < 2:
		return 8
	case op == 0x11, (op == 0x29 || op == 0x2b || op == 0xe7) && prefix < 2, op == 0x7f && (prefix == 1 || prefix == 2):
		return full
	case op == 0x7f && prefix == 0:
		return 8
	}
	return 0
}
