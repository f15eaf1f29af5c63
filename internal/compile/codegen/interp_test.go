package codegen_test

import (
	"bytes"
	"fmt"
	"math/bits"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
)

// interp runs a typed program in Go, by the meaning that check/program.go gives to the tree. Every value is the bytes
// it has in memory. It shares no code with the package under test.
type interp struct {
	prog *check.Program
	user *userMemory

	vars map[*check.Var][]byte
	maps map[*check.Map]map[string][]byte // value by key; scalar maps have the key ""
	sent []sentRecord
	lost int // reads of memory that failed

	steps int
}

// sentRecord is what a program sends: the format or the text of an error, and the arguments; those of strings that are
// sent with their length have no padding.
type sentRecord struct {
	text string
	args [][]byte
}

// userMemory is memory of this process that programs read.
type userMemory struct {
	addr  uint64
	bytes []byte // what is behind it can't be read
}

// read gives n bytes at an address, nil if they can't all be read.
func (m *userMemory) read(addr uint64, n int) []byte {
	if m == nil || addr < m.addr || addr-m.addr > uint64(len(m.bytes)) || uint64(n) > uint64(len(m.bytes))-(addr-m.addr) {
		return nil
	}
	return m.bytes[addr-m.addr:][:n]
}

// text gives the bytes up to a NUL, at most n; false if memory ends before.
func (m *userMemory) text(addr uint64, n int) ([]byte, bool) {
	var s []byte
	for len(s) < n {
		b := m.read(addr+uint64(len(s)), 1)
		if b == nil {
			return nil, false
		}
		if b[0] == 0 {
			break
		}
		s = append(s, b[0])
	}
	return s, true
}

// leaving is how a statement ends other than by falling through.
type leaving string

func newInterp(prog *check.Program, user *userMemory) *interp {
	return &interp{prog: prog, user: user, maps: map[*check.Map]map[string][]byte{}}
}

func (in *interp) run(a *check.Action) {
	in.vars = map[*check.Var][]byte{}
	for _, v := range a.Vars {
		in.vars[v] = make([]byte, v.Type.Size)
	}
	if a.Pred != nil && in.num(a.Pred) == 0 {
		return
	}
	in.block(a.Body)
}

func (in *interp) num(e check.Expr) uint64 { return get(in.eval(e), e.Type()) }

func (in *interp) eval(e check.Expr) []byte {
	t := e.Type()
	switch e := e.(type) {
	case *check.Const:
		return put(e.Value, t.Size)
	case *check.StrConst:
		return padded([]byte(e.Value), t.Size)
	case *check.VarRef:
		return bytes.Clone(in.vars[e.Var])
	case *check.MapGet:
		return in.mapGet(e)
	case *check.Unary:
		x := in.num(e.X)
		switch e.Op {
		case "!":
			return put(boolean(x == 0), 1)
		case "-":
			return put(-x, t.Size)
		}
		return put(^x, t.Size)
	case *check.Binary:
		return put(in.binary(e), t.Size)
	case *check.Logic:
		x := in.num(e.X) != 0
		if x == (e.Op == "&&") {
			x = in.num(e.Y) != 0
		}
		return put(boolean(x), 1)
	case *check.Ternary:
		if in.num(e.Cond) != 0 {
			return in.eval(e.Then)
		}
		return in.eval(e.Else)
	case *check.Cast:
		return cast(in.eval(e.X), e.X.Type(), t)
	case *check.IncDec:
		return in.incDec(e)
	case *check.Deref:
		return in.read(in.num(e.X), t.Size)
	case *check.Member:
		f := e.Field
		if f.BitSize == 0 {
			return in.part(e.X, f.Offset, f.Type.Size)
		}
		x := in.part(e.X, f.Offset, (f.BitOffset+f.BitSize+7)/8)
		return bitField(x, f)
	case *check.Index:
		i, n := in.num(e.I), e.X.Type().Len
		if e.X.Type().Kind == types.String {
			n = e.X.Type().Size
		}
		if i >= uint64(n) {
			in.part(e.X, 0, 0)
			in.sent = append(in.sent, sentRecord{text: "Array access out of bounds. This can lead to unexpected results."})
			return make([]byte, t.Size)
		}
		return in.part(e.X, int(i)*t.Size, t.Size)
	case *check.TupleLit:
		out := make([]byte, t.Size)
		for i, x := range e.Elems {
			copy(out[t.Fields[i].Offset:], in.eval(x))
		}
		return out
	case *check.BlockExpr:
		in.block(e.Body)
		return in.eval(e.Value)
	case *check.Call:
		return in.call(e)
	}
	panic(fmt.Sprintf("no meaning for %T", e))
}

