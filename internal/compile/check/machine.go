package check

import (
	"strings"
)

// Names that depend on the machine: registers and signals.

// The registers of struct pt_regs, by bpftrace's names (amd64: arch/x86/include/uapi/asm/ptrace.h without the r of the
// 64-bit names, which is accepted too).
var amd64Registers = []string{
	"r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si", "di", "orig_ax", "ip", "pc", "cs", "flags", "sp", "ss",
}

func registerNames(arch string) []string {
	if arch != "arm64" {
		return amd64Registers
	}
	names := []string{"sp", "pc", "pstate"}
	for i := 0; i <= 30; i++ {
		names = append(names, "r"+itoa(i))
	}
	return names
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + itoa(i%10)
}

func registerExists(arch, name string) bool {
	for _, r := range registerNames(arch) {
		if r == name {
			return true
		}
	}
	return false
}

// signals by number, as on every Linux machine that we run on.
var signals = []string{
	"", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT",
	"CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
}

// signalNumber finds a signal by name, with or without SIG.
func signalNumber(name string) (int, bool) {
	name = strings.TrimPrefix(name, "SIG")
	switch name {
	case "":
		return 0, false
	case "IOT":
		name = "ABRT"
	case "POLL":
		name = "IO"
	case "CLD":
		name = "CHLD"
	}
	for i, s := range signals {
		if s == name {
			return i, true
		}
	}
	return 0, false
}
