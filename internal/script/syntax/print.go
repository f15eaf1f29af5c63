package syntax

import (
	"strconv"
	"strings"

	"trocar/internal/script/diag"
)

// PrintExpr writes an expression in canonical form.
func PrintExpr(x Expr) string { return exprText(x, 0) }

func exprText(x Expr, prec int) string {
	p := &printer{prev: -1}
	p.expr(x, prec)
	return p.b.String()
}

// printer writes trees as script text.
type printer struct {
	b     strings.Builder
	depth int

	src      *diag.Source // whose comments are kept; nil: none
	comments []diag.Span  // still to be written, in order
	prev     int          // offset in src behind what was written last; -1: unknown
}

func (p *printer) text(s string) { p.b.WriteString(s) }

func (p *printer) indent() { p.text(strings.Repeat("  ", p.depth)) }

func (p *printer) line(s string) {
	p.indent()
	p.text(s + "\n")
}

// gap puts a blank line between parts of a script.
func (p *printer) gap() {
	if p.b.Len() > 0 {
		p.text("\n")
	}
}

// block writes `{ … }` over several lines; an empty one is `{}`.
func (p *printer) block(b *Block) {
	if len(b.Stmts) == 0 && b.Value == nil && !p.commentIn(b.Span) {
		p.text("{}")
		return
	}
	p.text("{\n")
	p.depth++
	p.prev = -1
	for i, s := range b.Stmts {
		span := s.Pos()
		p.before(span, beginOf(s, span))
		p.indent()
		p.stmt(s)
		if p.needsSemicolon(b, i) {
			p.text(";")
		}
		p.after(span)
		p.text("\n")
	}
	if b.Value != nil {
		span := b.Value.Pos()
		p.before(span, beginOf(b.Value, span))
		p.indent()
		p.expr(b.Value, anyPrec)
		p.after(span)
		p.text("\n")
	}
	p.inside(b.Span)
	p.depth--
	p.indent()
	p.text("}")
}

// needsSemicolon tells whether a block or an if that is statement i would be read on into what follows it.
func (p *printer) needsSemicolon(b *Block, i int) bool {
	switch b.Stmts[i].(type) {
	case *If, *Block:
	default:
		return false
	}
	next := b.Value
	if i+1 < len(b.Stmts) {
		s, ok := b.Stmts[i+1].(*ExprStmt)
		if !ok {
			return false
		}
		next = s.X
	}
	return next != nil && beginsOperator(next)
}

// beginsOperator tells whether the text of an expression begins with an operator that may also stand behind one.
func beginsOperator(x Expr) bool {
	for {
		prec := level(x)
		var left Expr
		switch y := x.(type) {
		case *Unary:
			return y.Op == "*" || y.Op == "-" || y.Op == "&"
		case *IncDec:
			if !y.Post {
				return true
			}
			left = y.X
		case *Binary:
			left = y.X
		case *Ternary:
			left, prec = y.Cond, binaryPrec
		case *Field:
			left = y.X
		case *TupleField:
			left = y.X
		case *Index:
			left = y.X
		}
		if left == nil || level(left) < prec {
			return false
		}
		x = left
	}
}

func (p *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Block:
		p.block(s)
	case *ExprStmt:
		p.expr(s.X, 0)
		p.text(";")
	case *Discard:
		p.text("_ = ")
		p.expr(s.X, 0)
		p.text(";")
	case *Assign:
		p.expr(s.LHS, 0)
		p.text(" " + s.Op + " ")
		p.expr(s.RHS, 0)
		p.text(";")
	case *VarDecl:
		p.text("let " + s.Var.Name)
		if s.Type != nil {
			p.text(" : ")
			p.typ(s.Type)
		}
		if s.Value != nil {
			p.text(" = ")
			p.expr(s.Value, 0)
		}
		p.text(";")
	case *If:
		p.ifNode(s)
	case *While:
		p.text("while (")
		p.expr(s.Cond, 0)
		p.text(") ")
		p.block(s.Body)
	case *ForMap:
		p.text("for (" + s.Var.Name + " : " + s.Map.Name + ") ")
		p.block(s.Body)
	case *ForRange:
		p.text("for (" + s.Var.Name + " : ")
		p.expr(s.Start, unaryPrec)
		p.text("..")
		p.expr(s.End, unaryPrec)
		p.text(") ")
		p.block(s.Body)
	case *Unroll:
		p.text("unroll (")
		p.expr(s.N, 0)
		p.text(") ")
		p.block(s.Body)
	case *Jump:
		p.text(s.Kind)
		if s.Value != nil {
			p.text(" ")
			p.expr(s.Value, 0)
		}
		p.text(";")
	case *Import:
		p.text("import " + quote(s.Path) + ";")
	}
}

func (p *printer) ifNode(x *If) {
	p.text("if ")
	if x.Comptime {
		p.text("comptime ")
	}
	p.text("(")
	p.expr(x.Cond, 0)
	p.text(") ")
	p.block(x.Then)
	switch e := x.Else.(type) {
	case *If:
		p.text(" else ")
		p.ifNode(e)
	case *Block:
		p.text(" else ")
		p.block(e)
	}
}

// Precedences beyond those of binary operators.
const (
	anyPrec     = 0
	binaryPrec  = 1
	unaryPrec   = 11
	postfixPrec = 12
)

// level is how tightly an expression binds.
func level(x Expr) int {
	switch x := x.(type) {
	case *Ternary, *If, *BlockExpr:
		return anyPrec
	case *Binary:
		return precedence(token{kind: tPunct, text: x.Op})
	case *Unary, *Cast, *Comptime:
		return unaryPrec
	case *IncDec:
		if !x.Post {
			return unaryPrec
		}
	}
	return postfixPrec
}

