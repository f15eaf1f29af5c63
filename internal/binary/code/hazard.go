package code

import (
	"fmt"

	"trocar/internal/binary/abi"
)

// Hazard is why a probe on an instruction would change what the program does. The kernel executes a probed instruction
// in one of two ways: it emulates it, or steps over a copy of it elsewhere. Which one, and what it mends afterwards, it
// decides by one byte of the opcode (branch_setup_xol_ops, push_setup_xol_ops and arch_uprobe_analyze_insn in
// arch/x86/kernel/uprobes.c), also where that byte has another meaning.
type Hazard uint8

// Hazards.
const (
	Sound Hazard = iota
	// Mistaken is a vector instruction (VEX, EVEX, XOP) whose opcode byte is that of an older instruction. Not
	// executed, if that one is emulated (jumps, call, nop); else the program is left in the copy, or stepping doesn't
	// end (return, far call, popf).
	Mistaken
	// Unsteppable is a vector instruction that the kernel refuses, for the byte is that of one which cannot be stepped
	// over (in, out, int, segment prefixes). It harms nothing, but there is no probe.
	Unsteppable
	// Undecoded is an instruction of XOP, which the kernel's decoder does not know: its first byte is that of pop; or
	// one of VEX, EVEX or REX2 that is not known here. The kernel takes these, and judges them by the opcode byte, too:
	// a push of r16 with REX2 would be emulated as one of rax.
	Undecoded
	// Prefixed is one with lock or a prefix for es, cs, ss or ds, which the kernel refuses (is_prefix_bad).
	Prefixed
	// Exchange is xchg of rax with r8, which has the opcode of nop.
	Exchange
	// Flags is pushf: it stores the flag with which the kernel steps.
	Flags
	// Repeated is a string instruction that repeats: the kernel stops after each repetition, and every time the probe
	// is hit.
	Repeated
	// Leaves is an instruction that goes to the kernel or, in a virtual machine, to the hypervisor, and comes back
	// behind the copy without the stop that the kernel waits for: the program ends by SIGSEGV, or a child goes on in
	// the copy. On CPUs with UMIP that holds for sgdt, sidt, sldt, str and smsw, which the kernel emulates
	// (arch/x86/kernel/umip.c).
	Leaves
	// Misread is one whose operand relative to the instruction pointer the kernel does not see, so that the copy has
	// another.
	Misread
	// Narrow is a loop, or a call or jump to a computed address, with the prefix for 16 bits: the copy's address is cut
	// off, or a return address of 64 bits stored.
	Narrow
	// Refused is one that the kernel does not step over: in, out, int and what is privileged. There is no probe.
	Refused
)

// Vector tells whether a hazard is of vector instructions, and gone where the kernel tells these apart.
func (h Hazard) Vector() bool { return h == Mistaken || h == Unsteppable }

// Why says what is wrong, behind a name of the instruction.
func (h Hazard) Why() string {
	switch h {
	case Mistaken:
		return "a vector instruction that the kernel takes for an older one when it is probed, so that the program would " +
			"compute wrong values"
	case Unsteppable:
		return "a vector instruction that the kernel refuses to step over"
	case Undecoded:
		return "an instruction of XOP or APX, or a vector instruction that is not known, which the kernel would take " +
			"for another one"
	case Prefixed:
		return "which has a prefix (lock or a segment's) that the kernel refuses to step over"
	case Exchange:
		return "which the kernel takes for a nop when it is probed, so that the program would compute wrong values"
	case Flags:
		return "which stores the trap flag of the probe's single step"
	case Repeated:
		return "at which a probe is hit for each repetition"
	case Leaves:
		return "which enters the kernel: a program that is probed there ends by a signal"
	case Misread:
		return "whose operand the kernel misreads when it is probed, so that the program would use other memory"
	case Narrow:
		return "which has addresses of 16 bits, where the kernel reckons with whole ones"
	case Refused:
		return "which the kernel refuses to step over"
	case Sound:
	}
	return "which can be probed"
}

// HazardAt is the hazard of a probe on the instruction at the start of text. Of bytes that are not known as an
// instruction only those are one that begin as vector instructions or those of APX do.
func HazardAt(arch *abi.Arch, text []byte) Hazard {
	if in, ok := Decode(arch, text); ok {
		return in.Hazard
	}
	if arch != abi.AMD64 {
		return Sound
	}
	for i, c := range text {
		switch {
		case c == 0xd5, c == 0x62, c == 0xc4, c == 0xc5:
			return Undecoded
		case c == 0x8f && i+1 < len(text) && text[i+1]&0x1f >= 8:
			return Undecoded
		case c == 0x66, c == 0x67, c|1 == 0xf3, c == 0xf0, c == 0x26, c == 0x2e, c == 0x36, c == 0x3e, c|1 == 0x65:
		default:
			return Sound
		}
	}
	return Sound
}

