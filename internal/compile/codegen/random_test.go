package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
)

// writer makes random typed programs of the kind that package check makes.
type writer struct {
	*rand.Rand
	prog     *check.Program
	act      *check.Action
	user     *userMemory
	features feature.Set

	vars    []*check.Var // in scope
	formats int
	depth   int // of statements
	pure    int // > 0: no side effects, since the order of evaluation is not laid down
	loops   int
	budget  int
}

func (w *writer) E(t *types.Type) check.E { return check.E{T: t} }

func (w *writer) constant(t *types.Type, v uint64) check.Expr {
	return &check.Const{E: w.E(t), Value: get(put(v, max(t.Size, 1)), t)}
}

func (w *writer) one(n int) bool { return w.IntN(n) == 0 }

// pick chooses one of several ways.
func (w *writer) pick(ways ...func() check.Expr) check.Expr {
	return ways[w.IntN(len(ways))]()
}

func (w *writer) number() uint64 {
	switch w.IntN(8) {
	case 0:
		return uint64(w.IntN(4)) - 1
	case 1:
		return 1<<w.IntN(64) - uint64(w.IntN(3))
	case 2:
		return -(uint64(1) << w.IntN(64)) + uint64(w.IntN(3))
	case 3:
		return w.Uint64()
	}
	return uint64(w.IntN(200)) - 50
}

func (w *writer) intType() *types.Type { return types.IntOf(1<<w.IntN(4), w.one(2)) }

var (
	charArray = types.ArrayOf(types.TChar, 12)
	userArray = types.ArrayOf(types.TInt16, 5)
	// userStruct has bit-fields over bytes, packed fields at odd offsets, text, an array and a pointer.
	userStruct = &types.Type{Kind: types.Struct, Name: "struct random", Size: 64, Align: 1, Fields: []types.Field{
		{Name: "a", Type: types.TUint32, Offset: 0, BitSize: 3, BitOffset: 0},
		{Name: "b", Type: types.TInt32, Offset: 0, BitSize: 9, BitOffset: 3},
		{Name: "c", Type: types.TUint64, Offset: 1, BitSize: 52, BitOffset: 4},
		{Name: "d", Type: types.TInt64, Offset: 8, BitSize: 63, BitOffset: 1},
		{Name: "e", Type: types.TInt8, Offset: 16},
		{Name: "f", Type: types.TUint64, Offset: 17},
		{Name: "g", Type: types.TInt32, Offset: 25},
		{Name: "h", Type: charArray, Offset: 29},
		{Name: "i", Type: userArray, Offset: 41},
		{Name: "j", Type: types.TUint16, Offset: 51},
		{Name: "k", Type: types.TInt8, Offset: 63, BitSize: 8},
	}}
	userPointer = types.PointerTo(userStruct, types.User)
)

// memoryType is a random type that is no scalar.
func (w *writer) memoryType() *types.Type {
	switch w.IntN(8) {
	case 0, 1, 2:
		return types.StringOf([]int{1, 4, 8, 13, 16, 33, 48, 64, 100, 200}[w.IntN(10)])
	case 3:
		return types.ArrayOf(w.intType(), 1+w.IntN(6))
	case 4:
		return types.BufferOf([]int{4, 16, 60}[w.IntN(3)])
	case 5:
		return userStruct
	}
	n := 1 + w.IntN(4)
	var elems []*types.Type
	var names []string
	for i := range n {
		elems = append(elems, w.anyType())
		names = append(names, string(rune('a'+i)))
	}
	if w.one(3) {
		return types.RecordOf(names, elems)
	}
	return types.TupleOf(elems...)
}

func (w *writer) anyType() *types.Type {
	switch w.IntN(6) {
	case 0:
		return w.memoryType()
	case 1:
		return types.TBool
	}
	return w.intType()
}

// variable finds or makes a variable of a type.
func (w *writer) variable(t *types.Type) *check.Var {
	var fit []*check.Var
	for _, v := range w.vars {
		if v.Type.Equal(t) {
			fit = append(fit, v)
		}
	}
	if len(fit) > 0 && !w.one(4) {
		return fit[w.IntN(len(fit))]
	}
	v := &check.Var{Name: fmt.Sprintf("$v%d", len(w.act.Vars)), Type: t, Addressed: w.one(8)}
	w.act.Vars = append(w.act.Vars, v)
	w.vars = append(w.vars, v)
	return v
}

func (w *writer) varRef(v *check.Var) check.Expr { return &check.VarRef{E: w.E(v.Type), Var: v} }

// findMap finds or makes a map with values of a type.
func (w *writer) findMap(value *types.Type, keyed bool) *check.Map {
	var fit []*check.Map
	for _, m := range w.prog.Maps {
		if m.Value.Equal(value) && m.Kind == check.Hash && (m.Key != nil || !keyed) {
			fit = append(fit, m)
		}
	}
	if len(fit) > 0 && (!w.one(4) || len(w.prog.Maps) > 40) {
		return fit[w.IntN(len(fit))]
	}
	m := &check.Map{Name: fmt.Sprintf("@m%d", len(w.prog.Maps)), ID: len(w.prog.Maps), Value: value, Max: 1000}
	if keyed || w.one(2) {
		m.Key = w.anyType()
		for !keyable(m.Key) {
			m.Key = w.anyType()
		}
	}
	w.prog.Maps = append(w.prog.Maps, m)
	return m
}

