package syntax

import (
	"strings"
)

// cvalue is the value of a constant expression of C: 64 bits and whether they count as unsigned.
type cvalue struct {
	bits     uint64
	unsigned bool
}

// ceval evaluates a constant expression (C11 6.6) over tokens whose macros are replaced.
type ceval struct {
	toks   []ctoken
	pos    int
	depth  int
	failed bool
	name   func(string) (int64, bool)      // an enumerator; may be nil
	typ    func([]ctoken) (ctypeInfo, int) // a type at the begin of tokens and how many it takes (0: none); may be nil
}

// ctypeInfo is what constant expressions need to know of a type.
type ctypeInfo struct {
	size     int // 0: unknown
	unsigned bool
	integer  bool
}

// value evaluates all tokens.
func (e *ceval) value() (cvalue, bool) {
	v := e.ternary()
	if e.pos != len(e.toks) {
		e.failed = true
	}
	return v, !e.failed
}

func (e *ceval) fail() cvalue {
	e.failed = true
	e.pos = len(e.toks)
	return cvalue{}
}

func (e *ceval) peek() ctoken {
	if e.pos < len(e.toks) {
		return e.toks[e.pos]
	}
	return ctoken{}
}

func (e *ceval) got(punct string) bool {
	if e.peek().is(punct) {
		e.pos++
		return true
	}
	return false
}

func (e *ceval) ternary() cvalue {
	if e.depth++; e.depth > maxDepth {
		return e.fail()
	}
	defer func() { e.depth-- }()
	c := e.binary(1)
	if !e.got("?") {
		return c
	}
	a := c
	if !e.peek().is(":") {
		a = e.ternary()
	}
	if !e.got(":") {
		return e.fail()
	}
	b := e.ternary()
	u := a.unsigned || b.unsigned
	if c.bits == 0 {
		a = b
	}
	return cvalue{a.bits, u}
}

func (e *ceval) binary(least int) cvalue {
	x := e.unary()
	for {
		op := e.peek()
		prec := precedence(token{kind: tPunct, text: op.text})
		if op.kind != cPunct || prec < least || prec == 0 {
			return x
		}
		e.pos++
		x = e.apply(op.text, x, e.binary(prec+1))
	}
}

func truth(b bool) cvalue {
	if b {
		return cvalue{1, false}
	}
	return cvalue{}
}

func (e *ceval) apply(op string, x, y cvalue) cvalue {
	u := x.unsigned || y.unsigned
	less := func(a, b uint64) bool {
		if u {
			return a < b
		}
		return int64(a) < int64(b)
	}
	switch op {
	case "||":
		return truth(x.bits != 0 || y.bits != 0)
	case "&&":
		return truth(x.bits != 0 && y.bits != 0)
	case "==":
		return truth(x.bits == y.bits)
	case "!=":
		return truth(x.bits != y.bits)
	case "<":
		return truth(less(x.bits, y.bits))
	case ">":
		return truth(less(y.bits, x.bits))
	case "<=":
		return truth(!less(y.bits, x.bits))
	case ">=":
		return truth(!less(x.bits, y.bits))
	case "|":
		return cvalue{x.bits | y.bits, u}
	case "^":
		return cvalue{x.bits ^ y.bits, u}
	case "&":
		return cvalue{x.bits & y.bits, u}
	case "+":
		return cvalue{x.bits + y.bits, u}
	case "-":
		return cvalue{x.bits - y.bits, u}
	case "*":
		return cvalue{x.bits * y.bits, u}
	case "<<":
		return cvalue{x.bits << min(y.bits, 64), x.unsigned}
	case ">>":
		if x.unsigned {
			return cvalue{x.bits >> min(y.bits, 64), true}
		}
		return cvalue{uint64(int64(x.bits) >> min(y.bits, 63)), false}
	}
	if y.bits == 0 {
		return e.fail()
	}
	switch {
	case op == "/" && u:
		return cvalue{x.bits / y.bits, true}
	case op == "%" && u:
		return cvalue{x.bits % y.bits, true}
	case int64(y.bits) == -1: // the smallest number has no opposite
		if op == "/" {
			return cvalue{-x.bits, false}
		}
		return cvalue{}
	case op == "/":
		return cvalue{uint64(int64(x.bits) / int64(y.bits)), false}
	}
	return cvalue{uint64(int64(x.bits) % int64(y.bits)), false}
}

func (e *ceval) unary() cvalue {
	if e.depth++; e.depth > maxDepth {
		return e.fail()
	}
	defer func() { e.depth-- }()
	t := e.peek()
	e.pos++
	switch t.kind {
	case cNumber:
		v, ok := cInteger(t.text)
		if !ok {
			return e.fail()
		}
		return v
	case cChar:
		s, bad := unquote(`"` + strings.Trim(t.text, "'") + `"`)
		if bad != nil || len(s) != 1 {
			return e.fail()
		}
		return cvalue{uint64(int64(int8(s[0]))), false}
	case cName:
		return e.word(t)
	case cPunct:
		switch t.text {
		case "-":
			v := e.unary()
			return cvalue{-v.bits, v.unsigned}
		case "+":
			return e.unary()
		case "~":
			v := e.unary()
			return cvalue{^v.bits, v.unsigned}
		case "!":
			return truth(e.unary().bits == 0)
		case "(":
			return e.paren()
		}
	}
	return e.fail()
}

// paren reads a cast or an expression behind '('.
func (e *ceval) paren() cvalue {
	if e.typ != nil {
		if t, n := e.typ(e.toks[e.pos:]); n > 0 && e.pos+n < len(e.toks) && e.toks[e.pos+n].is(")") {
			e.pos += n + 1
			return convert(e.unary(), t)
		}
	}
	v := e.ternary()
	if !e.got(")") {
		return e.fail()
	}
	return v
}

// convert casts to an integer type.
func convert(v cvalue, t ctypeInfo) cvalue {
	if !t.integer || t.size == 0 || t.size > 8 {
		return v
	}
	shift := 64 - 8*t.size
	if t.unsigned {
		return cvalue{v.bits << shift >> shift, true}
	}
	return cvalue{uint64(int64(v.bits<<shift) >> shift), false}
}

func (e *ceval) word(t ctoken) cvalue {
	if (t.text == "sizeof" || t.text == "_Alignof" || t.text == "__alignof__") && e.typ != nil && e.got("(") {
		info, n := e.typ(e.toks[e.pos:])
		e.pos += n
		if n == 0 || info.size == 0 || t.text != "sizeof" || !e.got(")") {
			return e.fail()
		}
		return cvalue{uint64(info.size), true}
	}
	if e.name != nil {
		if v, ok := e.name(t.text); ok {
			return cvalue{uint64(v), false}
		}
	}
	return e.fail()
}

// cInteger reads an integer constant of C (C11 6.4.4.1).
func cInteger(text string) (cvalue, bool) {
	digits := strings.TrimRight(text, "uUlL")
	if isHex(text) {
		digits = text[:2] + strings.TrimRight(text[2:], "uUlL")
	}
	if strings.ContainsAny(digits, ".pP_") || !isHex(text) && strings.ContainsAny(digits, "eEmsdhn") {
		return cvalue{}, false
	}
	v, _, err := ParseInt(digits)
	if err != nil {
		return cvalue{}, false
	}
	return cvalue{v, strings.ContainsAny(text[len(digits):], "uU") || v > 1<<63-1}, true
}
