package debuginfo

import (
	"fmt"
	"math/bits"
	"slices"

	"trocar/internal/binary/types"
)

// fakeMachine is a process whose registers and memory have values made up from their numbers and addresses, so that two
// readers of one location can be compared by where they end.
type fakeMachine struct {
	seed uint64
	pc   uint64 // value of the program counter
}

func (m fakeMachine) reg(n int) uint64 {
	if n == 16 {
		return m.pc
	}
	return m.mix(uint64(n)+1) &^ 0xff // room for small offsets
}

func (m fakeMachine) load(addr uint64, size int) uint64 {
	v := uint64(0)
	for i := range size {
		v |= m.mix(addr+uint64(i)) & 0xff << (8 * i)
	}
	return v
}

func (m fakeMachine) mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^m.seed, 0x9e3779b97f4a7c15)
	x = hi ^ lo
	hi, lo = bits.Mul64(x, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// outcome is where a value is found to be: "reg 5", "mem 0x…", "val 0x…", "none", or pieces of these.
type outcome struct {
	kind   string
	n      uint64
	pieces []outcome
	size   int // of a piece
	why    string
}

func (o outcome) String() string {
	switch o.kind {
	case "none":
		return "none (" + o.why + ")"
	case "pieces":
		return fmt.Sprint(o.pieces)
	}
	return fmt.Sprintf("%s %#x", o.kind, o.n)
}

// same compares two outcomes: a value may be given by a register or memory that holds it.
func (m fakeMachine) same(a, b outcome) bool {
	if a.kind == "pieces" || b.kind == "pieces" {
		if a.kind != b.kind || len(a.pieces) != len(b.pieces) {
			return false
		}
		for i := range a.pieces {
			if a.pieces[i].size != b.pieces[i].size || !m.same(a.pieces[i], b.pieces[i]) {
				return false
			}
		}
		return true
	}
	if a.kind == b.kind {
		return a.kind == "none" || a.n == b.n
	}
	value := func(o outcome) (uint64, bool) {
		switch o.kind {
		case "reg":
			return m.reg(int(o.n)), true
		case "mem":
			return m.load(o.n, 8), true
		case "val":
			return o.n, true
		}
		return 0, false
	}
	va, ok := value(a)
	vb, ok2 := value(b)
	return ok && ok2 && va == vb && (a.kind == "val" || b.kind == "val")
}

// evalPlace is what generated code does with a place.
func evalPlace(m fakeMachine, p types.Place) outcome {
	switch p.Kind {
	case types.Unavailable:
		return outcome{kind: "none", why: p.Why}
	case types.InRegister:
		return outcome{kind: "reg", n: uint64(p.Reg)}
	case types.Constant:
		return outcome{kind: "val", n: p.Value}
	case types.InMemory:
		return outcome{kind: "mem", n: evalAddress(m, p)}
	case types.Computed:
		return outcome{kind: "val", n: evalAddress(m, p)}
	case types.InPieces:
		o := outcome{kind: "pieces"}
		for _, piece := range p.Pieces {
			one := evalPlace(m, piece.Place)
			one.size = piece.Size
			o.pieces = append(o.pieces, one)
		}
		return o
	}
	panic("place of an unknown kind")
}

func evalAddress(m fakeMachine, p types.Place) uint64 {
	if p.Ops == nil {
		a := m.reg(p.Reg) + uint64(p.Offset)
		for _, d := range p.Derefs {
			a = m.load(a, 8) + uint64(d)
		}
		return a
	}
	var st []uint64
	bit := func(v bool) uint64 {
		if v {
			return 1
		}
		return 0
	}
	for _, op := range p.Ops {
		n := len(st)
		switch op.Code {
		case types.PushReg:
			st = append(st, m.reg(op.Reg))
			continue
		case types.PushConst:
			st = append(st, uint64(op.Arg))
			continue
		case types.Load:
			st[n-1] = m.load(st[n-1], int(op.Arg))
			continue
		case types.Negate:
			st[n-1] = -st[n-1]
			continue
		case types.Invert:
			st[n-1] = ^st[n-1]
			continue
		}
		a, b := st[n-2], st[n-1]
		st = st[:n-1]
		var v uint64
		switch op.Code {
		case types.Add:
			v = a + b
		case types.Sub:
			v = a - b
		case types.Mul:
			v = a * b
		case types.DivSigned:
			if b != 0 {
				v = uint64(int64(a) / int64(b))
			}
		case types.ModUnsigned:
			if b != 0 {
				v = a % b
			}
		case types.And:
			v = a & b
		case types.Or:
			v = a | b
		case types.Xor:
			v = a ^ b
		case types.Shl:
			v = a << b
		case types.ShrUnsigned:
			v = a >> b
		case types.ShrSigned:
			v = uint64(int64(a) >> b)
		case types.IfEq:
			v = bit(a == b)
		case types.IfNe:
			v = bit(a != b)
		case types.IfLt:
			v = bit(int64(a) < int64(b))
		case types.IfLe:
			v = bit(int64(a) <= int64(b))
		case types.IfGt:
			v = bit(int64(a) > int64(b))
		case types.IfGe:
			v = bit(int64(a) >= int64(b))
		}
		st[n-2] = v
	}
	if len(st) != 1 {
		panic("a computation that leaves more or less than one value")
	}
	return st[0]
}

// missing tells a value of which no part is anywhere.
func (o outcome) missing() bool {
	return o.kind == "pieces" && !slices.ContainsFunc(o.pieces, func(p outcome) bool { return p.kind != "none" })
}
