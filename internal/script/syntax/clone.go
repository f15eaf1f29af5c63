package syntax

import "trocar/internal/script/diag"

// Clone copies an expression with all below it.
func Clone(x Expr) Expr { return (&copier{}).expr(x) }

// copier copies trees; its hooks, which may be nil, decide about some nodes.
type copier struct {
	span    func(diag.Span) diag.Span
	replace func(Expr) (Expr, bool) // a new node instead of a copy
	retype  func(*TypeExpr) (*TypeExpr, Expr)
	stmtOf  func(Stmt) Stmt   // what becomes of a statement that was copied; nil drops it
	name    func(*Var) string // the new name of a variable
	path    func([]string) []string
	left    *int // how many more nodes may be copied; below zero the rest is left as it is
	depth   int  // nesting of expressions
}

func (c *copier) place(p Place) Place {
	if c.span != nil {
		p.Span = c.span(p.Span)
	}
	return p
}

func (c *copier) at(s diag.Span) diag.Span {
	if c.span != nil {
		return c.span(s)
	}
	return s
}

func (c *copier) exprs(list []Expr) []Expr {
	if list == nil {
		return nil
	}
	out := make([]Expr, len(list))
	for i, x := range list {
		out[i] = c.expr(x)
	}
	return out
}

func (c *copier) variable(v *Var) *Var {
	n := &Var{c.place(v.Place), v.Name}
	if c.name != nil {
		n.Name = c.name(v)
	}
	return n
}

// mapOf copies a map where only a map can stand.
func (c *copier) mapOf(m *Map) *Map {
	if n, ok := c.expr(m).(*Map); ok {
		return n
	}
	return &Map{c.place(m.Place), m.Name}
}

func (c *copier) expr(x Expr) Expr {
	if x == nil {
		return nil
	}
	if c.left != nil {
		*c.left--
		if *c.left < 0 || c.depth > maxExpandedDepth {
			*c.left = -1
			return x
		}
		c.depth++
		defer func() { c.depth-- }()
	}
	if c.replace != nil {
		if n, ok := c.replace(x); ok {
			return n
		}
	}
	switch x := x.(type) {
	case *IntLit:
		n := *x
		n.Place = c.place(x.Place)
		return &n
	case *StrLit:
		return &StrLit{c.place(x.Place), x.Value}
	case *BoolLit:
		return &BoolLit{c.place(x.Place), x.Value}
	case *Ident:
		return &Ident{c.place(x.Place), x.Name}
	case *Positional:
		return &Positional{c.place(x.Place), x.N}
	case *PositionalCount:
		return &PositionalCount{c.place(x.Place)}
	case *Var:
		return c.variable(x)
	case *Map:
		return &Map{c.place(x.Place), x.Name}
	case *MapAccess:
		return &MapAccess{c.place(x.Place), c.mapOf(x.Map), c.expr(x.Key)}
	case *Call:
		return &Call{c.place(x.Place), x.Name, c.at(x.NameSpan), c.exprs(x.Args)}
	case *Unary:
		return &Unary{c.place(x.Place), x.Op, c.expr(x.X)}
	case *Binary:
		return &Binary{c.place(x.Place), x.Op, c.at(x.OpSpan), c.expr(x.X), c.expr(x.Y)}
	case *Ternary:
		return &Ternary{c.place(x.Place), c.expr(x.Cond), c.expr(x.Then), c.expr(x.Else)}
	case *IncDec:
		return &IncDec{c.place(x.Place), x.Op, x.Post, c.expr(x.X)}
	case *Cast:
		return &Cast{c.place(x.Place), c.onlyType(x.Type), c.expr(x.X)}
	case *Field:
		return &Field{c.place(x.Place), c.expr(x.X), x.Name, c.at(x.NameSpan), x.Arrow}
	case *TupleField:
		return &TupleField{c.place(x.Place), c.expr(x.X), x.Index}
	case *Index:
		return &Index{c.place(x.Place), c.expr(x.X), c.expr(x.I)}
	case *Tuple:
		return &Tuple{c.place(x.Place), c.exprs(x.Elems), x.Implicit}
	case *Record:
		n := &Record{Place: c.place(x.Place), Names: x.Names, Elems: c.exprs(x.Elems)}
		for _, s := range x.NameSpans {
			n.NameSpans = append(n.NameSpans, c.at(s))
		}
		return n
	case *Sizeof:
		t, e := c.typeOrExpr(x.Type, x.X)
		return &Sizeof{c.place(x.Place), t, e}
	case *Offsetof:
		t, e := c.typeOrExpr(x.Type, x.X)
		n := &Offsetof{c.place(x.Place), t, e, x.Path}
		if c.path != nil {
			n.Path = c.path(x.Path)
		}
		return n
	case *Typeinfo:
		t, e := c.typeOrExpr(x.Type, x.X)
		return &Typeinfo{c.place(x.Place), t, e}
	case *Comptime:
		return &Comptime{c.place(x.Place), c.expr(x.X)}
	case *BlockExpr:
		return &BlockExpr{c.place(x.Place), c.block(x.Block)}
	case *TypeExpr:
		t, e := c.typ(x)
		if e != nil {
			return e
		}
		return t
	case *If:
		return c.ifNode(x)
	}
	return x
}

