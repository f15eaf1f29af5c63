package check

import (
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
	case opField:
		return rewriteError(n)
	case opBinary:
		return compares(n.str) && (plainWide(n.kids) || literalOfWide(n) && behindReferences(n.kids))
	case opNil:
		return inf.rewriteNil(n)
	default:
		return false
	}
	return true
}
