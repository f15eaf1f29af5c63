package recipe

import "trocar/internal/script/syntax"

// rewrite replaces the names in an expression. What is no expression, like blocks, stays.
func rewrite(x syntax.Expr, replace func(*syntax.Ident) syntax.Expr) syntax.Expr {
	if x == nil {
		return nil
	}
	if id, ok := x.(*syntax.Ident); ok {
		return replace(id)
	}
	return parts(x, func(y syntax.Expr) syntax.Expr { return rewrite(y, replace) })
}

// parts replaces the expressions that an expression is made of.
func parts(x syntax.Expr, replace func(syntax.Expr) syntax.Expr) syntax.Expr {
	r := func(y syntax.Expr) syntax.Expr {
		if y == nil {
			return nil
		}
		return replace(y)
	}
	list := func(ys []syntax.Expr) {
		for i := range ys {
			ys[i] = r(ys[i])
		}
	}
	switch x := x.(type) {
	case *syntax.MapAccess:
		x.Key = r(x.Key)
	case *syntax.Call:
		list(x.Args)
	case *syntax.Unary:
		x.X = r(x.X)
	case *syntax.Binary:
		x.X, x.Y = r(x.X), r(x.Y)
	case *syntax.Ternary:
		x.Cond, x.Then, x.Else = r(x.Cond), r(x.Then), r(x.Else)
	case *syntax.Cast:
		x.X = r(x.X)
	case *syntax.Field:
		if id, ok := x.X.(*syntax.Ident); !ok || id.Name != "args" {
			x.X = r(x.X)
		}
	case *syntax.TupleField:
		x.X = r(x.X)
	case *syntax.Index:
		x.X, x.I = r(x.X), r(x.I)
	case *syntax.Tuple:
		list(x.Elems)
	case *syntax.Record:
		list(x.Elems)
	case *syntax.Sizeof:
		x.X = r(x.X)
	}
	return x
}
