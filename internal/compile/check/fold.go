package check

import (
	"math"
	"strconv"

	"trocar/internal/compile/builtin"
	"trocar/internal/script/syntax"
)

// Folding computes what is constant: literals, parameters, `if comptime`. It only ever works on literals as they are
// written (64 bits, no types): a cast ends it, because what a cast does is a matter of types.

const flowError = "unable to fold literals due to overflow or underflow"

func (c *checker) foldParams() {
	for _, act := range c.actions {
		c.foldAction(act)
	}
}

func (c *checker) foldAction(act *action) {
	if act.pred != nil {
		c.fold(act.pred)
	}
	// The body itself stays a block.
	for _, k := range act.body.kids {
		c.fold(k)
	}
	if act.body.value != nil {
		c.fold(act.body.value)
	}
	dropNothing(act.body)
}

// dropNothing removes statements that folding has emptied.
func dropNothing(b *node) {
	kept := b.kids[:0]
	for _, k := range b.kids {
		if k.op == opExpr && k.kids[0].op == opNone {
			continue
		}
		kept = append(kept, k)
	}
	b.kids = kept
	if b.value != nil && b.value.op == opNone {
		b.value = nil
	}
}

func (c *checker) fold(n *node) {
	switch n.op {
	case opPos:
		c.foldParam(n)
	case opUnary:
		c.fold(n.kids[0])
		c.foldUnary(n)
	case opBinary:
		c.fold(n.kids[0])
		c.fold(n.kids[1])
		c.foldBinary(n)
	case opIf:
		c.foldIf(n)
	case opCall:
		c.foldCall(n)
	case opBlock:
		for _, k := range n.kids {
			c.fold(k)
		}
		if n.value != nil {
			c.fold(n.value)
		}
		dropNothing(n)
		if len(n.kids) == 0 {
			switch {
			case n.value == nil:
				n.reset()
			case n.value.isLiteral(), n.value.op == opTuple:
				n.become(n.value)
			}
		}
	case opExpr:
		c.fold(n.kids[0])
		b := n.kids[0]
		if b.op == opBlock && b.value == nil && len(b.kids) == 1 && b.kids[0].op == opExpr {
			n.kids[0] = b.kids[0].kids[0]
		}
	case opIndex:
		c.fold(n.kids[0])
		c.fold(n.kids[1])
		c.foldIndex(n)
	case opTupleField:
		c.fold(n.kids[0])
		if t := n.kids[0]; t.op == opTuple && t.names == nil && t.isLiteral() && n.num < uint64(len(t.kids)) {
			n.become(t.kids[n.num])
		}
	case opField:
		c.fold(n.kids[0])
		if t := n.kids[0]; t.op == opTuple && t.names != nil && t.isLiteral() {
			for i, name := range t.names {
				if name == n.str {
					n.become(t.kids[i])
					break
				}
			}
		}
	case opComptime:
		c.fold(n.kids[0])
		if k := n.kids[0]; k.isLiteral() || k.op == opComptime {
			n.become(k)
		}
	default:
		for _, k := range n.kids {
			c.fold(k)
		}
		if n.value != nil {
			c.fold(n.value)
		}
	}
}

// foldParam puts in a positional parameter: a number if it looks like one, else a string; missing ones are 0.
func (c *checker) foldParam(n *node) {
	i := int(min(n.num, math.MaxInt32))
	if i < 1 || i > len(c.in.Params) || c.in.Params[i-1] == "" {
		c.warnf(n.span, "Positional parameter $%d is empty or not provided. ", n.num)
		n.toInt(0, false)
		return
	}
	text := c.in.Params[i-1]
	digits, neg := text, false
	if text[0] == '-' {
		digits, neg = text[1:], true
	}
	v, _, err := syntax.ParseInt(digits)
	switch {
	case err != nil, neg && v > 1<<63:
		n.toStr(text)
	case neg && v != 0:
		n.toInt(-v, true)
	default:
		n.toInt(v, false)
	}
}

func (c *checker) param(n uint64) string {
	if n < 1 || n > uint64(len(c.in.Params)) {
		return ""
	}
	return c.in.Params[n-1]
}

func (c *checker) foldUnary(n *node) {
	k := n.kids[0]
	switch k.op {
	case opInt:
		switch n.str {
		case "~":
			n.toInt(^k.num, false)
		case "!":
			n.toBool(k.num == 0)
		case "-":
			switch {
			case k.neg:
				n.toInt(-k.num, false)
			case k.num > 1<<63:
				c.errorf(n.span, "negative value will underflow")
			default:
				n.toInt(-k.num, k.num != 0)
			}
		}
	case opBool:
		if n.str == "!" {
			n.toBool(k.num == 0)
		}
	}
}

