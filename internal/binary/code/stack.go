package code

import "trocar/internal/binary/abi"

// SetsStack finds the first instruction in code that gives the stack pointer a value which has nothing to do with the
// one that it had, as far as one instruction tells: what is loaded from memory or comes from a register other than the
// frame pointer. Bytes that are no instruction are stepped over. On CPUs other than x86-64 every code is taken to.
func SetsStack(arch *abi.Arch, text []byte) (at int, found bool) {
	if arch != abi.AMD64 {
		return 0, true
	}
	for at < len(text) {
		in, ok := Decode(arch, text[at:])
		if !ok {
			at++
			continue
		}
		if in.Op == Other && in.Len <= 8 && setsStack(text[at:at+in.Len]) || in.Op == Lea && setsStack(text[at:at+in.Len]) ||
			in.Op == Load && setsStack(text[at:at+in.Len]) {
			return at, true
		}
		at += in.Len
	}
	return 0, false
}

// CallsKernel finds the first system call in code: syscall, sysenter or int 0x80. On CPUs other than x86-64 every code
// is taken to have one.
func CallsKernel(arch *abi.Arch, text []byte) (at int, found bool) {
	if arch != abi.AMD64 {
		return 0, true
	}
	for at < len(text) {
		in, ok := Decode(arch, text[at:])
		if ok && in.Len == 2 {
			switch [2]byte(text[at:]) {
			case [2]byte{0x0f, 0x05}, [2]byte{0x0f, 0x34}, [2]byte{0xcd, 0x80}:
				return at, true
			}
		}
		at += max(1, in.Len)
	}
	return 0, false
}

// Landings finds where the code of a function goes on in a frame further out, as unwinders do: with a jump to an
// address in a register, or a return instruction, behind one that gives the stack pointer another value (SetsStack).
// known: there are some, and all of the code behind could be decoded.
func Landings(arch *abi.Arch, text []byte) (jumps, returns []uint64, known bool) {
	if arch != abi.AMD64 {
		return nil, nil, false
	}
	for at := 0; at < len(text); {
		sets, found := SetsStack(arch, text[at:])
		if !found {
			break
		}
		landed := false
		for at += sets; at < len(text) && !landed; {
			in, ok := Decode(arch, text[at:])
			if !ok || in.Len == 0 {
				return nil, nil, false
			}
			switch {
			case in.Op == Jump && !in.Direct:
				jumps, landed = append(jumps, uint64(at)), true
			case in.Op == Ret:
				returns, landed = append(returns, uint64(at)), true
			}
			at += in.Len
		}
	}
	return jumps, returns, len(jumps)+len(returns) > 0
}

// setsStack knows the instructions of x86-64 (Intel SDM, volume 2) that write rsp, besides push, pop, call, ret, enter,
// leave and arithmetic.
func setsStack(in []byte) bool {
	const sp, fp, drap = 4, 5, 10 // GCC finds an aligned frame by r10
	if len(in) > 0 && in[0] == 0x5c {
		return true // pop %rsp
	}
	if len(in) < 3 || in[0]&0xf8 != 0x48 {
		return false // with REX.W only: others would cut off the pointer
	}
	rex, op, modrm := in[0], in[1], in[2]
	reg, rm, direct := modrm>>3&7|rex&4<<1, modrm&7|rex&1<<3, modrm>>6 == 3
	switch {
	case op == 0x89 && direct && rm == sp: // mov %reg,%rsp
		return reg != fp
	case op == 0x8b && reg == sp: // mov …,%rsp
		return !direct || rm != fp
	case op == 0x8d && reg == sp: // lea
		return rm != fp && rm != drap && (modrm&7 != sp || len(in) < 4 || in[3]&7 != sp)
	case op == 0x87 && (reg == sp || direct && rm == sp), op == 0x94: // xchg
		return true
	}
	return false
}
