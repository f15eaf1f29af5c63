package check

import (
	"fmt"
	"reflect"
	"testing"

	"trocar/internal/binary/types"
)

// verify checks what the typed tree promises its reader: every expression has a type and a place to come from, operands
// agree, no type of inference is left over.
func verify(t testing.TB, p *Program) {
	t.Helper()
	v := &verifier{t: t}
	for i, m := range p.Maps {
		if m.ID != i || m.Value == nil {
			v.fail("map %s: %+v", m.Name, m)
		}
		v.typ(m.Value, m.Name)
		if m.Key != nil {
			v.typ(m.Key, m.Name)
		}
	}
	for _, a := range p.Actions {
		for _, x := range a.Vars {
			v.typ(x.Type, x.Name)
		}
		if a.Pred != nil {
			v.expr(a.Pred)
		}
		v.block(a.Body)
	}
}

type verifier struct {
	t testing.TB
}

func (v *verifier) fail(format string, args ...any) { v.t.Errorf(format, args...) }

func (v *verifier) typ(t *types.Type, what any) {
	switch {
	case t == nil:
		v.fail("%v: no type", what)
	case isFlexible(t):
		v.fail("%v: the type of a literal is left over", what)
	case t.Kind == types.Pointer && t.Space == mixed:
		v.fail("%v: mixed space", what)
	case t.Kind == types.Tuple || t.Kind == types.Record:
		for _, f := range t.Fields {
			v.typ(f.Type, what)
		}
	case t.Kind == types.Array:
		v.typ(t.Elem, what)
	}
}

func (v *verifier) block(b *Block) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		v.stmt(s)
	}
}

func (v *verifier) same(a, b *types.Type, what any) {
	if !same(a, b) {
		v.fail("%s: %s and %s differ", describe(what), typestr(a), typestr(b))
	}
}

func describe(x any) string { return fmt.Sprintf("%T", x) }

func (v *verifier) stmt(s Stmt) {
	switch s := s.(type) {
	case *Block:
		v.block(s)
	case *ExprStmt:
		v.expr(s.X)
	case *SetVar:
		if s.Value != nil {
			v.expr(s.Value)
			v.same(s.Value.Type(), s.Var.Type, s)
		}
	case *SetMap:
		v.key(s.Map, s.Key)
		v.expr(s.Value)
		v.same(s.Value.Type(), s.Map.Value, s)
	case *Aggregate:
		v.key(s.Map, s.Key)
		if !s.Map.Value.IsAgg() {
			v.fail("aggregate of %s", typestr(s.Map.Value))
		}
		for _, a := range s.Args {
			v.expr(a)
			if t := a.Type(); t.Kind != types.Int || t.Size != 8 {
				v.fail("argument of an aggregation is %s", typestr(t))
			}
		}
	case *If:
		v.expr(s.Cond)
		v.block(s.Then)
		v.block(s.Else)
	case *While:
		v.expr(s.Cond)
		v.block(s.Body)
	case *ForRange:
		v.expr(s.Start)
		v.expr(s.End)
		v.same(s.Start.Type(), s.Var.Type, s)
		v.same(s.End.Type(), s.Var.Type, s)
		v.block(s.Body)
	case *ForMap:
		v.block(s.Body)
	case *Jump:
		if s.Value != nil {
			v.expr(s.Value)
			v.same(s.Value.Type(), types.TInt64, s)
		}
	case *Unrolled:
		for _, b := range s.Bodies[:min(1, len(s.Bodies))] {
			v.block(b)
		}
	default:
		v.fail("unknown statement %T", s)
	}
}

func (v *verifier) key(m *Map, key Expr) {
	if (m.Key == nil) != (key == nil) {
		v.fail("%s: key is %v", m.Name, key)
		return
	}
	if key != nil {
		v.expr(key)
		v.same(key.Type(), m.Key, key)
	}
}

func (v *verifier) expr(e Expr) {
	if e == nil || reflect.ValueOf(e).IsNil() {
		v.fail("an expression is missing")
		return
	}
	v.typ(e.Type(), describe(e))
	t := e.Type()
	switch e := e.(type) {
	case *Const:
		if !t.IsScalar() {
			v.fail("constant of type %s", typestr(t))
		} else if constBits(e.Value, t) != e.Value {
			v.fail("constant %#x does not fit %s", e.Value, typestr(t))
		}
	case *MapGet:
		v.key(e.Map, e.Key)
	case *Unary:
		v.expr(e.X)
		if e.Op != "!" {
			v.same(e.X.Type(), t, e)
		}
	case *Binary:
		v.expr(e.X)
		v.expr(e.Y)
		if e.X.Type().Kind != types.String || e.Y.Type().Kind != types.String {
			if e.X.Type().Kind != types.Buffer {
				v.same(e.X.Type(), e.Y.Type(), e)
			}
		}
		if compares(e.Op) {
			v.same(t, types.TBool, e)
		}
	case *Logic:
		v.expr(e.X)
		v.expr(e.Y)
	case *Ternary:
		v.expr(e.Cond)
		v.expr(e.Then)
		v.expr(e.Else)
		if t.Kind != types.None {
			v.same(e.Then.Type(), t, e)
			v.same(e.Else.Type(), t, e)
		}
	case *Cast:
		v.expr(e.X)
	case *IncDec:
		v.expr(e.Target)
	case *Deref:
		v.expr(e.X)
		if e.X.Type().Kind != types.Pointer {
			v.fail("reading through %s", typestr(e.X.Type()))
		}
	case *Member:
		v.expr(e.X)
	case *Index:
		v.expr(e.X)
		v.expr(e.I)
		v.same(e.I.Type(), types.TUint64, e)
	case *AddrOf:
		v.expr(e.X)
	case *TupleLit:
		if len(e.Elems) != len(t.Fields) {
			v.fail("%d elements for %s", len(e.Elems), typestr(t))
			return
		}
		for i, x := range e.Elems {
			v.expr(x)
			v.same(x.Type(), t.Fields[i].Type, e)
		}
	case *BlockExpr:
		v.block(e.Body)
		if e.Value != nil {
			v.expr(e.Value)
			v.same(e.Value.Type(), t, e)
		} else if t.Kind != types.None {
			v.fail("a block without a value has type %s", typestr(t))
		}
	case *Call:
		for _, a := range e.Args {
			if a.Expr != nil {
				v.expr(a.Expr)
			}
		}
	}
}
