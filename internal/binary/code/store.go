package code

import "trocar/internal/binary/abi"

// Store is an instruction that stores a register in memory at a distance from the stack pointer.
type Store struct {
	Reg   int // its DWARF number; of a floating-point register, its own
	Float bool
	Size  int // in bytes
	Off   int // from the stack pointer
}

// StackStore takes an instruction apart that moves a register to N(%rsp). False: it is another one, or the CPU's are
// not known.
func StackStore(arch *abi.Arch, in []byte) (s Store, ok bool) {
	if arch != abi.AMD64 {
		return s, false
	}
	rex, prefix := byte(0), byte(0)
	i := 0
	for ; i < len(in); i++ {
		switch c := in[i]; {
		case c == 0x66, c == 0xf2, c == 0xf3:
			prefix = c
			continue
		case c&0xf0 == 0x40:
			rex = c
			continue
		}
		break
	}
	if i >= len(in) {
		return s, false
	}
	switch {
	case in[i] == 0x88 && prefix == 0:
		s.Size = 1
	case in[i] == 0x89 && prefix == 0x66:
		s.Size = 2
	case in[i] == 0x89 && prefix == 0:
		s.Size = 4
		if rex&8 != 0 {
			s.Size = 8
		}
	case in[i] == 0x0f && i+1 < len(in) && in[i+1] == 0x11 && (prefix == 0xf2 || prefix == 0xf3): // movsd, movss
		s.Float, s.Size = true, 8
		if prefix == 0xf3 {
			s.Size = 4
		}
		i++
	default:
		return s, false
	}
	i++
	if i+2 > len(in) || in[i]&7 != 4 || in[i+1] != 0x24 || rex&3 != 0 {
		return s, false // not relative to the stack pointer
	}
	n := int(in[i]>>3&7) | int(rex&4)<<1
	switch mod, rest := in[i]>>6, in[i+2:]; {
	case mod == 0 && len(rest) == 0:
	case mod == 1 && len(rest) == 1:
		s.Off = int(int8(rest[0]))
	case mod == 2 && len(rest) == 4:
		s.Off = int(int32(uint32(rest[0]) | uint32(rest[1])<<8 | uint32(rest[2])<<16 | uint32(rest[3])<<24))
	default:
		return s, false
	}
	s.Reg = n
	if !s.Float {
		s.Reg = arch.Encoded(n)
	}
	return s, true
}

// maxAhead bounds the instructions that StoresAhead looks at.
const maxAhead = 32

// StoresAhead tells whether the code that text begins with may write to memory before it goes on elsewhere. It takes
// instructions that are not known here for such that write; on CPUs other than x86-64 it takes all code for that.
func StoresAhead(arch *abi.Arch, text []byte) bool {
	if arch != abi.AMD64 {
		return true
	}
	for range maxAhead {
		in, ok := Decode(arch, text)
		if !ok {
			return true
		}
		switch in.Op {
		case Ret, Jump, CondJump, Call, Trap:
			return false
		case Nop, Landing, Lea, Load:
		default:
			if mayStore(text[:in.Len]) {
				return true
			}
		}
		text = text[in.Len:]
	}
	return true
}

// mayStore is false for instructions that are known not to write to memory (Intel SDM, volume 2).
func mayStore(in []byte) bool {
	x := x86{b: in, long: true}
	if what, ok := x.opcode(); !ok || what&m == 0 {
		return !ok || x.opMap != 0 || x.op < 0x50 || x.op > 0x5f && x.op < 0xb0 || x.op > 0xbf
	}
	if x.at >= len(in) {
		return true
	}
	if in[x.at]>>6 == 3 {
		return x.opMap == 1 && x.op == 0xf7 // no operand in memory, but maskmovdqu stores at rdi
	}
	reg := in[x.at] >> 3 & 7
	switch {
	case x.vector && x.opMap == 1, x.opMap == 1 && x.op >= 0x10:
		switch x.op {
		case 0x11, 0x13, 0x17, 0x29, 0x2b, 0x7e, 0x7f, 0xd6, 0xe7, 0xc0, 0xc1, 0xc3, 0xc7, 0xae, 0xab, 0xb0, 0xb1, 0xb3, 0xba,
			0xbb, 0xa4, 0xa5,
			0xac, 0xad:
			return true
		}
		return x.op >= 0x90 && x.op <= 0x9f // setcc
	case x.opMap == 2: // loads and arithmetic, but movbe, scatters and masked moves
		return x.op == 0xf1 || x.op == 0x2e || x.op == 0x2f || x.op == 0x8e || x.op >= 0xa0 && x.op <= 0xa3 ||
			x.vector && x.op&0xf0 == 0x30
	case x.opMap != 0:
		return true
	case x.op < 0x40:
		return x.op&7 < 2 && x.op&0x38 != 0x38 // to memory, but cmp
	case x.op >= 0x80 && x.op <= 0x83:
		return reg != 7
	case x.op == 0x84, x.op == 0x85, x.op == 0x8a, x.op == 0x8b, x.op == 0x8d, x.op == 0x63, x.op == 0x69, x.op == 0x6b:
		return false
	case x.op == 0xf6, x.op == 0xf7:
		return reg == 2 || reg == 3
	case x.op == 0xd8, x.op == 0xda, x.op == 0xdc, x.op == 0xde:
		return false
	case x.op == 0xd9, x.op == 0xdd:
		return reg != 0
	}
	return true
}
