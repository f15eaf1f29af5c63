package debuginfo

import (
	"fmt"

	"trocar/internal/binary/objfile"
)

// registerName is the name of a DWARF register (System V x86-64 psABI, figure 3.36; DWARF for the Arm 64-bit
// Architecture, 4.1).
func registerName(m objfile.Machine, n int) string {
	switch m {
	case objfile.AMD64:
		names := [...]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"}
		switch {
		case n >= 0 && n < len(names):
			return names[n]
		case n >= 17 && n <= 32:
			return fmt.Sprintf("xmm%d", n-17)
		case n >= 33 && n <= 40:
			return fmt.Sprintf("st%d", n-33)
		case n >= 41 && n <= 48:
			return fmt.Sprintf("mm%d", n-41)
		case n >= 67 && n <= 82:
			return fmt.Sprintf("xmm%d", n-67+16)
		case n >= 118 && n <= 125:
			return fmt.Sprintf("k%d", n-118)
		}
	case objfile.AArch64:
		switch {
		case n >= 0 && n <= 30:
			return fmt.Sprintf("x%d", n)
		case n == 31:
			return "sp"
		case n == 32:
			return "pc"
		case n >= 64 && n <= 95:
			return fmt.Sprintf("v%d", n-64)
		}
	}
	return fmt.Sprintf("register %d", n)
}

// readable tells whether a program in the kernel sees the register: it is in struct pt_regs.
func readable(m objfile.Machine, n int) bool {
	switch m {
	case objfile.AMD64:
		return n >= 0 && n <= 16
	case objfile.AArch64:
		return n >= 0 && n <= 32
	}
	return false
}

// pcRegister is the DWARF number of the program counter, -1 if there is none.
func pcRegister(m objfile.Machine) int {
	switch m {
	case objfile.AMD64:
		return 16
	case objfile.AArch64:
		return 32
	}
	return -1
}

// stackAtEntry gives the CFA at a function's first instruction by the ABI: just above the return address.
func stackAtEntry(m objfile.Machine) (reg int, offset int64, ok bool) {
	switch m {
	case objfile.AMD64:
		return 7, 8, true
	case objfile.AArch64:
		return 31, 0, true
	}
	return 0, 0, false
}
