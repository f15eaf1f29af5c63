package syntax

import (
	"math"
	"strings"
)

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
	if p.tok.kind == tString {
		return p.quotedType()
	}
	if p.tok.kind != tIdent || isBuiltin(p.tok.text) {
		return nil, "expected type name"
	}
	t = &TypeExpr{Base: p.next().text}
	dotted := false
	switch t.Base {
	case "struct", "union", "enum", "class":
		if p.tok.kind != tIdent {
			if t.Base == "class" {
				break
			}
			return nil, "expected identifier"
		}
		t.Base += " " + p.next().text
		p.scopes(t)
	case "unsigned", "signed", "long", "short", "char", "int":
		for p.tok.kind == tIdent && isIntWord(p.tok.text) {
			t.Base += " " + p.next().text
		}
	default:
		dotted = p.scopes(t)
	}
	p.skipQualifiers()
	if why = p.suffixes(t); why != "" {
		return nil, why
	}
	if dotted && len(t.Mods) == 0 {
		return nil, "expected '*'" // a.b is a field
	}
	t.Place = p.place(start)
	return t, ""
}

// quotedType reads a type of the traced program in quotes, where its name has letters that mean something else here.
// Without a suffix it is a string.
func (p *parser) quotedType() (t *TypeExpr, why string) {
	start := p.tok.start
	m := p.mark()
	text := p.next().text
	if len(text) < 3 || strings.ContainsAny(text, "\\\n") || text[len(text)-1] != '"' {
		p.reset(m)
		return nil, "expected type name"
	}
	t = &TypeExpr{Base: text[1 : len(text)-1], Quoted: true}
	if why = p.suffixes(t); why != "" || len(t.Mods) == 0 {
		p.reset(m)
		return nil, "expected '*'"
	}
	t.Place = p.place(start)
	return t, ""
}

// scopes reads what a name goes on with in C++ and Rust ("ns::Box<int>::Kind"), or in Go ("pkg.T"): then it tells so.
func (p *parser) scopes(t *TypeExpr) (dotted bool) {
	for {
		m := p.mark()
		switch {
		case p.got(":"):
			if !p.tok.is(":") || p.tok.start != p.end {
				p.reset(m)
				return dotted
			}
			p.next()
			if p.tok.kind != tIdent {
				p.reset(m)
				return dotted
			}
			t.Base += "::" + p.next().text
		case p.got("."):
			if p.tok.kind != tIdent {
				p.reset(m)
				return dotted
			}
			t.Base, dotted = t.Base+"."+p.next().text, true
		case p.tok.is("<"):
			start := p.tok.start
			if !p.templateArgs() {
				p.reset(m)
				return dotted
			}
			t.Base += p.text[start:p.end]
		default:
			return dotted
		}
	}
}

// scoped reads what a name goes on with if it is a qualified one ("Color::RED").
func (p *parser) scoped(name string) string {
	for p.tok.is(":") && p.tok.start == p.end {
		m := p.mark()
		p.next()
		if !p.tok.is(":") || p.tok.start != p.end {
			p.reset(m)
			break
		}
		p.next()
		if p.tok.kind != tIdent || p.tok.start != p.end {
			p.reset(m)
			break
		}
		name += "::" + p.next().text
	}
	return name
}

// templateArgs reads from '<' to the '>' that closes it. What is between is for the debug information to know; of
// brackets only those that are closed can be part of a type.
func (p *parser) templateArgs() bool {
	angles, round := 0, 0
	for {
		switch {
		case p.tok.kind == tEOF || p.tok.kind == tBad || p.tok.is(";") || p.tok.is("{") || p.tok.is("}"):
			return false
		case p.tok.is("<"):
			angles++
		case p.tok.is(">"):
			angles--
		case p.tok.is(">>"):
			angles -= 2
		case p.tok.is("("), p.tok.is("["):
			round++
		case p.tok.is(")"), p.tok.is("]"):
			if round--; round < 0 {
				return false
			}
		case p.tok.kind == tPunct && !p.tok.is(",") && !p.tok.is("*") && !p.tok.is("&") && !p.tok.is(":") &&
			!p.tok.is("&&") && !p.tok.is("-") && !p.tok.is("->"):
			return false
		}
		p.next()
		if angles <= 0 {
			return angles == 0
		}
	}
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
