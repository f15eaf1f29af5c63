package syntax

import (
	"math"
	"strconv"

	"trocar/internal/script/diag"
)

// bad stands for an expression that could not be read.
func bad(p *parser) Expr { return &IntLit{Place: p.place(p.end)} }

// expr reads any expression.
func (p *parser) expr() Expr {
	if !p.enter() {
		return bad(p)
	}
	defer p.leave()
	return p.ternary(p.binary(0, p.unary()))
}

// ternary reads what may follow a condition: `? a : b` or `?: b`.
func (p *parser) ternary(cond Expr) Expr {
	if !p.got("?") {
		return cond
	}
	t := &Ternary{Cond: cond}
	if !p.tok.is(":") {
		t.Then = p.expr()
	}
	p.want(":")
	t.Else = p.expr()
	t.Place = p.from(cond)
	return t
}

// from is the place from the begin of an expression to here.
func (p *parser) from(x Expr) Place { return p.place(x.Pos().Start) }

// precedence of a binary operator; 0: it is none.
func precedence(t token) int {
	if t.kind != tPunct {
		return 0
	}
	switch t.text {
	case "||":
		return 1
	case "&&":
		return 2
	case "|":
		return 3
	case "^":
		return 4
	case "&":
		return 5
	case "==", "!=":
		return 6
	case "<", ">", "<=", ">=":
		return 7
	case "<<", ">>":
		return 8
	case "+", "-":
		return 9
	case "*", "/", "%":
		return 10
	}
	return 0
}

// binary reads operators of at least the given precedence behind x.
func (p *parser) binary(least int, x Expr) Expr {
	for n := 0; ; n++ {
		prec := precedence(p.tok)
		if prec == 0 || prec < least || p.inPred && p.tok.is("/") && p.peek().is("{") {
			return x
		}
		if n >= maxChain {
			p.fail("too many operators in one expression (more than %d)", maxChain)
			return x
		}
		op := p.next()
		y := p.binary(prec+1, p.unary())
		x = &Binary{p.from(x), op.text, p.tokSpan(op), x, y}
	}
}

// unary reads prefix operators.
func (p *parser) unary() Expr {
	if p.tok.kind != tPunct {
		return p.postfix(p.primary())
	}
	switch p.tok.text {
	case "++", "--", "&", "*", "!", "~", "-":
	default:
		return p.postfix(p.primary())
	}
	if !p.enter() {
		return bad(p)
	}
	defer p.leave()
	op := p.next()
	switch op.text {
	case "++", "--":
		x := p.unary()
		if !changeable(x) {
			p.failAt(x.Pos(), "increment/decrement requires a variable or map")
		}
		return &IncDec{p.place(op.start), op.text, false, x}
	case "&":
		t := p.tok
		at := Place{p.tokSpan(t)}
		switch t.kind {
		case tVar:
			p.next()
			return &Unary{p.place(op.start), "&", &Var{at, t.text}}
		case tMap:
			p.next()
			return &Unary{p.place(op.start), "&", &Map{at, t.text}}
		}
		p.fail("address-of operator (&) can only be used on a map or variable")
		return bad(p)
	}
	x := p.unary()
	return &Unary{p.place(op.start), op.text, x}
}

// changeable tells what ++ and -- may be applied to.
func changeable(x Expr) bool {
	switch x.(type) {
	case *Var, *Map, *MapAccess:
		return true
	}
	return false
}

// postfix reads fields, indexes and ++ and -- behind x.
func (p *parser) postfix(x Expr) Expr {
	for n := 0; p.tok.kind == tPunct; n++ {
		op := p.tok
		switch op.text {
		case ".", "->", "[", "++", "--":
		default:
			return x
		}
		if n >= maxChain {
			p.fail("too many operators in one expression (more than %d)", maxChain)
			return x
		}
		p.next()
		switch op.text {
		case "[":
			inPred := p.inPred
			p.inPred = false
			i := p.expr()
			p.inPred = inPred
			p.want("]")
			x = &Index{p.from(x), x, i}
		case "++", "--":
			if !changeable(x) {
				p.failAt(p.tokSpan(op), "increment/decrement requires a variable or map")
				return x
			}
			x = &IncDec{p.from(x), op.text, true, x}
		default:
			x = p.field(x, op)
		}
	}
	return x
}

