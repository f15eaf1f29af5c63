package code

import "encoding/binary"

// memoryOperand is the address of an operand: -1 are registers that it does not have, or that do not count.
type memoryOperand struct {
	base, index int
	disp        int32
}

// memoryOperand is the operand whose ModRM byte is next.
func (x *x86) memoryOperand() (o memoryOperand) {
	o = memoryOperand{base: -1, index: -1}
	rexB, rexX := x.rex&1, x.rex>>1&1
	if x.vector {
		rexB = x.rexB & 1
		if x.b[0] == 0xc4 {
			rexX = ^x.b[1] >> 6 & 1
		}
	}
	if x.evexPrefix || x.xopPrefix || x.seg || x.adSize { // distances in other units, other memory
		return o
	}
	mod, rm, at := x.b[x.at]>>6, x.b[x.at]&7, x.at+1
	base := int(rm | rexB<<3)
	if rm == 4 {
		if at >= len(x.b) {
			return o
		}
		sib := x.b[at]
		at++
		if index := int(sib>>3&7 | rexX<<3); index != 4 {
			o.index = index
		}
		base = int(sib&7 | rexB<<3)
		rm = sib & 7
	}
	if mod == 0 && rm == 5 { // RIP, or no base
		return o
	}
	o.base = base
	switch {
	case mod == 1 && at < len(x.b):
		o.disp = int32(int8(x.b[at]))
	case mod == 2 && at+4 <= len(x.b):
		o.disp = int32(binary.LittleEndian.Uint32(x.b[at:]))
	}
	return o
}

// readsToo tells whether an instruction that writes to memory reads there first.
func readsToo(x *x86) bool {
	return !x.vector && x.opMap == 0 && (x.op < 0x40 || x.op >= 0x80 && x.op <= 0x83 || x.op == 0xc0 || x.op == 0xc1 ||
		x.op >= 0xd0 && x.op <= 0xd3 || x.op|1 == 0xf7 || x.op|1 == 0xff)
}

// accessWidth is how many bytes an instruction has as its operand in memory; 0: that is not known.
func accessWidth(x *x86, b []byte) int {
	word := 4
	switch {
	case x.rex&8 != 0:
		word = 8
	case x.opSize:
		word = 2
	}
	switch {
	case x.vector:
		if x.opMap != 1 || x.evexPrefix || x.xopPrefix {
			return 0
		}
		if n := vectorStore(x.op, x.pp, vexWide(b)); n > 0 {
			return int(n)
		}
		return vectorLoad(x.op, x.pp, vexWide(b))
	case x.opMap == 1:
		switch x.op {
		case 0xb6, 0xbe: // movzx, movsx
			return 1
		case 0xb7, 0xbf:
			return 2
		case 0xaf: // imul
			return word
		}
		switch {
		case x.op&0xf0 == 0x40: // cmov
			return word
		case x.op&0xf0 == 0x90: // setcc
			return 1
		}
		if n := vectorStore(x.op, ssePrefix(x), false); n > 0 {
			return int(n)
		}
		return vectorLoad(x.op, ssePrefix(x), false)
	case x.opMap != 0:
		return 0
	}
	switch op := x.op; {
	case op < 0x40 && op&7 < 4:
		if op&1 == 0 {
			return 1
		}
		return word
	case op == 0x63: // movsxd
		return 4
	case op == 0x80, op == 0x84, op == 0x88, op == 0x8a, op == 0xc6, op == 0xf6, op == 0xfe, op == 0xc0, op == 0xd0,
		op == 0xd2:
		return 1
	case op == 0x81, op == 0x83, op == 0x85, op == 0x89, op == 0x8b, op == 0xc7, op == 0xf7, op == 0xc1, op == 0xd1,
		op == 0xd3, op == 0x69, op == 0x6b:
		return word
	case op == 0xff && b[x.at]>>3&7 < 2:
		return word
	case op == 0xff && b[x.at]>>3&7 == 6: // push
		return 8
	case op == 0xd8 || op == 0xda:
		return 4
	case op == 0xdc:
		return 8
	case op == 0xde:
		return 2
	case op == 0xd9 && b[x.at]>>3&7 < 4:
		return 4
	case op == 0xdd && b[x.at]>>3&7 < 4:
		return 8
	case op == 0xdb:
		switch b[x.at] >> 3 & 7 {
		case 5, 7:
			return 10
		case 0, 1, 2, 3:
			return 4
		}
	}
	return 0
}

// vectorLoad is how many bytes an instruction of map 1 loads; 0: that is not known.
func vectorLoad(op, prefix byte, wide bool) int {
	full := 16
	if wide {
		full = 32
	}
	switch op {
	case 0x10, 0x51, 0x58, 0x59, 0x5c, 0x5d, 0x5e, 0x5f: // moves and arithmetic
		switch prefix {
		case 2:
			return 4
		case 3:
			return 8
		}
		return full
	case 0x2e, 0x2f: // comparisons
		if prefix == 1 {
			return 8
		}
		return 4
	case 0x2c, 0x2d, 0x5a: // conversions
		switch prefix {
		case 2:
			return 4
		case 3:
			return 8
		}
	case 0x12, 0x13, 0x16, 0x17:
		return 8
	case 0x28, 0x54, 0x55, 0x56, 0x57:
		return full
	case 0x6f:
		if prefix != 0 {
			return full
		}
		return 8
	case 0x6e: // movd, movq
		return 4
	case 0x7e:
		if prefix == 2 {
			return 8
		}
	}
	return 0
}
