package unwind

import (
	"math"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/cfi"
	"trocar/internal/binary/section"
)

// Kind says how the canonical frame address (CFA) is computed, or what else there is to do.
type Kind uint8

// Kinds of rules. Programs have these numbers in their code.
const (
	None       Kind = iota // nothing is known, or it cannot be expressed
	Stop                   // there is no caller
	Stack                  // CFA = stack pointer + Offset
	Frame                  // CFA = frame pointer + Offset
	Deref                  // CFA = what is at frame pointer + Offset, + Arg
	PLT                    // CFA = stack pointer + Offset, + 8 if the lower 4 bits of the address are Arg or more
	Signal                 // the registers are in the structure that the kernel has put on the stack
	FP                     // the caller's frame pointer and the return address are where the frame pointer points
	Register               // CFA = the register that is at 8 * Arg in struct pt_regs, + Offset
	StackDeref             // CFA = what is at stack pointer + Offset, + Arg
)

// Values of Rule.Saved that are no offsets.
const (
	Kept    = 0      // the frame pointer is the caller's
	AtFrame = 0x7fff // the caller's is where it points to
	Lost    = 0x7ffe // the caller's is not known
)

// Rule says how the caller's frame is found. The return address is in the word below the CFA.
type Rule struct {
	Kind   Kind
	Arg    uint8
	Saved  int16 // where the caller's frame pointer is, from the CFA
	Offset int32
}

// RuleSize is the size of a rule as programs see it: kind, argument, saved (2 bytes), offset (4).
const RuleSize = 8

// Word is the rule as programs see it.
func (r Rule) Word() uint64 {
	return uint64(r.Kind) | uint64(r.Arg)<<8 | uint64(uint16(r.Saved))<<16 | uint64(uint32(r.Offset))<<32
}

// maxRules is what the 16 bits of a row can name.
const maxRules = 1 << 16

// Rules are the rules of many tables, by their numbers.
type Rules struct {
	list []Rule
	ids  map[Rule]uint16
	full uint64
	near [1 << 10]numbered // those that were asked for last, by a part of a hash

	index, rows []uint32 // memory for the next table
}

// numbered is a rule with its number.
type numbered struct {
	word uint64
	id   uint16
}

// NewRules makes a set with the rule None, which has the number 0.
func NewRules() *Rules {
	return &Rules{list: []Rule{{}}, ids: map[Rule]uint16{{}: 0}}
}

// Number finds or makes the number of a rule. When there are too many, it is that of None.
func (s *Rules) Number(r Rule) uint16 {
	// Compilers write few rules again and again.
	word := r.Word()
	near := &s.near[word*0x9e3779b97f4a7c15>>(64-10)]
	if word == near.word { // of zeros: None, which has the number 0
		return near.id
	}
	id, ok := s.ids[r]
	if !ok {
		if len(s.list) == maxRules {
			s.full++
			return 0
		}
		id = uint16(len(s.list))
		s.list = append(s.list, r)
		s.ids[r] = id
	}
	*near = numbered{word, id}
	return id
}

// mostSpare bounds the words that are kept for the next table.
const mostSpare = 1 << 18

// Reuse takes the memory of a table that is not needed any more.
func (s *Rules) Reuse(t *Table) {
	if cap(t.index)+cap(t.rows) <= mostSpare {
		s.index, s.rows = t.index[:0], t.rows[:0]
	}
	*t = Table{}
}

// At is the rule of a number.
func (s *Rules) At(id uint16) Rule {
	if int(id) >= len(s.list) {
		return Rule{}
	}
	return s.list[id]
}

// Len is how many rules there are.
func (s *Rules) Len() int { return len(s.list) }

// Full is how many rows got None since there were too many rules.
func (s *Rules) Full() uint64 { return s.full }

// ruleOf expresses what call frame information says.
func ruleOf(c *cfi.Caller, cpu *abi.Arch) Rule {
	switch {
	case c.Signal:
		return Rule{Kind: Signal}
	case c.Return.Kind == cfi.Undefined:
		return Rule{Kind: Stop}
	case c.Return.Kind != cfi.AtOffset || c.Return.Offset != -8:
		return Rule{}
	}
	r, ok := address(c, cpu)
	if !ok {
		return Rule{}
	}
	r.Saved = saved(&c.Frame, cpu)
	return r
}

