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
			if i == 0 && f.ID == "delete" && len(x.Args) == 1 {
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
	nargs := len(n.kids)
	switch n.fn.ID {
	case "is_literal":
		// What is literal is told before parameters are put in; folding looks at it.
	case "cpid":
		if nargs != 0 {
			break
		}
		pid := &node{op: opCast, span: n.span, kids: []*node{typeNode(n.span, types.TUint64), {op: opInt, span: n.span, num: uint64(max(l.in.ChildPID, 0))}}}
		if l.in.ChildPID != 0 {
			return pid
		}
		warn := l.make(n.span, "warnf", &node{op: opStr, span: n.span, str: "No child command (`-c`); cpid is zero"})
		return &node{op: opBlock, span: n.span, kids: []*node{{op: opExpr, span: n.span, kids: []*node{warn}}}, value: pid}
	case "has_cpid":
		if nargs == 0 {
			return boolNode(n.span, l.in.ChildPID != 0)
		}
	case "ppid":
		return l.taskField(n, "real_parent", "pid")
	case "pcomm":
		return l.taskField(n, "real_parent", "comm")
	case "leader_tid":
		return l.taskField(n, "group_leader", "pid")
	case "leader_comm":
		return l.taskField(n, "group_leader", "comm")
	case "arch":
		if l.in.Arch == "arm64" {
			return &node{op: opStr, span: n.span, str: "aarch64"}
		}
		return &node{op: opStr, span: n.span, str: "x86_64"}
	case "safe_mode":
		return boolNode(n.span, !l.in.Unsafe)
	case "config":
		if nargs == 0 {
			return l.configRecord(n.span)
		}
	case "default_str_length":
		if nargs == 0 {
			return &node{op: opInt, span: n.span, num: uint64(l.cfg.MaxStrlen)}
		}
	case "probetype":
		if nargs == 0 {
			return &node{op: opStr, span: n.span, str: probeTypeName(l.act.kind)}
		}
	case "probe":
		if nargs == 0 && len(l.act.points) == 1 {
			return &node{op: opStr, span: n.span, str: l.act.points[0].Name, flag: true}
		}
	case "args":
		if nargs == 0 {
			return &node{op: opArgs, span: n.span}
		}
	case "vars":
		if nargs == 0 {
			return &node{op: opArgs, span: n.span, flag: true}
		}
	case "retval":
		if s := l.act.points[0].Scope; nargs == 0 && s != nil && s.Retval != nil {
			return &node{op: opRetval, span: n.span}
		}
	case "usermode":
		switch {
		case nargs != 0 || hasRegisters(l.act.kind):
		case probeTypeName(l.act.kind) == "special":
			return &node{op: opInt, span: n.span, num: 1}
		default:
			return &node{op: opInt, span: n.span}
		}
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

func (l *lowerer) make(span diag.Span, name string, args ...*node) *node {
	return &node{op: opCall, span: span, str: name, fn: builtin.Lookup(name), kids: args}
}

// taskField reads a field of a task that the current one (or the argument) points to.
func (l *lowerer) taskField(n *node, relative, field string) *node {
	if len(n.kids) > 1 {
		return n
	}
	task := l.make(n.span, "curtask")
	if len(n.kids) == 1 {
		task = n.kids[0]
	}
	rel := &node{op: opField, span: n.span, str: relative, kids: []*node{task}}
	return &node{op: opField, span: n.span, str: field, kids: []*node{rel}}
}

func (l *lowerer) configRecord(span diag.Span) *node {
	rec := &node{op: opTuple, span: span}
	for _, s := range settings {
		var v *node
		switch x := s.get(&l.cfg).(type) {
		case bool:
			v = boolNode(span, x)
		case int:
			v = &node{op: opInt, span: span, num: uint64(x)}
		case string:
			v = &node{op: opStr, span: span, str: x}
		}
		rec.names, rec.kids = append(rec.names, s.name), append(rec.kids, v)
	}
	return rec
}

func boolNode(span diag.Span, b bool) *node {
	n := &node{span: span}
	n.toBool(b)
	return n
}

func typeNode(span diag.Span, t *types.Type) *node { return &node{op: opType, span: span, typ: t} }
