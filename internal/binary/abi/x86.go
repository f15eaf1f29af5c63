package abi

// AMD64 is x86-64 with the System V ABI.
var AMD64 = amd64()

// amd64: psABI AMD64 supplement, 3.2.3 and figure 3.36; struct pt_regs of arch/x86/include/uapi/asm/ptrace.h. Scripts
// have its names, without the r of the 64-bit ones.
func amd64() *Arch {
	a := &Arch{
		Name: "amd64", Title: "x86-64", Uname: "x86_64", Bits: 64,
		Registers: []Register{
			{"rax", "ax", 80},
			{"rdx", "dx", 96},
			{"rcx", "cx", 88},
			{"rbx", "bx", 40},
			{"rsi", "si", 104},
			{"rdi", "di", 112},
			{"rbp", "bp", 32},
			{"rsp", "sp", 152},
			{"r8", "r8", 72},
			{"r9", "r9", 64},
			{"r10", "r10", 56},
			{"r11", "r11", 48},
			{"r12", "r12", 24},
			{"r13", "r13", 16},
			{"r14", "r14", 8},
			{"r15", "r15", 0},
			{"rip", "ip", 128},
		},
		Others: []Register{
			{"rip", "pc", 128},
			{"orig_rax", "orig_ax", 120},
			{"cs", "cs", 136},
			{"eflags", "flags", 144},
			{"ss", "ss", 160},
		},
		banks: []bank{
			{17, 32, "xmm", 0}, {33, 40, "st", 0}, {41, 48, "mm", 0}, {67, 82, "xmm", 16}, {118, 125, "k", 0},
		},
		// rax rcx rdx rbx rsp rbp rsi rdi r8 …
		encoded: []int{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15},
		IP:      16, SP: rsp, LR: -1, FP: rbp,
		C: CConvention{
			Name: "System V",
			Args: cIntegers[:], Result: 0, StackArgs: cFrame,
			hidden: []int{10}, // the frame of the function around a nested one
			places: cPlaces, result: cResult,
		},
		Java:          []int{4, 1, 2, 8, 9, 5}, // rsi, rdx, rcx, r8, r9, rdi
		SyscallNumber: Field{120, 8},           // orig_ax (arch/x86/include/asm/ptrace.h)
		Rust:          RustConvention{result: rustResult, hidden: rustHidden},
		// R_X86_64_RELATIVE, R_X86_64_IRELATIVE; FLAG_X8664_LIB64
		ELF: ELF{Machine: 62, Class: 2, Relative: 8, Resolved: 37, Cache: 0x03},
		TLS: &TLS{ // R_X86_64_TPOFF64, R_X86_64_DTPMOD64, R_X86_64_DTPOFF64; tcbhead_t in glibc's sysdeps/x86_64/nptl/tls.h
			ThreadPointer: []string{"thread", "fsbase"}, TPOff: 18, Module: 16, DTPOff: 17, Vector: 8,
		},
		// arch/x86/include/asm/fpu/types.h: struct fxregs_state, and behind it the bits of what is not as at the beginning.
		Floats: &Floats{
			First: 17, State: 512,
			Areas: []FloatArea{{Reg: 17, Count: 16, At: 160, Size: 16, Bit: 1}, {Reg: 33, Count: 8, At: 32, Size: 16, Bit: 0}},
		},
		Watch:   Watch{Exec: 8, Debug: 848}, // sizeof(long), whatever is there; u_debugreg in sys/user.h
		MinInst: 1,
		// The privilege level is in the lowest bits of CS.
		userMode:   &UserMode{Register: "cs", Mask: 3, Value: 3},
		Extended:   true,
		Predefined: []string{"__x86_64__ 1", "__x86_64 1", "__amd64__ 1", "__amd64 1"},
		Triplet:    "x86_64-linux-gnu", Tree: "x86",
		System: System{
			Words: map[string]string{
				"open": "O_TMPFILE=020200000 O_DIRECT=040000 O_LARGEFILE=0100000 O_DIRECTORY=0200000 O_NOFOLLOW=0400000",
				"map":  "MAP_32BIT=0x40 MAP_ABOVE4G=0x80",
			},
			PackedEvents: true,
		},
		operand:  (*Operands).x86,
		syscalls: amd64Syscalls[:],
	}
	a.Kernel = a
	return a
}

// I386 is x86 with 32 bits: programs that run on AMD64. Their arguments are all on the stack (psABI for i386, 2.2.3).
var I386 = &Arch{
	Name: "386", Title: "i386", Uname: "i686", Bits: 32, Kernel: AMD64,
	IP: AMD64.IP, SP: AMD64.SP, LR: -1, FP: -1,
	C:   CConvention{Name: "System V", StackArgs: 4},
	ELF: ELF{Machine: 3, Class: 1}, MinInst: 1,
	operand: (*Operands).x86,
}
