package match

import (
	"fmt"
	"strconv"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// Operands of USDT probes: assembler text in which the compiler says where the arguments are, one "SIZE@OPERAND" for each.
// A negative size means a signed integer. See https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.

// operands reads the operands of one probe at one place.
type operands struct {
	obj    *objfile.File
	site   uint64 // address of the probed instruction
	bits32 bool   // 32-bit x86
	arm    bool
}

// maxOperands is what sys/sdt.h's largest macro has.
const maxOperands = 12

// scope makes the scope of an operand text. An operand that cannot be read does not take the others away.
func (o *operands) scope(text string) *probe.Scope {
	s := &probe.Scope{ArgN: []types.Place{}, ArgNTypes: []*types.Type{}}
	for _, arg := range splitOperands(text) {
		if len(s.ArgN) == maxOperands {
			break
		}
		p, t := o.parse(arg)
		s.ArgN = append(s.ArgN, p)
		s.ArgNTypes = append(s.ArgNTypes, t)
	}
	return s
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

// parse reads one operand.
func (o *operands) parse(arg string) (types.Place, *types.Type) {
	size, signed, float := 8, true, false
	if o.bits32 {
		size = 4
	}
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
		return unavailable("the operand %q is a floating point number, in the form that this program cannot read", arg), t
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
func (o *operands) operand(op string) (p types.Place, width int, err error) {
	if o.arm {
		return o.arm64(op)
	}
	switch {
	case op == "":
		return p, 0, fmt.Errorf("it is empty")
	case op[0] == '$':
		p, err = o.immediate(op[1:])
		return p, 0, err
	case op[0] == '%' && !strings.ContainsAny(op, "(:"):
		return o.register(op[1:])
	case op[0] == '%':
		return p, 0, fmt.Errorf("it is in the segment of %s, as variables of a thread are", op[:strings.IndexAny(op, "(:")])
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
func (o *operands) register(name string) (p types.Place, width int, err error) {
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

// DWARF numbers of the stack pointer and the instruction pointer (System V ABI, AMD64 supplement, figure 3.36).
const (
	regSP = 7
	regIP = 16
)

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
		return regIP, 8, false, true
	case "eip":
		return regIP, 4, false, true
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
func (o *operands) immediate(text string) (types.Place, error) {
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
func (o *operands) near(addr uint64) []types.PlaceOp {
	return []types.PlaceOp{{Code: types.PushReg, Reg: regIP}, {Code: types.PushConst, Arg: int64(addr - o.site)}, {Code: types.Add}}
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
func (o *operands) symbol(text string) (uint64, error) {
	name, add := text, int64(0)
	if i := strings.LastIndexAny(text, "+-"); i > 0 {
		n, err := strconv.ParseInt(text[i:], 0, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no number", text[i:])
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
	addr, ok := o.obj.SymbolAddr(name)
	if !ok {
		return 0, fmt.Errorf("the symbol %s is not in the file's symbol table", name)
	}
	return addr + uint64(add), nil
}

// memory reads "disp(base,index,scale)" with its parts optional.
func (o *operands) memory(op string) (p types.Place, err error) {
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
		return p, fmt.Errorf("it is no operand of x86")
	}
	if strings.TrimPrefix(parts[0], "%") == "rip" {
		if len(parts) > 1 {
			return p, fmt.Errorf("it is no operand of x86")
		}
		if _, number := parseConst(disp); number || disp == "" {
			return p, fmt.Errorf("it is relative to the end of an instruction that is not known")
		}
		addr, err := o.symbol(disp)
		if err != nil {
			return p, err
		}
		return types.Place{Kind: types.InMemory, Reg: regIP, Offset: int64(addr - o.site)}, nil
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
			if o.obj.Type() != objfile.TypeExec {
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
		if scale, err = strconv.ParseInt(parts[2], 0, 8); err != nil || scale != 1 && scale != 2 && scale != 4 && scale != 8 {
			return p, fmt.Errorf("a scale of %q cannot be", parts[2])
		}
	}
	wide := 8
	if o.bits32 {
		wide = 4
	}
	if index < 0 && base >= 0 && bw == wide {
		return types.Place{Kind: types.InMemory, Reg: base, Offset: int64(offset)}, nil
	}
	ops = append(ops, types.PlaceOp{Code: types.PushConst, Arg: int64(offset)})
	if base >= 0 {
		ops = append(ops, types.PlaceOp{Code: types.PushReg, Reg: base}, types.PlaceOp{Code: types.Add})
	}
	if index >= 0 {
		ops = append(ops, types.PlaceOp{Code: types.PushReg, Reg: index}, types.PlaceOp{Code: types.PushConst, Arg: scale},
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
		if reg, width, high, ok = x86Register(name); ok && !high && width >= 4 && reg != regIP {
			return reg, width, nil
		}
	}
	if strings.HasPrefix(name, "riz") || strings.HasPrefix(name, "eiz") { // "no index"
		return -1, 0, nil
	}
	return 0, 0, fmt.Errorf("%q is no register for an address", name)
}

// arm64 reads an operand of AArch64: x0, w1, sp, a number, [x0], [sp, 16], [x1, x2].
func (o *operands) arm64(op string) (p types.Place, width int, err error) {
	if n, ok := parseConst(strings.TrimPrefix(op, "#")); ok {
		return types.Place{Kind: types.Constant, Value: n}, 0, nil
	}
	if inner, ok := strings.CutPrefix(op, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		parts := strings.Split(strings.ReplaceAll(inner, " ", ""), ",")
		reg, w, found := armRegister(parts[0])
		if !ok || !found || w != 8 || len(parts) > 2 {
			return p, 0, fmt.Errorf("it is no operand that is known")
		}
		if len(parts) == 1 {
			return types.Place{Kind: types.InMemory, Reg: reg}, 0, nil
		}
		if n, ok := parseConst(strings.TrimPrefix(parts[1], "#")); ok {
			return types.Place{Kind: types.InMemory, Reg: reg, Offset: int64(n)}, 0, nil
		}
		index, w, found := armRegister(parts[1])
		if !found || w != 8 {
			return p, 0, fmt.Errorf("it is no operand that is known")
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