// keyable: the padding in structs of programs is not ours to clear.
func keyable(t *types.Type) bool {
	for _, f := range t.Fields {
		if !keyable(f.Type) {
			return false
		}
	}
	return t.Kind != types.Struct && t.Size <= 200
}

func (w *writer) key(m *check.Map, depth int) check.Expr {
	if m.Key == nil {
		return nil
	}
	return w.expr(m.Key, min(depth, 2))
}

func (w *writer) mapGet(t *types.Type, depth int) check.Expr {
	m := w.findMap(t, false)
	return &check.MapGet{E: w.E(t), Map: m, Key: w.key(m, depth-1)}
}

// expr makes an expression of a type.
func (w *writer) expr(t *types.Type, depth int) check.Expr {
	if w.budget--; w.budget < 0 {
		depth = 0
	}
	switch {
	case t.Kind == types.Bool:
		return w.boolExpr(depth)
	case t.Kind == types.Int:
		return w.intExpr(t, depth)
	case t.Kind == types.Pointer:
		return w.pointer(t)
	case depth <= 0:
		return w.leaf(t)
	}
	general := func() check.Expr {
		return w.pick(
			func() check.Expr { return w.varRef(w.variable(t)) },
			func() check.Expr { return w.mapGet(t, depth) },
			func() check.Expr {
				return &check.Ternary{E: w.E(t), Cond: w.condition(depth - 1), Then: w.expr(t, depth-1), Else: w.expr(t, depth-1)}
			},
			func() check.Expr { return w.blockExpr(t, depth) },
		)
	}
	if w.one(2) {
		return general()
	}
	switch t.Kind {
	case types.String:
		return w.stringExpr(t, depth)
	case types.Tuple, types.Record:
		if w.one(5) {
			return w.convertedTuple(t, depth)
		}
		lit := &check.TupleLit{E: w.E(t)}
		for _, f := range t.Fields {
			lit.Elems = append(lit.Elems, w.expr(f.Type, depth-1))
		}
		return lit
	case types.Array:
		switch s := t.Size; {
		case s == 1 || s == 2 || s == 4 || s == 8:
			if w.one(2) {
				return &check.Cast{E: w.E(t), X: w.expr(types.IntOf(s, w.one(2)), depth-1)}
			}
		case t.Elem.Size == 1 && t.Elem.Signed && w.one(2):
			return &check.Cast{E: w.E(t), X: w.expr(types.StringOf(s), depth-1)}
		}
		if t.Equal(userArray) && w.one(2) {
			return w.member(userStruct.Fields[8], depth)
		}
		return &check.Deref{E: w.E(t), X: w.pointer(types.PointerTo(t, types.User))}
	case types.Struct:
		return &check.Deref{E: w.E(t), X: w.pointer(userPointer)}
	case types.Buffer:
		w.pure++
		defer func() { w.pure-- }()
		room := t.Size - 4
		switch {
		case w.one(3):
			n := 1 + w.IntN(room)
			return w.call("buf", t, w.expr(types.ArrayOf(types.TUint8, n), depth-1), w.constant(types.TUint64, uint64(n)))
		case room > 4 && w.one(3):
			return &check.Cast{E: w.E(t), X: w.expr(types.BufferOf(1+w.IntN(room-1)), depth-1)}
		}
		p := w.pointer(types.PointerTo(types.TUint8, types.User))
		if w.one(2) {
			return w.call("buf", t, p, w.constant(types.TUint64, uint64(w.IntN(room+1))))
		}
		return w.call("buf", t, p, w.expr(types.TUint64, depth-1))
	}
	return general()
}

// convertedTuple is a tuple of smaller elements, widened.
func (w *writer) convertedTuple(t *types.Type, depth int) check.Expr {
	var names []string
	var elems []*types.Type
	for _, f := range t.Fields {
		e := f.Type
		switch {
		case e.Kind == types.Int:
			e = w.intType()
		case e.Kind == types.String && e.Size > 1:
			e = types.StringOf(1 + w.IntN(e.Size))
		}
		names, elems = append(names, f.Name), append(elems, e)
	}
	from := types.TupleOf(elems...)
	if t.Kind == types.Record {
		// In another order, by name.
		w.Shuffle(len(elems), func(i, j int) {
			names[i], names[j], elems[i], elems[j] = names[j], names[i], elems[j], elems[i]
		})
		from = types.RecordOf(names, elems)
	}
	return &check.Cast{E: w.E(t), X: w.expr(from, depth-1)}
}

// leaf is a simple value that is no scalar.
func (w *writer) leaf(t *types.Type) check.Expr {
	switch {
	case t.Kind == types.String && w.one(2):
		return w.literal(t)
	case t.Kind == types.Struct && w.one(2):
		return &check.Deref{E: w.E(t), X: w.pointer(userPointer)}
	}
	return w.varRef(w.variable(t))
}

