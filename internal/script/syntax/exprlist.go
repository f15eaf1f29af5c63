package syntax

import "trocar/internal/script/diag"

// Labelled is an expression with what it is to be called.
type Labelled struct {
	Label string // "": nothing was said
	Expr  Expr
}

// ParseExprs reads expressions that are parted by commas, each of which may have a name in front: "size,
// from=buf->start". It is nil if there were errors.
func ParseExprs(src *diag.Source, diags *diag.List) []Labelled {
	if len(src.Text) > MaxScript {
		diags.Errorf(diag.Span{}, "%s: the expressions are larger than %d bytes", src.Name, MaxScript)
		return nil
	}
	p := newParser(src, ParseOptions{}, diags)
	var list []Labelled
	for {
		var l Labelled
		if p.tok.kind == tIdent && p.peek().is("=") {
			l.Label = p.tok.text
			p.next()
			p.next()
		}
		l.Expr = p.expr()
		list = append(list, l)
		if p.errors > 0 || !p.tok.is(",") {
			break
		}
		p.next()
	}
	if p.tok.kind != tEOF {
		p.fail("unexpected input")
	}
	if p.errors > 0 {
		return nil
	}
	return list
}
