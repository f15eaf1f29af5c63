package check

import "trocar/internal/binary/types"

// cast builds (type)x.
func (b *builder) cast(n *node, e E) Expr {
	k := n.kids[1]
	to, from := n.ty, k.ty
	refuse := func() Expr {
		b.errorf(n.span, "Cannot cast from \"%s\" to \"%s\"", typestr(from.t), typestr(to.t))
		return nil
	}
	switch {
	case to.none():
		b.errorf(n.span, "Incomplete cast, unknown type")
		return nil
	case from.is(types.Struct, types.Union):
		b.errorf(n.span, "Cannot cast from C type \"%s\"", typestr(from.t)).Hint("cast its address, and read through that")
		return nil
	case from.none() || from.is(types.None):
		b.errorf(n.span, "Cannot cast from \"%s\" type", typestr(from.t))
		return nil
	case same(to.t, from.t):
		b.warnf(n.span, "Unnecessary cast: expression is already of type %s", typestr(from.t))
		x := b.expr(k)
		if to.isPtr() {
			return castTo(x, e.T)
		}
		return x
	case to.isStr() && from.isStr():
		if to.t.Size < from.t.Size {
			return refuse()
		}
		return &Cast{e, b.expr(k)}
	case to.is(types.Username) && from.isInt():
		return &Cast{e, castTo(b.expr(k), types.TUint64)}
	case to.is(types.Array):
		return b.castArray(n, e)
	case from.is(types.Array):
		if !to.isInt() || to.t.Size != from.t.Size {
			return refuse()
		}
		return &Cast{e, b.expr(k)}
	case !to.isInt() && !to.isPtr() && !to.isBool():
		return refuse()
	case !from.isPtr() && !from.castable() && !from.isInt():
		switch {
		case to.isBool() && from.isStr():
			first := &Index{E{types.TInt8, n.span}, b.expr(k), &Const{E{types.TUint64, n.span}, 0}}
			return &Binary{e, "!=", first, &Const{E{types.TInt8, n.span}, 0}}
		case from.isBool() && (to.isInt() || to.isPtr()):
		default:
			return refuse()
		}
	}
	if to.is(types.Enum) && !b.checkEnum(n, to.t) {
		return nil
	}
	x := b.expr(k)
	if x == nil {
		return nil
	}
	if to.isPtr() && from.isInt() {
		// A number becomes an address without its sign: (int8 *)-1 of an int8 is 0xff.
		x = castTo(castTo(x, types.IntOf(from.t.Size, false)), types.TUint64)
	}
	return castTo(x, e.T)
}

// castArray builds a cast to an array: of an integer's bytes, or a string's.
func (b *builder) castArray(n *node, e E) Expr {
	k := n.kids[1]
	to, from := n.ty, k.ty
	refuse := func() Expr {
		b.errorf(n.span, "Cannot cast from \"%s\" to \"%s\"", typestr(from.t), typestr(to.t))
		return nil
	}
	elem := to.t.Elem
	switch {
	case !isInt(elem) && elem.Kind != types.Bool:
		return refuse()
	case to.t.Len < 0 && elem.Size == 0:
		b.errorf(n.span, "Could not determine size of the array")
		return nil
	case to.t.Len < 0:
		b.errorf(n.span, "Cannot determine array size: the element size is incompatible with the cast integer size")
		return nil
	case from.isInt():
		if to.t.Size != from.t.Size && (to.t.Size > 8 || to.t.Size < from.t.Size) {
			return refuse()
		}
		// A smaller integer is widened first, by its own sign.
		x := b.expr(k)
		if size := to.t.Size; size == 1 || size == 2 || size == 4 || size == 8 {
			x = castTo(x, types.IntOf(size, from.signed()))
		} else {
			x = castTo(x, types.IntOf(8, from.signed()))
		}
		return &Cast{e, x}
	case !from.isBool() && !from.isStr() || to.t.Size != from.t.Size:
		return refuse()
	}
	return &Cast{e, b.expr(k)}
}

// checkEnum refuses literals that are no enumerator.
func (b *builder) checkEnum(n *node, t *types.Type) bool {
	k := n.kids[1]
	if len(t.Enums) == 0 {
		b.errorf(n.span, "Unknown enum: %s", enumName(t))
		return false
	}
	if !k.posInt() {
		return true
	}
	for _, en := range t.Enums {
		if uint64(en.Value) == k.num {
			return true
		}
	}
	b.errorf(n.span, "Enum: %s doesn't contain a variant value of %d", enumName(t), k.num)
	return false
}

func enumName(t *types.Type) string {
	if len(t.Name) > 5 && t.Name[:5] == "enum " {
		return t.Name[5:]
	}
	return t.Name
}