// hazard tells what the kernel does wrong with the instruction. op is what it takes for the opcode.
func (x *x86) hazard() Hazard {
	switch op := x.op; {
	case x.badPrefix:
		return Prefixed
	case !x.vector && x.opMap == 0 && op == 0x90 && x.rex&1 != 0:
		return Exchange
	case !x.vector:
		return x.olderHazard()
	case x.xopPrefix:
		return Undecoded
	case op >= 0x70 && op <= 0x7f, op == 0x90, op == 0xe8, op == 0xe9, op == 0xeb: // emulated
		return Mistaken
	case op == 0xc2, op == 0xc3, op == 0xca, op == 0xcb, op == 0xea: // returns and a far jump: the copy's address is kept
		return Mistaken
	case op == 0x9a, op == 0x9d, op == 0xff: // far call, popf, and a group with calls
		return Mistaken
	case !steppable(op), op == 0x8e && x.modrm>>3&7 == 2: // taken for mov to ss
		return Unsteppable
	}
	return Sound
}

// olderHazard is hazard for instructions without VEX, EVEX and XOP.
func (x *x86) olderHazard() Hazard {
	op := x.op
	switch {
	case x.opMap == 0 && op == 0x9c:
		return Flags
	case x.opMap == 0 && x.rep != 0 && (op >= 0xa4 && op <= 0xa7 || op >= 0xaa && op <= 0xaf || op >= 0x6c && op <= 0x6f):
		return Repeated
	case x.opMap == 0 && x.opSize && (op >= 0xe0 && op <= 0xe3 || op == 0xff && x.modrm>>3&7 >= 2 && x.modrm>>3&7 <= 5):
		return Narrow
	case x.leaves() != "":
		return Leaves
	case x.ripAt > 0 && x.rep != 0 && x.opMap == 1 && (op == 0x2b || op >= 0x40 && op <= 0x4f || op >= 0x90 && op <= 0x9f):
		return Misread // cmov and setcc with a prefix that means nothing, but makes kmov and others of them with VEX
	case x.opMap == 0 && !steppable(op):
		return Refused
	}
	return Sound
}

// leaves names an instruction of the hazard Leaves; "": it is none.
func (x *x86) leaves() string {
	if x.opMap != 1 {
		return ""
	}
	reg, memory := x.modrm>>3&7, x.modrm>>6 != 3
	switch op := x.op; {
	case op == 0x05:
		return "syscall"
	case op == 0x34:
		return "sysenter"
	case op == 0xa2:
		return "cpuid"
	case op == 0x00 && reg < 2:
		return [...]string{"sldt", "str"}[reg]
	case op == 0x01 && reg < 2 && memory:
		return [...]string{"sgdt", "sidt"}[reg]
	case op == 0x01 && reg == 4:
		return "smsw"
	}
	return ""
}

// steppable tells whether the kernel steps over an instruction with this opcode (good_insns_64).
func steppable(op byte) bool {
	switch {
	case op < 0x40:
		return op&7 < 6
	case op < 0x50:
		return false
	case op >= 0x60 && op <= 0x6f:
		return op >= 0x63 && op <= 0x65 || op >= 0x68 && op <= 0x6b
	}
	switch op {
	case 0x82, 0xc4, 0xc5, 0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd5, 0xd6,
		0xe4, 0xe5, 0xe6, 0xe7, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xfa, 0xfb:
		return false
	}
	return true
}

// quietVector tells of a vector instruction whether it changes nothing but vector registers or one that carries nothing
// into a C function (see quiet).
func (x *x86) quietVector() bool {
	if x.opMap == 1 && x.op == 0x7e && x.pp == 1 && x.hasMod && x.modrm>>6 == 3 && x.long {
		// vmovd, vmovq to a general register
		rm := x.modrm&7 | x.rexB<<3
		return rm == 0 || rm == 10 || rm == 11
	}
	return x.vectorsOnly()
}

// vectorsOnly tells whether an instruction changes nothing but vector registers, which probes do not see. Only moves
// and integer operations count: they raise no exception.
func (x *x86) vectorsOnly() bool {
	if x.modrm>>6 != 3 || !x.hasMod || !x.long || x.xopPrefix {
		return false
	}
	switch op := x.op; x.opMap {
	case 1:
		switch {
		case op == 0x7e:
			return x.pp == 2
		case op >= 0x60 && op <= 0x76, op == 0x7f, op >= 0xe8 && op <= 0xeb, op == 0xef:
			return true
		}
	case 2:
		return op == 0x78 || op == 0x79 || op == 0x58 || op == 0x59 || (op >= 0x7a && op <= 0x7c && x.evexPrefix)
	}
	return false
}