func (c *checker) foldBinary(n *node) {
	x, y := n.kids[0], n.kids[1]
	if x.op == opStr || y.op == opStr {
		s, other := x, y
		if x.op != opStr {
			s, other = y, x
		}
		c.foldStrings(n, s, other)
		return
	}
	if x.op == opBool || y.op == opBool {
		if c.foldBools(n, x, y) {
			return
		}
	}
	if x.op == opTuple && y.op == opTuple && (x.names == nil) == (y.names == nil) && (n.str == "==" || n.str == "!=") {
		if eq, ok := equalLiterals(x, y); ok {
			n.toBool(eq == (n.str == "=="))
		}
		return
	}
	if x.op != opInt || y.op != opInt {
		return
	}
	// Both must be of one kind; a literal beyond int64 has nothing in common with a negative one.
	if x.neg != y.neg && (!x.neg && x.num > math.MaxInt64 || !y.neg && y.num > math.MaxInt64) {
		c.errorf(n.span, flowError)
		return
	}
	signed := x.neg || y.neg
	if r, ok := compareInts(n.str, x.num, y.num, signed); ok {
		n.toBool(r)
		return
	}
	v, neg, ok := evalUnsigned(n.str, x.num, y.num)
	if signed {
		v, neg, ok = evalSigned(n.str, int64(x.num), int64(y.num))
	}
	if !ok {
		c.errorf(n.span, flowError)
		return
	}
	n.toInt(v, neg)
}

func compareInts(op string, x, y uint64, signed bool) (result, ok bool) {
	less := x < y
	if signed {
		less = int64(x) < int64(y)
	}
	switch op {
	case "==":
		return x == y, true
	case "!=":
		return x != y, true
	case "<":
		return less, true
	case "<=":
		return less || x == y, true
	case ">":
		return !less && x != y, true
	case ">=":
		return !less, true
	case "&&":
		return x != 0 && y != 0, true
	case "||":
		return x != 0 || y != 0, true
	}
	return false, false
}

func evalUnsigned(op string, x, y uint64) (v uint64, neg, ok bool) {
	switch op {
	case "+":
		return x + y, false, x+y >= x
	case "-":
		if x >= y {
			return x - y, false, true
		}
		return x - y, true, y-x-1 <= math.MaxInt64
	case "*":
		if x == 0 || y == 0 {
			return 0, false, true
		}
		return x * y, false, x*y/x == y
	case "/":
		if y == 0 {
			return 0, false, false
		}
		return x / y, false, true
	case "%":
		if y == 0 {
			return 0, false, false
		}
		return x % y, false, true
	case "&":
		return x & y, false, true
	case "|":
		return x | y, false, true
	case "^":
		return x ^ y, false, true
	case "<<":
		return x << (y & 63), false, y < 64
	case ">>":
		return x >> (y & 63), false, y < 64
	}
	return 0, false, false
}

func evalSigned(op string, x, y int64) (v uint64, neg, ok bool) {
	res := func(r int64, ok bool) (uint64, bool, bool) { return uint64(r), r < 0, ok }
	switch op {
	case "+":
		r := x + y
		if x > 0 && y > 0 {
			return uint64(r), false, true
		}
		return res(r, !(x < 0 && y < 0 && r >= 0))
	case "-":
		r := x - y
		return res(r, (x < 0) == (y < 0) || (r < 0) == (x < 0))
	case "*":
		if x == 0 || y == 0 {
			return 0, false, true
		}
		if x < 0 && y < 0 {
			return evalUnsigned(op, -uint64(x), -uint64(y))
		}
		r := x * y
		return res(r, r/x == y && !(x == -1 && y == math.MinInt64) && !(y == -1 && x == math.MinInt64))
	case "/":
		if y == 0 {
			return 0, false, false
		}
		if x == math.MinInt64 && y == -1 {
			return 1 << 63, false, true
		}
		return res(x/y, true)
	case "%":
		if y == 0 {
			return 0, false, false
		}
		if y == -1 {
			return 0, false, true
		}
		return res(x%y, true)
	case "&":
		return res(x&y, true)
	case "|":
		return res(x|y, true)
	case "^":
		return res(x^y, true)
	case "<<":
		return res(x<<(y&63), y >= 0 && y < 64)
	case ">>":
		return res(x>>(y&63), y >= 0 && y < 64)
	}
	return 0, false, false
}

// foldStrings folds what has a string literal on one side.
func (c *checker) foldStrings(n, s, other *node) {
	switch {
	case n.str == "+" && other.posInt():
		if other.num >= uint64(len(s.str)) {
			c.warnf(n.span, "literal string will always be empty")
			n.toStr("")
			return
		}
		n.toStr(s.str[other.num:])
		return
	case other.op == opBool && (n.str == "&&" || n.str == "||"):
		r, _ := compareInts(n.str, boolNum(s.str != ""), other.num, false)
		n.toBool(r)
		return
	case other.op != opStr:
		return // a string and something that is known at run time
	}
	x, y := n.kids[0].str, n.kids[1].str
	switch n.str {
	case "==":
		n.toBool(x == y)
	case "!=":
		n.toBool(x != y)
	case "<":
		n.toBool(x < y)
	case "<=":
		n.toBool(x <= y)
	case ">":
		n.toBool(x > y)
	case ">=":
		n.toBool(x >= y)
	case "&&":
		n.toBool(x != "" && y != "")
	case "||":
		n.toBool(x != "" || y != "")
	case "+":
		n.toStr(x + y)
	default:
		c.errorf(n.span, "illegal literal operation with strings")
	}
}