// part is n bytes at an offset of a value. Of one in user memory only these are read.
func (in *interp) part(e check.Expr, off, n int) []byte {
	switch e := e.(type) {
	case *check.Deref:
		return in.read(in.num(e.X)+uint64(off), n)
	case *check.BlockExpr:
		in.block(e.Body)
		return in.part(e.Value, off, n)
	case *check.Member:
		if e.Field.BitSize == 0 {
			return in.part(e.X, e.Field.Offset+off, n)
		}
	case *check.Index:
		if k, ok := e.I.(*check.Const); ok {
			return in.part(e.X, int(k.Value)*e.T.Size+off, n)
		}
	}
	return bytes.Clone(in.eval(e)[off:][:n])
}

// read reads user memory; what can't be read is zero.
func (in *interp) read(addr uint64, n int) []byte {
	b := in.user.read(addr, n)
	if b == nil && n > 0 {
		in.lost++
		return make([]byte, n)
	}
	return bytes.Clone(b)
}

func (in *interp) binary(e *check.Binary) uint64 {
	t := e.X.Type()
	if !t.IsScalar() {
		x, y := in.eval(e.X), in.eval(e.Y)
		var same bool
		switch t.Kind {
		case types.String:
			same = bytes.Equal(cstring(x), cstring(y))
		default:
			same = bytes.Equal(x, y)
		}
		return boolean(same == (e.Op == "=="))
	}
	x, y := in.num(e.X), in.num(e.Y)
	sx, sy := int64(x), int64(y)
	switch e.Op {
	case "==":
		return boolean(x == y)
	case "!=":
		return boolean(x != y)
	case "<", ">", "<=", ">=":
		less, more := x < y, x > y
		if t.Signed {
			less, more = sx < sy, sx > sy
		}
		switch e.Op {
		case "<":
			return boolean(less)
		case ">":
			return boolean(more)
		case "<=":
			return boolean(!more)
		}
		return boolean(!less)
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "&":
		return x & y
	case "|":
		return x | y
	case "^":
		return x ^ y
	case "<<":
		return x << (y & 63)
	case ">>":
		if t.Signed {
			return uint64(sx >> (y & 63))
		}
		return x >> (y & 63)
	case "/", "%":
		if y == 0 {
			in.sent = append(in.sent, sentRecord{text: "Divide or modulo by 0 detected. This can lead to unexpected results. " +
				"1 is being used as the result."})
			return 1
		}
		switch {
		case t.Signed && e.Op == "/":
			return uint64(sx / sy)
		case t.Signed:
			return uint64(sx % sy)
		case e.Op == "/":
			return x / y
		}
		return x % y
	}
	panic("no meaning for operator " + e.Op)
}

func (in *interp) key(m *check.Map, key check.Expr) string {
	if key == nil {
		return ""
	}
	return string(padded(in.eval(key), m.Key.Size))
}

func (in *interp) entries(m *check.Map) map[string][]byte {
	if in.maps[m] == nil {
		in.maps[m] = map[string][]byte{}
	}
	return in.maps[m]
}

func (in *interp) mapGet(e *check.MapGet) []byte {
	v := in.entries(e.Map)[in.key(e.Map, e.Key)]
	t := e.Map.Value
	if v == nil {
		v = make([]byte, t.Size)
	}
	return number(v, t)
}

// incDec changes a variable or map entry.
func (in *interp) incDec(e *check.IncDec) []byte {
	t := e.Target.Type()
	var old []byte
	set := func([]byte) {}
	switch x := e.Target.(type) {
	case *check.VarRef:
		old = bytes.Clone(in.vars[x.Var])
		set = func(v []byte) { in.vars[x.Var] = v }
	case *check.MapGet:
		key := in.key(x.Map, x.Key)
		if old = in.entries(x.Map)[key]; old == nil {
			old = make([]byte, t.Size)
		}
		set = func(v []byte) { in.entries(x.Map)[key] = v }
	}
	now := put(get(old, t)+uint64(e.Step), t.Size)
	set(now)
	if e.Post {
		return bytes.Clone(old)
	}
	return bytes.Clone(now)
}

