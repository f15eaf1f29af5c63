package code

import "trocar/internal/binary/abi"

// maxPath bounds the instructions that UsesArgument follows.
const maxPath = 1 << 14

// UsesArgument tells whether a function reads an argument in a register (by its DWARF number) before it puts something
// else in there: on some way through its code, up to calls. Those change the register, and that it is passed on there
// untouched is not told from its being there by chance. On CPUs other than x86-64 it says that all are read.
func UsesArgument(arch *abi.Arch, fn []byte, reg int) bool {
	if arch != abi.AMD64 {
		return true
	}
	r := ResultRegister(0)
	for int(r) < 16 && arch.Encoded(int(r)) != reg {
		r++
	}
	seen := map[int]bool{}
	ways := []int{0}
	for len(ways) > 0 && len(seen) < maxPath {
		at := ways[len(ways)-1]
		ways = ways[:len(ways)-1]
		for at >= 0 && at < len(fn) && !seen[at] {
			seen[at] = true
			in, ok := Decode(arch, fn[at:])
			if !ok {
				break
			}
			text, next := fn[at:at+in.Len], at+in.Len
			switch in.Op {
			case Ret, Trap, Call:
				next = len(fn)
			case Jump:
				next = len(fn)
				if in.Direct {
					next = at + int(in.Target)
				}
			case CondJump:
				ways = append(ways, at+int(in.Target))
			case Nop, Landing:
			default:
				if r.addresses(text) {
					return true
				}
				switch r.use(text) {
				case takesIt:
					return true
				case mayChangeIt:
					if !vectorCode(text) {
						next = len(fn)
					}
				}
			}
			at = next
		}
	}
	return false
}

// addresses tells whether an instruction has an operand in memory whose address the register is a part of.
func (r ResultRegister) addresses(in []byte) bool {
	x := x86{b: in, long: true}
	what, ok := x.opcode()
	if !ok || what&m == 0 || x.at >= len(in) || in[x.at]>>6 == 3 {
		return false
	}
	rex := x.rex
	if x.vector {
		rex = x.rexB // of the base; that of the index is not kept
	}
	return r.inAddress(in[x.at:], rex)
}

// vectorCode tells an instruction that changes no general register as far as its encoding goes.
func vectorCode(in []byte) bool {
	x := x86{b: in, long: true}
	_, ok := x.opcode()
	return ok && x.vector
}
