package codegen_test

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
)

// Random expressions whose value is a number.

var arithmetic = []string{"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"}

func (w *writer) intExpr(t *types.Type, depth int) check.Expr {
	if depth <= 0 {
		if w.one(3) {
			return w.constant(t, w.number())
		}
		return w.varRef(w.variable(t))
	}
	binary := func() check.Expr {
		e := &check.Binary{E: w.E(t), Op: arithmetic[w.IntN(len(arithmetic))], X: w.expr(t, depth-1)}
		switch {
		case w.one(4):
			e.Y = w.constant(t, w.number())
		case (e.Op == "<<" || e.Op == ">>") && w.one(2):
			e.Y = w.expr(w.intType(), depth-1)
		default:
			e.Y = w.expr(t, depth-1)
		}
		return e
	}
	return w.pick(
		binary, binary, binary, binary,
		func() check.Expr {
			return &check.Unary{E: w.E(t), Op: []string{"-", "~"}[w.IntN(2)], X: w.expr(t, depth-1)}
		},
		func() check.Expr {
			if w.one(4) {
				return &check.Cast{E: w.E(t), X: w.boolExpr(depth - 1)}
			}
			return &check.Cast{E: w.E(t), X: w.expr(w.intType(), depth-1)}
		},
		func() check.Expr { return w.varRef(w.variable(t)) },
		func() check.Expr { return w.mapGet(t, depth) },
		func() check.Expr {
			return &check.Ternary{E: w.E(t), Cond: w.condition(depth - 1), Then: w.expr(t, depth-1), Else: w.expr(t, depth-1)}
		},
		func() check.Expr { return w.blockExpr(t, depth) },
		func() check.Expr { return w.incDec(t, depth) },
		func() check.Expr { return w.elementOf(t, depth) },
		func() check.Expr { return w.elementOf(t, depth) },
		func() check.Expr {
			if w.one(2) {
				return &check.Deref{E: w.E(t), X: w.pointer(types.PointerTo(t, types.User))}
			}
			// A scalar field of the structure.
			for {
				if f := userStruct.Fields[w.IntN(len(userStruct.Fields))]; f.Type.Kind == types.Int {
					return &check.Cast{E: w.E(t), X: w.member(f, depth)}
				}
			}
		},
		func() check.Expr { return w.textNumber(t, depth) },
		func() check.Expr { return w.aggregateNumber(t, depth) },
		func() check.Expr { return w.call("bswap", t, w.expr(t, depth-1)) },
		func() check.Expr {
			n := types.ArrayOf(types.TUint8, t.Size)
			return &check.Cast{E: w.E(t), X: w.expr(n, depth-1)}
		},
	)
}

// incDec changes a variable or map entry.
func (w *writer) incDec(t *types.Type, depth int) check.Expr {
	if w.pure > 0 {
		return w.constant(t, w.number())
	}
	e := &check.IncDec{E: w.E(t), Step: int64(1 - 2*w.IntN(2)), Post: w.one(2)}
	if w.one(2) {
		e.Target = w.varRef(w.variable(t))
	} else {
		e.Target = w.mapGet(t, depth)
	}
	return e
}

// elementOf is an element of an array, string, tuple or record.
func (w *writer) elementOf(t *types.Type, depth int) check.Expr {
	w.pure++
	defer func() { w.pure-- }()
	if w.one(2) {
		at := w.IntN(3)
		elems := []*types.Type{w.anyType(), w.anyType(), w.anyType()}
		elems[at] = t
		tuple := types.TupleOf(elems...)
		return &check.Member{E: w.E(t), X: w.expr(tuple, depth-1), Field: tuple.Fields[at], Index: at}
	}
	x := w.expr(types.ArrayOf(t, 1+w.IntN(6)), depth-1)
	n := x.Type().Len
	switch {
	case t.Equal(types.TInt8) && w.one(2):
		x = w.expr(types.StringOf(8+w.IntN(60)), depth-1)
		n = x.Type().Size
	case t.Equal(types.TInt16) && w.one(2):
		x = w.member(userStruct.Fields[8], depth)
		n = 5
	}
	i := w.constant(types.TUint64, uint64(w.IntN(n)))
	if w.one(2) {
		i = w.expr(types.TUint64, 1)
		if k, ok := i.(*check.Const); ok {
			k.Value %= uint64(n)
		} else if !w.one(4) {
			i = &check.Binary{E: w.E(types.TUint64), Op: "%", X: i, Y: w.constant(types.TUint64, uint64(n+1))}
		}
	}
	return &check.Index{E: w.E(t), X: x, I: i}
}

