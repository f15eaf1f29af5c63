// Package code owns machine instructions as far as probes need them: where an instruction begins and ends, where a
// function returns, and at which of the instructions at a function's start a probe is cheapest.
//
// A breakpoint that is not put on the first byte of an instruction corrupts the program, so every place is checked by
// decoding from a known start. The decoder for x86-64 is our own because it must know the lengths of all instructions,
// AVX-512 in hand-written string functions included; it knows the meaning of only those few that matter here.
//
// The package works on bytes, from a file or from a process's memory. Of a CPU that it does not know it decodes
// nothing.
//
// It is more than 4,000 lines because all that is known of instructions comes of the same decoders.
package code

import "trocar/internal/binary/abi"

// Op says what an instruction does to the flow of control, and names a few others that are looked for.
type Op uint8

// Operations.
const (
	Other    Op = iota
	Ret         // returns to the caller
	Jump        // unconditional, to Target if Direct
	CondJump    // to Target or on
	Call        // to Target if Direct
	Nop         // does nothing
	Landing     // marks a place that indirect branches may reach (endbr64, bti)
	Push        // pushes a general register
	Lea         // makes the address Mem (if RIP)
	Load        // loads a register from memory, at Mem if RIP
	MoveImm     // puts Imm into a register
	Trap        // never goes on (ud2, int3, hlt)
)

// Inst is one decoded instruction.
type Inst struct {
	Len    int
	Op     Op
	Direct bool  // Jump, Call: the target is in the instruction (CondJump: always)
	Target int64 // from the instruction's first byte
	RIP    bool  // it has a memory operand relative to the instruction pointer
	Mem    int64 // its place, from the instruction's first byte
	Imm    int64
	Hazard Hazard // why it must not be probed

	emulated bool  // the kernel emulates it under a uprobe instead of stepping over a copy
	vectors  bool  // it changes vector registers only
	quiet    bool  // executing it changes nothing that a probe at a function's entry may look at
	reg      uint8 // arm64: the destination register of Lea and the page address
	page     bool  // arm64: Mem is a page (adrp)
}

// Decode decodes the instruction at the start of b.
func Decode(arch *abi.Arch, b []byte) (Inst, bool) {
	switch arch {
	case abi.AMD64:
		return decodeX86(b, true)
	case abi.I386:
		return decodeX86(b, false)
	case abi.ARM64:
		return decodeARM64(b)
	}
	return Inst{}, false
}
