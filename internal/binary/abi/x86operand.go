package abi

import (
	"fmt"
	"strconv"
	"strings"

	"trocar/internal/binary/types"
)

// x86 reads an operand of AT&T's assembler for x86: $5, %rax, 8(%rbp,%rcx,4), name(%rip).
func (o *Operands) x86(op string) (p types.Place, width int, err error) {
	switch {
	case op == "":
		return p, 0, fmt.Errorf("it is empty")
	case op[0] == '$':
		p, err = o.immediate(op[1:])
		return p, 0, err
	case op[0] == '%' && !strings.ContainsAny(op, "(:"):
		return o.register(op[1:])
	case op[0] == '%':
		segment := op[:strings.IndexAny(op, "(:")]
		return p, 0, fmt.Errorf("it is in the segment of %s, as variables of a thread are", segment)
	case op[0] == '*':
		return p, 0, fmt.Errorf("it is an indirect operand")
	}
	if n, err := strconv.ParseInt(op, 0, 64); err == nil {
		return types.Place{Kind: types.InMemory, Ops: []types.PlaceOp{{Code: types.PushConst, Arg: n}}}, 0, nil
	}
	p, err = o.memory(op)
	return p, 0, err
}

// register reads a register name of x86.
func (o *Operands) register(name string) (p types.Place, width int, err error) {
	r, width, high, ok := x86Register(name)
	if !ok {
		for _, vector := range []string{"xmm", "ymm", "zmm", "mm", "st", "k"} {
			if strings.HasPrefix(name, vector) {
				return p, 0, fmt.Errorf("it is in the register %s, which programs in the kernel cannot read", name)
			}
		}
		return p, 0, fmt.Errorf("there is no register %s", name)
	}
	if high {
		// Bits 8 to 15.
		return types.Place{Kind: types.Computed, Ops: []types.PlaceOp{
			{Code: types.PushReg, Reg: r},
			{Code: types.PushConst, Arg: 8},
			{Code: types.ShrUnsigned},
			{Code: types.PushConst, Arg: 0xff},
			{Code: types.And},
		}}, 1, nil
	}
	return types.Place{Kind: types.InRegister, Reg: r}, width, nil
}