// field reads what follows '.' or '->'.
func (p *parser) field(x Expr, op token) Expr {
	if p.tok.kind == tInt && op.text == "." {
		t := p.next()
		i, err := strconv.Atoi(t.text)
		if lit, ok := x.(*IntLit); ok {
			p.failAt(p.span(lit.Span.Start), "floating-point numbers are not supported")
		}
		if err != nil {
			p.failAt(p.tokSpan(t), "invalid tuple index: %s", t.text)
		}
		return &TupleField{p.from(x), x, i}
	}
	name, span := p.name("field name after '" + op.text + "'")
	if isLength(name) && p.tok.is("(") && p.peek().is(")") {
		p.next()
		p.next()
		return &Call{Place: p.from(x), Name: "len", Args: []Expr{x}}
	}
	return &Field{p.from(x), x, name, span, op.text == "->"}
}

// isLength tells the methods that count elements in C++ and Rust.
func isLength(name string) bool { return name == "size" || name == "length" || name == "len" }

// primary reads what has no operators around it.
func (p *parser) primary() Expr {
	t := p.tok
	at := Place{p.tokSpan(t)}
	switch t.kind {
	case tIdent:
		return p.word()
	case tInt:
		return p.integer()
	case tString:
		return &StrLit{at, p.stringLit()}
	case tVar:
		p.next()
		return &Var{at, t.text}
	case tCount:
		p.next()
		return &PositionalCount{at}
	case tParam:
		p.next()
		n, err := strconv.Atoi(t.text[1:])
		if err != nil || n < 1 {
			p.errorAt(at.Span, "param %s is out of integer range [1, %d]", t.text, math.MaxInt64)
		}
		return &Positional{at, n}
	case tMap:
		return p.mapRef()
	case tPunct:
		switch t.text {
		case "(":
			return p.paren()
		case "{":
			b := p.block()
			return &BlockExpr{b.Place, b}
		}
	}
	p.fail("expected expression")
	return bad(p)
}

// mapRef reads a map with or without a key.
func (p *parser) mapRef() Expr {
	t := p.next()
	m := &Map{Place{p.tokSpan(t)}, t.text}
	if !p.got("[") {
		return m
	}
	inPred := p.inPred
	p.inPred = false
	keys := []Expr{p.expr()}
	for p.got(",") {
		keys = append(keys, p.expr())
	}
	p.inPred = inPred
	p.want("]")
	at := p.place(t.start)
	key := keys[0]
	if len(keys) > 1 {
		key = &Tuple{at, keys, true}
	}
	return &MapAccess{at, m, key}
}

// word reads an expression that begins with a name.
func (p *parser) word() Expr {
	t := p.tok
	at := Place{p.tokSpan(t)}
	switch t.text {
	case "true", "false":
		p.next()
		return &BoolLit{at, t.text == "true"}
	case "if":
		if !p.enter() {
			return bad(p)
		}
		defer p.leave()
		return p.ifExpr()
	case "comptime":
		p.next()
		x := p.unary()
		return &Comptime{p.place(t.start), x}
	case "sizeof", "typeinfo":
		p.next()
		p.want("(")
		typ, x := p.typeOrExpr()
		p.want(")")
		if t.text == "sizeof" {
			return &Sizeof{p.place(t.start), typ, x}
		}
		return &Typeinfo{p.place(t.start), typ, x}
	case "offsetof":
		p.next()
		p.want("(")
		typ, x := p.typeOrExpr()
		p.want(",")
		var path []string
		for !p.bad {
			name, _ := p.name("field name")
			path = append(path, name)
			if !p.got(".") {
				break
			}
		}
		p.want(")")
		return &Offsetof{p.place(t.start), typ, x, path}
	}
	p.next()
	if p.tok.is("(") {
		return p.call(t)
	}
	if name := p.scoped(t.text); name != t.text {
		return &Ident{p.place(t.start), name} // an enumerator of C++ or Rust
	}
	return &Ident{at, t.text}
}