// typeOrExpr copies the argument of sizeof and its like, of which one part is nil.
func (c *copier) typeOrExpr(t *TypeExpr, x Expr) (*TypeExpr, Expr) {
	if t == nil {
		return nil, c.expr(x)
	}
	return c.typ(t)
}

// onlyType copies a type where nothing else can stand.
func (c *copier) onlyType(t *TypeExpr) *TypeExpr {
	n, x := c.typ(t)
	if x != nil {
		return &TypeExpr{Place: c.place(t.Place), Of: x}
	}
	return n
}

// typ copies a type. If it is a macro's parameter that turned out to be an expression, that is the result instead.
func (c *copier) typ(t *TypeExpr) (*TypeExpr, Expr) {
	if t == nil {
		return nil, nil
	}
	if c.retype != nil {
		if n, x := c.retype(t); n != nil || x != nil {
			return n, x
		}
	}
	n := &TypeExpr{Place: c.place(t.Place), Base: t.Base, Quoted: t.Quoted, Mods: t.Mods, Of: c.expr(t.Of)}
	if t.OfType != nil {
		n.OfType, n.Of = c.typ(t.OfType)
	}
	return n, nil
}

func (c *copier) ifNode(x *If) *If {
	n := &If{Place: c.place(x.Place), Cond: c.expr(x.Cond), Comptime: x.Comptime, Then: c.block(x.Then)}
	switch e := x.Else.(type) {
	case *If:
		n.Else = c.ifNode(e)
	case *Block:
		n.Else = c.block(e)
	}
	return n
}

func (c *copier) block(b *Block) *Block {
	n := &Block{Place: c.place(b.Place)}
	for _, s := range b.Stmts {
		s = c.stmt(s)
		if c.stmtOf != nil {
			s = c.stmtOf(s)
		}
		if s != nil {
			n.Stmts = append(n.Stmts, s)
		}
	}
	n.Value = c.expr(b.Value)
	settle(n)
	return n
}

func (c *copier) stmt(s Stmt) Stmt {
	if c.left != nil && *c.left < 0 {
		return s
	}
	switch s := s.(type) {
	case *Block:
		return c.block(s)
	case *ExprStmt:
		return &ExprStmt{c.place(s.Place), c.expr(s.X)}
	case *Discard:
		return &Discard{c.place(s.Place), c.expr(s.X)}
	case *Assign:
		return &Assign{c.place(s.Place), c.expr(s.LHS), s.Op, c.expr(s.RHS)}
	case *VarDecl:
		return &VarDecl{c.place(s.Place), c.variable(s.Var), c.onlyType(s.Type), c.expr(s.Value)}
	case *If:
		return c.ifNode(s)
	case *While:
		return &While{c.place(s.Place), c.expr(s.Cond), c.block(s.Body)}
	case *ForMap:
		return &ForMap{c.place(s.Place), c.variable(s.Var), c.mapOf(s.Map), c.block(s.Body)}
	case *ForRange:
		return &ForRange{c.place(s.Place), c.variable(s.Var), c.expr(s.Start), c.expr(s.End), c.block(s.Body)}
	case *Unroll:
		return &Unroll{c.place(s.Place), c.expr(s.N), c.block(s.Body)}
	case *Jump:
		return &Jump{c.place(s.Place), s.Kind, c.expr(s.Value)}
	case *Import:
		return &Import{Span: c.at(s.Span), Path: s.Path}
	}
	return s
}
