package syntax

import "trocar/internal/script/diag"

// block reads `{ … }` whose value may be used: Value is the last expression if no ';' follows it.
func (p *parser) block() *Block {
	start := p.tok.start
	b := &Block{}
	if !p.tok.is("{") {
		p.fail("expected '{'").Hint("the body is put in braces, also if it is a single statement")
		b.Place = p.place(start)
		return b
	}
	open := p.next()
	if !p.enter() {
		b.Place = p.place(start)
		return b
	}
	inPred := p.inPred
	p.inPred = false
	for !p.tok.is("}") && p.tok.kind != tEOF {
		first := p.tok.start
		s, value := p.stmt()
		if p.bad {
			p.resync(false)
			if p.bad {
				break
			}
			if p.tok.start == first && !p.tok.is("}") {
				p.next()
			}
			continue
		}
		if s != nil {
			b.Stmts = append(b.Stmts, s)
		}
		if value != nil {
			b.Value = value
			break
		}
	}
	p.inPred = inPred
	p.leave()
	if !p.got("}") {
		p.fail("expected '}'").Note(p.tokSpan(open), "the block begins here")
	}
	b.Place = p.place(start)
	settle(b)
	return b
}

// plainBlock reads a block whose value nobody can use.
func (p *parser) plainBlock() *Block {
	b := p.block()
	dropValue(b)
	return b
}

// settle makes a value that is only a statement (an `if` or a block without values) a statement.
func settle(b *Block) {
	switch v := b.Value.(type) {
	case *If:
		if hasValue(v) {
			return
		}
	case *BlockExpr:
		if v.Block.Value != nil {
			return
		}
	default:
		return
	}
	dropValue(b)
}

// hasValue tells whether an if can give a value: it has an else, and some block has a value.
func hasValue(x *If) bool {
	some := false
	for {
		some = some || x.Then.Value != nil
		switch e := x.Else.(type) {
		case *If:
			x = e
		case *Block:
			return some || e.Value != nil
		default:
			return false
		}
	}
}

// dropValue makes the value of a block its last statement.
func dropValue(b *Block) {
	if b.Value != nil {
		b.Stmts = append(b.Stmts, exprStmt(b.Value, b.Value.Pos()))
		b.Value = nil
	}
}

// exprStmt is an expression as a statement.
func exprStmt(x Expr, span diag.Span) Stmt {
	switch x := x.(type) {
	case *If:
		for i := x; i != nil; {
			dropValue(i.Then)
			switch e := i.Else.(type) {
			case *If:
				i = e
				continue
			case *Block:
				dropValue(e)
			}
			break
		}
		return x
	case *BlockExpr:
		dropValue(x.Block)
		return x.Block
	}
	return &ExprStmt{Place{span}, x}
}

// stmt reads one statement, or the value of the block if the block ends behind it.
func (p *parser) stmt() (Stmt, Expr) {
	start := p.tok.start
	if p.tok.kind == tIdent {
		switch p.tok.text {
		case "import":
			return p.importStmt(), nil
		case "while", "unroll":
			return p.loop(), nil
		case "for":
			return p.forLoop(), nil
		case "break", "continue":
			kind := p.next().text
			p.endStmt()
			return &Jump{p.place(start), kind, nil}, nil
		case "return":
			p.next()
			var value Expr
			if !p.tok.is(";") && !p.tok.is("}") {
				value = p.expr()
			}
			p.endStmt()
			return &Jump{p.place(start), "return", value}, nil
		case "let":
			return p.varDecl(), nil
		case "_":
			if p.peek().is("=") {
				p.next()
				p.next()
				x := p.expr()
				at := p.place(start)
				p.endStmt()
				return &Discard{at, x}, nil
			}
		}
	}
	return p.exprOrAssign()
}

// exprOrAssign reads an assignment or an expression.
func (p *parser) exprOrAssign() (Stmt, Expr) {
	start, sigil := p.tok.start, p.tok.kind == tVar || p.tok.kind == tMap
	x := p.stmtExpr()
	if p.tok.kind == tPunct {
		switch op := p.tok.text; op {
		case "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=":
			if !sigil {
				break
			}
			p.next()
			rhs := p.expr()
			at := p.place(start)
			switch x.(type) {
			case *Var, *Map, *MapAccess:
			case *TupleField, *Field:
				p.failAt(at.Span, "Tuples and records are immutable once created. Consider creating a new value and "+
					"assigning it instead.")
			default:
				p.failAt(at.Span, "invalid assignment target")
			}
			p.endStmt()
			return &Assign{at, x, op, rhs}, nil
		case "}":
			return nil, x
		case ";":
			at := p.place(start)
			p.next()
			if !sigil {
				at = p.place(start)
			}
			return exprStmt(x, at.Span), nil
		}
	}
	switch x.(type) {
	case *If, *BlockExpr:
		return exprStmt(x, diag.Span{}), nil
	}
	p.fail("expected ';'")
	return nil, nil
}

