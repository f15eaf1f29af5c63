package code

import (
	"encoding/binary"
	"errors"
	"fmt"

	"trocar/internal/binary/abi"
)

// MaxFunction bounds the code that is decoded for one function. Generated parsers have some hundred kilobytes.
const MaxFunction = 4 << 20

// ErrUndecodable says that bytes were met that are no instruction known here: data among the code, or not code at all.
var ErrUndecodable = errors.New("bytes that are no known instruction")

// Boundary tells whether an instruction begins at offset off of a function's code, by decoding from its start. The
// error wraps ErrUndecodable if that cannot be told.
func Boundary(arch *abi.Arch, fn []byte, off uint64) (bool, error) {
	if off == 0 {
		_, ok := Decode(arch, fn)
		if !ok {
			return false, fmt.Errorf("%w at its start", ErrUndecodable)
		}
		return true, nil
	}
	if arch == abi.ARM64 {
		return off%4 == 0 && off < uint64(len(fn)), nil
	}
	if off > MaxFunction {
		return false, fmt.Errorf("the function is too large: %d bytes", off)
	}
	at := uint64(0)
	for at < off {
		if at >= uint64(len(fn)) {
			return false, nil
		}
		in, ok := Decode(arch, fn[at:])
		if !ok {
			return false, fmt.Errorf("%w at +%d", ErrUndecodable, at)
		}
		at += uint64(in.Len)
	}
	if at != off || at >= uint64(len(fn)) {
		return false, nil
	}
	if _, ok := Decode(arch, fn[at:]); !ok {
		return false, fmt.Errorf("%w at +%d", ErrUndecodable, at)
	}
	return true, nil
}

// Before gives the start of the instruction that offset off of a function lies in.
func Before(arch *abi.Arch, fn []byte, off uint64) (start uint64, ok bool) {
	if arch == abi.ARM64 {
		return off &^ 3, off < uint64(len(fn))
	}
	for at := uint64(0); at <= off && at < uint64(len(fn)); {
		in, ok := Decode(arch, fn[at:])
		if !ok {
			return 0, false
		}
		if off < at+uint64(in.Len) {
			return at, true
		}
		at += uint64(in.Len)
	}
	return 0, false
}

// entryWindow is how many instructions are looked at for an entry site.
const entryWindow = 8

// EntryWindow is how much of a function's code Entry and CheckedEntry look at, at most.
const EntryWindow = (entryWindow + 4) * MaxInstruction

// Entry gives the offset of the instruction near a C function's start where a probe means the same as at the start and
// is cheapest: the kernel emulates some instructions and single-steps a copy of the others, which takes up to 15 times
// as long. Between start and site lie only instructions that change nothing a script may look at, in one straight line.
// That nothing jumps in between is for the caller to find out (see Targets and FarTargets): other functions may, in
// assembly.
//
// landing is the length of the landing instruction (endbr64) in front; compilers never make a jump behind it.
func Entry(arch *abi.Arch, fn []byte) (site, landing int) {
	if arch != abi.AMD64 {
		return 0, 0
	}
	at, nop5 := 0, 0
	for range entryWindow {
		in, ok := Decode(arch, fn[at:])
		if !ok {
			break
		}
		if in.emulated {
			return at, landing
		}
		if !in.quiet {
			break
		}
		// Kernels from 6.18 replace this one by a call, the cheapest of all; earlier ones single-step it like the others.
		if nop5 == 0 && IsNop5(fn[at:]) {
			nop5 = at
		}
		at += in.Len
		if in.Op == Landing {
			landing = at
		}
	}
	return nop5, landing
}

// Stepped tells whether the kernel executes a probed instruction by stepping over a copy of it, which costs several
// times what emulating it does.
func Stepped(arch *abi.Arch, text []byte) bool {
	in, ok := Decode(arch, text)
	switch {
	case !ok:
		return false
	case arch == abi.ARM64: // aarch64_insn_is_steppable and arm_probe_decode_insn name those that are simulated
		literal := binary.LittleEndian.Uint32(text)&0x3b000000 == 0x18000000
		branch := in.Op == Jump || in.Op == CondJump || in.Op == Call || in.Op == Ret
		return !branch && !literal && in.Op != Lea && in.Op != Nop
	}
	return !in.emulated && !IsNop5(text) // of five bytes: a call takes its place from 6.18 on
}

