package code

import (
	"encoding/binary"

	"trocar/internal/binary/abi"
)

// maxAfterCall bounds the instructions behind a call that are looked at.
const maxAfterCall = 24

// CallsTo calls hit with the places behind which the bytes of code at addr are those of a direct call of target. It
// knows nothing of where instructions begin: that is for the caller to find out. It finds none on other CPUs than
// x86-64.
func CallsTo(arch *abi.Arch, text []byte, addr, target uint64, hit func(at uint64)) {
	for i := 0; arch == abi.AMD64 && i+5 <= len(text); i++ {
		if text[i] == 0xe8 && addr+uint64(i)+5+uint64(int64(int32(binary.LittleEndian.Uint32(text[i+1:])))) == target {
			hit(addr + uint64(i))
		}
	}
}

// Takes tells whether the bytes of code at addr are somewhere those of an instruction that takes the address target
// relative to itself. It knows nothing of where instructions begin, and of no other CPU than x86-64.
func Takes(arch *abi.Arch, text []byte, addr, target uint64) bool {
	for i := 3; arch == abi.AMD64 && i+4 <= len(text); i++ { // lea distance(%rip), reg
		if text[i-1]&0xc7 == 5 && text[i-2] == 0x8d && text[i-3]&0xfb == 0x48 &&
			addr+uint64(i)+4+uint64(int64(int32(binary.LittleEndian.Uint32(text[i:])))) == target {
			return true
		}
	}
	return false
}

// ResultRegister is a register in which functions return something on x86-64.
type ResultRegister uint8

// Registers of results, by their numbers in instructions.
const (
	FirstResult  ResultRegister = 0 // rax
	SecondResult ResultRegister = 2 // rdx
)

// TakesResult tells whether code behind a call uses a register of results before it puts something else in there. A
// function that returns nothing in it may leave anything there, so such code proves that it does, unless the compiler
// has seen that the function leaves the register alone (KeepsRegister). False says nothing; on other CPUs than x86-64
// it always is.
func TakesResult(arch *abi.Arch, behind []byte, r ResultRegister) bool {
	return takes(arch, behind, maxAfterCall, r.use)
}

// KeepsRegister tells whether a function, or a part of one, of which fn is the code, is seen to leave a register as it
// is. called answers for what it calls, or goes on in, by its distance from the beginning of the code. On other CPUs
// than x86-64 none is.
func KeepsRegister(arch *abi.Arch, fn []byte, r ResultRegister, called func(at int64) bool) bool {
	if arch != abi.AMD64 {
		return false
	}
	for at := 0; at < len(fn); {
		in, ok := Decode(arch, fn[at:])
		if !ok {
			return false
		}
		to := int64(at) + in.Target
		switch {
		case in.Op == Call && !in.Direct, in.Op == Jump && !in.Direct:
			return false
		case in.Op == Call, (in.Op == Jump || in.Op == CondJump) && (to < 0 || to >= int64(len(fn))):
			if !called(to) {
				return false
			}
		case in.Op == Jump, in.Op == CondJump, in.Op == Ret, in.Op == Trap, in.Op == Nop, in.Op == Landing:
		default:
			_, _, _, _, wrote := frameEffect(fn[at:at+in.Len], frameBase{}, frameBase{}, 1)
			if wrote&(1<<r) != 0 && wrote != allRegisters { // of what is not known nothing is proven
				return false
			}
		}
		at += in.Len
	}
	return true
}

type use uint8

const (
	leavesIt use = iota
	takesIt
	mayChangeIt // or its meaning is not known here
)

// named tells whether three bits of an instruction, with the bit of its REX prefix, are the register.
func (r ResultRegister) named(bits, rex byte) bool { return bits&7|rex&1<<3 == byte(r) }

