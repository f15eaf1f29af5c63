package syntax

import "trocar/internal/script/diag"

// Pos returns the place of the attach points.
func (p *Probe) Pos() diag.Span { return p.Span }

// Pos returns the place.
func (a *AttachPoint) Pos() diag.Span { return a.Span }

// Pos returns the place of `macro name`.
func (m *Macro) Pos() diag.Span { return m.Span }

// Pos returns the place of `fn name`.
func (f *Func) Pos() diag.Span { return f.Span }

// defSpan is the place of a C definition.
func defSpan(d CDef) diag.Span {
	switch d := d.(type) {
	case *CStruct:
		return d.Span
	case *CEnum:
		return d.Span
	case *CTypedef:
		return d.Span
	case *CDefine:
		return d.Span
	}
	return diag.Span{}
}

// Inspect calls f for a node and, if f returns true, for each node below it, in the order of the text.
func Inspect(n Node, f func(Node) bool) {
	if f(n) {
		eachChild(n, func(c Node) { Inspect(c, f) })
	}
}

// eachChild calls f for the nodes directly below n.
func eachChild(n Node, f func(Node)) {
	expr := func(list ...Expr) {
		for _, x := range list {
			if x != nil {
				f(x)
			}
		}
	}
	typ := func(t *TypeExpr) {
		if t != nil {
			f(t)
		}
	}
	block := func(b *Block) {
		if b != nil {
			f(b)
		}
	}
	switch n := n.(type) {
	case *Probe:
		for _, p := range n.Points {
			f(p)
		}
		expr(n.Pred)
		block(n.Body)
	case *Macro:
		expr(n.Params...)
		block(n.Body)
	case *Func:
		for i, v := range n.Params {
			f(v)
			typ(n.Types[i])
		}
		typ(n.Result)
		block(n.Body)
	case *Block:
		for _, s := range n.Stmts {
			f(s)
		}
		expr(n.Value)
	case *ExprStmt:
		expr(n.X)
	case *Discard:
		expr(n.X)
	case *Assign:
		expr(n.LHS, n.RHS)
	case *VarDecl:
		f(n.Var)
		typ(n.Type)
		expr(n.Value)
	case *If:
		expr(n.Cond)
		block(n.Then)
		if n.Else != nil {
			f(n.Else)
		}
	case *While:
		expr(n.Cond)
		block(n.Body)
	case *ForMap:
		f(n.Var)
		f(n.Map)
		block(n.Body)
	case *ForRange:
		f(n.Var)
		expr(n.Start, n.End)
		block(n.Body)
	case *Unroll:
		expr(n.N)
		block(n.Body)
	case *Jump:
		expr(n.Value)
	case *MapAccess:
		f(n.Map)
		expr(n.Key)
	case *Call:
		expr(n.Args...)
	case *Unary:
		expr(n.X)
	case *Binary:
		expr(n.X, n.Y)
	case *Ternary:
		expr(n.Cond, n.Then, n.Else)
	case *IncDec:
		expr(n.X)
	case *Cast:
		typ(n.Type)
		expr(n.X)
	case *Field:
		expr(n.X)
	case *TupleField:
		expr(n.X)
	case *Index:
		expr(n.X, n.I)
	case *Tuple:
		expr(n.Elems...)
	case *Record:
		expr(n.Elems...)
	case *Sizeof:
		typ(n.Type)
		expr(n.X)
	case *Offsetof:
		typ(n.Type)
		expr(n.X)
	case *Typeinfo:
		typ(n.Type)
		expr(n.X)
	case *Comptime:
		expr(n.X)
	case *BlockExpr:
		block(n.Block)
	case *TypeExpr:
		typ(n.OfType)
		expr(n.Of)
	}
}