// stmtExpr reads an expression at the begin of a statement. A block or an if there is complete where `++` or `--`
// follows: that begins the next statement.
func (p *parser) stmtExpr() Expr {
	if !p.tok.is("{") && !p.tok.word("if") {
		return p.expr()
	}
	if !p.enter() {
		return bad(p)
	}
	defer p.leave()
	x := p.primary()
	if p.tok.is("++") || p.tok.is("--") {
		return x
	}
	return p.ternary(p.binary(0, p.postfix(x)))
}

// endStmt reads the ';' behind a statement, which may be left out before '}'.
func (p *parser) endStmt() {
	if !p.got(";") && !p.tok.is("}") {
		p.fail("expected ';'")
	}
}

// varDecl reads `let $x [: type] [= value]`.
func (p *parser) varDecl() Stmt {
	start := p.next().start
	if p.tok.kind != tVar {
		p.fail("expected variable after 'let'")
		return nil
	}
	t := p.next()
	d := &VarDecl{Var: &Var{Place{p.tokSpan(t)}, t.text}}
	if p.got(":") {
		d.Type = p.typ()
	}
	if p.got("=") {
		d.Value = p.expr()
	}
	d.Place = p.place(start)
	p.endStmt()
	return d
}

// condition reads what stands behind if, while and unroll: an expression in parentheses, or a unary one, so that the
// '{' of the block isn't taken for a part of it.
func (p *parser) condition() Expr {
	if !p.got("(") {
		return p.unary()
	}
	x := p.expr()
	p.want(")")
	return x
}

// loop reads while and unroll.
func (p *parser) loop() Stmt {
	kw := p.next()
	cond := p.condition()
	body := p.plainBlock()
	if kw.text == "while" {
		return &While{p.place(kw.start), cond, body}
	}
	return &Unroll{p.place(kw.start), cond, body}
}

// forLoop reads `for ($x : @map) { … }` and `for ($x : start..end) { … }`, with or without the parentheses.
func (p *parser) forLoop() Stmt {
	start := p.next().start
	paren := p.got("(")
	if p.tok.kind != tVar {
		p.fail("expected variable in for loop")
		return nil
	}
	t := p.next()
	v := &Var{Place{p.tokSpan(t)}, t.text}
	if p.tok.is("=") {
		p.fail("expected ':'").Hint("a loop over numbers is written as for ($i : 0..10) { … }")
		for t := scan(p.text, p.badAt); t.kind != tEOF && !t.is("{"); t = scan(p.text, t.end) {
			p.badAt = t.end // go on behind the loop
		}
	}
	p.want(":")
	over := p.tok
	from := p.unary()
	var to Expr
	if p.got("..") {
		to = p.unary()
	}
	if paren {
		p.want(")")
	}
	m, isMap := from.(*Map)
	if to == nil && !isMap {
		p.failAt(p.tokSpan(over), "expected map or range in for loop")
	}
	body := p.plainBlock()
	if to != nil {
		return &ForRange{p.place(start), v, from, to, body}
	}
	return &ForMap{p.place(start), v, m, body}
}

// ifExpr reads if, else if and else.
func (p *parser) ifExpr() Expr {
	start := p.next().start
	x := &If{}
	x.Comptime = p.gotWord("comptime")
	x.Cond = p.condition()
	x.Then = p.block()
	if p.gotWord("else") {
		switch {
		case p.tok.word("if"):
			if p.chained >= maxChain {
				p.fail("too many else ifs (more than %d)", maxChain)
				break
			}
			p.chained++
			x.Else = p.ifExpr().(*If)
			p.chained--
		case p.tok.is("{"):
			x.Else = p.block()
		default:
			p.fail("expected '{' or 'if' after 'else'")
		}
	}
	x.Place = p.place(start)
	return x
}
