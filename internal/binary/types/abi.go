package types

// Arch is what code for probes must know of a CPU: where the registers of the interrupted program are in the kernel's
// struct pt_regs, and which of them the C calling convention uses.
type Arch struct {
	Name string
	// Regs gives the offset in pt_regs of each register name that scripts may use with reg().
	Regs map[string]int
	// DWARF gives the offset in pt_regs by DWARF register number; -1: not saved there.
	DWARF []int
	Args  []int // offsets of the integer argument registers, in order
	Ret   int
	IP    int
	SP    int
	FP    int
	// StackArgs is the offset from the stack pointer, at a function's entry, of the first argument passed on the stack.
	StackArgs int
	// RetAddr is the place of the return address at a function's entry: on the stack at SP (true) or in a register (LR).
	RetOnStack bool
	LR         int
}

// AMD64 is x86-64 with the System V ABI (psABI 3.2.3; struct pt_regs of arch/x86/include/asm/ptrace.h).
var AMD64 = &Arch{
	Name: "amd64",
	Regs: map[string]int{
		"r15": 0, "r14": 8, "r13": 16, "r12": 24, "bp": 32, "bx": 40, "r11": 48, "r10": 56, "r9": 64, "r8": 72,
		"ax": 80, "cx": 88, "dx": 96, "si": 104, "di": 112, "orig_rax": 120, "orig_ax": 120, "ip": 128, "pc": 128, "cs": 136, "flags": 144, "sp": 152, "ss": 160,
	},
	//             rax rdx rcx rbx rsi  rdi  rbp rsp  r8  r9  r10 r11 r12 r13 r14 r15 rip
	DWARF:      []int{80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0, 128},
	Args:       []int{112, 104, 96, 88, 72, 64},
	Ret:        80,
	IP:         128,
	SP:         152,
	FP:         32,
	StackArgs:  8,
	RetOnStack: true,
}

// ARM64 is AArch64 (AAPCS64; struct user_pt_regs).
var ARM64 = &Arch{
	Name:      "arm64",
	Regs:      arm64Regs(),
	DWARF:     arm64DWARF(),
	Args:      []int{0, 8, 16, 24, 32, 40, 48, 56},
	Ret:       0,
	IP:        256,
	SP:        248,
	FP:        232,
	StackArgs: 0,
	LR:        240,
}

func arm64Regs() map[string]int {
	regs := map[string]int{"sp": 248, "pc": 256, "pstate": 264, "lr": 240, "fp": 232}
	for i := range 31 {
		name := "r" + string(rune('0'+i%10))
		if i >= 10 {
			name = "r" + string(rune('0'+i/10)) + string(rune('0'+i%10))
		}
		regs[name] = 8 * i
	}
	return regs
}

func arm64DWARF() []int {
	regs := make([]int, 33)
	for i := range 33 {
		regs[i] = 8 * i // x0-x30, sp, pc
	}
	return regs
}