// call reads the arguments of a call.
func (p *parser) call(name token) Expr {
	if !p.enter() {
		return bad(p)
	}
	defer p.leave()
	inPred := p.inPred
	p.inPred = false
	p.next()
	var args []Expr
	for !p.tok.is(")") || len(args) > 0 {
		if p.tok.word("typeof") {
			args = append(args, p.typ())
		} else {
			args = append(args, p.expr())
		}
		if !p.got(",") {
			break
		}
	}
	p.inPred = inPred
	p.want(")")
	return &Call{p.place(name.start), name.text, p.tokSpan(name), args}
}

// paren reads what begins with '(': a tuple, a record, a cast or an expression in parentheses.
func (p *parser) paren() Expr {
	if !p.enter() {
		return bad(p)
	}
	defer p.leave()
	inPred := p.inPred
	p.inPred = false
	defer func() { p.inPred = inPred }()
	start := p.next().start
	if p.got(")") {
		return &Tuple{Place: p.place(start)}
	}
	if p.tok.kind == tIdent || p.tok.kind == tString {
		if p.peek().is("=") && (p.tok.kind == tString || !isBuiltin(p.tok.text)) {
			return p.record(start)
		}
		if t := p.castType(); t != nil {
			p.inPred = inPred
			x := p.unary()
			return &Cast{p.place(start), t, x}
		}
	}
	x := p.expr()
	if !p.got(",") {
		p.want(")")
		return x
	}
	elems := []Expr{x}
	for !p.bad && !p.tok.is(")") {
		elems = append(elems, p.expr())
		if !p.got(",") {
			break
		}
	}
	p.want(")")
	return &Tuple{Place: p.place(start), Elems: elems}
}

// record reads `a=1, "any name"=2)`.
func (p *parser) record(start int) Expr {
	r := &Record{}
	seen := map[string]bool{}
	for !p.bad {
		at := p.tok.start
		name, span := p.recordName()
		p.want("=")
		x := p.expr()
		if seen[name] {
			p.errorAt(diag.Span{Source: p.src, Start: at, End: p.end}, "Named argument list already contains name: %s", name)
		}
		seen[name] = true
		r.Names, r.NameSpans, r.Elems = append(r.Names, name), append(r.NameSpans, span), append(r.Elems, x)
		if !p.got(",") {
			break
		}
	}
	p.want(")")
	r.Place = p.place(start)
	return r
}

// recordName reads the name of a value in a record: in quotes it may be any text.
func (p *parser) recordName() (name string, span diag.Span) {
	if p.tok.kind != tString {
		return p.name("identifier")
	}
	span = p.tokSpan(p.tok)
	return p.stringLit(), span
}

// castType reads `type)` if that is what follows, and something to cast behind it.
func (p *parser) castType() *TypeExpr {
	if p.tok.word("typeof") {
		t := p.typ()
		p.want(")")
		if !p.bad && !p.beginsExpr() {
			p.fail("expected an expression to cast")
		}
		return t
	}
	if isBuiltin(p.tok.text) {
		return nil
	}
	m := p.mark()
	if t, _ := p.tryType(); t != nil && p.got(")") && p.beginsExpr() {
		return t
	}
	p.reset(m)
	return nil
}

// beginsExpr tells whether the current token can begin what a cast is applied to.
func (p *parser) beginsExpr() bool {
	switch p.tok.kind {
	case tIdent, tInt, tString, tVar, tParam, tCount, tMap:
		return true
	case tPunct:
		switch p.tok.text {
		case "(", "-", "!", "~", "*", "--":
			return true
		case "&":
			k := p.peek().kind
			return k == tVar || k == tMap
		}
	}
	return false
}
