package check

import (
	"strings"

	"trocar/internal/binary/types"
)

// After a round of inference the expressions about types become literals; folding then decides what depends on them.

// transformAll rewrites all actions and reports whether anything changed.
func (inf *inferrer) transformAll() bool {
	changed := false
	for _, act := range inf.actions {
		inf.act = act
		for _, root := range []*node{act.pred, act.body} {
			if root != nil && inf.transform(root) {
				changed = true
			}
		}
	}
	return changed
}

// transform works from the leaves up.
func (inf *inferrer) transform(n *node) bool {
	changed := false
	for _, k := range n.kids {
		changed = inf.transform(k) || changed
	}
	if n.value != nil {
		changed = inf.transform(n.value) || changed
	}
	return inf.rewrite(n) || changed
}

// rewrite turns one node into what it stands for, if its types are known.
func (inf *inferrer) rewrite(n *node) bool {
	switch n.op {
	case opSizeof:
		t := n.kids[0].ty
		if t.none() {
			return false
		}
		full := inf.complete(t.t)
		if full.Incomplete {
			inf.errorf(n.span, "the size of '%s' is not known: only its name is", typestr(full))
			return false
		}
		n.toInt(uint64(full.Size), false)
	case opOffsetof:
		t := n.kids[0].ty
		if t.none() {
			return false
		}
		off, ok := inf.offsetOf(n, t.t)
		if !ok {
			return false
		}
		n.toInt(uint64(off), false)
	case opTypeinfo:
		t := n.kids[0].ty
		if t.none() {
			return false
		}
		text := func(s string) *node { return &node{op: opStr, span: n.span, str: s} }
		kids := []*node{{op: opInt, span: n.span}, text(kindstr(t.t)), text(typestr(t.t))}
		n.reset()
		n.op, n.names, n.kids = opTuple, []string{"btf_id", "base_type", "full_type"}, kids
	case opCast:
		if !n.ty.isBool() || !n.kids[1].isLiteral() || n.kids[1].op == opTuple {
			return false
		}
		n.toBool(n.kids[1].truth())
	case opIndex:
		if !n.kids[0].ty.is(types.Tuple) {
			return false
		}
		i := n.kids[1]
		if !i.posInt() {
			inf.errorf(n.span, "Array-style access for tuples only valid for integer literals")
			return false
		}
		n.op, n.num, n.kids = opTupleField, i.num, n.kids[:1]
	case opCall:
		return inf.rewriteCall(n)
	default:
		return false
	}
	return true
}

func (inf *inferrer) rewriteCall(n *node) bool {
	if n.fn == nil || len(n.kids) == 0 {
		return false
	}
	arg := n.kids[0]
	t := arg.ty
	switch n.fn.ID {
	case "is_str", "is_ptr", "is_array", "is_integer", "is_unsigned_integer":
		if t.none() {
			return false
		}
		kind := kindstr(t.t)
		switch n.fn.ID {
		case "is_str":
			n.toBool(kind == "string")
		case "is_ptr":
			n.toBool(kind == "pointer")
		case "is_array":
			n.toBool(kind == "array")
		case "is_integer":
			n.toBool(kind == "int")
		default:
			n.toBool(kind == "int" && strings.HasPrefix(typestr(t.t), "u"))
		}
	case "is_scalar":
		if arg.op != opMap || !arg.m.known {
			return false
		}
		n.toBool(arg.m.scalar)
	case "strcap":
		if t.none() || !inf.stringLike(arg) {
			return false
		}
		switch {
		case t.isStr():
			n.toInt(uint64(t.t.Size), false)
		case t.is(types.Array):
			n.toInt(uint64(max(t.t.Len, 0)), false)
		default:
			l := &lowerer{checker: inf.checker, act: inf.act}
			n.become(l.make(n.span, "strlen", arg))
		}
	case "assert_str":
		if t.none() || !inf.stringLike(arg) {
			return false
		}
		n.reset()
	case "kfunc_exist":
		f := inf.in.Features.KFunc
		n.toBool(f != nil && f(arg.str))
	case "kfunc_allowed":
		f := inf.in.Features.KFuncIn
		n.toBool(f != nil && f(arg.str, inf.act.kind))
	default:
		return false
	}
	return true
}

// stringLike checks that a value is a string, or an array of or a pointer to int8.
func (c *checker) stringLike(n *node) bool {
	t := n.ty
	switch {
	case t.isStr(), isTextValue(t.t):
		return true
	case t.is(types.Array):
		if isInt(t.t.Elem) && t.t.Elem.Size == 1 && t.t.Elem.Signed {
			return true
		}
		c.errorf(n.span, "string-like arrays must contain a char-like type")
	case t.isPtr():
		if e := t.t.Elem; isInt(e) && e.Size == 1 && e.Signed {
			return true
		}
		c.errorf(n.span, "string-like pointers must point to a char-like type")
	case !t.none():
		c.errorf(n.span, "string-like values must be either strings, arrays or pointers")
	}
	return false
}
