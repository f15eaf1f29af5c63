package code

import (
	"slices"

	"trocar/internal/binary/abi"
)

// Uses tells whether the code is seen to read a register of arguments, by its DWARF number, while that has what was
// passed in it. Of an argument that nobody reads callers may pass anything (LLVM).
func (o *Origins) Uses(reg int) bool {
	for n := range uint8(16) {
		if o.w.arch.Encoded(int(n)) != reg {
			continue
		}
		for at, s := range o.seen {
			if h := s.regs[n]; h.from != inRegister || h.reg != n {
				continue
			}
			if in, ok := Decode(o.w.arch, o.w.fn[at:]); ok && registersRead(o.w.fn[at:at+in.Len])&(1<<n) != 0 {
				return true
			}
		}
	}
	return false
}

// EntryReads are the registers of arguments of C, by their DWARF numbers, that the code at a function's start reads
// before it writes them, up to the first instruction from which it may go on elsewhere.
func EntryReads(arch *abi.Arch, fn []byte) (regs []int) {
	if arch != abi.AMD64 {
		return nil
	}
	changed := uint16(0)
	for at := 0; at < len(fn); {
		in, ok := Decode(arch, fn[at:])
		if !ok || in.Op == Ret || in.Op == Jump || in.Op == CondJump || in.Op == Call || in.Op == Trap {
			break
		}
		b := fn[at : at+in.Len]
		for n, read := 0, registersRead(b)&^changed; n < 16; n++ {
			if reg := arch.Encoded(n); read&(1<<n) != 0 && slices.Contains(arch.C.Args, reg) && !slices.Contains(regs, reg) {
				regs = append(regs, reg)
			}
		}
		_, _, _, _, wrote := frameEffect(b, frameBase{}, frameBase{}, 1)
		changed |= wrote
		at += in.Len
	}
	return regs
}

// UsesStack tells so of size bytes that were passed on the stack, off bytes above the stack pointer at the entry.
func (o *Origins) UsesStack(off, size int64) bool {
	off += atEntry.off
	for at, s := range o.seen {
		in, ok := Decode(o.w.arch, o.w.fn[at:])
		if s.above || !ok || in.Op == Lea {
			continue
		}
		x := x86{b: o.w.fn[at : at+in.Len], long: true}
		what, ok := x.opcode()
		if !ok || what&m == 0 && !x.vector || x.at >= len(x.b) || x.b[x.at]>>6 == 3 ||
			mayStore(x.b) && !readsToo(&x) && !loadsExtended(&x) {
			continue
		}
		to, ok := o.w.memory(o.w.seen[at], &x)
		if ok && to.from == 0 && to.off < off+size && off < to.off+int64(max(accessWidth(&x, x.b), 1)) {
			return true
		}
	}
	return false
}

// loadsExtended tells the instruction that loads a floating-point number of 80 bits.
func loadsExtended(x *x86) bool {
	return !x.vector && x.opMap == 0 && x.op == 0xdb && x.b[x.at]>>3&7 == 5
}

// registersRead are general registers of which an instruction is known to use the value, by their numbers in
// instructions (Intel SDM, volume 2). Others it may use as well. What saves a register does not count, nor what gives 0
// for any value.
func registersRead(b []byte) (mask uint16) {
	x := x86{b: b, long: true}
	what, ok := x.opcode()
	if !ok || what&m == 0 && !x.vector || x.at >= len(b) || x.opMap > 1 && !x.vector {
		return 0
	}
	modrm := b[x.at]
	reg, rm, direct := modrm>>3&7|x.rex&4<<1, modrm&7|x.rex&1<<3, modrm>>6 == 3
	op := int(x.opMap)<<8 | int(x.op)
	if !direct && op != 0x10d && op != 0x118 && op != 0x11e && op != 0x11f { // prefetch, nop
		o := x.memoryOperand()
		if o.base >= 0 {
			mask |= 1 << o.base
		}
		if o.index >= 0 {
			mask |= 1 << o.index
		}
	}
	if x.vector {
		return mask
	}
	add := func(r byte, is bool) {
		if is && (x.rex != 0 || r < 4 || r > 7 || !x.onBytes()) { // else it is a second byte, like ah
			mask |= 1 << r
		}
	}
	group := modrm >> 3 & 7
	switch {
	case op < 0x40 && op&7 < 4:
		cancels := direct && reg == rm && (op>>3 == 3 || op>>3 == 5 || op>>3 == 6) // sbb, sub, xor
		add(reg, !cancels)
		add(rm, direct && !cancels)
	case op == 0x84, op == 0x85, op == 0x86, op == 0x87, op == 0x1af, op == 0x1a3:
		add(reg, true)
		add(rm, direct)
	case op == 0x88, op == 0x89:
		add(reg, true)
	case op == 0x8a, op == 0x8b, op == 0x63, op == 0x69, op == 0x6b, op&^15 == 0x140,
		op == 0x1b6, op == 0x1b7, op == 0x1be, op == 0x1bf:
		if op == 0x1b6 || op == 0x1be {
			add(rm, direct && (x.rex != 0 || rm < 4))
		} else {
			add(rm, direct)
		}
	case op >= 0x80 && op <= 0x83, op == 0xc0, op == 0xc1, op >= 0xd0 && op <= 0xd3, op == 0xf6, op == 0xf7,
		(op == 0xfe || op == 0xff) && group < 2:
		add(rm, direct)
	case op == 0xff && (group == 2 || group == 4), op == 0x16e, op == 0x12a:
		add(rm, direct)
	}
	return mask
}

// UsesVector tells so of the lower half of a vector register of arguments, by its number.
func (o *Origins) UsesVector(n int) bool { return EntryUsesVector(o.w.arch, o.w.fn, n) }
