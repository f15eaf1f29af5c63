package abi

import "strconv"

// ARM64 is AArch64 with AAPCS64.
var ARM64 = arm64()

// arm64: AAPCS64; DWARF for the Arm 64-bit Architecture, 4.1; struct user_pt_regs of
// arch/arm64/include/uapi/asm/ptrace.h, whose names scripts have.
func arm64() *Arch {
	a := &Arch{
		Name: "arm64", Title: "arm64", Uname: "aarch64", Bits: 64,
		Registers: make([]Register, 0, 33),
		Others:    []Register{{"pstate", "pstate", 264}},
		banks:     []bank{{64, 95, "v", 0}},
		IP:        32, SP: 31, LR: 30, FP: 29,
		C: CConvention{
			Name: "AAPCS64",
			Args: []int{0, 1, 2, 3, 4, 5, 6, 7}, Result: 0,
			hidden: []int{8, 18}, // the address of a result in memory; the platform's register
			result: aapcsResult,
		},
		// R_AARCH64_RELATIVE, R_AARCH64_IRELATIVE; FLAG_AARCH64_LIB64
		ELF:           ELF{Machine: 183, Class: 2, Relative: 1027, Resolved: 1032, Cache: 0x0a},
		SyscallNumber: Field{280, 4}, // syscallno (arch/arm64/include/asm/ptrace.h)
		Watch:         Watch{ReadAlone: true, Exec: 4},
		MinInst:       4,
		SignedReturns: true,
		Trampolines:   "6.0",
		Predefined:    []string{"__aarch64__ 1", "__ARM_64BIT_STATE 1", "__CHAR_UNSIGNED__ 1"},
		Triplet:       "aarch64-linux-gnu", Tree: "arm64",
		System: System{
			Words: map[string]string{
				"open": "O_TMPFILE=020040000 O_DIRECTORY=040000 O_NOFOLLOW=0100000 O_DIRECT=0200000 O_LARGEFILE=0400000",
				"prot": "PROT_BTI=0x10 PROT_MTE=0x20",
			},
			TLSBeforeChild: true,
		},
		operand:  (*Operands).arm64,
		syscalls: arm64Syscalls[:],
	}
	for i := range 31 {
		a.Registers = append(a.Registers, Register{"x" + strconv.Itoa(i), "r" + strconv.Itoa(i), 8 * i})
	}
	a.Registers = append(a.Registers, Register{"sp", "sp", 248}, Register{"pc", "pc", 256})
	a.Kernel = a
	return a
}
