package check

import (
	"slices"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// call lowers a call of a builtin.
func (l *lowerer) call(x *syntax.Call) *node {
	f := builtin.Lookup(x.Name)
	n := &node{op: opCall, span: x.Span, str: x.Name, fn: f}
	if f == nil {
		n.kids = l.exprs(x.Args)
		return n
	}
	for i, a := range x.Args {
		switch a := a.(type) {
		case *syntax.Map:
			// A whole map, or the value of its only entry.
			if i == 0 && f.MapArg {
				n.kids = append(n.kids, l.mapRef(a))
				continue
			}
		case *syntax.MapAccess:
			// The older way to name an entry: delete(@x[key]).
			if i == 0 && f.ID == builtin.Delete && len(x.Args) == 1 {
				n.kids = append(n.kids, l.mapRef(a.Map), l.expr(a.Key))
				continue
			}
		}
		n.kids = append(n.kids, l.expr(a))
	}
	return l.builtin(n)
}

// builtin writes out the builtins that are short for something else.
func (l *lowerer) builtin(n *node) *node {
	if short := l.meanings[n.fn.ID].short; short != nil {
		return short(l, n)
	}
	return n
}

// member resolves a result of Go by name or position: retval.err, retval.0.
func (l *lowerer) member(n *node) *node {
	k := n.kids[0]
	if k.op != opRetval {
		return n
	}
	results := l.act.points[0].Scope.Results
	i := slices.Index(results, n.str)
	if n.op == opTupleField && n.num < uint64(len(results)) {
		i = int(n.num)
	}
	switch {
	case i < 0:
		return n
	case len(results) == 1:
		return k
	}
	return &node{op: opField, span: n.span, str: results[i], kids: n.kids}
}

func (l *lowerer) make(span diag.Span, id builtin.ID, args ...*node) *node {
	f := builtin.Get(id)
	return &node{op: opCall, span: span, str: f.Names[0], fn: f, kids: args}
}

func boolNode(span diag.Span, b bool) *node {
	n := &node{span: span}
	n.toBool(b)
	return n
}

func typeNode(span diag.Span, t *types.Type) *node { return &node{op: opType, span: span, typ: t} }