func boolNum(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// foldBools folds operations on two bools, and && and || of a bool and a number.
func (c *checker) foldBools(n, x, y *node) bool {
	if x.op == opInt || y.op == opInt {
		if n.str != "&&" && n.str != "||" {
			return false
		}
		r, _ := compareInts(n.str, x.num, y.num, false)
		n.toBool(r)
		return true
	}
	if x.op != opBool || y.op != opBool {
		return false
	}
	if r, ok := compareInts(n.str, x.num, y.num, false); ok {
		n.toBool(r)
		return true
	}
	a, b := x.num != 0, y.num != 0
	switch n.str {
	case "+", "|":
		n.toBool(a || b)
	case "-", "^":
		n.toBool(a != b)
	case "*", "&":
		n.toBool(a && b)
	case "/", "%":
		if !b {
			c.errorf(n.span, flowError)
			return true
		}
		n.toBool(n.str == "/" && a)
	case "<<":
		n.toBool(!a && b)
	case ">>":
		n.toBool(a && !b)
	}
	return true
}

// equalLiterals compares tuples or records; ok is false if something in them is not known.
func equalLiterals(x, y *node) (equal, ok bool) {
	if x.op != opTuple {
		if !x.isLiteral() || !y.isLiteral() {
			return false, false
		}
		return x.op == y.op && x.num == y.num && x.neg == y.neg && x.str == y.str, true
	}
	if y.op != opTuple || len(x.kids) != len(y.kids) || (x.names == nil) != (y.names == nil) {
		return false, x.isLiteral() && y.isLiteral()
	}
	for i, k := range x.kids {
		other := y.kids[i]
		if x.names != nil {
			other = nil
			for j, name := range y.names {
				if name == x.names[i] {
					other = y.kids[j]
				}
			}
			if other == nil {
				return false, false
			}
		}
		if eq, ok := equalLiterals(k, other); !ok || !eq {
			return false, ok
		}
	}
	return true, true
}

func (c *checker) foldIf(n *node) {
	c.fold(n.kids[1])
	c.fold(n.kids[2])
	cond := n.kids[0]
	c.fold(cond)
	if !cond.isLiteral() || cond.op == opTuple {
		return
	}
	chosen := n.kids[2]
	if cond.truth() {
		chosen = n.kids[1]
	}
	switch {
	case n.flag, n.kids[1].isLiteral() && n.kids[2].isLiteral():
		n.become(chosen)
	default:
		cond.toBool(cond.truth())
	}
}

func (c *checker) foldCall(n *node) {
	if is(n, builtin.Str) && len(n.kids) > 0 {
		// A parameter is text here, not a number.
		arg := n.kids[0]
		if arg.op == opBinary && arg.str == "+" && arg.kids[0].op == opPos {
			arg = arg.kids[0]
		}
		if arg.op == opPos {
			arg.toStr(c.param(arg.num))
		}
	}
	for _, k := range n.kids {
		c.fold(k)
	}
	switch {
	case is(n, builtin.IsLiteral) && len(n.kids) == 1:
		n.toBool(n.kids[0].isLiteral())
	case is(n, builtin.Str) && len(n.kids) > 0:
		c.foldStr(n)
	}
}

// foldStr is str of a literal: its text.
func (c *checker) foldStr(n *node) {
	var s string
	switch k := n.kids[0]; {
	case k.op == opStr:
		s = k.str
	case k.op == opInt && k.neg:
		s = strconv.FormatInt(int64(k.num), 10)
	case k.op == opInt:
		s = strconv.FormatUint(k.num, 10)
	default:
		return
	}
	if len(n.kids) > 1 {
		limit := n.kids[1]
		if !limit.posInt() {
			return
		}
		if uint64(len(s)) >= limit.num {
			s = s[:limit.num]
		}
	}
	n.toStr(s)
}

func (c *checker) foldIndex(n *node) {
	x, i := n.kids[0], n.kids[1]
	switch {
	case !i.posInt():
	case x.op == opStr && i.num <= uint64(len(x.str)):
		var b byte
		if i.num < uint64(len(x.str)) {
			b = x.str[i.num]
		}
		n.toInt(uint64(int64(int8(b))), false)
	case x.op == opTuple && x.names == nil && x.isLiteral() && i.num < uint64(len(x.kids)):
		n.become(x.kids[i.num])
	}
}
