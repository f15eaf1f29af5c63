package abi

import (
	"fmt"
	"strconv"
	"strings"

	"trocar/internal/binary/types"
)

// arm64 reads an operand of AArch64: x0, w1, sp, a number, [x0], [sp, 16], [x1, x2].
func (o *Operands) arm64(op string) (p types.Place, width int, err error) {
	if n, ok := parseConst(strings.TrimPrefix(op, "#")); ok {
		return types.Place{Kind: types.Constant, Value: n}, 0, nil
	}
	if inner, ok := strings.CutPrefix(op, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		parts := strings.Split(strings.ReplaceAll(inner, " ", ""), ",")
		reg, w, found := armRegister(parts[0])
		if !ok || !found || w != 8 || len(parts) > 2 {
			return p, 0, fmt.Errorf("it is not an operand of arm64")
		}
		if len(parts) == 1 {
			return types.Place{Kind: types.InMemory, Reg: reg}, 0, nil
		}
		if n, ok := parseConst(strings.TrimPrefix(parts[1], "#")); ok {
			return types.Place{Kind: types.InMemory, Reg: reg, Offset: int64(n)}, 0, nil
		}
		index, w, found := armRegister(parts[1])
		if !found || w != 8 {
			return p, 0, fmt.Errorf("it is not an operand of arm64")
		}
		return types.Place{Kind: types.InMemory, Ops: []types.PlaceOp{
			{Code: types.PushReg, Reg: reg}, {Code: types.PushReg, Reg: index}, {Code: types.Add},
		}}, 0, nil
	}
	reg, width, ok := armRegister(op)
	if !ok {
		if len(op) > 1 && strings.ContainsRune("vqdshb", rune(op[0])) && strings.Trim(op[1:], "0123456789") == "" {
			return p, 0, fmt.Errorf("it is in the register %s, which programs in the kernel cannot read", op)
		}
		return p, 0, fmt.Errorf("there is no register %s", op)
	}
	return types.Place{Kind: types.InRegister, Reg: reg}, width, nil
}

// armRegister gives the DWARF number (DWARF for the Arm 64-bit Architecture: x0-x30 0-30, sp 31) and width.
func armRegister(name string) (reg, width int, ok bool) {
	if name == "sp" {
		return 31, 8, true
	}
	if len(name) < 2 || name[0] != 'x' && name[0] != 'w' {
		return 0, 0, false
	}
	n, err := strconv.Atoi(name[1:])
	if err != nil || n < 0 || n > 30 || name[1] == '0' && len(name) > 2 || name[1] == '+' {
		return 0, 0, false
	}
	if name[0] == 'w' {
		return n, 4, true
	}
	return n, 8, true
}