// SafeEntry gives the offset of the first instruction near a C function's start that a probe does no harm to and where
// it means the same as at the start: as Entry, but not the cheapest. lifted are hazards that there are none of on this
// kernel.
func SafeEntry(arch *abi.Arch, fn []byte, lifted func(Hazard) bool) (site int, ok bool) {
	for at, n := 0, 0; n < entryWindow; n++ {
		in, ok := Decode(arch, fn[at:])
		switch {
		case !ok:
			return 0, false
		case in.Hazard == Sound || lifted(in.Hazard):
			return at, true
		case !in.quiet:
			return 0, false
		}
		at += in.Len
	}
	return 0, false
}

// PastVectors gives the length of the instructions at the start of text that a probe would do harm to and that change
// vector registers only, or nothing; none may remain in front of one that can be probed.
func PastVectors(arch *abi.Arch, text []byte, lifted func(Hazard) bool) (n int, ok bool) {
	for range entryWindow {
		in, ok := Decode(arch, text[n:])
		switch {
		case !ok:
			return 0, false
		case in.Hazard == Sound || lifted(in.Hazard):
			return n, !IsNop5(text[n:])
		case !in.vectors && in.Op != Nop:
			return 0, false
		}
		n += in.Len
	}
	return 0, false
}

// Describe names the instruction at the start of b for people: what vector instructions of a hazard are called, else
// its bytes.
func Describe(arch *abi.Arch, b []byte) string {
	in, ok := Decode(arch, b)
	if !ok && HazardAt(arch, b) == Undecoded {
		return fmt.Sprintf("% x …", b[:min(4, len(b))])
	}
	if !ok {
		return ErrUndecodable.Error()
	}
	bytes := fmt.Sprintf("% x", b[:in.Len])
	x := x86{b: b, long: arch == abi.AMD64}
	if arch != abi.AMD64 && arch != abi.I386 {
		return bytes
	}
	if _, ok := x.opcode(); !ok {
		return bytes
	}
	name := ""
	switch {
	case x.vector:
		name = vectorName(x.opMap, x.pp, x.op)
	default:
		name = map[Hazard]string{
			Exchange: "xchg", Flags: "pushf", Repeated: "a string instruction with rep", Narrow: "a branch of 16 bits",
		}[in.Hazard]
		if in.Hazard == Leaves {
			x.operand() // there is none behind syscall, sysenter and cpuid
			name = x.leaves()
		}
	}
	if name == "" {
		return bytes
	}
	return name + " (" + bytes + ")"
}

// vectorName is the usual name of a vector instruction, without what tells its elements where one opcode has several;
// "": not listed.
func vectorName(opMap, pp uint8, op byte) string {
	type key struct {
		opMap uint8
		op    byte
	}
	names := map[key][4]string{ // by pp: none, 66, f3, f2
		{1, 0x6e}: {1: "vmovd"}, {1, 0x6f}: {"", "vmovdqa", "vmovdqu", "vmovdqu8"},
		{1, 0x70}: {1: "vpshufd", 2: "vpshufhw", 3: "vpshuflw"},
		{1, 0x71}: {1: "vpsrlw"}, {1, 0x72}: {1: "vpsrld"}, {1, 0x73}: {1: "vpsrlq"},
		{1, 0x74}: {1: "vpcmpeqb"}, {1, 0x75}: {1: "vpcmpeqw"}, {1, 0x76}: {1: "vpcmpeqd"}, {1, 0x77}: {0: "vzeroupper"},
		{1, 0x7c}: {1: "vhaddpd", 3: "vhaddps"}, {1, 0x7d}: {1: "vhsubpd", 3: "vhsubps"},
		{1, 0x7e}: {1: "vmovd", 2: "vmovq"}, {1, 0x7f}: {"", "vmovdqa", "vmovdqu", "vmovdqu8"},
		{1, 0x90}: {"kmovw", "kmovb"}, {1, 0xc2}: {"vcmpps", "vcmppd", "vcmpss", "vcmpsd"},
		{1, 0xe7}: {1: "vmovntdq"}, {1, 0xe8}: {1: "vpsubsb"}, {1, 0xe9}: {1: "vpsubsw"}, {1, 0xea}: {1: "vpminsw"},
		{1, 0xeb}: {1: "vpor"},
		{1, 0xef}: {1: "vpxor"},
		{2, 0x78}: {1: "vpbroadcastb"}, {2, 0x79}: {1: "vpbroadcastw"}, {2, 0x7a}: {1: "vpbroadcastb"},
		{2, 0x7b}: {1: "vpbroadcastw"},
		{2, 0x7c}: {1: "vpbroadcastd"}, {2, 0x90}: {1: "vpgatherdd"}, {2, 0x9a}: {1: "vfmsub132ps"},
		{2, 0x9d}: {1: "vfnmadd132ss"},
	}
	return names[key{opMap, op}][pp&3]
}