func (in *interp) call(e *check.Call) []byte {
	t := e.T
	arg := func(i int) check.Expr { return e.Args[i].Expr }
	switch e.Fn.ID {
	case builtin.Str:
		var s []byte
		var addr uint64
		text := arg(0).Type().Kind == types.String
		if text {
			s = cstring(in.eval(arg(0)))
		} else {
			addr = in.num(arg(0))
		}
		n := t.Size + 1 // with the NUL
		if len(e.Args) > 1 {
			n = int(max(1, min(uint64(n), in.num(arg(1)))))
		}
		if !text {
			var ok bool
			if s, ok = in.user.text(addr, n); !ok {
				in.lost++
			}
		}
		return padded(s[:min(n-1, len(s))], t.Size)
	case builtin.Buf:
		pointer := arg(0).Type().Kind == types.Pointer
		var addr uint64
		if pointer {
			addr = in.num(arg(0))
		}
		n := uint64(t.Size - 4)
		if len(e.Args) > 1 {
			n = min(n, in.num(arg(1)))
		}
		out := put(n, 4)
		if pointer {
			out = append(out, in.read(addr, int(n))...)
		} else {
			out = append(out, in.eval(arg(0))[:n]...)
		}
		return padded(out, t.Size)
	case builtin.StrLen:
		return put(uint64(len(cstring(in.eval(arg(0))))), t.Size)
	case builtin.StrNCmp:
		x, y := cstring(in.eval(arg(0))), cstring(in.eval(arg(1)))
		n := int(min(in.num(arg(2)), 1<<20))
		return put(boolean(!bytes.Equal(x[:min(n, len(x))], y[:min(n, len(y))])), t.Size)
	case builtin.StrStr, builtin.StrContains:
		at := bytes.Index(cstring(in.eval(arg(0))), cstring(in.eval(arg(1))))
		if e.Fn.ID == builtin.StrContains {
			return put(boolean(at >= 0), 1)
		}
		return put(uint64(at), t.Size)
	case builtin.StrConcat:
		x := bytes.Clone(cstring(in.eval(arg(0))))
		return padded(append(x, cstring(in.eval(arg(1)))...), t.Size)
	case builtin.MemCmp:
		n := int(in.num(arg(2)))
		return put(uint64(int64(bytes.Compare(in.eval(arg(0))[:n], in.eval(arg(1))[:n]))), t.Size)
	case builtin.BSwap:
		return put(bits.ReverseBytes64(in.num(arg(0)))>>(64-8*t.Size), t.Size)
	case builtin.HasKey:
		return put(boolean(in.entries(e.Args[0].Map)[in.key(e.Args[0].Map, arg(1))] != nil), 1)
	case builtin.Delete:
		m := e.Args[0].Map
		key := ""
		if len(e.Args) > 1 {
			key = in.key(m, arg(1))
		}
		found := in.entries(m)[key] != nil
		delete(in.entries(m), key)
		return put(boolean(found), 1)
	case builtin.Find:
		m, v := e.Args[0].Map, e.Args[2].Var
		value := in.entries(m)[in.key(m, arg(1))]
		if value != nil {
			in.vars[v] = cast(value, m.Value, v.Type)
		}
		return put(boolean(value != nil), 1)
	case builtin.Len:
		return put(uint64(len(in.entries(e.Args[0].Map))), t.Size)
	case builtin.Printf, builtin.Print:
		in.send(e)
		return nil
	}
	panic("no meaning for " + e.Fn.ID.String())
}

// send makes a record. Strings that are sent with their length are evaluated after all others.
func (in *interp) send(e *check.Call) {
	r := sentRecord{text: e.Format, args: make([][]byte, len(e.Args))}
	dynamic := func(t *types.Type) bool { return t.Kind == types.String && t.Size > 48 }
	for i, a := range e.Args {
		if !dynamic(a.Expr.Type()) {
			r.args[i] = in.eval(a.Expr)
		}
	}
	for i, a := range e.Args {
		if dynamic(a.Expr.Type()) {
			r.args[i] = cstring(in.eval(a.Expr))
		}
	}
	in.sent = append(in.sent, r)
}
