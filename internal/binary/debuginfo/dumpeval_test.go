package debuginfo

import (
	"strconv"
	"strings"

	"trocar/internal/binary/abi"
)

// What readelf's words for an expression come to.

// dumpEval runs an expression as printed.
type dumpEval struct {
	m     fakeMachine
	bias  uint64
	cfa   func() (uint64, bool)
	fbase string
	entry bool
}

type dumpOp struct {
	name string
	args []string
}

// splitOps splits "DW_OP_breg5 RDI+4, DW_OP_stack_value" at the commas outside of parentheses.
func splitOps(s string) []dumpOp {
	var ops []dumpOp
	depth, from := 0, 0
	flush := func(to int) {
		one := strings.TrimSpace(s[from:to])
		from = to + 1
		if one == "" {
			return
		}
		if i := strings.IndexByte(one, '('); i > 0 && !strings.Contains(one[:i], " ") {
			ops = append(ops, dumpOp{one[:i], []string{one[i+1 : len(one)-1]}})
			return
		}
		if strings.HasPrefix(one, "DW_OP_") || len(ops) == 0 {
			f := strings.Fields(one)
			ops = append(ops, dumpOp{f[0], f[1:]})
			return
		}
		last := &ops[len(ops)-1] // a further argument
		last.args = append(last.args, strings.Fields(one)...)
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				flush(i)
			}
		}
	}
	flush(len(s))
	return ops
}

type unsupported string

// typed is a value with its type, as the standard's stack has them.
type typed struct {
	v uint64
	t baseType
}

func (t baseType) cut(v uint64) uint64 {
	if t.size == 0 || t.size >= 8 {
		return v
	}
	s := 64 - 8*t.size
	if t.signed {
		return uint64(int64(v<<s) >> s)
	}
	return v << s >> s
}

func number(s string) uint64 {
	s = strings.TrimPrefix(s, "+")
	if v, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(v)
	}
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		panic(unsupported("number " + s))
	}
	return v
}

func (d *dumpEval) none(why string) outcome { return outcome{kind: "none", why: why} }

// run evaluates; it panics with unsupported for what the comparison leaves out.
func (d *dumpEval) run(s string) outcome {
	if s == "<empty>" {
		return d.none("empty")
	}
	if code, ok := strings.CutPrefix(s, "<decoding error> "); ok {
		switch code[:2] {
		case "a0", "f2", "fa": // DW_OP_implicit_pointer, GNU's of it and DW_OP_GNU_parameter_ref, alone
			return d.none("nowhere")
		}
	}
	if strings.Contains(s, "<decoding error>") {
		panic(unsupported("what llvm-dwarfdump does not know"))
	}
	ops := splitOps(s)
	var pieces []outcome
	var from int
	for i, op := range ops {
		if op.name == "DW_OP_piece" {
			one := d.simple(ops[from:i])
			one.size = int(number(op.args[0]))
			pieces = append(pieces, one)
			from = i + 1
		}
	}
	if pieces == nil {
		return d.simple(ops)
	}
	if from != len(ops) {
		panic(unsupported("operations behind the last piece"))
	}
	for _, p := range pieces {
		if p.kind != "none" {
			return outcome{kind: "pieces", pieces: pieces}
		}
	}
	return d.none("all pieces")
}

