package syntax

import "trocar/internal/script/diag"

// ParseExprs reads expressions that are parted by commas. It is nil if there were errors.
func ParseExprs(src *diag.Source, diags *diag.List) []Expr {
	if len(src.Text) > maxScript {
		diags.Errorf(diag.Span{}, "%s: the expressions are larger than %d bytes", src.Name, maxScript)
		return nil
	}
	p := newParser(src, ParseOptions{}, diags)
	var list []Expr
	for {
		list = append(list, p.expr())
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
