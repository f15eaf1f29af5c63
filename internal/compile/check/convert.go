package check

import "trocar/internal/binary/types"

// Implicit conversions: those that keep the value silently, those that may change it with a warning.

// tryConvert builds n as a value of type to; ok is false if there is no implicit conversion.
func (b *builder) tryConvert(n *node, to ty) (e Expr, ok bool) {
	from := n.ty
	target := b.final(to.t)
	switch {
	case from.none() || to.none():
		return b.expr(n), !from.none()
	case from.isBool() && to.isInt() && from.number().isInt():
		return castTo(b.expr(n), target), true
	case (from.isInt() || from.castable()) && (to.isInt() || to.castable()):
		if to.castable() {
			target = aggInt(to.t)
		}
		if !b.checkInt(n, from, target) {
			return b.expr(n), false
		}
		return castTo(b.expr(n), target), true
	case same(from.t, to.t):
		return b.expr(n), true
	case to.isStr() && isTextValue(from.t):
		x := b.textValue(n)
		if x == nil || x.Type().Size > to.t.Size {
			return x, false
		}
		return castTo(x, target), true
	case to.is(types.Text, types.Java, types.Python) && isWideText(from.t):
		x := b.keptText(n)
		return x, x == nil || same(x.Type(), to.t)
	case from.isPtr() && to.isInt() && to.t.Size == 8:
		return castTo(b.expr(n), target), true // see word
	case from.t.Kind != to.t.Kind:
		return b.expr(n), false
	}
	switch to.t.Kind {
	case types.String:
		if from.t.Size > to.t.Size {
			return b.expr(n), false
		}
		return &Cast{E{target, n.span}, b.expr(n)}, true
	case types.Buffer, types.Pointer:
		return &Cast{E{target, n.span}, b.expr(n)}, true
	case types.Tuple:
		if len(from.t.Fields) != len(to.t.Fields) {
			return b.expr(n), false
		}
		if n.op == opTuple {
			return b.tuple(n, target)
		}
		return b.convertFields(n, from, to, target)
	case types.Record:
		if len(from.t.Fields) != len(to.t.Fields) {
			return b.expr(n), false
		}
		if n.op == opTuple && sameNames(from.t, to.t) {
			return b.tuple(n, target)
		}
		return b.convertFields(n, from, to, target)
	}
	return b.expr(n), false
}

func sameNames(a, b *types.Type) bool {
	for i := range a.Fields {
		if a.Fields[i].Name != b.Fields[i].Name {
			return false
		}
	}
	return true
}

// convertFields converts a whole tuple or record if each of its elements can be.
func (b *builder) convertFields(n *node, from, to ty, target *types.Type) (Expr, bool) {
	if !b.fieldsConvert(n, from.t, to.t) {
		return b.expr(n), false
	}
	return &Cast{E{target, n.span}, b.expr(n)}, true
}

func (b *builder) fieldsConvert(n *node, from, to *types.Type) bool {
	for i, f := range from.Fields {
		g := to.Fields[i]
		if to.Kind == types.Record {
			var ok bool
			if g, ok = to.Field(f.Name); !ok {
				return false
			}
		}
		if !b.typeConverts(n, f.Type, g.Type) {
			return false
		}
	}
	return true
}

func (b *builder) typeConverts(n *node, from, to *types.Type) bool {
	switch {
	case same(from, to):
		return true
	case isInt(from) && isInt(to):
		b.warnInt(n, known(from), to)
		return true
	case from.Kind != to.Kind:
		return false
	case to.Kind == types.String:
		return from.Size <= to.Size
	case to.Kind == types.Tuple, to.Kind == types.Record:
		return len(from.Fields) == len(to.Fields) && b.fieldsConvert(n, from, to)
	}
	return to.Kind == types.Pointer || to.Kind == types.Buffer
}

// tuple builds a literal tuple with elements of the target's types.
func (b *builder) tuple(n *node, target *types.Type) (Expr, bool) {
	out := &TupleLit{E: E{target, n.span}}
	for i, k := range n.kids {
		if b.valueless(k, "a part of a tuple") {
			return nil, true
		}
		e, ok := b.tryConvert(k, known(target.Fields[i].Type))
		if !ok {
			return out, false
		}
		out.Elems = append(out.Elems, e)
	}
	return out, true
}

// checkInt refuses literals that a type cannot hold, and warns of values it may not hold.
func (b *builder) checkInt(n *node, from ty, to *types.Type) bool {
	if n.op == opInt {
		return literalFits(n.num, n.neg, to)
	}
	b.warnInt(n, from, to)
	return true
}

func (b *builder) warnInt(n *node, from ty, to *types.Type) {
	if from.castable() || same(from.t, to) || fits(from, to) {
		return
	}
	b.warnf(n.span, "Expression of type: %s being cast to type: %s. This may cause unexpected results. Use an explicit "+
		"cast to "+
		"suppress this warning.", typestr(from.t), typestr(to))
}

// castTo converts between integers (also bool, enum and pointers, where both are scalars) without a word.
func castTo(e Expr, to *types.Type) Expr {
	if e == nil {
		return nil
	}
	from := e.Type()
	if from.Kind == to.Kind && same(from, to) && (from.Kind != types.Pointer || from.Space == to.Space) {
		return e
	}
	if c, ok := e.(*Const); ok && to.IsScalar() && from.IsScalar() {
		return &Const{E{to, c.Span}, constBits(c.Value, to)}
	}
	return &Cast{E{to, e.Pos()}, e}
}

// constBits is a constant's value in a type: cut to its size, then extended by its sign.
func constBits(v uint64, t *types.Type) uint64 {
	if t.Kind == types.Bool {
		return boolNum(v != 0)
	}
	switch t.Size {
	case 1:
		if t.Signed {
			return uint64(int8(v))
		}
		return uint64(uint8(v))
	case 2:
		if t.Signed {
			return uint64(int16(v))
		}
		return uint64(uint16(v))
	case 4:
		if t.Signed {
			return uint64(int32(v))
		}
		return uint64(uint32(v))
	}
	return v
}
