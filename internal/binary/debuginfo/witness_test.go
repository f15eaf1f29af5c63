package debuginfo

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/objfile"
	"trocar/internal/need"
)

// The places that this package works out are compared with those that llvm-dwarfdump, an independent reader, prints:
// both are evaluated on made-up registers and memory, for every parameter and variable, at every address at which the
// location changes, and at the function's entry.

// dumpVar is a variable or parameter as llvm-dwarfdump prints it.
type dumpVar struct {
	off    uint64
	isList bool
	exprs  []dumpExpr
	entry  uint64 // of the function around it
	fn     uint64 // its entry
	fbase  string
}

type dumpExpr struct {
	low, high uint64
	ops       string
}

// readDump calls yield with each variable that has a location.
func readDump(r io.Reader, yield func(dumpVar)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<16), 1<<24)
	type fn struct {
		depth int
		off   uint64
		entry uint64
		fbase string
	}
	var funcs []fn
	var cur *dumpVar
	curDepth, curTag := 0, ""
	inLoc := false
	flush := func() {
		variable := curTag == "DW_TAG_formal_parameter" || curTag == "DW_TAG_variable"
		if cur != nil && variable && (cur.isList || len(cur.exprs) > 0) && len(funcs) > 0 {
			f := funcs[len(funcs)-1]
			cur.entry, cur.fbase, cur.fn = f.entry, f.fbase, f.off
			yield(*cur)
		}
		cur = nil
	}
	hex := func(s string) uint64 {
		v, _ := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
		return v
	}
	for sc.Scan() {
		line := sc.Text()
		if strings.HasPrefix(line, "0x") {
			colon := strings.IndexByte(line, ':')
			rest := line[colon+1:]
			body := strings.TrimLeft(rest, " ")
			if !strings.HasPrefix(body, "DW_TAG_") && body != "NULL" {
				continue
			}
			flush()
			inLoc = false
			curDepth = len(rest) - len(body)
			curTag = strings.TrimSpace(body)
			for len(funcs) > 0 && funcs[len(funcs)-1].depth >= curDepth {
				funcs = funcs[:len(funcs)-1]
			}
			cur = &dumpVar{off: hex(line[:colon])}
			if curTag == "DW_TAG_subprogram" {
				funcs = append(funcs, fn{depth: curDepth, off: cur.off})
			}
			continue
		}
		body := strings.TrimSpace(line)
		if inLoc && strings.HasPrefix(body, "[0x") {
			comma := strings.IndexByte(body, ',')
			close := strings.Index(body, "): ")
			if close < 0 {
				close = strings.Index(body, "):")
			}
			ops := strings.TrimSpace(body[close+2:])
			// The list's own closing parenthesis.
			if strings.Count(ops, ")") > strings.Count(ops, "(") {
				ops = ops[:len(ops)-1]
				inLoc = false
			}
			cur.exprs = append(cur.exprs, dumpExpr{hex(body[1:comma]), hex(strings.TrimSpace(body[comma+1 : close])), ops})
			continue
		}
		inLoc = false
		attr, val, ok := strings.Cut(body, "\t")
		if !ok || cur == nil || len(val) < 2 {
			continue
		}
		val = val[1:]
		switch attr {
		case "DW_AT_low_pc":
			if curTag == "DW_TAG_subprogram" {
				funcs[len(funcs)-1].entry = hex(strings.TrimRight(val, ")"))
			}
		case "DW_AT_entry_pc":
			if curTag == "DW_TAG_subprogram" && strings.HasPrefix(val, "0x00000000") {
				funcs[len(funcs)-1].entry = hex(strings.TrimRight(val, ")"))
			}
		case "DW_AT_frame_base":
			if curTag == "DW_TAG_subprogram" {
				funcs[len(funcs)-1].fbase = strings.TrimSuffix(val, ")")
			}
		case "DW_AT_location":
			if strings.HasPrefix(val, "0x") || strings.HasPrefix(val, "indexed") {
				inLoc, cur.isList = true, true
			} else {
				cur.exprs = append(cur.exprs, dumpExpr{ops: strings.TrimSuffix(val, ")")})
			}
		}
	}
	flush()
	return sc.Err()
}

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

