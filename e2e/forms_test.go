package e2e

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
)

// Instructions for testdata/steps.c: of each opcode in each map, with prefixes, its forms with operands in registers
// and memory.

// form is an instruction.
type form struct {
	code []byte
	rip  int // where the distance of an operand relative to the instruction pointer is; 0: there is none
	inst code.Inst
}

// line is the form as steps.c reads it.
func (f *form) line() string { return fmt.Sprintf("%x %d\n", f.code, f.rip) }

// scratch is in the memory that steps.c has for operands.
const scratch = 0x20000800

// generator collects forms.
type generator struct {
	full  bool
	seen  map[string]bool
	forms []form
}

// allForms makes the forms. The short set has fewer prefixes and numbers of registers.
func allForms(full bool) []form {
	g := &generator{full: full, seen: map[string]bool{}}
	for op := range 256 {
		g.older(byte(op))
		for pp := range byte(4) {
			for l := range byte(3) {
				for w := range byte(2) {
					if full || w == 0 {
						g.vectors(byte(op), pp, w, l)
					}
				}
			}
		}
	}
	return g.forms
}

// numbers are those that the middle of the ModRM byte is given.
func (g *generator) numbers(group bool) []byte {
	if group || g.full {
		return []byte{0, 1, 2, 3, 4, 5, 6, 7}
	}
	return []byte{1}
}

// older adds the forms of an opcode without VEX and EVEX.
func (g *generator) older(op byte) {
	prefixes := [][]byte{nil, {0x66}, {0xf2}, {0xf3}, {0x41}, {0x48}}
	if g.full {
		for _, p := range [][]byte{{0x66}, {0xf2}, {0xf3}, {0x67}, {0x64}} {
			prefixes = append(prefixes, slices.Concat(p, []byte{0x41}), slices.Concat(p, []byte{0x48}))
		}
		prefixes = append(prefixes, []byte{0x67}, []byte{0x64})
	}
	one := op >= 0x80 && op <= 0x83 || op == 0x8f || op&0xfe == 0xc0 || op&0xfe == 0xc6 ||
		op >= 0xd0 && op <= 0xdf || op >= 0xf6
	two := op <= 1 || op >= 0x18 && op <= 0x1f || op >= 0x71 && op <= 0x73 || op == 0xae || op == 0xba || op == 0xc7
	others := []byte{0x0f, 0x62, 0xc4, 0xc5, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3}
	isPrefix := slices.Contains(others, op) || op&0xf0 == 0x40
	for _, prefix := range prefixes {
		if !isPrefix {
			g.operands(append(slices.Clone(prefix), op), g.numbers(one))
		}
		g.operands(append(slices.Clone(prefix), 0x0f, op), g.numbers(two))
		g.operands(append(slices.Clone(prefix), 0x0f, 0x38, op), []byte{1})
		g.operands(append(slices.Clone(prefix), 0x0f, 0x3a, op), []byte{1})
	}
}

// vectors adds the forms of VEX and EVEX, with xmm2 or none as the second source.
func (g *generator) vectors(op, pp, w, l byte) {
	regs := g.numbers(op >= 0x71 && op <= 0x73 || op == 0xae || op == 0xf3)
	if !(op >= 0x71 && op <= 0x73 || op == 0xae || op == 0xf3) {
		regs = []byte{1}
	}
	for _, source := range []byte{^byte(2) & 15, 15} {
		if l < 2 {
			if w == 0 {
				g.operands([]byte{0xc5, 0x80 | source<<3 | l<<2 | pp, op}, regs)
			}
			for _, opMap := range []byte{1, 2, 3} {
				if g.full || opMap > 1 {
					g.operands([]byte{0xc4, 0xe0 | opMap, w<<7 | source<<3 | l<<2 | pp, op}, regs)
				}
			}
		}
		for _, opMap := range []byte{1, 2, 3, 5, 6} {
			if g.full || l == 2 {
				g.operands([]byte{0x62, 0xf0 | opMap, w<<7 | source<<3 | 4 | pp, l<<5 | 8, op}, regs)
			}
			if g.full {
				g.operands([]byte{0x62, 0xf0 | opMap, w<<7 | source<<3 | 4 | pp, l<<5 | 8 | 1, op}, regs) // masked by k1
			}
		}
	}
}

// operands adds the forms of an opcode: without a ModRM byte, and with one.
func (g *generator) operands(head, regs []byte) {
	g.add(head, nil, false, 16)
	for _, reg := range regs {
		g.add(head, []byte{0xc3 | reg<<3}, false, 1) // rbx
		g.add(head, []byte{0x03 | reg<<3}, false, 1) // (%rbx)
		g.add(head, []byte{0x05 | reg<<3}, true, 1)  // N(%rip)
		if g.full {
			g.add(head, []byte{0xc0 | reg<<3}, false, 1)             // rax
			g.add(head, []byte{0x44 | reg<<3, 0x24, 0x10}, false, 1) // 16(%rsp)
		}
	}
}

// add takes a form if it is an instruction that the decoder knows: what follows the operand is zero, or tail.
func (g *generator) add(head, modrm []byte, rip bool, tail byte) {
	b := slices.Concat(head, modrm)
	at := 0
	if rip {
		at = len(b)
		b = append(b, 0, 0, 0, 0)
	}
	n := len(b)
	b = append(b, tail, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	in, ok := code.Decode(abi.AMD64, b)
	if !ok || in.Len < n || in.Len > n && modrm != nil && !rip && in.RIP {
		return
	}
	if modrm != nil && (in.Direct || in.Op == code.CondJump) {
		return // they are part of its distance
	}
	b = b[:in.Len]
	if in.Len-n == 8 && modrm == nil { // an address
		binary.LittleEndian.PutUint64(b[n:], scratch)
	}
	if key := string(b); !g.seen[key] && !refused(b) {
		g.seen[key] = true
		g.forms = append(g.forms, form{b, at, in})
	}
}

// refused tells what the kernel takes no probe on: it would have to be found out in halves, one by one.
func refused(b []byte) bool {
	n, narrow := 0, false
	for ; slices.Contains([]byte{0x66, 0x67, 0xf2, 0xf3, 0x64}, b[n]) || b[n]&0xf0 == 0x40; n++ {
		narrow = narrow || b[n] == 0x66
	}
	if in, ok := code.Decode(abi.AMD64, b); !ok || in.Hazard == code.Unsteppable {
		return true
	}
	switch op := b[n]; op {
	case 0xc4, 0xc5, 0x62:
		op = b[n+2] // the opcode
		if b[n] == 0xc4 {
			op = b[n+3]
		} else if b[n] == 0x62 {
			op = b[n+4]
		}
		return op == 0x9a || op == 0xea
	case 0x0f:
		op = b[n+1]
		return op >= 0x78 && op <= 0x7b || narrow && op&0xf0 == 0x80
	case 0x8e: // to ss
		return b[n+1]>>3&7 == 2
	case 0x6c, 0x6d, 0x6e, 0x6f, 0x9a, 0xcc, 0xcd, 0xcf, 0xe4, 0xe5, 0xe6, 0xe7, 0xec, 0xed, 0xee, 0xef, 0xf1, 0xf4, 0xfa,
		0xfb:
		return true
	default:
		return narrow && (op&0xf0 == 0x70 || op == 0xe8 || op == 0xe9 || op == 0xeb)
	}
}

// parseForm reads the first word of a line of steps.c.
func parseForm(text string) (b []byte, in code.Inst, ok bool) {
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, in, false
	}
	in, ok = code.Decode(abi.AMD64, b)
	return b, in, ok
}