// x86Register gives the DWARF number and the width of a general register.
func x86Register(name string) (reg, width int, high, ok bool) {
	// By DWARF number: the name without prefix and suffix.
	for i, base := range [...]string{"ax", "dx", "cx", "bx", "si", "di", "bp", "sp"} {
		switch name {
		case "r" + base:
			return i, 8, false, true
		case "e" + base:
			return i, 4, false, true
		case base:
			return i, 2, false, true
		case base[:1] + "l", base + "l":
			if i < 4 == (len(name) == 2) {
				return i, 1, false, true
			}
		case base[:1] + "h":
			if i < 4 {
				return i, 1, true, true
			}
		}
	}
	switch name {
	case "rip":
		return rip, 8, false, true
	case "eip":
		return rip, 4, false, true
	}
	digits, found := strings.CutPrefix(name, "r")
	if !found {
		return 0, 0, false, false
	}
	width = 8
	for suffix, w := range map[string]int{"d": 4, "w": 2, "b": 1, "l": 1} {
		if d, ok := strings.CutSuffix(digits, suffix); ok {
			digits, width = d, w
			break
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 8 || n > 15 || digits[0] == '0' {
		return 0, 0, false, false
	}
	return n, width, false, true
}

// immediate reads what follows '$': a number, or the address of a symbol.
func (o *Operands) immediate(text string) (types.Place, error) {
	if n, ok := parseConst(text); ok {
		return types.Place{Kind: types.Constant, Value: n}, nil
	}
	addr, err := o.symbol(text)
	if err != nil {
		return types.Place{}, err
	}
	// The file may be loaded anywhere; its code and data keep their distance.
	return types.Place{Kind: types.Computed, Ops: o.near(addr)}, nil
}

// near computes the address in the process of an address in the file.
func (o *Operands) near(addr uint64) []types.PlaceOp {
	distance := int64(addr - o.Site)
	return []types.PlaceOp{{Code: types.PushReg, Reg: rip}, {Code: types.PushConst, Arg: distance}, {Code: types.Add}}
}

// memory reads "disp(base,index,scale)" with its parts optional.
func (o *Operands) memory(op string) (p types.Place, err error) {
	disp, inner, ok := strings.Cut(op, "(")
	if !ok {
		// A bare symbol: what is stored there.
		addr, err := o.symbol(op)
		if err != nil {
			return p, err
		}
		return types.Place{Kind: types.InMemory, Ops: o.near(addr)}, nil
	}
	inner, ok = strings.CutSuffix(inner, ")")
	if !ok {
		return p, fmt.Errorf("a parenthesis is missing")
	}
	parts := strings.Split(strings.ReplaceAll(inner, " ", ""), ",")
	if len(parts) > 3 {
		return p, fmt.Errorf("it is not an operand of x86")
	}
	if strings.TrimPrefix(parts[0], "%") == "rip" {
		if len(parts) > 1 {
			return p, fmt.Errorf("it is not an operand of x86")
		}
		if _, number := parseConst(disp); number || disp == "" {
			return p, fmt.Errorf("it is relative to the end of an instruction that is not known")
		}
		addr, err := o.symbol(disp)
		if err != nil {
			return p, err
		}
		return types.Place{Kind: types.InMemory, Reg: rip, Offset: int64(addr - o.Site)}, nil
	}

	var offset uint64
	var ops []types.PlaceOp
	if disp != "" {
		n, number := parseConst(disp)
		if !number {
			addr, err := o.symbol(disp)
			if err != nil {
				return p, err
			}
			if !o.Symbols.Fixed() {
				return p, fmt.Errorf("it is an absolute address in a file that is loaded anywhere")
			}
			n = addr
		}
		offset = n
	}
	base, bw, err := addressReg(parts[0])
	if err != nil {
		return p, err
	}
	index, iw, scale := -1, 0, int64(1)
	if len(parts) > 1 {
		if index, iw, err = addressReg(parts[1]); err != nil {
			return p, err
		}
	}
	if len(parts) > 2 {
		scale, err = strconv.ParseInt(parts[2], 0, 8)
		if err != nil || scale != 1 && scale != 2 && scale != 4 && scale != 8 {
			return p, fmt.Errorf("a scale of %q is not possible", parts[2])
		}
	}
	wide := o.word()
	if index < 0 && base >= 0 && bw == wide {
		return types.Place{Kind: types.InMemory, Reg: base, Offset: int64(offset)}, nil
	}
	ops = append(ops, types.PlaceOp{Code: types.PushConst, Arg: int64(offset)})
	if base >= 0 {
		ops = append(ops, types.PlaceOp{Code: types.PushReg, Reg: base}, types.PlaceOp{Code: types.Add})
	}
	if index >= 0 {
		ops = append(ops,
			types.PlaceOp{Code: types.PushReg, Reg: index}, types.PlaceOp{Code: types.PushConst, Arg: scale},
			types.PlaceOp{Code: types.Mul}, types.PlaceOp{Code: types.Add})
	}
	// With 32-bit registers the address is computed in 32 bits.
	if base >= 0 && bw == 4 || index >= 0 && iw == 4 {
		ops = append(ops, types.PlaceOp{Code: types.PushConst, Arg: 0xffffffff}, types.PlaceOp{Code: types.And})
	}
	return types.Place{Kind: types.InMemory, Ops: ops}, nil
}

// addressReg reads a register of an address; -1: none.
func addressReg(name string) (reg, width int, err error) {
	if name == "" {
		return -1, 0, nil
	}
	name, ok := strings.CutPrefix(name, "%")
	if ok {
		var high bool
		if reg, width, high, ok = x86Register(name); ok && !high && width >= 4 && reg != rip {
			return reg, width, nil
		}
	}
	if strings.HasPrefix(name, "riz") || strings.HasPrefix(name, "eiz") { // "no index"
		return -1, 0, nil
	}
	return 0, 0, fmt.Errorf("%q is not a register of an address", name)
}