// address is the rule for the CFA.
func address(c *cfi.Caller, cpu *abi.Arch) (r Rule, ok bool) {
	if c.CFA.Expr != nil {
		return expression(c.CFA.Expr, cpu)
	}
	if c.CFA.Offset != int64(int32(c.CFA.Offset)) {
		return r, false
	}
	r.Offset = int32(c.CFA.Offset)
	switch c.CFA.Reg {
	case cpu.SP:
		r.Kind = Stack
	case cpu.FP:
		r.Kind = Frame
	default:
		if c.CFA.Reg < 0 || c.CFA.Reg >= len(cpu.Registers) {
			return r, false
		}
		at := cpu.Registers[c.CFA.Reg].Offset
		if at%8 != 0 || at/8 > math.MaxUint8 {
			return r, false
		}
		r.Kind, r.Arg = Register, uint8(at/8)
	}
	return r, true
}

// saved is the rule for the frame pointer.
func saved(f *cfi.RegRule, cpu *abi.Arch) int16 {
	switch f.Kind {
	case cfi.SameValue:
		return Kept
	case cfi.AtOffset:
		if o := int16(f.Offset); int64(o) == f.Offset && o != Kept && o != AtFrame && o != Lost {
			return o
		}
	case cfi.AtExpr:
		r := section.Reader{Data: f.Expr}
		if reg, ok := base(&r); ok && reg == cpu.FP && r.SLEB() == 0 && !r.Bad && r.Left() == 0 {
			return AtFrame
		}
	}
	return Lost
}

// Operations of expressions (DWARF 5, 7.7.1).
const (
	opDeref = 0x06
	opAnd   = 0x1a
	opPlus  = 0x22
	opPlusU = 0x23
	opShl   = 0x24
	opGe    = 0x2a
	opLit0  = 0x30
	opBreg0 = 0x70
)

// base reads the start of an operation that adds a number to a register.
func base(r *section.Reader) (reg int, ok bool) {
	op := r.U8()
	return int(op) - opBreg0, !r.Bad && op >= opBreg0 && op < opBreg0+32
}

// expression knows the forms that compilers, linkers and assembly have: what functions use that align their stack (the
// CFA is at a place relative to the frame pointer, or to the stack pointer), and that of procedure linkage tables.
func expression(b []byte, cpu *abi.Arch) (rule Rule, ok bool) {
	r := section.Reader{Data: b}
	reg, ok := base(&r)
	off := r.SLEB()
	if !ok || r.Bad || off != int64(int32(off)) {
		return rule, false
	}
	if reg == cpu.FP || reg == cpu.SP && r.Left() > 0 && r.Data[r.Pos] == opDeref {
		rule = Rule{Kind: Deref, Offset: int32(off)}
		if reg == cpu.SP {
			rule.Kind = StackDeref
		}
		if r.U8() != opDeref {
			return rule, false
		}
		if r.Left() > 0 && r.U8() == opPlusU {
			add := r.ULEB()
			rule.Arg = uint8(add)
			return rule, !r.Bad && add <= math.MaxUint8 && r.Left() == 0
		}
		return rule, !r.Bad && r.Left() == 0
	}
	if reg != cpu.SP {
		return rule, false
	}
	// breg SP off; breg IP 0; lit15; and; litN; ge; lit3; shl; plus
	if reg, ok := base(&r); !ok || reg != cpu.IP || r.SLEB() != 0 {
		return rule, false
	}
	if r.U8() != opLit0+15 || r.U8() != opAnd {
		return rule, false
	}
	n := r.U8() - opLit0
	if n > 15 || r.U8() != opGe || r.U8() != opLit0+3 || r.U8() != opShl || r.U8() != opPlus || r.Left() != 0 {
		return rule, false
	}
	return Rule{Kind: PLT, Arg: n, Offset: int32(off)}, true
}
