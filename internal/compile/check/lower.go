package check

import (
	"errors"
	"strconv"
	"strings"

	"trocar/internal/compile/builtin"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Lowering copies the syntax tree of an action into nodes: names are looked up in the table of builtins, sugar
// (compound assignment, `a ?: b`, helpers that are a few operations) is written out. Nothing is reported here except
// what cannot be written as nodes: which parts are code at all is only known after folding.

type lowerer struct {
	*checker
	act   *action
	temps int // variables made up so far
}

func (c *checker) lower(index int, p *syntax.Probe, points []*probe.Point) *action {
	act := &action{index: index, probe: p, points: points, kind: points[0].Kind}
	l := &lowerer{checker: c, act: act}
	if p.Pred != nil {
		act.pred = l.expr(p.Pred)
	}
	act.body = l.block(p.Body)
	return act
}

func (l *lowerer) block(b *syntax.Block) *node {
	n := &node{op: opBlock, span: b.Span}
	for _, s := range b.Stmts {
		if k := l.stmt(s); k != nil {
			n.kids = append(n.kids, k)
		}
	}
	if b.Value != nil {
		n.value = l.expr(b.Value)
	}
	return n
}

func (l *lowerer) stmt(s syntax.Stmt) *node {
	switch s := s.(type) {
	case *syntax.Block:
		b := l.block(s)
		return &node{op: opExpr, span: s.Span, kids: []*node{b}}
	case *syntax.ExprStmt:
		return &node{op: opExpr, span: s.Span, kids: []*node{l.expr(s.X)}}
	case *syntax.Discard:
		return &node{op: opDiscard, span: s.Span, kids: []*node{l.expr(s.X)}}
	case *syntax.Assign:
		return l.assign(s)
	case *syntax.VarDecl:
		return l.decl(s)
	case *syntax.If:
		return &node{op: opExpr, span: s.Span, kids: []*node{l.ifExpr(s)}}
	case *syntax.While:
		w := l.warnf(s.Span, "While loops are deprecated and may be removed in the future.")
		w.Hint("For loops support ranges (e.g. `for ($x : $start..$end) { ... }`), and can be used in place of while. " +
			"These are more easily proven to be bounded by the verifier.")
		return &node{op: opWhile, span: s.Span, kids: []*node{l.expr(s.Cond), l.block(s.Body)}}
	case *syntax.ForMap:
		return &node{
			op: opForMap, span: s.Span, str: s.Var.Name, m: l.mapOf(s.Map),
			kids: []*node{l.variable(s.Var), l.mapRef(s.Map), l.block(s.Body)},
		}
	case *syntax.ForRange:
		return &node{
			op: opForRange, span: s.Span, str: s.Var.Name,
			kids: []*node{l.variable(s.Var), l.expr(s.Start), l.expr(s.End), l.block(s.Body)},
		}
	case *syntax.Unroll:
		return &node{op: opUnroll, span: s.Span, kids: []*node{l.expr(s.N), l.block(s.Body)}}
	case *syntax.Jump:
		n := &node{op: opJump, span: s.Span, str: s.Kind}
		if s.Value != nil {
			n.kids = []*node{l.expr(s.Value)}
		}
		return n
	}
	return nil // imports: nothing to run
}

// assign lowers `lhs op= rhs`.
func (l *lowerer) assign(s *syntax.Assign) *node {
	var rhs *node
	if s.Op == "=" {
		rhs = l.expr(s.RHS)
	} else {
		rhs = &node{
			op: opBinary, span: s.Span, str: strings.TrimSuffix(s.Op, "="),
			kids: []*node{l.expr(s.LHS), l.expr(s.RHS)},
		}
	}
	switch lhs := s.LHS.(type) {
	case *syntax.Var:
		return &node{op: opSetVar, span: s.Span, str: lhs.Name, kids: []*node{rhs, l.variable(lhs)}}
	case *syntax.Map:
		return l.setMap(s.Span, lhs, &node{op: opNone, span: lhs.Span}, rhs)
	case *syntax.MapAccess:
		return l.setMap(s.Span, lhs.Map, l.expr(lhs.Key), rhs)
	}
	l.errorf(s.LHS.Pos(), "cannot assign to this expression").
		Hint("only variables ($x), maps (@x) and map entries (@x[key]) can be assigned to")
	return nil
}

// setMap lowers an assignment to a map: of an aggregation, or of a value.
func (l *lowerer) setMap(span diag.Span, m *syntax.Map, key, rhs *node) *node {
	if l.toAggregate(rhs, m, key) {
		return &node{op: opDiscard, span: span, kids: []*node{rhs}}
	}
	return &node{op: opSetMap, span: span, m: l.mapOf(m), kids: []*node{key, rhs, l.mapRef(m)}}
}

// toAggregate turns the call of an aggregation (also as the value of a block) into an update of the map.
func (l *lowerer) toAggregate(n *node, m *syntax.Map, key *node) bool {
	switch {
	case n.op == opBlock && n.value != nil:
		return l.toAggregate(n.value, m, key)
	case n.op == opCall && n.fn != nil && n.fn.IsAggregation():
		n.op, n.m = opAggregate, l.mapOf(m)
		n.kids = append([]*node{key}, n.kids...)
		n.value = l.mapRef(m)
		return true
	}
	return false
}

func (l *lowerer) decl(s *syntax.VarDecl) *node {
	d := &node{op: opDecl, span: s.Span, str: s.Var.Name, kids: []*node{l.variable(s.Var)}}
	if s.Type != nil {
		d.kids = append(d.kids, l.typeExpr(s.Type))
	}
	if s.Value == nil {
		return d
	}
	d.flag = true
	return &node{op: opSetVar, span: s.Span, str: s.Var.Name, kids: []*node{l.expr(s.Value), l.variable(s.Var), d}}
}

func (l *lowerer) ifExpr(s *syntax.If) *node {
	n := &node{op: opIf, span: s.Span, flag: s.Comptime, kids: []*node{
		l.expr(s.Cond), l.block(s.Then),
		{op: opNone, span: s.Span},
	}}
	switch e := s.Else.(type) {
	case *syntax.Block:
		n.kids[2] = l.block(e)
	case *syntax.If:
		n.kids[2] = l.ifExpr(e)
	}
	if n.kids[0].op == opComptime {
		n.flag, n.kids[0] = true, n.kids[0].kids[0]
	}
	return n
}

func (l *lowerer) variable(v *syntax.Var) *node { return &node{op: opVar, span: v.Span, str: v.Name} }

func (l *lowerer) mapOf(m *syntax.Map) *mapState { return l.mapNamed(m.Name, m.Span) }

func (c *checker) mapNamed(name string, span diag.Span) *mapState {
	s := c.maps[name]
	if s == nil {
		s = &mapState{name: name, span: span}
		c.maps[name] = s
	}
	return s
}

func (l *lowerer) mapRef(m *syntax.Map) *node {
	return &node{op: opMap, span: m.Span, str: m.Name, m: l.mapOf(m)}
}

func (l *lowerer) exprs(xs []syntax.Expr) []*node {
	ns := make([]*node, len(xs))
	for i, x := range xs {
		ns[i] = l.expr(x)
	}
	return ns
}

func (l *lowerer) expr(x syntax.Expr) *node {
	span := x.Pos()
	switch x := x.(type) {
	case *syntax.IntLit:
		return &node{op: opInt, span: span, num: x.Value}
	case *syntax.StrLit:
		return &node{op: opStr, span: span, str: x.Value}
	case *syntax.BoolLit:
		n := &node{op: opBool, span: span}
		if x.Value {
			n.num = 1
		}
		return n
	case *syntax.Ident:
		return l.ident(x)
	case *syntax.Positional:
		return &node{op: opPos, span: span, num: uint64(x.N)}
	case *syntax.PositionalCount:
		return &node{op: opInt, span: span, num: uint64(len(l.in.Params))}
	case *syntax.Var:
		return l.variable(x)
	case *syntax.Map:
		// A map where a value is expected is its only entry.
		return &node{
			op: opMapGet, span: span, str: x.Name, m: l.mapOf(x),
			kids: []*node{{op: opNone, span: span}, l.mapRef(x)},
		}
	case *syntax.MapAccess:
		return &node{
			op: opMapGet, span: span, str: x.Map.Name, m: l.mapOf(x.Map),
			kids: []*node{l.expr(x.Key), l.mapRef(x.Map)},
		}
	case *syntax.Call:
		return l.call(x)
	case *syntax.Unary:
		return l.unary(x)
	case *syntax.Binary:
		return l.binary(&node{op: opBinary, span: span, str: x.Op, kids: []*node{l.expr(x.X), l.expr(x.Y)}})
	case *syntax.Ternary:
		return l.ternary(x)
	case *syntax.IncDec:
		return &node{op: opIncDec, span: span, str: x.Op, post: x.Post, kids: []*node{l.expr(x.X)}}
	case *syntax.Cast:
		return &node{op: opCast, span: span, kids: []*node{l.typeExpr(x.Type), l.expr(x.X)}}
	case *syntax.Field:
		return l.member(&node{op: opField, span: span, str: x.Name, kids: []*node{l.expr(x.X)}})
	case *syntax.TupleField:
		return l.member(&node{op: opTupleField, span: span, num: uint64(x.Index), kids: []*node{l.expr(x.X)}})
	case *syntax.Index:
		return &node{op: opIndex, span: span, kids: []*node{l.expr(x.X), l.expr(x.I)}}
	case *syntax.Tuple:
		return &node{op: opTuple, span: span, kids: l.exprs(x.Elems)}
	case *syntax.Record:
		return &node{op: opTuple, span: span, names: x.Names, kids: l.exprs(x.Elems)}
	case *syntax.Sizeof:
		return &node{op: opSizeof, span: span, kids: []*node{l.typeOf(span, x.Type, x.X)}}
	case *syntax.Offsetof:
		return &node{op: opOffsetof, span: span, names: x.Path, kids: []*node{l.typeOf(span, x.Type, x.X)}}
	case *syntax.Typeinfo:
		return &node{op: opTypeinfo, span: span, kids: []*node{l.typeOf(span, x.Type, x.X)}}
	case *syntax.Comptime:
		return &node{op: opComptime, span: span, kids: []*node{l.expr(x.X)}}
	case *syntax.BlockExpr:
		return l.block(x.Block)
	case *syntax.If:
		return l.ifExpr(x)
	case *syntax.TypeExpr:
		return l.typeExpr(x)
	}
	panic("unknown expression")
}

// typeExpr lowers a written type.
func (l *lowerer) typeExpr(t *syntax.TypeExpr) *node {
	n := &node{op: opType, span: t.Span, expr: t}
	switch {
	case t.Of != nil:
		n.kids = []*node{l.typed(t.Of)}
	case t.OfType != nil:
		n.kids = []*node{l.typeExpr(t.OfType)}
	}
	return n
}

// typeOf lowers the operand of sizeof and its kind.
func (l *lowerer) typeOf(span diag.Span, t *syntax.TypeExpr, x syntax.Expr) *node {
	if t != nil {
		n := l.typeExpr(t)
		// A bare name that is no type may still be a value: sizeof(AN_ENUMERATOR).
		if t.Base != "" && len(t.Mods) == 0 && len(n.kids) == 0 && !strings.Contains(t.Base, " ") {
			n.str = t.Base
		}
		return n
	}
	return &node{op: opType, span: span, kids: []*node{l.typed(x)}}
}

// typed lowers an expression of which only the type counts. A whole map stays one: its type is that of its keys, as
// long as it has keys.
func (l *lowerer) typed(x syntax.Expr) *node {
	if m, ok := x.(*syntax.Map); ok {
		return l.mapRef(m)
	}
	return l.expr(x)
}

func (l *lowerer) ident(x *syntax.Ident) *node { return l.name(x.Span, x.Name) }

// name lowers a bare name: an enumerator, a builtin variable, or something that only means something as an argument.
func (l *lowerer) name(span diag.Span, name string) *node {
	if e, ok := l.defs.enumerators[name]; ok {
		return &node{op: opEnum, span: span, str: name, num: uint64(e.value), typ: e.typ}
	}
	if f := builtin.Lookup(name); f != nil && f.Variable {
		return l.builtin(&node{op: opCall, span: span, str: name, fn: f})
	}
	if u := l.in.Lookup.UserEnumerator; u != nil && !isArgumentName(name) {
		t, v, err := u(l.act.points[0], name)
		if err == nil {
			wide := *wideEnum(t)
			wide.Signed = t.Signed
			return &node{op: opEnum, span: span, str: name, num: uint64(v), typ: &wide, flag: true}
		}
		if errors.Is(err, probe.ErrAmbiguous) {
			return &node{op: opIdent, span: span, str: name, names: []string{err.Error()}}
		}
	}
	inFile := l.act.points[0].Path != ""
	if inFile {
		if v := l.global(span, name); v != nil {
			return v
		}
	}
	if k := l.in.Lookup.KernelEnumerator; k != nil && !isArgumentName(name) {
		if t, v, ok := k(name); ok {
			return &node{op: opEnum, span: span, str: name, num: uint64(v), typ: wideEnum(t)}
		}
	}
	if !inFile {
		if v := l.global(span, name); v != nil {
			return v
		}
	}
	return &node{op: opIdent, span: span, str: name}
}

// global is a variable of the traced file by its name, or why it cannot be had; nil: there is none.
func (l *lowerer) global(span diag.Span, name string) *node {
	u := l.in.Lookup.UserVariable
	if u == nil || isArgumentName(name) {
		return nil
	}
	switch _, err := u(l.act.points[0], name); {
	case err == nil:
		// What lies at the variable's address.
		at := l.make(span, builtin.UAddr, &node{op: opStr, span: span, str: name})
		at.flag = true
		return &node{op: opUnary, span: span, str: "*", kids: []*node{at}}
	case errors.Is(err, probe.ErrSeveral):
		hint := "write it with its file: *uaddr(\"" + name + "@FILE\")"
		return &node{op: opIdent, span: span, str: name, names: []string{err.Error(), hint}}
	case errors.Is(err, probe.ErrUnavailable):
		return &node{op: opIdent, span: span, str: name, names: []string{err.Error(), ""}}
	}
	return nil
}

// isArgumentName tells whether a bare name is one that builtins take.
func isArgumentName(name string) bool {
	_, isMode := parseStackMode(name)
	_, isClock := clockNamed(name)
	return isMode || isClock || name == "curr_ns" || name == "init"
}

func (l *lowerer) unary(x *syntax.Unary) *node {
	if x.Op != "&" {
		return &node{op: opUnary, span: x.Span, str: x.Op, kids: []*node{l.expr(x.X)}}
	}
	return &node{op: opAddr, span: x.Span, kids: []*node{l.expr(x.X)}}
}

// ternary lowers a ? b : c. In a ?: c the first operand is written twice if that does no harm, else kept in a variable.
func (l *lowerer) ternary(x *syntax.Ternary) *node {
	n := &node{op: opIf, span: x.Span, kids: []*node{l.expr(x.Cond), nil, l.expr(x.Else)}}
	if n.kids[0].op == opComptime {
		n.flag, n.kids[0] = true, n.kids[0].kids[0]
	}
	if x.Then != nil {
		n.kids[1] = l.expr(x.Then)
		return n
	}
	effect := false
	n.kids[0].walk(func(k *node) bool {
		if k.op == opCall || k.op == opBlock || k.op == opIncDec {
			effect = true
		}
		return !effect
	})
	if !effect {
		n.kids[1] = l.expr(x.Cond)
		return n
	}
	l.temps++
	name := "$?" + strconv.Itoa(l.temps)
	v := func() *node { return &node{op: opVar, span: x.Span, str: name} }
	set := &node{op: opSetVar, span: x.Span, str: name, kids: []*node{n.kids[0], v()}}
	n.kids[0], n.kids[1] = v(), v()
	return &node{op: opBlock, span: x.Span, kids: []*node{set}, value: n}
}
