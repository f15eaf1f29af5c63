package check

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
)

// Dump writes the typed program as text: maps, then each action with its variables, every conversion written out. It is
// the "types" stage of -d, and what golden tests compare.
func Dump(w io.Writer, p *Program) error {
	d := &dumper{}
	for _, m := range p.Maps {
		d.line("map %s[%s] %s max=%d%s", m.Name, keyType(m.Key), typestr(m.Value)+aggParams(m.Value), m.Max, mapKindName(m))
	}
	for _, a := range p.Actions {
		if len(d.b.String()) > 0 {
			d.line("")
		}
		d.action(a)
	}
	_, err := io.WriteString(w, d.b.String())
	return err
}

func keyType(t *types.Type) string {
	if t == nil {
		return ""
	}
	return typestr(t)
}

func aggParams(t *types.Type) string {
	switch t.Kind {
	case types.Hist:
		return fmt.Sprintf("(%d)", t.Bits)
	case types.LHist:
		return fmt.Sprintf("(%d, %d, %d)", t.Min, t.Max, t.Step)
	case types.TSeries:
		return fmt.Sprintf("(%d, %d)", t.Series.IntervalNS, t.Series.Count)
	}
	return ""
}

func mapKindName(m *Map) string {
	if !m.Declared {
		return ""
	}
	return " " + [...]string{
		Hash: "hash", LRUHash: "lruhash", PerCPUHash: "percpuhash",
		PerCPULRUHash: "percpulruhash",
	}[m.Kind]
}

type dumper struct {
	b     strings.Builder
	depth int
}

func (d *dumper) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if text != "" {
		d.b.WriteString(strings.Repeat("  ", d.depth))
	}
	d.b.WriteString(text + "\n")
}

func (d *dumper) action(a *Action) {
	for i, p := range a.Points {
		if i == 3 && len(a.Points) > 4 {
			d.line("… and %d more", len(a.Points)-3)
			break
		}
		d.line("%s", p.Name)
	}
	if a.Pred != nil {
		d.line("/%s/", d.expr(a.Pred))
	}
	d.line("{")
	d.depth++
	for _, v := range a.Vars {
		addr := ""
		if v.Addressed {
			addr = " addressed"
		}
		d.line("var %s %s%s", v.Name, d.typ(v.Type), addr)
	}
	d.stmts(a.Body)
	d.depth--
	d.line("}")
}

// typ names a type, pointers with where they point to.
func (d *dumper) typ(t *types.Type) string {
	if t == nil {
		return "none"
	}
	if t.Kind == types.Pointer {
		space := [...]string{types.User: "user ", types.Kernel: "kernel ", types.BPF: "bpf ", types.AnySpace: ""}[t.Space]
		return space + typestr(t)
	}
	return typestr(t)
}

func (d *dumper) block(b *Block) {
	d.depth++
	d.stmts(b)
	d.depth--
}

func (d *dumper) stmts(b *Block) {
	for _, s := range b.Stmts {
		d.stmt(s)
	}
}

func (d *dumper) stmt(s Stmt) {
	switch s := s.(type) {
	case *Block:
		d.line("{")
		d.block(s)
		d.line("}")
	case *ExprStmt:
		d.line("%s", d.expr(s.X))
	case *SetVar:
		let := ""
		if s.Decl {
			let = "let "
		}
		if s.Value == nil {
			d.line("%s%s", let, s.Var.Name)
		} else {
			d.line("%s%s = %s", let, s.Var.Name, d.expr(s.Value))
		}
	case *SetMap:
		d.line("%s = %s", d.entry(s.Map, s.Key), d.expr(s.Value))
	case *Aggregate:
		d.line("%s <- %s(%s)", d.entry(s.Map, s.Key), s.Map.Value.Name, d.exprs(s.Args))
	case *If:
		d.line("if %s {", d.expr(s.Cond))
		if s.Then != nil {
			d.block(s.Then)
		}
		if s.Else != nil {
			d.line("} else {")
			d.block(s.Else)
		}
		d.line("}")
	case *While:
		d.line("while %s {", d.expr(s.Cond))
		d.block(s.Body)
		d.line("}")
	case *ForRange:
		d.line("for %s : %s..%s {", s.Var.Name, d.expr(s.Start), d.expr(s.End))
		d.block(s.Body)
		d.line("}")
	case *ForMap:
		d.line("for %s : %s {", s.Var.Name, s.Map.Name)
		d.block(s.Body)
		d.line("}")
	case *Jump:
		if s.Value != nil {
			d.line("%s %s", s.Kind, d.expr(s.Value))
		} else {
			d.line("%s", s.Kind)
		}
	case *Unrolled:
		d.line("unroll %d {", len(s.Bodies))
		if len(s.Bodies) > 0 {
			d.block(s.Bodies[0])
		}
		d.line("}")
	default:
		d.line("unknown statement %T", s)
	}
}

func (d *dumper) entry(m *Map, key Expr) string {
	if key == nil {
		return m.Name
	}
	return m.Name + "[" + d.expr(key) + "]"
}

