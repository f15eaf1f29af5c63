package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/process/probe"
)

// Strings and lists of the traced program's language (std::string, Go's slices, Rust's Vec …) lie in memory as
// structures that point elsewhere. Where a script keeps or compares such a string it means the text, and where it
// counts it means the elements.

// behindReference is the type of a value, through a reference of C++ or Rust, or to a list of .NET.
func behindReference(t *types.Type) *types.Type {
	if elem, ok := t.Referenced(); ok {
		return elem
	}
	if t.Kind == types.Pointer && t.Elem.Form() == types.DotNetListForm {
		return t.Elem
	}
	return t
}

// isTextValue tells whether a value of the type is a string of the program's language, of single bytes, or a reference
// to one.
func isTextValue(t *types.Type) bool {
	if t == nil || t.Kind != types.Struct && t.Kind != types.Pointer {
		return false
	}
	v, ok := behindReference(t).Complete().Text()
	return ok && v.Unit == 1
}

// textual is the type in which a value is kept: a string of the program's language as a string.
func (c *checker) textual(t ty) ty {
	if !isTextValue(t.t) {
		return t
	}
	return in(types.StringOf(c.cfg.TextSize()), types.Kernel)
}

// kept is the type in which a value is kept in a map, or compared: also of wider characters the text, and not where it
// is.
func (c *checker) kept(t ty) ty {
	if !isWideText(t.t) {
		return c.textual(t)
	}
	to, _ := c.capture(nil, probe.Uprobe).Of(behindReference(t.t))
	return in(to, types.Kernel)
}

// bothWide tells whether an operator is between two strings of the program's language of wider characters.
func bothWide(l, r ty) bool { return isWideText(l.t) && isWideText(r.t) }

// keptText builds a string of wider characters as it is kept.
func (b *builder) keptText(n *node) Expr {
	x := b.expr(n)
	if x == nil || !isWideText(n.ty.t) {
		return x
	}
	if x.Type().Kind == types.Pointer && !x.Type().ObjectText() {
		x = &Deref{E{b.complete(x.Type().Elem), n.span}, x}
	}
	call := &Call{E: E{b.kept(n.ty).t, n.span}, Fn: builtin.Get(builtin.Snapshot), Args: []Arg{{Expr: x}}}
	call.TextSize = b.capture(nil, probe.Uprobe).Strlen
	return call
}

// bothText tells whether an operator is between two strings of which at least one is the program's.
func (c *checker) bothText(l, r ty) bool {
	return (isTextValue(l.t) || isTextValue(r.t)) && c.textual(l).isStr() && c.textual(r).isStr()
}

// literalOfWide tells whether an operator is between a string of the program's language of wider characters (UTF-16,
// UTF-32) and a literal, which is compared as such a string.
func literalOfWide(n *node) bool {
	if len(n.kids) != 2 {
		return false
	}
	x, y := n.kids[0], n.kids[1]
	return isWideText(x.ty.t) && y.op == opStr || isWideText(y.ty.t) && x.op == opStr
}

// plainWide takes the call of str, which has become snapshot, off what is compared with a literal.
func plainWide(operands []*node) (changed bool) {
	for i, k := range operands {
		whole := k.op == opCall && k.fn != nil && k.fn.ID == builtin.Snapshot && len(k.kids) == 1
		if whole && len(operands) == 2 && operands[1-i].op == opStr && isWideText(k.kids[0].ty.t) {
			operands[i], changed = k.kids[0], true
		}
	}
	return changed
}

func isWideText(t *types.Type) bool {
	if t.ObjectText() {
		return true
	}
	if t == nil || t.Kind != types.Struct && t.Kind != types.Pointer {
		return false
	}
	v, ok := behindReference(t).Complete().Text()
	return ok && v.Unit > 1 && !v.Short
}

// textValue builds a string of one of the program's language; others stay as they are.
func (b *builder) textValue(n *node) Expr {
	x := b.expr(n)
	if !isTextValue(n.ty.t) || x == nil {
		return x
	}
	return b.strOf(x)
}

// strOf is the call of str that a script leaves out.
func (b *builder) strOf(x Expr) Expr {
	str := &Call{E: E{types.StringOf(b.cfg.TextSize()), x.Pos()}, Fn: builtin.Get(builtin.Str)}
	str.Args = []Arg{{Expr: x}}
	return str
}

// elements tells how to reach what an index counts in a value, if that is a list or a string of the program's language.
func elements(t *types.Type) (types.View, bool) {
	if t == nil || t.Kind != types.Struct && t.Kind != types.Pointer {
		return types.View{}, false
	}
	return behindReference(t).Complete().Elements()
}

// listIndex builds the element of a list.
func (b *builder) listIndex(n *node, x, idx Expr, e E) Expr {
	if x.Type().Kind == types.Pointer {
		elem := b.complete(x.Type().Elem)
		x = &Deref{E{elem, n.span}, x}
	}
	v, _ := x.Type().Elements()
	if v.Elem.IsText() {
		return b.text(&Index{E{v.Elem, n.span}, x, idx}, e.T)
	}
	return &Index{e, x, idx}
}

// ofBytes tells whether a string of the program's language, or what a pointer to one points to, has characters of a
// byte.
func ofBytes(t *types.Type) bool {
	if t.Kind == types.Pointer {
		t = t.Elem
	}
	v, _ := t.Complete().Text()
	return v.Unit == 1
}

// behindReferences puts what a reference refers to in its place.
func behindReferences(operands []*node) (changed bool) {
	for i, k := range operands {
		if k.ty.isPtr() && !k.ty.t.ObjectText() {
			operands[i], changed = &node{op: opUnary, span: k.span, str: "*", kids: []*node{k}}, true
		}
	}
	return changed
}