// use tells what one instruction does with the register; of few instructions, which are the usual ones (Intel SDM,
// volume 2).
func (r ResultRegister) use(in []byte) use {
	var rex byte
	simd := false
	for len(in) > 0 && (in[0] == 0x66 || in[0] == 0xf2 || in[0] == 0xf3) {
		simd, in = true, in[1:]
	}
	if len(in) > 0 && in[0]&0xf0 == 0x40 {
		rex, in = in[0], in[1:]
	}
	if len(in) == 0 {
		return mayChangeIt
	}
	op := in[0]
	if op&0xf8 == 0xb8 || op&0xf8 == 0x58 { // mov imm, pop
		if r.named(op, rex) {
			return mayChangeIt
		}
		return leavesIt
	}
	two := op == 0x0f
	if two {
		if in = in[1:]; len(in) == 0 {
			return mayChangeIt
		}
		op = in[0]
	}
	if len(in) < 2 {
		return mayChangeIt
	}
	reg, rm, inMemory := r.named(in[1]>>3, rex>>2), false, in[1]>>6 != 3
	if inMemory {
		rm = r.inAddress(in[1:], rex)
	} else {
		rm = r.named(in[1], rex)
	}
	read := func(reads, writes bool) use {
		switch {
		case reads:
			return takesIt
		case writes:
			return mayChangeIt
		}
		return leavesIt
	}
	if two {
		switch {
		case op&0xf0 == 0x40, op == 0xb6, op == 0xb7, op == 0xbe, op == 0xbf: // cmov, movzx, movsx
			return read(rm, reg)
		case op&0xf0 == 0x90: // setcc
			return read(rm && inMemory, rm)
		case op == 0x10, op == 0x11, op == 0x28, op == 0x29, op == 0x57, op == 0xef, op == 0x6f, op == 0x7f,
			op == 0xd6 && simd:
			return read(rm && inMemory, false) // moves of vectors: the registers are others
		}
		return mayChangeIt
	}
	switch op {
	case 0x88, 0x89: // mov r/m, r
		return read(reg || rm && inMemory, rm && !inMemory)
	case 0x8a, 0x8b, 0x63: // mov r, r/m
		return read(rm, reg)
	case 0x8d: // lea
		return read(rm, reg)
	case 0x38, 0x39, 0x3a, 0x3b, 0x84, 0x85: // cmp, test
		return read(reg || rm, false)
	case 0x00, 0x01, 0x02, 0x03, 0x08, 0x09, 0x0a, 0x0b, 0x20, 0x21, 0x22, 0x23: // add, or, and
		return read(reg || rm, false)
	case 0x28, 0x29, 0x2a, 0x2b, 0x30, 0x31, 0x32, 0x33: // sub, xor: of a register with itself it reads nothing
		return read(reg != rm || inMemory && rm, reg)
	case 0x80, 0x81, 0x83, 0xc0, 0xc1, 0xd0, 0xd1, 0xd2, 0xd3: // arithmetic with a constant, shifts
		return read(rm, false)
	case 0xc6, 0xc7: // mov imm
		return read(rm && inMemory, rm)
	case 0xf6, 0xf7: // test imm; not, neg; others multiply and divide
		if in[1]>>3&7 > 3 {
			return mayChangeIt
		}
		return read(rm, false)
	case 0xa8, 0xa9, 0x3c, 0x3d, 0x04, 0x05, 0x24, 0x25, 0x0c, 0x0d, 0x2c, 0x2d: // of al, eax, rax and a constant
		return read(r == FirstResult, false)
	}
	return mayChangeIt
}

// inAddress tells whether an operand in memory has the register in its address.
func (r ResultRegister) inAddress(operand []byte, rex byte) bool {
	if operand[0]&7 != 4 {
		return r.named(operand[0], rex) && (operand[0]&7 != 5 || operand[0]>>6 != 0)
	}
	if len(operand) < 2 {
		return false
	}
	sib := operand[1]
	return r.named(sib, rex) || r.named(sib>>3, rex>>1)
}
