package abi

import (
	"fmt"
	"strconv"
	"strings"

	"trocar/internal/binary/types"
)

// Operands of USDT probes: assembler text in which the compiler says where the arguments are, one "SIZE@OPERAND" for
// each. A negative size means a signed integer. See https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.

// Operands reads the operands of one probe at one place.
type Operands struct {
	Arch    *Arch
	Site    uint64 // address of the probed instruction
	Symbols Symbols
}

// Symbols is the file that operands are of.
type Symbols interface {
	// SymbolAddr gives the address of a symbol.
	SymbolAddr(name string) (uint64, bool)
	// Fixed tells whether the file is loaded at the addresses that it has.
	Fixed() bool
}

// MaxOperands bounds the operands of a probe. The largest macro of sys/sdt.h has 12; others are written with assembler.
const MaxOperands = 64

// Places are the places and types of the operands of a text, up to MaxOperands. An operand that cannot be read is
// unavailable with the reason, and does not take the others away.
func (o *Operands) Places(text string) (places []types.Place, typs []*types.Type) {
	places, typs = []types.Place{}, []*types.Type{}
	for _, arg := range splitOperands(text) {
		if len(places) == MaxOperands {
			break
		}
		p, t := o.parse(arg)
		places, typs = append(places, p), append(typs, t)
	}
	return places, typs
}

// splitOperands splits at the blanks outside of brackets.
func splitOperands(text string) (args []string) {
	depth, start := 0, 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ' ' && depth == 0:
			if arg := text[start:i]; arg != "" {
				args = append(args, arg)
			}
			start = i + 1
		case text[i] == '(' || text[i] == '[':
			depth++
		case text[i] == ')' || text[i] == ']':
			depth--
		}
	}
	return args
}

func unavailable(format string, args ...any) types.Place {
	return types.Place{Kind: types.Unavailable, Why: fmt.Sprintf(format, args...)}
}

// word is the size of a pointer in bytes.
func (o *Operands) word() int {
	if o.Arch == nil {
		return 8
	}
	return o.Arch.Bits / 8
}

// parse reads one operand.
func (o *Operands) parse(arg string) (types.Place, *types.Type) {
	size, signed, float := o.word(), true, false
	op := arg
	if n, rest, ok := strings.Cut(arg, "@"); ok && strings.Trim(n, "-0123456789f") == "" {
		op = rest
		n, float = strings.CutSuffix(n, "f")
		v, err := strconv.Atoi(n)
		signed = v < 0
		size = max(v, -v)
		if err != nil || size != 1 && size != 2 && size != 4 && size != 8 {
			return unavailable("the operand %q has a size of %d bytes", arg, size), types.TInt64
		}
	}
	t := types.IntOf(size, signed)
	if float {
		return unavailable("the operand %q is a floating-point number, which is not read", arg), t
	}
	p, width, err := o.operand(op)
	switch {
	case err != nil:
		return unavailable("the operand %q: %s", arg, err), t
	case p.Kind == types.Constant:
		p.Value = extend(p.Value, size, signed)
	case width > 0 && width < size:
		// Only the part register is written; the rest of the value is its extension.
		t = types.IntOf(width, signed)
	}
	return p, t
}

// extend cuts a constant to its size and extends it to 64 bits.
func extend(v uint64, size int, signed bool) uint64 {
	shift := uint(64 - 8*size)
	if signed {
		return uint64(int64(v<<shift) >> shift)
	}
	return v << shift >> shift
}

// operand reads the operand itself; width is that of a register that is narrower than eight bytes.
func (o *Operands) operand(op string) (p types.Place, width int, err error) {
	if o.Arch == nil || o.Arch.operand == nil {
		return p, 0, fmt.Errorf("the operands of this CPU are not known")
	}
	return o.Arch.operand(o, op)
}

// parseConst reads a number, signed or of 64 bits unsigned.
func parseConst(text string) (uint64, bool) {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return uint64(n), true
	}
	n, err := strconv.ParseUint(text, 0, 64)
	return n, err == nil
}

// symbol gives the address of "name", "name+8" or "name-8".
func (o *Operands) symbol(text string) (uint64, error) {
	name, add := text, int64(0)
	if i := strings.LastIndexAny(text, "+-"); i > 0 {
		n, err := strconv.ParseInt(text[i:], 0, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a number", text[i:])
		}
		name, add = text[:i], n
		// More than one: "name-8+4".
		if j := strings.LastIndexAny(name, "+-"); j > 0 {
			n, err := strconv.ParseInt(name[j:], 0, 64)
			if err == nil {
				name, add = name[:j], add+n
			}
		}
	}
	if strings.Contains(name, "@") {
		return 0, fmt.Errorf("%s goes through a table that the linker made", name)
	}
	addr, ok := o.Symbols.SymbolAddr(name)
	if !ok {
		return 0, fmt.Errorf("the symbol %s is not in the file's symbol table", name)
	}
	return addr + uint64(add), nil
}