func (d *dumpEval) simple(ops []dumpOp) outcome {
	if len(ops) == 0 {
		return d.none("empty")
	}
	var st []typed
	push := func(v uint64) { st = append(st, typed{v: v}) }
	pop := func() typed {
		if len(st) == 0 {
			panic(unsupported("stack underflow"))
		}
		v := st[len(st)-1]
		st = st[:len(st)-1]
		return v
	}
	for i := 0; i < len(ops); i++ {
		op := ops[i]
		name := strings.Replace(op.name, "DW_OP_GNU_", "DW_OP_", 1)
		if n, ok := strings.CutPrefix(name, "DW_OP_reg"); ok && (n[0] >= '0' && n[0] <= '9' || n == "x") {
			if n == "x" {
				n = registerNumber(op.args[0])
			}
			r := number(n)
			if r > 16 {
				return d.none(abi.AMD64.RegisterName(int(r)))
			}
			return outcome{kind: "reg", n: r}
		}
		if n, ok := strings.CutPrefix(name, "DW_OP_breg"); ok {
			arg := op.args[0]
			at := strings.LastIndexAny(arg, "+-")
			if n == "x" {
				n = registerNumber(arg[:at])
			}
			r := number(n)
			if r > 16 {
				return d.none("breg")
			}
			push(d.m.reg(int(r)) + number(arg[at:]))
			continue
		}
		if n, ok := strings.CutPrefix(name, "DW_OP_lit"); ok {
			push(number(n))
			continue
		}
		if strings.HasPrefix(name, "DW_OP_const") && name != "DW_OP_const_type" && name != "DW_OP_constx" {
			push(number(op.args[0]))
			continue
		}
		switch name {
		case "DW_OP_addr":
			push(number(op.args[0]) + d.bias)
		case "DW_OP_fbreg":
			switch {
			case strings.HasPrefix(d.fbase, "DW_OP_reg"):
				n, _, _ := strings.Cut(d.fbase[len("DW_OP_reg"):], " ")
				push(d.m.reg(int(number(n))) + number(op.args[0]))
			case d.fbase == "DW_OP_call_frame_cfa":
				cfa, ok := d.cfa()
				if !ok {
					return d.none("cfa")
				}
				push(cfa + number(op.args[0]))
			default:
				panic(unsupported("frame base " + d.fbase))
			}
		case "DW_OP_call_frame_cfa":
			cfa, ok := d.cfa()
			if !ok {
				return d.none("cfa")
			}
			push(cfa)
		case "DW_OP_stack_value":
			if i != len(ops)-1 {
				panic(unsupported("stack_value inside"))
			}
			return outcome{kind: "val", n: pop().v}
		case "DW_OP_implicit_value":
			panic(unsupported(name))
		case "DW_OP_implicit_pointer", "DW_OP_form_tls_address", "DW_OP_push_tls_address", "DW_OP_parameter_ref":
			return d.none(name)
		case "DW_OP_entry_value":
			if !d.entry {
				return d.none(name)
			}
			o := d.simple(splitOps(op.args[0]))
			switch o.kind {
			case "reg":
				push(d.m.reg(int(o.n)))
			case "none":
				return o
			default:
				push(o.n)
			}
		case "DW_OP_deref":
			push(d.m.load(pop().v, 8))
		case "DW_OP_deref_size":
			push(d.m.load(pop().v, int(number(op.args[0]))))
		case "DW_OP_plus_uconst":
			st[len(st)-1].v += number(op.args[0])
		case "DW_OP_dup":
			v := pop()
			st = append(st, v, v)
		case "DW_OP_drop":
			pop()
		case "DW_OP_over":
			st = append(st, st[len(st)-2])
		case "DW_OP_pick":
			st = append(st, st[len(st)-1-int(number(op.args[0]))])
		case "DW_OP_swap":
			b, a := pop(), pop()
			st = append(st, b, a)
		case "DW_OP_rot":
			c, b, a := pop(), pop(), pop()
			st = append(st, c, a, b)
		case "DW_OP_neg":
			v := pop()
			st = append(st, typed{v.t.cut(-v.v), v.t})
		case "DW_OP_not":
			v := pop()
			st = append(st, typed{v.t.cut(^v.v), v.t})
		case "DW_OP_nop":
		case "DW_OP_convert", "DW_OP_reinterpret":
			panic(unsupported(name))
		case "DW_OP_plus", "DW_OP_minus", "DW_OP_mul", "DW_OP_and", "DW_OP_or", "DW_OP_xor", "DW_OP_shl", "DW_OP_shr",
			"DW_OP_shra",
			"DW_OP_eq", "DW_OP_ne", "DW_OP_lt", "DW_OP_le", "DW_OP_gt", "DW_OP_ge", "DW_OP_div", "DW_OP_mod":
			b, a := pop(), pop()
			push(dumpBinary(name[len("DW_OP_"):], a.v, b.v))
		default:
			panic(unsupported(name))
		}
	}
	if len(st) == 0 {
		panic(unsupported("nothing left"))
	}
	return outcome{kind: "mem", n: st[len(st)-1].v}
}

func registerNumber(name string) string {
	if n, ok := strings.CutPrefix(name, "XMM"); ok {
		v := number(n)
		if v < 16 {
			return strconv.Itoa(int(v) + 17)
		}
		return strconv.Itoa(int(v) - 16 + 67)
	}
	for prefix, from := range map[string]int{"ST": 33, "MM": 41, "K": 118} {
		if n, ok := strings.CutPrefix(name, prefix); ok {
			return strconv.Itoa(int(number(n)) + from)
		}
	}
	if strings.HasPrefix(name, "0x") {
		return name
	}
	panic(unsupported("register " + name))
}

func dumpBinary(op string, a, b uint64) uint64 {
	bit := map[bool]uint64{true: 1}
	switch op {
	case "plus":
		return a + b
	case "minus":
		return a - b
	case "mul":
		return a * b
	case "and":
		return a & b
	case "or":
		return a | b
	case "xor":
		return a ^ b
	case "shl":
		return a << b
	case "shr":
		return a >> b
	case "shra":
		return uint64(int64(a) >> b)
	case "eq":
		return bit[a == b]
	case "ne":
		return bit[a != b]
	case "lt":
		return bit[int64(a) < int64(b)]
	case "le":
		return bit[int64(a) <= int64(b)]
	case "gt":
		return bit[int64(a) > int64(b)]
	case "ge":
		return bit[int64(a) >= int64(b)]
	case "div":
		if b == 0 {
			return 0
		}
		return uint64(int64(a) / int64(b))
	}
	if b == 0 {
		return 0
	}
	return a % b
}

// at evaluates the location that holds at an address.
func (d *dumpEval) at(v dumpVar, pc uint64) (o outcome, skip string) {
	defer func() {
		if r := recover(); r != nil {
			u, ok := r.(unsupported)
			if !ok {
				panic(r)
			}
			skip = string(u)
		}
	}()
	for _, x := range v.exprs {
		// At the entry the first view of the address holds, which is what was passed.
		if !v.isList || x.low <= pc && pc < x.high || d.entry && x.low == pc && x.high == pc {
			return d.run(x.ops), ""
		}
	}
	return d.none("no range"), ""
}