// literal is a string literal as a string of some capacity.
func (w *writer) literal(t *types.Type) check.Expr {
	n := w.IntN(min(t.Size, 90))
	if w.one(3) {
		n = min(n, 5)
	}
	var s strings.Builder
	for range n {
		s.WriteByte("ab\xffc d"[w.IntN(6)])
	}
	lit := &check.StrConst{E: w.E(types.StringOf(n + 1)), Value: s.String()}
	if n+1 == t.Size {
		return lit
	}
	return &check.Cast{E: w.E(t), X: lit}
}

func (w *writer) stringExpr(t *types.Type, depth int) check.Expr {
	return w.pick(
		func() check.Expr { return w.literal(t) },
		func() check.Expr { return w.str(t, depth) },
		func() check.Expr {
			if t.Size < 3 {
				return w.literal(t)
			}
			return &check.Cast{E: w.E(t), X: w.expr(types.StringOf(1+w.IntN(t.Size-1)), depth-1)}
		},
		func() check.Expr {
			if t.Size != charArray.Size+1 {
				return w.str(t, depth)
			}
			return &check.Cast{E: w.E(t), X: w.member(userStruct.Fields[7], depth)}
		},
		func() check.Expr {
			if t.Size != 200 {
				return w.literal(t)
			}
			return w.call("str_concat", t, w.expr(types.StringOf(1+w.IntN(99)), depth-1), w.expr(types.StringOf(100), depth-1))
		},
	)
}

// str reads a string from user memory, or from another string.
func (w *writer) str(t *types.Type, depth int) check.Expr {
	w.pure++
	defer func() { w.pure-- }()
	args := []check.Expr{w.pointer(types.PointerTo(types.TInt8, types.User))}
	if w.one(5) {
		args[0] = w.expr(types.StringOf(1+w.IntN(100)), depth-1)
	}
	if w.one(2) {
		args = append(args, w.constant(types.TUint64, uint64(w.IntN(t.Size+3))))
	} else if w.one(2) {
		args = append(args, w.expr(types.TUint64, depth-1))
	}
	return w.call("str", t, args...)
}

// call makes a call of a builtin. Its arguments have no side effects.
func (w *writer) call(name string, t *types.Type, args ...check.Expr) *check.Call {
	c := &check.Call{E: w.E(t), Fn: builtin.Lookup(name)}
	for _, a := range args {
		c.Args = append(c.Args, check.Arg{Expr: a})
	}
	return c
}

// pointer is an address in user memory, now and then a bad one.
func (w *writer) pointer(t *types.Type) check.Expr {
	at := w.user.addr + uint64(w.IntN(len(w.user.bytes)-max(t.Elem.Size, 300)))
	switch {
	case w.one(12): // runs over the end of memory
		at = w.user.addr + uint64(len(w.user.bytes)-w.IntN(70))
	case w.one(20):
		at = uint64(w.IntN(100))
	}
	p := w.constant(types.TUint64, at)
	if w.one(2) {
		// Not a constant: the verifier can't know it.
		p = &check.Binary{E: w.E(types.TUint64), Op: "+", X: p, Y: &check.Binary{
			E: w.E(types.TUint64), Op: "&", X: w.intExpr(types.TUint64, 1), Y: w.constant(types.TUint64, uint64(w.IntN(40))),
		}}
	}
	return &check.Cast{E: w.E(t), X: p}
}

// member is a field of the structure, in user memory or in a copy.
func (w *writer) member(f types.Field, depth int) check.Expr {
	var x check.Expr = &check.Deref{E: w.E(userStruct), X: w.pointer(userPointer)}
	if w.one(3) {
		x = w.expr(userStruct, depth-1)
	}
	return &check.Member{E: w.E(f.Type), X: x, Field: f}
}

func (w *writer) blockExpr(t *types.Type, depth int) check.Expr {
	if w.pure > 0 || depth < 2 {
		return w.leafOrNumber(t)
	}
	mark := len(w.vars)
	defer func() { w.vars = w.vars[:mark] }()
	body := &check.Block{}
	// It changes scalars only: the places of others may be in use around it.
	for range 1 + w.IntN(2) {
		it := w.intType()
		v := w.variable(it)
		body.Stmts = append(body.Stmts, &check.SetVar{Var: v, Value: w.expr(it, depth-2)})
	}
	return &check.BlockExpr{E: w.E(t), Body: body, Value: w.expr(t, depth-1)}
}

func (w *writer) leafOrNumber(t *types.Type) check.Expr {
	if t.IsScalar() {
		return w.constant(t, w.number())
	}
	return w.leaf(t)
}

// text is a string of any size.
func (w *writer) text(depth int) check.Expr {
	if w.one(4) {
		n := 1 + w.IntN(20)
		lit := w.literal(types.StringOf(n))
		if c, ok := lit.(*check.Cast); ok {
			return c.X
		}
		return lit
	}
	return w.expr(types.StringOf([]int{4, 8, 13, 16, 33, 48, 64, 100}[w.IntN(8)]), depth-1)
}