// witnessPlaces compares all places of a program. It returns how many were equal.
func witnessPlaces(t *testing.T, path string) (equal int) {
	t.Helper()
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := exec.Command("llvm-dwarfdump", "--debug-info", in.src.DebugAt)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := make(map[string]int)
	refused := make(map[string]int)
	bad, vars := 0, 0
	in.mu.Lock()
	defer in.mu.Unlock()
	err = readDump(out, func(v dumpVar) {
		vars++
		u := in.main.unitAt(secInfo, v.off)
		if u == nil {
			t.Errorf("no unit has the entry %#x", v.off)
			return
		}
		d, ok := u.at(v.off)
		if !ok {
			t.Errorf("no entry at %#x", v.off)
			return
		}
		var own *Instance
		if fd, ok := u.at(v.fn); ok {
			own = in.function(fd).Own()
		}
		if own == nil {
			left["no code"]++
			return
		}
		pcs := []uint64{v.entry}
		if body, ok := in.body(own.Func); ok {
			pcs = append(pcs, body)
		}
		for _, x := range v.exprs {
			if v.isList && x.low < x.high {
				pcs = append(pcs, x.low)
			}
		}
		if v.entry == 0 || len(pcs) > 40 {
			pcs = pcs[1:min(len(pcs), 40)]
		}
		for _, pc := range pcs {
			m := fakeMachine{seed: pc, pc: pc + 0x5500000000}
			e := in.env(own, pc)
			e.u = u
			if strings.HasPrefix(v.fbase, "DW_OP_reg") && strings.Contains(fmt.Sprint(v.exprs), "fbreg") {
				// The register is the frame base only where the frame is whole; elsewhere only this package makes something
				// of it.
				n, _, _ := strings.Cut(v.fbase[len("DW_OP_reg"):], " ")
				reg, _ := strconv.Atoi(n)
				here, err := in.frames.At(pc)
				off, ok := in.wholeFrame(own.Func, reg)
				if err != nil || !ok || here.CFA.Reg != reg || here.CFA.Offset != off {
					left["no frame base there"]++
					continue
				}
			}
			d2 := &dumpEval{m: m, bias: 0x5500000000, fbase: v.fbase, entry: e.entry}
			d2.cfa = func() (uint64, bool) {
				row, err := in.frames.At(pc)
				if err != nil || row.CFA.Expr != nil {
					return m.reg(7) + 8, err != nil && e.entry
				}
				return m.reg(row.CFA.Reg) + uint64(row.CFA.Offset), true
			}
			want, skip := d2.at(v, pc)
			if skip != "" {
				left[skip]++
				continue
			}
			got := evalPlace(m, e.variable(d))
			if m.same(got, want) {
				equal++
				continue
			}
			if e.entry && v.isList && got.kind == "none" && want.kind != "none" {
				left["a later view of the entry"]++ // what is there after a part of the first statement
				continue
			}
			if got.kind == "none" && want.kind != "none" {
				switch got.why {
				case "its value takes too long a computation", "its value takes an operation that is not supported",
					"its location depends on a condition":
					refused[got.why]++
					continue
				}
			}
			if bad++; bad <= 20 {
				t.Errorf("%s: entry %#x at %#x: %v, llvm-dwarfdump %v: %v", path, v.off, pc, got, want, v.exprs)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d variables, %d places equal, %d different; refused: %v; not compared: %v", path, vars, equal, bad,
		refused, sorted(left))
	return equal
}

func sorted(m map[string]int) []string {
	var out []string
	for k, n := range m {
		out = append(out, fmt.Sprintf("%s: %d", k, n))
	}
	sort.Strings(out)
	return out
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

// TestPlaces compares the places in programs of each compiler.
func TestPlaces(t *testing.T) {
	t.Parallel()
	need.Tool(t, "llvm-dwarfdump")
	for _, p := range []struct {
		name, command string
		atLeast       int
	}{
		{"C -O0", plainO0, 20},
		{"C -O2", plainO2, 80},
		{"C -O2 DWARF 4", plainO2v4, 80},
		{"C -O2 DWARF 3", plainO2v3, 80},
		{"C -O2 DWARF 2", plainO2v2, 50},
		{"C clang -O0", clangO0, 20},
		{"C clang -O2", clangO2, 50},
		{"C++ -O0", bookO0, 500},
		{"C++ -O2", bookO2, 3000},
		{"C++ -O2 type units", bookO2v4, 3000},
		{"C++ LTO", bookLTO, 1000},
		{"C++ clang -O0", clbookO0, 400},
		{"C++ clang -O2", clbookO2, 1200},
		{"Rust", rustO0, 1000},
		{"Rust -O", rustO2, 2000},
		{"Go", goProgram, 30000},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if n := witnessPlaces(t, build(t, p.command)); n < p.atLeast {
				t.Errorf("only %d places were compared", n)
			}
		})
	}
}

// TestPlacesOfLibc compares those of a big real program.
func TestPlacesOfLibc(t *testing.T) {
	t.Parallel()
	need.Tool(t, "llvm-dwarfdump")
	const libc = "/lib/x86_64-linux-gnu/libc.so.6"
	need.File(t, libc)
	f, err := objfile.Open(libc)
	if err != nil {
		t.Fatal(err)
	}
	if f.Debug() == nil {
		need.Missing(t, "the debug file of libc (libc6-dbg)")
	}
	f.Close()
	if n := witnessPlaces(t, libc); n < 100000 {
		t.Errorf("only %d places were compared", n)
	}
}

// TestPlacesOfPrograms compares those of the programs named in WITNESS, for trying big ones.
func TestPlacesOfPrograms(t *testing.T) {
	t.Parallel()
	programs := strings.Fields(os.Getenv("WITNESS"))
	if programs == nil {
		t.Skip("WITNESS names no programs")
	}
	need.Tool(t, "llvm-dwarfdump")
	for _, path := range programs {
		t.Run(path, func(t *testing.T) { witnessPlaces(t, path) })
	}
}
