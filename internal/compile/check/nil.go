package check

import (
	"slices"

	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// The word nil: pointers, maps, channels, functions, interfaces and slices are compared with it. What of these is no
// pointer is nil if its first word is 0.
//
// retval.err is the error of a function that returns one, whatever the result is called, so that one condition fits all
// functions that can fail.

// binary finds comparisons with nil, of which only the other side is an operand.
func (l *lowerer) binary(n *node) *node {
	if n.str != "==" && n.str != "!=" {
		return n
	}
	for i, k := range n.kids {
		if k.op == opIdent && k.str == "nil" && len(k.names) == 0 && !isNil(n.kids[1-i]) {
			n.op, n.kids = opNil, []*node{n.kids[1-i]}
			return n
		}
	}
	return n
}

func isNil(n *node) bool { return n.op == opIdent && n.str == "nil" }

// rewriteNil makes a comparison with 0 of one with nil, once the type of the operand is known.
func (inf *inferrer) rewriteNil(n *node) bool {
	x := n.kids[0]
	if x.ty.none() {
		return false
	}
	if !x.ty.isPtr() {
		t := inf.complete(x.ty.t)
		switch t.Form() {
		case types.InterfaceForm, types.AnyForm, types.SliceForm:
		default:
			inf.errorf(n.span, "'%s' is never nil: pointers, interfaces, slices, maps, channels and functions can be",
				typestr(x.ty.t))
			n.toBool(false)
			return true
		}
		x = &node{op: opField, span: x.span, str: t.Fields[0].Name, kids: []*node{x}}
	}
	n.op, n.kids = opBinary, []*node{x, {op: opInt, span: n.span}}
	return true
}

const (
	errorField = "err"
	errorType  = "error"
)

func isError(t *types.Type) bool { return t.Form() == types.InterfaceForm && t.Name == errorType }

// onlyError tells whether a field is the error of a function, and that is all that the function returns.
func onlyError(n *node, t *types.Type) bool {
	return n.str == errorField && n.kids[0].op == opRetval && isError(t)
}

// rewriteError takes the result for its error, if it has nothing else.
func rewriteError(n *node) bool {
	x := n.kids[0]
	if x.ty.none() || !onlyError(n, x.ty.t) {
		return false
	}
	n.become(x)
	return true
}

// errorAmong finds the error among the results of a function, and gives the field its name: the last one, as it is by
// custom.
func errorAmong(n *node, t *types.Type) (types.Field, bool) {
	if n.str != errorField || n.kids[0].op != opRetval || t.Name != probe.NoResults {
		return types.Field{}, false
	}
	for _, f := range slices.Backward(t.Fields) {
		if isError(f.Type.Complete()) {
			n.str = f.Name
			return f, true
		}
	}
	return types.Field{}, false
}
