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