// Targets calls hit with the targets of the direct jumps and calls in code at addr, decoding from its start; where that
// fails it stops.
func Targets(arch *abi.Arch, body []byte, addr uint64, hit func(uint64)) {
	for at := 0; at < len(body); {
		in, ok := Decode(arch, body[at:])
		if !ok {
			return
		}
		if in.Direct || in.Op == CondJump {
			hit(addr + uint64(at) + uint64(in.Target))
		}
		at += in.Len
	}
}

// Straight tells whether code that is executed from one address on always gets to another one behind it, and nothing
// else does: there is no jump between them, nor one in text, which is at addr, to what is behind the first. Calls are
// taken to come back. Both are where instructions begin, else it is false; jumps through registers are not looked at.
func Straight(arch *abi.Arch, text []byte, addr, from, to uint64) bool {
	if from < addr || from >= to || to-addr > uint64(len(text)) {
		return false
	}
	begins := false
	for at := addr; at < to; {
		in, ok := Decode(arch, text[at-addr:])
		if !ok {
			return false
		}
		begins = begins || at == from
		if at >= from && (in.Op == Ret || in.Op == Jump || in.Op == CondJump || in.Op == Trap) {
			return false
		}
		if at += uint64(in.Len); at > to {
			return false
		}
	}
	free := true
	Targets(arch, text, addr, func(t uint64) { free = free && (t <= from || t > to) })
	return begins && free
}

// FarTargets calls hit with everything from low to high in which the bytes of code at addr, taken as a jump or call
// with a distance of 32 bits, may lead. It knows nothing of where instructions begin: it names targets that are none,
// but misses none.
func FarTargets(text []byte, addr, low, high uint64, hit func(uint64)) {
	span := high - low
	next := addr + 5 - low // the end of the instruction, seen from low
	for i := 0; i+5 <= len(text); i++ {
		if c := text[i]; c&^1 != 0xe8 && (c&0xf0 != 0x80 || i == 0 || text[i-1] != 0x0f) {
			continue
		}
		if t := next + uint64(i) + uint64(int64(int32(binary.LittleEndian.Uint32(text[i+1:])))); t <= span {
			hit(low + t)
		}
	}
}

// CheckedEntry gives the offset of the site that stands for a Go function's entry: behind the check whether the stack
// is large enough. From a failed check the function starts anew after the stack has grown, so its first instruction
// runs twice; behind the check registers and stack pointer are as at the entry. The instruction there is mostly "push
// %rbp", which the kernel emulates. A function without a check gives 0.
func CheckedEntry(arch *abi.Arch, fn []byte) int {
	switch arch {
	case abi.AMD64:
		// cmp 0x10(%r14),%rsp; jbe — with large frames r12 (and r13) take rsp minus the frame's size first.
		checked := false
		for at, n := 0, 0; n < entryWindow+4; n++ {
			in, ok := Decode(arch, fn[at:])
			if !ok {
				return 0
			}
			switch {
			case isStackCheck(fn[at : at+in.Len]):
				checked = true
			case in.Op == CondJump:
				if at += in.Len; checked {
					return at
				}
				continue
			case !beforeCheck(fn[at : at+in.Len]):
				return 0
			}
			at += in.Len
		}
	case abi.ARM64:
		// ldr x16, [x28, #16]; … cmp sp, x16; b.ls
		if len(fn) < 4 || binary.LittleEndian.Uint32(fn) != 0xf9400b90 {
			return 0
		}
		for at := 4; at < 4*entryWindow && at+4 <= len(fn); at += 4 {
			if in, ok := decodeARM64(fn[at:]); ok && in.Op == CondJump {
				return at + 4
			}
		}
	}
	return 0
}

// isStackCheck tells whether an instruction compares with g.stackguard0: cmp 0x10(%r14) with rsp, r12 or r13. Before
// Go 1.17 g was loaded into rcx from thread-local storage.
func isStackCheck(in []byte) bool {
	if len(in) == 4 && in[1] == 0x3b && in[3] == 0x10 {
		switch {
		case in[0] == 0x49 && in[2] == 0x66, in[0] == 0x4d && (in[2] == 0x66 || in[2] == 0x6e): // (%r14)
			return true
		case in[0] == 0x48 && in[2] == 0x61: // (%rcx) with rsp
			return true
		}
	}
	return false
}

// isLoadG tells whether an instruction loads g into r14 from thread-local storage.
func isLoadG(in []byte) bool {
	switch {
	case len(in) == 9 && in[0] == 0x64 && in[1] == 0x4c && in[2] == 0x8b && in[3] == 0x34 && in[4] == 0x25:
		// mov %fs:…,%r14
		return true
	case len(in) == 4 && in[0] == 0x64 && in[1] == 0x4d && in[2] == 0x8b && in[3] == 0x36: // mov %fs:(%r14),%r14
		return true
	}
	return false
}