func (d *dumper) exprs(es []Expr) string {
	texts := make([]string, len(es))
	for i, e := range es {
		texts[i] = d.expr(e)
	}
	return strings.Join(texts, ", ")
}

func (d *dumper) expr(e Expr) string {
	switch e := e.(type) {
	case nil:
		return "nothing"
	case *Const:
		return d.constant(e)
	case *StrConst:
		return strconv.Quote(e.Value)
	case *VarRef:
		return e.Var.Name
	case *MapGet:
		return d.entry(e.Map, e.Key)
	case *Unary:
		return fmt.Sprintf("%s(%s)", e.Op, d.expr(e.X))
	case *Binary:
		return fmt.Sprintf("(%s %s %s):%s", d.expr(e.X), e.Op, d.expr(e.Y), d.typ(e.T))
	case *Logic:
		return fmt.Sprintf("(%s %s %s)", d.expr(e.X), e.Op, d.expr(e.Y))
	case *Ternary:
		return fmt.Sprintf("(%s ? %s : %s):%s", d.expr(e.Cond), d.expr(e.Then), d.expr(e.Else), d.typ(e.T))
	case *Cast:
		return fmt.Sprintf("(%s)%s", d.typ(e.T), d.expr(e.X))
	case *IncDec:
		if e.Post {
			return fmt.Sprintf("(%s, then %+d)", d.expr(e.Target), e.Step)
		}
		return fmt.Sprintf("(%s %+d)", d.expr(e.Target), e.Step)
	case *Deref:
		return fmt.Sprintf("*(%s):%s", d.expr(e.X), d.typ(e.T))
	case *Member:
		return d.member(e)
	case *Index:
		return fmt.Sprintf("%s[%s]", d.expr(e.X), d.expr(e.I))
	case *AddrOf:
		return "&" + d.expr(e.X)
	case *TupleLit:
		var parts []string
		for i, x := range e.Elems {
			text := d.expr(x)
			if e.T.Kind == types.Record {
				text = e.T.Fields[i].Name + "=" + text
			}
			parts = append(parts, text)
		}
		return "(" + strings.Join(parts, ", ") + "):" + d.typ(e.T)
	case *BlockExpr:
		inner := &dumper{depth: d.depth + 1}
		inner.stmts(e.Body)
		if e.Value != nil {
			inner.line("%s", inner.expr(e.Value))
		}
		return "{\n" + inner.b.String() + strings.Repeat("  ", d.depth) + "}"
	case *ArgRef:
		return fmt.Sprintf("args#%d:%s", e.Arg, d.typ(e.T))
	case *ArgsRef:
		return "args"
	case *RetvalRef:
		return "retval:" + d.typ(e.T)
	case *Call:
		return d.call(e)
	}
	return fmt.Sprintf("unknown expression %T", e)
}

func (d *dumper) constant(c *Const) string {
	switch {
	case c.T.Kind == types.Bool:
		return strconv.FormatBool(c.Value != 0)
	case c.T.Kind == types.Pointer:
		return fmt.Sprintf("(%s)%#x", d.typ(c.T), c.Value)
	case c.T.Signed:
		return fmt.Sprintf("%d:%s", int64(c.Value), typestr(c.T))
	}
	return fmt.Sprintf("%d:%s", c.Value, typestr(c.T))
}

func (d *dumper) member(m *Member) string {
	name := m.Field.Name
	if name == "" {
		name = strconv.Itoa(m.Index)
	}
	at := strconv.Itoa(m.Field.Offset)
	if m.Field.BitSize > 0 {
		at += fmt.Sprintf(".%d:%d", m.Field.BitOffset, m.Field.BitSize)
	}
	return fmt.Sprintf("%s.%s@%s:%s", d.expr(m.X), name, at, d.typ(m.T))
}

func (d *dumper) call(c *Call) string {
	var parts []string
	for _, s := range []string{c.Format, c.Separator, c.Register, c.Filter, c.Symbol} {
		if s != "" {
			parts = append(parts, strconv.Quote(s))
		}
	}
	if c.Fn.ID == builtin.NSecs {
		parts = append(parts, strconv.Quote(clockNames[c.Clock]))
	}
	if c.InitialNS {
		parts = append(parts, `"init"`)
	}
	for _, a := range c.Args {
		switch {
		case a.Map != nil:
			parts = append(parts, a.Map.Name)
		case a.Var != nil:
			parts = append(parts, a.Var.Name)
		case a.Type != nil:
			parts = append(parts, d.typ(a.Type))
		default:
			parts = append(parts, d.expr(a.Expr))
		}
	}
	name := c.Fn.ID.String()
	if name == "argN" {
		name = "arg" + strconv.Itoa(c.Arg)
	}
	if c.Counted {
		name += " counted"
	}
	text := fmt.Sprintf("%s(%s)", name, strings.Join(parts, ", "))
	if c.T.Kind != types.None {
		text += ":" + d.typ(c.T)
	}
	return text
}
