package syntax

import "math"

// typ reads a type that must be there.
func (p *parser) typ() *TypeExpr {
	start := p.tok.start
	if p.gotWord("typeof") {
		t := &TypeExpr{}
		if !p.enter() {
			return t
		}
		p.want("(")
		t.OfType, t.Of = p.typeOrExpr()
		p.want(")")
		p.leave()
		if why := p.suffixes(t); why != "" {
			p.fail("%s", why)
		}
		t.Place = p.place(start)
		return t
	}
	t, why := p.tryType()
	if t == nil {
		p.fail("%s", why)
		return &TypeExpr{Place: p.place(start)}
	}
	return t
}

// tryType reads a type without typeof. If there is none, it gives nil and says why, standing at the offending token.
func (p *parser) tryType() (t *TypeExpr, why string) {
	start := p.tok.start
	p.skipQualifiers()
	if p.tok.kind != tIdent || isBuiltin(p.tok.text) {
		return nil, "expected type name"
	}
	t = &TypeExpr{Base: p.next().text}
	switch t.Base {
	case "struct", "union", "enum":
		if p.tok.kind != tIdent {
			return nil, "expected identifier"
		}
		t.Base += " " + p.next().text
	case "unsigned", "signed", "long", "short", "char", "int":
		for p.tok.kind == tIdent && isIntWord(p.tok.text) {
			t.Base += " " + p.next().text
		}
	}
	p.skipQualifiers()
	if why = p.suffixes(t); why != "" {
		return nil, why
	}
	t.Place = p.place(start)
	return t, ""
}

// skipQualifiers skips C's const and volatile, which mean nothing here.
func (p *parser) skipQualifiers() {
	for p.tok.word("const") || p.tok.word("volatile") {
		p.next()
	}
}

// isIntWord tells the words that C's integer types are made of.
func isIntWord(w string) bool {
	switch w {
	case "unsigned", "signed", "long", "short", "char", "int":
		return true
	}
	return false
}

// suffixes reads '*' and '[N]' in any order. It tells what is wrong with them, standing at the offending token.
func (p *parser) suffixes(t *TypeExpr) (why string) {
	for {
		switch {
		case len(t.Mods) > maxDepth:
			return "too many '*' and '[]' in a type"
		case p.got("*"):
			t.Mods = append(t.Mods, TypeMod{Pointer: true})
			p.skipQualifiers()
		case p.got("["):
			mod := TypeMod{NoLen: true}
			if p.tok.kind == tInt {
				n, _, err := ParseInt(p.tok.text)
				if err != nil {
					return err.Error()
				}
				if n > math.MaxInt32 {
					return "too many elements: " + p.tok.text
				}
				mod = TypeMod{Len: int(n)}
				p.next()
			}
			if !p.got("]") {
				return "expected ']'"
			}
			t.Mods = append(t.Mods, mod)
		default:
			return ""
		}
	}
}

// typeOrExpr reads the argument of sizeof and its like. A bare name is a type: only check knows whether there is one.
func (p *parser) typeOrExpr() (*TypeExpr, Expr) {
	if p.tok.word("typeof") {
		return p.typ(), nil
	}
	if p.tok.kind == tIdent && !isBuiltin(p.tok.text) {
		m := p.mark()
		if t, _ := p.tryType(); t != nil && (p.tok.is(")") || p.tok.is(",")) {
			return t, nil
		}
		p.reset(m)
	}
	return nil, p.expr()
}
