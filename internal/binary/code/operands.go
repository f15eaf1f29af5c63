package code

import (
	"encoding/binary"

	"trocar/internal/binary/abi"
)

// FrameOperands calls visit with the operands in memory, and addresses that are taken, relative to the stack pointer or
// the frame pointer: reg is its DWARF number, at the offset of the instruction. It ends where code cannot be decoded;
// false:
// it did, or the CPU's instructions are not known here.
func FrameOperands(arch *abi.Arch, text []byte, visit func(at, reg int, disp int64)) bool {
	if arch != abi.AMD64 {
		return false
	}
	for at := 0; at < len(text); {
		in, ok := Decode(arch, text[at:])
		if !ok || in.Len == 0 {
			return false
		}
		x := x86{b: text[at : at+in.Len], long: true}
		if what, ok := x.opcode(); ok && (what&m != 0 || x.vector) && x.at < in.Len {
			if reg, disp, ok := x.frameOperand(); ok {
				visit(at, reg, disp)
			}
		}
		at += in.Len
	}
	return true
}

// frameOperand is the memory operand whose ModRM byte is next, if it is relative to one of the two registers.
func (x *x86) frameOperand() (reg int, disp int64, ok bool) {
	modrm := x.b[x.at]
	mod, rm, at := modrm>>6, modrm&7, x.at+1
	if x.rex&1 != 0 || x.vector && x.rexB&1 != 0 || mod == 3 {
		return 0, 0, false
	}
	if rm == 4 {
		if at >= len(x.b) {
			return 0, 0, false
		}
		rm, at = x.b[at]&7, at+1
	}
	switch {
	case rm == 4:
		reg = dwarfRSP
	case rm == 5 && mod != 0:
		reg = dwarfRBP
	default:
		return 0, 0, false
	}
	switch {
	case mod == 1 && at < len(x.b):
		disp = int64(int8(x.b[at])) // EVEX counts in larger units: it is further away then
	case mod == 2 && at+4 <= len(x.b):
		disp = int64(int32(binary.LittleEndian.Uint32(x.b[at:])))
	}
	return reg, disp, true
}
