package recipe

import (
	"slices"
	"strconv"
	"strings"

	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// What expressions say of arguments holds for the entry of a call, also where they are looked at when it returns since
// they have the result or the duration in them: then those parts are kept that have nothing of the return. What a
// function changes (a buffer that it fills, *len, errno) is in the expressions of --result, and in result(EXPR)
// elsewhere.

// atEndWord is the call that says that its argument is read when the function returns.
const atEndWord = "result"

// calls tells whether a function of a name is called in an expression.
func calls(x syntax.Expr, name string) bool {
	found := false
	syntax.Inspect(x, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Call); ok && c.Name == name {
			found = true
		}
		return !found
	})
	return found
}

// atEntry tells whether an expression has something in it that is only there at the entry.
func (fn *Function) atEntry(x syntax.Expr) bool {
	found := false
	syntax.Inspect(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			found = found || fn.has(n.Name) || n.Name == "args" || isArgN(n.Name)
		case *syntax.Call:
			found = found || n.Name == "reg"
		}
		return !found
	})
	return found
}

// isArgN tells the names of arguments by position.
func isArgN(name string) bool {
	n, ok := strings.CutPrefix(strings.TrimPrefix(name, "s"), "arg")
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}

// atReturn is the text of an expression where the function returns. What it needs of the entry is kept.
func (s *script) atReturn(c *call, x syntax.Expr) string {
	r := returning{c: c}
	return syntax.PrintExpr(r.expr(syntax.Clone(x), false, true))
}

// inResult is the text of an expression of --result.
func (s *script) inResult(c *call, x syntax.Expr) string {
	r := returning{c: c}
	return syntax.PrintExpr(r.expr(syntax.Clone(x), true, true))
}

// returning makes an expression one for the return of a call.
type returning struct{ c *call }

// expr does it. end: memory is read as it is then; whole: it is shown by itself, not a part of another expression.
func (r returning) expr(x syntax.Expr, end, whole bool) syntax.Expr {
	fn := r.c.fn
	switch y := x.(type) {
	case *syntax.Call:
		if y.Name == atEndWord && len(y.Args) == 1 {
			return r.expr(y.Args[0], true, whole)
		}
	case *syntax.Ident:
		switch {
		case fn.has(y.Name), isArgN(y.Name):
			return r.keep(x, !end && whole)
		case y.Name == "duration":
			return &syntax.Var{Name: "$took"}
		case y.Name == "retval" && fn.ResultExpr != "":
			return syntax.ParseExpr(&diag.Source{Text: fn.ResultExpr}, &diag.List{})
		case y.Name == "errno":
			return syntax.ParseExpr(&diag.Source{Text: `errno_name(*(int32 *)uaddr("errno"))`}, &diag.List{})
		}
		return x
	case *syntax.Field:
		if id, ok := y.X.(*syntax.Ident); ok && id.Name == "args" && !fn.has("args") {
			return r.keep(x, !end && whole)
		}
	}
	if !end && !fn.later(x) && fn.atEntry(x) {
		return r.keep(x, whole)
	}
	switch x.(type) {
	case *syntax.Tuple, *syntax.Record:
		whole = true
	default:
		whole = false
	}
	return parts(x, func(y syntax.Expr) syntax.Expr { return r.expr(y, end, whole) })
}

// keep keeps the value that an expression has at the entry; whole: with what it refers to.
func (r returning) keep(x syntax.Expr, whole bool) syntax.Expr {
	c, label := r.c, syntax.PrintExpr(x)
	var show Show
	size := 8
	if c.fn.ShowOf != nil {
		show, size = c.fn.ShowOf(label)
	}
	id, isName := x.(*syntax.Ident)
	if isName && !isArgN(id.Name) {
		for i := range c.fn.Params {
			if p := &c.fn.Params[i]; p.Name == id.Name {
				show, size = p.Show, p.Size
			}
		}
	}
	switch {
	case show == AsString: // its text
	case !whole, show == AsText, show == Hidden:
		show = AsValue
	}
	i := slices.IndexFunc(c.extra, func(p part) bool { return p.label == label && p.show == show })
	if i < 0 {
		i = len(c.extra)
		c.extra = append(c.extra, part{
			label: label, field: "kept_" + strconv.Itoa(i), expr: syntax.PrintExpr(over(x, c.fn, argsOf)), show: show,
			size: max(8, size),
		})
	}
	return &syntax.Field{X: &syntax.Var{Name: "$call"}, Name: c.extra[i].field}
}

// afterwards are the expressions of --result.
func (s *script) afterwards(c *call) {
	if len(s.ending) == 0 {
		return
	}
	if !c.pairs() || len(c.returns) == 0 {
		s.notice(c.fn, "what --result asks for is not shown: its returns are not seen")
		return
	}
	var labels []string
	for _, x := range s.ending {
		labels = append(labels, s.label(x))
	}
	fields := fieldNames(labels)
	for i, x := range s.ending {
		p := part{label: labels[i], field: fields[i], show: AsWhole}
		if c.fn.ShowOf != nil {
			p.show, _ = c.fn.ShowOf(syntax.PrintExpr(x))
		}
		if mentions(x, "retval") || p.show == Hidden {
			p.show = AsWhole
		}
		if call, ok := x.(*syntax.Call); ok && call.Name == "str" {
			p.show = AsValue
		}
		p.exit = s.shown(p.show, s.inResult(c, x))
		c.results = append(c.results, p)
	}
}
