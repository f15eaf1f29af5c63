package code

import "trocar/internal/binary/abi"

// callerSaved are the registers that a call may change (System V ABI), by their numbers in instructions: rax, rcx, rdx,
// rsi, rdi, r8 to r11.
const callerSaved = 1<<0 | 1<<1 | 1<<2 | 1<<6 | 1<<7 | 0xf<<8

// maxStackArg bounds the instructions that StackArg looks at.
const maxStackArg = 128

// StackArg looks for what the start of a function does with the memory of one of its arguments, which is off bytes
// above the stack pointer at the entry and would have size bytes. address: it loads an address from there, and uses it
// as one. value: it looks at what is behind the first word, which belongs to it only if the value itself is there.
// Neither of the two: it is not known.
func StackArg(arch *abi.Arch, fn []byte, off, size int64) (address, value bool) {
	if arch != abi.AMD64 {
		return false, false
	}
	sp, bp := atEntry, frameBase{}
	bases := 1
	holds := uint16(0) // the registers that have the word, by their numbers in instructions
	for range maxStackArg {
		in, ok := Decode(arch, fn)
		if !ok || in.Op == Ret || in.Op == Trap || in.Op == Jump {
			break
		}
		x := x86{b: fn[:in.Len], long: true}
		if what, ok := x.opcode(); ok && what&m != 0 && x.at < in.Len {
			if mem, ok := frameAddress(x.b, x.at, x.rex, sp, bp); ok && mem.from == 0 && x.op != 0x8d {
				at := mem.off + 8 - off // frames count from the CFA, behind the return address
				switch {
				case at > 0 && at < size && at >= 8:
					return false, true
				case at == 0 && !x.vector && x.opMap == 0 && x.op == 0x8b && x.rex&8 != 0:
					reg := x.b[x.at]>>3&7 | x.rex&4<<1
					_, sp, bp, bases, _ = frameEffect(x.b, sp, bp, bases)
					holds |= 1 << reg
					fn = fn[in.Len:]
					continue
				}
			} else if base, ok := addressBase(x.b, x.at, x.rex); ok && holds&(1<<base) != 0 && x.op != 0x8d {
				return true, false
			}
		}
		var wrote uint16
		_, sp, bp, bases, wrote = frameEffect(x.b, sp, bp, bases)
		if in.Op == Call {
			wrote = callerSaved
		}
		holds &^= wrote
		fn = fn[in.Len:]
	}
	return false, false
}

// addressBase is the register that a memory operand is relative to, without an index.
func addressBase(b []byte, modrm int, rex byte) (reg byte, ok bool) {
	mod, rm := b[modrm]>>6, b[modrm]&7
	if rm == 4 && mod != 3 && modrm+1 < len(b) && b[modrm+1]>>3&7 == 4 && rex&2 == 0 {
		rm = b[modrm+1] & 7
		return rm | rex&1<<3, rm != 5 || mod != 0
	}
	if mod == 3 || rm == 4 || rm == 5 && mod == 0 {
		return 0, false
	}
	return rm | rex&1<<3, true
}