// LoadsG tells whether a Go function's code loads g before it calls anything. The compiler does that in functions that
// are called as those in assembly are (ABI0), where no register has it, and are given their arguments on the stack; in
// others only behind calls of such (getgFromTLS in cmd/compile/internal/amd64/ssa.go).
func LoadsG(arch *abi.Arch, fn []byte) bool {
	if arch != abi.AMD64 {
		return false
	}
	for at := 0; at < len(fn) && at < MaxFunction; {
		in, ok := Decode(arch, fn[at:])
		switch {
		case !ok, in.Op == Call:
			return false
		case isLoadG(fn[at : at+in.Len]):
			return true
		}
		at += in.Len
	}
	return false
}

// beforeCheck tells whether an instruction may stand before the stack check: it works on r12 and r13 only, or loads g.
func beforeCheck(in []byte) bool {
	switch {
	case len(in) == 9 && in[0] == 0x64 && in[1] == 0x48 && in[2] == 0x8b && in[3] == 0x0c: // mov %fs:…,%rcx
		return true
	case isLoadG(in):
		return true
	case len(in) == 7 && in[0] == 0x49 && in[1] == 0xc7 && in[2] == 0xc6, // mov $…,%r14
		len(in) == 7 && in[0] == 0x4c && in[1] == 0x8b && in[2] == 0x35: // mov …(%rip),%r14
		return true // where g is, in code that does not depend on its place
	case len(in) >= 3 && in[0] == 0x4c && in[1] == 0x8d && (in[2]&0xf8 == 0x60 || in[2]&0xf8 == 0xa0): // lea N(%rsp),%r12
		return in[3] == 0x24
	case len(in) == 3 && in[0] == 0x49 && in[1] == 0x89 && in[2] == 0xe4: // mov %rsp,%r12
		return true
	case len(in) >= 4 && in[0] == 0x49 && (in[1] == 0x81 || in[1] == 0x83) && in[2] == 0xec: // sub $N,%r12
		return true
	case len(in) == 4 && in[0] == 0x4d && in[1] == 0x8b && in[2] == 0x6e && in[3] == 0x10: // mov 0x10(%r14),%r13
		return true
	case len(in) == 3 && in[0] == 0x4d && in[1] == 0x39 && in[2] == 0xec: // cmp %r13,%r12
		return true
	}
	return false
}

// IsNop5 tells whether a five-byte nop stands at the start of b, with any operand. Under a uprobe, kernels from 6.18
// replace it by a call, which writes below the stack pointer: in the middle of a function that may be in use.
func IsNop5(b []byte) bool {
	if len(b) < 5 {
		return false
	}
	x := x86{b: b[:5], long: true}
	what, ok := x.opcode()
	if !ok || x.vector || what&m != 0 && !x.operand() || x.at != 5 {
		return false
	}
	return x.opMap == 1 && x.op == 0x1f && x.modrm>>3&7 == 0 || x.opMap == 0 && x.op == 0x90
}

// Taken lists the addresses that a function's code at addr takes or loads: what lea and mov make, and, by read, what is
// in the memory that it loads pointers from. isCode filters them.
func Taken(arch *abi.Arch, fn []byte, addr uint64,
	read func(uint64) uint64, isCode func(uint64) bool,
) (addrs []uint64, branches []uint64) {
	add := func(a uint64) {
		if a != 0 && isCode(a) {
			addrs = append(addrs, a)
		}
	}
	var pages [32]uint64
	for at := 0; at < len(fn) && at < MaxFunction; {
		in, ok := Decode(arch, fn[at:])
		if !ok {
			break
		}
		pc := addr + uint64(at)
		switch {
		case in.page:
			pages[in.reg] = pc&^0xfff + uint64(in.Mem)
		case arch == abi.ARM64 && in.Op == MoveImm && pages[in.reg] != 0:
			add(pages[in.reg] + uint64(in.Imm))
		case arch == abi.ARM64 && in.Op == Load && pages[in.reg] != 0:
			add(read(pages[in.reg] + uint64(in.Imm)))
		case in.Op == Lea && in.RIP:
			add(pc + uint64(in.Mem))
		case in.Op == Load && in.RIP:
			add(read(pc + uint64(in.Mem)))
		case arch == abi.AMD64 && in.Op == MoveImm:
			add(uint64(in.Imm))
		case in.Direct && (in.Op == Jump || in.Op == Call):
			branches = append(branches, pc+uint64(in.Target))
		}
		at += in.Len
	}
	return addrs, branches
}
