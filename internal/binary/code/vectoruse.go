package code

import (
	"strings"

	"trocar/internal/binary/abi"
)

// What instructions do with the lower half of a vector register, where compilers have floating-point numbers: the
// opcodes of the map 0F that are usual (Intel SDM, volume 2), of others nothing is said.
const (
	vectorLoads   = "\x10\x28\x51\x5a\x5b\x6f\xe6" // reg is written, rm read
	vectorStores  = "\x11\x13\x17\x29\x7e\x7f\xd6" // reg is read, and rm may be written
	vectorBoth    = "\x14\x15\x54\x56\x57\x58\x59\x5c\x5d\x5e\x5f\x62\x6c\x6d\xc6\xd4\xdb\xeb\xef\xfe"
	vectorTests   = "\x2e\x2f"         // both are read
	vectorsRead   = "\x2c\x2d\x50\xd7" // rm is read, into a general register
	vectorsLoaded = "\x2a\x6e"         // reg is written, from a general register
)

// vectorUse tells what an instruction does with a vector register, by its number.
func vectorUse(in []byte, n byte) use {
	x := x86{b: in, long: true}
	what, ok := x.opcode()
	general := x.op < 0x10 || x.op >= 0x30 && x.op < 0x50 || x.op >= 0x80 && x.op < 0xc2 || x.op&0xf8 == 0xc8
	switch {
	case !ok || x.evexPrefix || x.xopPrefix:
		return mayChangeIt
	case !x.vector && (x.opMap == 0 || x.opMap == 1 && general):
		return leavesIt
	case x.opMap != 1 || what&m == 0 || x.at >= len(in):
		return mayChangeIt
	}
	modrm := in[x.at]
	reg, rm, direct := modrm>>3&7|x.rex&4<<1, modrm&7|x.rex&1<<3, modrm>>6 == 3
	first := reg // the other operand of what reads both
	prefix := x.pp
	if x.vector { // what the prefix has of the registers is inverted
		p := in[x.at-2]
		first = ^p >> 3 & 15
		if reg = modrm >> 3 & 7; in[x.at-3] != 0xc5 {
			p = in[x.at-3]
		}
		reg |= ^p >> 7 << 3
		rm = modrm&7 | x.rexB&1<<3
	} else {
		switch {
		case x.rep == 0xf3:
			prefix = 2
		case x.rep == 0xf2:
			prefix = 3
		case x.opSize:
			prefix = 1
		}
	}
	is := func(ops string) bool { return strings.IndexByte(ops, x.op) >= 0 }
	mmx := prefix == 0 && (is("\x2a\x2c\x2d\x6e\x7e\x6f\x7f\xd7\xd4\xdb\xeb\xef\xfe\x62") || x.op == 0xd6)
	var reads, writes bool
	switch {
	case mmx && !x.vector:
		return leavesIt
	case is("\x10\x11") && prefix > 1 && direct: // the rest of the register stays
		reads, writes = rm == n || first == n || reg == n, reg == n || rm == n
		if x.op == 0x10 && rm != n || x.op == 0x11 && reg != n {
			reads = false
		}
	case x.op == 0x7e && prefix == 2, is(vectorLoads):
		reads, writes = direct && rm == n, reg == n
	case x.op == 0x7e:
		reads = reg == n
	case is(vectorStores):
		reads, writes = reg == n, direct && rm == n
	case is(vectorBoth):
		reads, writes = (first == n || direct && rm == n) && !(direct && first == rm && is("\x57\xef")), reg == n
	case is(vectorTests):
		reads = reg == n || direct && rm == n
	case is(vectorsRead):
		reads = direct && rm == n
	case is(vectorsLoaded):
		writes = reg == n
	default:
		return mayChangeIt
	}
	switch {
	case reads:
		return takesIt
	case writes:
		return mayChangeIt
	}
	return leavesIt
}

// EntryUsesVector tells whether the code at a function's start is seen to read the lower half of a vector register, by
// its number, before it writes it.
func EntryUsesVector(arch *abi.Arch, fn []byte, n int) bool { return usesVector(arch, fn, n, len(fn)) }

// TakesVector tells so of the code behind a call, as TakesResult does.
func TakesVector(arch *abi.Arch, behind []byte, n int) bool {
	return usesVector(arch, behind, n, maxAfterCall)
}

// usesVector tells it of the first instructions.
func usesVector(arch *abi.Arch, text []byte, n, most int) bool {
	return takes(arch, text, most, func(instruction []byte) use { return vectorUse(instruction, byte(n)) })
}

// takes follows the code that is not branched from, for some instructions at most, up to the first that takes a
// register, which of tells, or may change it.
func takes(arch *abi.Arch, text []byte, most int, of func(instruction []byte) use) bool {
	if arch != abi.AMD64 {
		return false
	}
	for ; most > 0; most-- {
		in, ok := Decode(arch, text)
		if !ok {
			return false
		}
		switch in.Op {
		case Ret, Jump, Call, Trap:
			return false
		case CondJump, Nop, Landing:
		default:
			switch of(text[:in.Len]) {
			case takesIt:
				return true
			case mayChangeIt:
				return false
			}
		}
		text = text[in.Len:]
	}
	return false
}