// textNumber is a number about strings.
func (w *writer) textNumber(t *types.Type, depth int) check.Expr {
	w.pure++
	defer func() { w.pure-- }()
	var c *check.Call
	switch w.IntN(4) {
	case 0:
		c = w.call("strlen", types.TUint64, w.text(depth))
	case 1:
		c = w.call("strncmp", types.TUint64, w.text(depth), w.text(depth), w.constant(types.TUint64, uint64(w.IntN(40))))
	case 2:
		if !w.features.Has(feature.Loop) || w.loops > 0 {
			return w.constant(t, w.number())
		}
		c = w.call("strstr", types.TInt32, w.text(depth), w.text(depth))
	case 3:
		n := 1 + w.IntN(40)
		at := types.ArrayOf(types.TUint8, n+w.IntN(3))
		if w.one(2) {
			at = types.StringOf(n + w.IntN(30))
		}
		c = w.call("memcmp", types.TInt32, w.expr(at, depth-1), w.expr(at, depth-1), w.constant(types.TUint64, uint64(n)))
	}
	return &check.Cast{E: w.E(t), X: c}
}

// aggregateNumber reads an aggregation.
func (w *writer) aggregateNumber(t *types.Type, depth int) check.Expr {
	if !w.features.Has(feature.MapLookupPercpu) {
		return w.constant(t, w.number())
	}
	for _, m := range w.prog.Maps {
		if m.Value.IsCastableAgg() && w.one(2) {
			e := &check.MapGet{E: w.E(types.IntOf(8, m.Value.Signed)), Map: m, Key: w.key(m, depth-1)}
			return &check.Cast{E: w.E(t), X: e}
		}
	}
	return w.constant(t, w.number())
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (w *writer) boolExpr(depth int) check.Expr {
	if depth <= 0 {
		if w.one(2) {
			return w.constant(types.TBool, uint64(w.IntN(2)))
		}
		return w.varRef(w.variable(types.TBool))
	}
	compare := func() check.Expr {
		t := w.intType()
		e := &check.Binary{E: w.E(types.TBool), Op: comparisons[w.IntN(6)], X: w.expr(t, depth-1), Y: w.expr(t, depth-1)}
		if w.one(3) {
			e.Y = w.constant(t, w.number())
		}
		return e
	}
	return w.pick(
		compare, compare, compare,
		func() check.Expr {
			return &check.Logic{
				E: w.E(types.TBool), Op: []string{"&&", "||"}[w.IntN(2)], X: w.condition(depth - 1),
				Y: w.condition(depth - 1),
			}
		},
		func() check.Expr { return &check.Unary{E: w.E(types.TBool), Op: "!", X: w.condition(depth - 1)} },
		func() check.Expr {
			w.pure++
			defer func() { w.pure-- }()
			x, y := w.text(depth), w.text(depth)
			if w.one(3) { // likely equal
				y = x
			}
			return &check.Binary{E: w.E(types.TBool), Op: comparisons[w.IntN(2)], X: x, Y: y}
		},
		func() check.Expr {
			w.pure++
			defer func() { w.pure-- }()
			t := w.memoryType()
			for t.Kind == types.String {
				t = w.memoryType()
			}
			return &check.Binary{E: w.E(types.TBool), Op: comparisons[w.IntN(2)], X: w.expr(t, depth-1), Y: w.expr(t, depth-1)}
		},
		func() check.Expr { return &check.Cast{E: w.E(types.TBool), X: w.expr(w.intType(), depth-1)} },
		func() check.Expr {
			m := w.findMap(w.anyType(), true)
			c := w.call("has_key", types.TBool, nil, w.key(m, depth-1))
			c.Args[0].Map = m
			return c
		},
		func() check.Expr {
			if w.pure > 0 {
				return w.varRef(w.variable(types.TBool))
			}
			m := w.findMap(w.anyType(), w.one(2))
			c := w.call("delete", types.TBool, nil)
			c.Args[0].Map = m
			if m.Key != nil {
				c.Args = append(c.Args, check.Arg{Expr: w.key(m, depth-1)})
			}
			return c
		},
		func() check.Expr {
			if w.pure > 0 {
				return w.varRef(w.variable(types.TBool))
			}
			m := w.findMap(w.anyType(), true)
			c := w.call("find", types.TBool, nil, w.key(m, depth-1), nil)
			c.Args[0].Map, c.Args[2].Var = m, w.variable(m.Value)
			return c
		},
		func() check.Expr { return w.varRef(w.variable(types.TBool)) },
		func() check.Expr { return w.mapGet(types.TBool, depth) },
	)
}