// expr writes an expression, in parentheses if it binds less than least.
func (p *printer) expr(x Expr, least int) {
	if level(x) < least {
		p.text("(")
		defer p.text(")")
	}
	switch x := x.(type) {
	case *IntLit:
		if x.Text != "" {
			p.text(x.Text)
		} else {
			p.text(strconv.FormatUint(x.Value, 10))
		}
	case *StrLit:
		p.text(quote(x.Value))
	case *BoolLit:
		p.text(strconv.FormatBool(x.Value))
	case *Ident:
		p.text(x.Name)
	case *Positional:
		p.text("$" + strconv.Itoa(x.N))
	case *PositionalCount:
		p.text("$#")
	case *Var:
		p.text(x.Name)
	case *Map:
		p.text(x.Name)
	case *MapAccess:
		p.text(x.Map.Name + "[")
		if t, ok := x.Key.(*Tuple); ok && t.Implicit {
			p.list(t.Elems)
		} else {
			p.expr(x.Key, anyPrec)
		}
		p.text("]")
	case *Call:
		p.text(x.Name + "(")
		p.list(x.Args)
		p.text(")")
	case *Unary:
		p.text(x.Op)
		least := unaryPrec
		switch y := x.X.(type) {
		case *Unary:
			if x.Op == "-" && y.Op == "-" {
				least = postfixPrec // not "--"
			}
		case *IncDec:
			least = postfixPrec
		}
		p.expr(x.X, least)
	case *Binary:
		prec := level(x)
		p.expr(x.X, prec)
		p.text(" " + x.Op + " ")
		p.expr(x.Y, prec+1)
	case *Ternary:
		p.expr(x.Cond, binaryPrec)
		p.text(" ?")
		if x.Then != nil {
			p.text(" ")
			p.expr(x.Then, anyPrec)
			p.text(" ")
		}
		p.text(": ")
		p.expr(x.Else, anyPrec)
	case *IncDec:
		if x.Post {
			p.expr(x.X, postfixPrec)
			p.text(x.Op)
		} else {
			p.text(x.Op)
			p.expr(x.X, postfixPrec)
		}
	case *Cast:
		p.text("(")
		p.typ(x.Type)
		p.text(")")
		p.expr(x.X, unaryPrec)
	case *Field:
		p.expr(x.X, postfixPrec)
		if x.Arrow {
			p.text("->" + x.Name)
		} else {
			p.text("." + x.Name)
		}
	case *TupleField:
		p.expr(x.X, postfixPrec)
		p.text("." + strconv.Itoa(x.Index))
	case *Index:
		if m, ok := x.X.(*Map); ok {
			p.text("(" + m.Name + ")") // not the access to a key
		} else {
			p.expr(x.X, postfixPrec)
		}
		p.text("[")
		p.expr(x.I, anyPrec)
		p.text("]")
	case *Tuple:
		p.text("(")
		p.list(x.Elems)
		if len(x.Elems) == 1 {
			p.text(",")
		}
		p.text(")")
	case *Record:
		p.text("(")
		for i, e := range x.Elems {
			if i > 0 {
				p.text(", ")
			}
			p.text(QuoteName(x.Names[i]) + "=")
			p.expr(e, anyPrec)
		}
		p.text(")")
	case *Sizeof:
		p.text("sizeof(")
		p.typeOrExpr(x.Type, x.X)
		p.text(")")
	case *Offsetof:
		p.text("offsetof(")
		p.typeOrExpr(x.Type, x.X)
		p.text(", " + strings.Join(x.Path, ".") + ")")
	case *Typeinfo:
		p.text("typeinfo(")
		p.typeOrExpr(x.Type, x.X)
		p.text(")")
	case *Comptime:
		p.text("comptime ")
		p.expr(x.X, unaryPrec)
	case *BlockExpr:
		p.block(x.Block)
	case *TypeExpr:
		if x.Base != "" { // an argument of a macro is always written with typeof
			p.text("typeof(")
			defer p.text(")")
		}
		p.typ(x)
	case *If:
		p.ifNode(x)
	}
}

func (p *printer) list(xs []Expr) {
	for i, x := range xs {
		if i > 0 {
			p.text(", ")
		}
		p.expr(x, anyPrec)
	}
}

// typeOrExpr writes the argument of sizeof and its like. An expression that looks like a type is put in parentheses.
func (p *printer) typeOrExpr(t *TypeExpr, x Expr) {
	if t != nil {
		p.typ(t)
		return
	}
	switch x := x.(type) {
	case *Ident:
		if isBuiltin(x.Name) {
			break
		}
		p.text("(")
		defer p.text(")")
	case *Index:
		p.text("(")
		defer p.text(")")
	}
	p.expr(x, anyPrec)
}

func (p *printer) typ(t *TypeExpr) {
	switch {
	case t.Quoted:
		p.text(`"` + t.Base + `"`)
	case t.Base != "":
		p.text(t.Base)
	default:
		p.text("typeof(")
		p.typeOrExpr(t.OfType, t.Of)
		p.text(")")
	}
	p.text(modsText(t.Mods))
}

// modsText writes the suffixes of a type.
func modsText(mods []TypeMod) string {
	var b strings.Builder
	for _, m := range mods {
		switch {
		case m.Pointer:
			b.WriteByte('*')
		case m.NoLen:
			b.WriteString("[]")
		default:
			b.WriteString("[" + strconv.Itoa(m.Len) + "]")
		}
	}
	return b.String()
}
