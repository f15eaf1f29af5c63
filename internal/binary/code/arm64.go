package code

import "encoding/binary"

// decodeARM64 decodes an instruction of AArch64 (all are four bytes long; Arm ARM, section C4.1).
func decodeARM64(b []byte) (in Inst, ok bool) {
	if len(b) < 4 {
		return in, false
	}
	w := binary.LittleEndian.Uint32(b)
	in.Len = 4
	signed := func(v uint32, bits uint) int64 { return int64(int32(v<<(32-bits))) >> (32 - bits) }
	switch {
	case w&0xfffffc1f == 0xd65f0000, w == 0xd65f0bff, w == 0xd65f0fff: // ret, retaa, retab
		in.Op = Ret
	case w>>26 == 0b000101: // b
		in.Op, in.Direct, in.Target = Jump, true, signed(w&0x3ffffff, 26)*4
	case w>>26 == 0b100101: // bl
		in.Op, in.Direct, in.Target = Call, true, signed(w&0x3ffffff, 26)*4
	case w>>24 == 0x54, w>>25&0x3f == 0b011010: // b.cond, cbz, cbnz
		in.Op, in.Target = CondJump, signed(w>>5&0x7ffff, 19)*4
	case w>>25&0x3f == 0b011011: // tbz, tbnz
		in.Op, in.Target = CondJump, signed(w>>5&0x3fff, 14)*4
	case w&0xfffffc1f == 0xd61f0000: // br
		in.Op = Jump
	case w&0xfffffc1f == 0xd63f0000: // blr
		in.Op = Call
	case w == 0xd503201f:
		in.Op = Nop
	case w&0xffffff3f == 0xd503241f, w == 0xd503233f, w == 0xd503237f: // bti, paciasp, pacibsp
		in.Op = Landing
	case w>>24&0x1f == 0b10000: // adr, adrp
		in.Op, in.RIP, in.reg = Lea, true, uint8(w&31)
		in.Mem = signed(w>>5&0x7ffff<<2|w>>29&3, 21)
		if w>>31 == 1 {
			in.Mem, in.page = in.Mem<<12, true
		}
	case w>>22 == 0b1001000100, w>>22 == 0b1111100101: // add and 64-bit ldr with immediate: what completes an adrp
		in.Op, in.Imm, in.reg = MoveImm, int64(w>>10&0xfff), uint8(w>>5&31)
		if w>>22 == 0b1111100101 {
			in.Op, in.Imm = Load, in.Imm*8
		}
	case w>>16 == 0: // udf
		return in, false
	}
	return in, true
}
