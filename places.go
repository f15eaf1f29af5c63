package trocar

import (
	"fmt"
	"strings"

	"trocar/internal/binary/types"
)

// placeText tells a place to people: "rdi", "[rsp+8]", "[[rdi]+16]", "= 5".
func placeText(a *types.Arch, p types.Place) string {
	switch p.Kind {
	case types.InRegister:
		return registerName(a, p.Reg)
	case types.InMemory:
		if len(p.Ops) > 0 {
			return "at a computed address"
		}
		text := registerName(a, p.Reg) + signed(p.Offset)
		for _, d := range p.Derefs {
			text = "[" + text + "]" + signed(d)
		}
		return "[" + text + "]"
	case types.Constant:
		return fmt.Sprintf("= %d", int64(p.Value))
	case types.InPieces:
		var parts []string
		for _, piece := range p.Pieces {
			parts = append(parts, fmt.Sprintf("%s (%d bytes)", placeText(a, piece.Place), piece.Size))
		}
		return strings.Join(parts, ", ")
	case types.Computed:
		if len(p.Ops) > 0 || len(p.Derefs) > 0 {
			return "computed"
		}
		return "= " + registerName(a, p.Reg) + signed(p.Offset)
	}
	if p.Why == "" {
		return "unavailable"
	}
	return p.Why
}

func signed(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%+d", n)
}

// registerName is the name of a register by its number in DWARF (System V ABI, AMD64 supplement, figure 3.36; AADWARF64).
func registerName(a *types.Arch, n int) string {
	if a == types.ARM64 {
		switch {
		case n == 31:
			return "sp"
		case n == 32:
			return "pc"
		}
		return fmt.Sprintf("x%d", n)
	}
	names := [...]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"}
	switch {
	case n >= 0 && n < len(names):
		return names[n]
	case n < 16:
		return fmt.Sprintf("r%d", n)
	case n == 16:
		return "rip"
	case n >= 17 && n <= 32:
		return fmt.Sprintf("xmm%d", n-17)
	}
	return fmt.Sprintf("register %d", n)
}
