package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
)

// expr builds the value of a node with its own type.
func (b *builder) expr(n *node) Expr {
	e := E{b.typeOf(n), n.span}
	switch n.op {
	case opNone:
		return nil
	case opInt, opEnum:
		if e.T.Kind == types.None {
			e.T = literalType(n.num, n.neg).t
		}
		return &Const{e, constBits(n.num, e.T)}
	case opBool:
		e.T = types.TBool
		return &Const{e, n.num}
	case opStr:
		e.T = types.StringOf(len(n.str) + 1)
		return &StrConst{e, n.str}
	case opTuple:
		if n.ty.none() {
			for _, k := range n.kids {
				b.expr(k)
			}
			return nil
		}
		t, _ := b.tuple(n, e.T)
		return t
	case opVar:
		if n.v.out == nil {
			b.errorf(n.span, "Could not resolve the type of this variable")
			return &Const{E{types.TInt64, n.span}, 0}
		}
		e.T = n.v.out.Type
		return &VarRef{e, n.v.out}
	case opMapGet:
		return b.mapGet(n)
	case opCall:
		return b.call(n)
	case opAggregate:
		return &BlockExpr{E: E{types.TNone, n.span}, Body: &Block{S: S{n.span}, Stmts: []Stmt{b.aggregate(n)}}}
	case opArgs:
		first := 0
		if n.flag {
			_, first = b.act.points[0].Scope.Locals()
		}
		return &ArgsRef{e, first}
	case opRetval:
		b.out.Kept = b.out.Kept || b.act.points[0].Scope.Retval.Place.Kept
		return b.text(&RetvalRef{E{b.act.points[0].Scope.Retval.Type, n.span}}, e.T)
	case opUnary:
		return b.unary(n, e)
	case opBinary:
		return b.binary(n, e)
	case opIf:
		return b.ternary(n, e)
	case opIncDec:
		return b.incDec(n, e)
	case opCast:
		return b.cast(n, e)
	case opField:
		return b.field(n, e)
	case opTupleField:
		return b.tupleField(n, e)
	case opIndex:
		return b.index(n, e)
	case opBlock:
		return b.blockExpr(n, e)
	case opAddr:
		k := n.kids[0]
		if k.op == opMapGet && k.m.out != nil && needsPerCPU(k.m.out.Value) {
			b.errorf(n.span, "the address of an aggregation cannot be taken: it has a value per CPU")
			return nil
		}
		return &AddrOf{e, b.expr(k)}
	case opIdent:
		return nil // told when its type was looked for
	case opMap:
		b.errorf(n.span, "the map %s is not a value", n.m.name).Hint("%s[key] is the value of an entry", n.m.name)
		return nil
	case opType:
		b.errorf(n.span, "When used as a call argument, `typeof` builtin only valid for macro calls that are expecting a "+
			"type parameter")
		return nil
	}
	b.errorf(n.span, "this cannot be used as a value")
	return nil
}

// text reads C text in memory as a string.
func (b *builder) text(x Expr, t *types.Type) Expr {
	if x.Type().IsText() && t.Kind == types.String {
		return &Cast{E{t, x.Pos()}, x}
	}
	return x
}

func (b *builder) mapGet(n *node) Expr {
	m := b.mapRef(n.m, n.span)
	t := m.Value
	if t.IsCastableAgg() {
		t = aggInt(t)
	} else if multiKey(t) {
		b.errorf(n.span, "Map type %s cannot be used as a value: it consists of several numbers",
			typestr(t)).Hint("print(%s) shows the whole map", m.Name)
	}
	return &MapGet{E{t, n.span}, m, b.key(n.m, n.kids[0], n.span)}
}

func (b *builder) unary(n *node, e E) Expr {
	k := n.kids[0]
	if n.ty.none() {
		b.expr(k)
		return nil
	}
	if n.str != "*" {
		x := b.expr(k)
		if t := k.ty.number().t; x != nil && n.str != "!" && isInt(t) && !t.Signed && t.Size < e.T.Size {
			// As in bpftrace, and as C does from unsigned int on: in the operand's own width.
			return castTo(&Unary{E{types.IntOf(t.Size, false), n.span}, n.str, castTo(x, types.IntOf(t.Size, false))}, e.T)
		}
		if n.str != "!" {
			x = castTo(x, e.T)
		}
		return &Unary{e, n.str, x}
	}
	if k.op == opArgs {
		return b.expr(k)
	}
	if b.movedObject(n, k.ty) {
		return nil
	}
	x := b.expr(k)
	if k.ty.isInt() {
		space := k.ty.where()
		if space == mixed {
			space = types.AnySpace
		}
		x = castTo(x, types.PointerTo(types.TUint64, space))
	}
	return b.deref(n, x, e)
}

// movedObject refuses what is no field of an object of Java.
func (b *builder) movedObject(n *node, t ty) bool {
	if !t.isPtr() || t.t.Form() != types.JavaForm {
		return false
	}
	b.errorf(n.span, "of an object of Java, fields are read by their names: it is no place in memory that stays")
	return true
}

// deref reads through a pointer.
func (b *builder) deref(n *node, x Expr, e E) Expr {
	if x == nil || x.Type().Kind != types.Pointer {
		return nil
	}
	elem := b.complete(x.Type().Elem)
	switch {
	case elem.Incomplete:
		b.errorf(n.span, "cannot read '%s': only its name is known", typestr(elem)).Hint("define it at the top of the script")
		return nil
	case elem.Kind == types.Void || elem.Kind == types.Func:
		b.errorf(n.span, "cannot read what a '%s *' points to", typestr(elem)).Hint("cast it to a pointer to something, " +
			"as in *(uint64 *)$p")
		return nil
	case elem.IsText():
		return b.text(&Deref{E{elem, n.span}, x}, e.T)
	}
	if e.T.Kind != elem.Kind || e.T.Incomplete {
		e.T = elem
	}
	return &Deref{E{e.T, n.span}, x}
}

func (b *builder) binary(n *node, e E) Expr {
	x, y := n.kids[0], n.kids[1]
	l, r := x.ty, y.ty
	if l.none() || r.none() || n.ty.none() {
		b.expr(x)
		b.expr(y)
		return nil
	}
	switch {
	case n.str == "&&" || n.str == "||":
		if !b.truthful(l) || !b.truthful(r) {
			return b.mismatch(n)
		}
		return &Logic{e, n.str, b.expr(x), b.expr(y)}
	case (n.str == "==" || n.str == "!=") && b.bothText(l, r):
		return &Binary{e, n.str, b.textValue(x), b.textValue(y)}
	case (n.str == "==" || n.str == "!=") && bothWide(l, r):
		if l.t.NoText() && r.t.NoText() {
			b.errorf(n.span, "whether two references are to one object is not known, as objects are moved while the program "+
				"runs: only texts are compared with each other")
			return nil
		}
		return &Binary{e, n.str, b.keptText(x), b.keptText(y)}
	case (n.str == "==" || n.str == "!=") && literalOfWide(n):
		if l.t.ObjectText() || r.t.ObjectText() {
			return &Binary{e, n.str, b.keptText(x), b.keptText(y)}
		}
		return &Binary{e, n.str, b.expr(x), b.expr(y)}
	case l.isPtr() || r.isPtr():
		return b.pointerOp(n, e)
	case l.numeric() && r.numeric():
		return b.intOp(n, e)
	case l.is(types.Array) && r.is(types.Array):
		if n.str != "==" && n.str != "!=" {
			b.errorf(n.span, "The %s operator cannot be used on arrays.", n.str)
		} else if l.t.Len != r.t.Len {
			b.errorf(n.span, "Only arrays of same size support comparison operators.")
		} else if !isInt(l.t.Elem) || !same(l.t, r.t) {
			b.errorf(n.span, "Only arrays of same sized integer support comparison operators.")
		}
		return &Binary{e, n.str, b.expr(x), b.expr(y)}
	case !compatible(l.t, r.t):
		return b.mismatch(n)
	case n.str != "==" && n.str != "!=":
		b.errorf(n.span, "The %s operator can not be used on expressions of types %s, %s", n.str, typestr(l.t), typestr(r.t))
		return nil
	case !b.whole(x) || !b.whole(y):
		return nil
	case l.is(types.Tuple, types.Record):
		p, ok := promote(l, r)
		if !ok {
			return b.mismatch(n)
		}
		ex, okX := b.tryConvert(x, p)
		ey, okY := b.tryConvert(y, p)
		if !okX || !okY {
			return b.mismatch(n)
		}
		return &Binary{e, n.str, ex, ey}
	}
	return &Binary{e, n.str, b.expr(x), b.expr(y)}
}

// whole refuses a value of which a part is not available, where its bytes are compared.
func (b *builder) whole(n *node) bool {
	why, lacks := n.ty.t.Lack()
	if lacks {
		b.errorf(n.span, "values of which a part is not available cannot be compared: %s", why)
	}
	return !lacks
}

func (b *builder) truthful(t ty) bool { return t.numeric() || t.isPtr() }

func (b *builder) mismatch(n *node) Expr {
	l, r := typestr(n.kids[0].ty.t), typestr(n.kids[1].ty.t)
	b.errorf(n.span, "Type mismatch for '%s': comparing %s with %s", n.str, l, r).
		Note(n.kids[0].span, "left (%s)", l).Note(n.kids[1].span, "right (%s)", r)
	return nil
}

func (b *builder) intOp(n *node, e E) Expr {
	x, y := n.kids[0], n.kids[1]
	operand := func(k *node, to *types.Type) Expr {
		if k.ty.isInt() && to.Kind != types.Bool {
			b.checkInt(k, k.ty, to) // a literal that does not fit keeps its bits
		}
		return castTo(b.expr(k), to)
	}
	if !compares(n.str) {
		if e.T.Kind == types.Bool {
			// Of two bools: the result is true unless the numbers' is 0.
			ex, ey := castTo(b.expr(x), types.TUint64), castTo(b.expr(y), types.TUint64)
			return castTo(&Binary{E{types.TUint64, n.span}, n.str, ex, ey}, types.TBool)
		}
		if t := e.T; beyondInt64(x) || beyondInt64(y) {
			// As C does: what no signed type holds makes the operation unsigned.
			e.T = types.TUint64
			return castTo(&Binary{e, n.str, operand(x, e.T), operand(y, e.T)}, t)
		}
		return &Binary{e, n.str, operand(x, e.T), operand(y, e.T)}
	}
	common := types.TInt64
	switch {
	case x.ty.isBool() && y.ty.isBool():
		common = types.TUint8
	case x.ty.isBool() && !b.signedInt(y.ty), y.ty.isBool() && !b.signedInt(x.ty), beyondInt64(x), beyondInt64(y):
		common = types.TUint64
	case x.ty.isBool() || y.ty.isBool():
	default:
		if p, ok := promote(x.ty, y.ty); ok {
			common = b.final(p.t)
			if p.castable() {
				common = aggInt(p.t)
			}
			if common.Kind == types.Enum {
				common = types.IntOf(common.Size, common.Signed)
			}
		}
	}
	return &Binary{e, n.str, operand(x, common), operand(y, common)}
}

// signedInt tells whether a number, which may be an aggregation's, has a sign.
func (b *builder) signedInt(t ty) bool {
	if t.castable() {
		return aggInt(t.t).Signed
	}
	return t.signed()
}

// beyondInt64 tells whether the node is a literal that only uint64 can hold.
func beyondInt64(n *node) bool { return n.posInt() && n.num > 1<<63-1 }

// pointerOp is arithmetic, which counts in elements, and comparison of pointers.
func (b *builder) pointerOp(n *node, e E) Expr {
	x, y := n.kids[0], n.kids[1]
	if compares(n.str) {
		return &Binary{e, n.str, castTo(b.expr(x), types.TUint64), castTo(b.expr(y), types.TUint64)}
	}
	ptr, num := x, y
	if !x.ty.isPtr() {
		ptr, num = y, x
	}
	p, i := b.expr(ptr), castTo(b.expr(num), types.TUint64)
	if num.ty.isInt() {
		// By its own sign, then as bits.
		i = castTo(castTo(b.expr(num), types.IntOf(8, num.ty.signed())), types.TUint64)
	}
	if p == nil || i == nil {
		return nil
	}
	sum := &Binary{E{types.TUint64, n.span}, n.str, castTo(p, types.TUint64), scale(i, b.stride(n, ptr.ty.t.Elem))}
	return &Cast{e, sum}
}

// stride is the distance of two elements that a pointer walks over; void counts in bytes.
func (b *builder) stride(n *node, elem *types.Type) int {
	elem = b.complete(elem)
	if elem.Incomplete && elem.Size == 0 {
		b.errorf(n.span, "cannot count in steps of '%s': only its name is known",
			typestr(elem)).Hint("define it at the top of the script")
	}
	return max(elem.Size, 1)
}

func scale(i Expr, by int) Expr {
	if by == 1 {
		return i
	}
	if c, ok := i.(*Const); ok {
		return &Const{E{types.TUint64, c.Span}, c.Value * uint64(by)}
	}
	return &Binary{E{types.TUint64, i.Pos()}, "*", i, &Const{E{types.TUint64, i.Pos()}, uint64(by)}}
}

func (b *builder) ternary(n *node, e E) Expr {
	cond := b.condition(n.kids[0])
	if n.ty.none() {
		e.T = types.TNone
	}
	branch := func(k *node) Expr {
		if n.ty.none() || n.ty.is(types.None) {
			blk := &Block{S: S{k.span}}
			b.exprStmt(blk, k)
			return &BlockExpr{E: E{types.TNone, k.span}, Body: blk}
		}
		x, ok := b.tryConvert(k, n.ty)
		if !ok {
			b.errorf(n.span, "Branches must return the same type or compatible types: have '%s' and '%s'",
				typestr(n.kids[1].ty.t), typestr(n.kids[2].ty.t))
		}
		return x
	}
	return &Ternary{e, cond, branch(n.kids[1]), branch(n.kids[2])}
}

func (b *builder) incDec(n *node, e E) Expr {
	target := b.expr(n.kids[0])
	if target == nil || n.ty.none() {
		return nil
	}
	e.T = target.Type()
	if k := n.kids[0]; k.op == opMapGet && k.m.out != nil && needsPerCPU(k.m.out.Value) {
		b.errorf(n.span, "Type mismatch for %s: trying to assign value of type '%s' when map already has a type '%s'",
			k.m.name, typestr(e.T), typestr(k.m.out.Value))
		return nil
	}
	step := int64(1)
	switch {
	case e.T.Kind == types.Pointer:
		step = int64(b.stride(n, e.T.Elem))
	case !e.T.IsInteger():
		b.errorf(n.span, "The %s operator can not be used on expressions of type '%s'", n.str, typestr(e.T))
		return nil
	}
	if n.str == "--" {
		step = -step
	}
	return &IncDec{e, target, step, n.post}
}

func (b *builder) blockExpr(n *node, e E) Expr {
	out := &BlockExpr{E: e, Body: &Block{S: S{n.span}}}
	b.stmts(out.Body, n)
	if n.value == nil || ends(out.Body.Stmts) {
		out.T = types.TNone
		return out
	}
	if n.value.ty.none() || n.value.ty.is(types.None) {
		b.exprStmt(out.Body, n.value)
		out.T = types.TNone
		return out
	}
	out.Value = b.expr(n.value)
	if out.Value != nil {
		out.T = out.Value.Type()
	}
	return out
}

func (b *builder) field(n *node, e E) Expr {
	k := n.kids[0]
	if n.ty.none() {
		b.expr(k)
		return nil
	}
	if k.isArgs() {
		return b.argField(n, e)
	}
	x := b.expr(k)
	for x != nil && x.Type().Kind == types.Pointer {
		x = b.deref(n, x, E{x.Type().Elem, n.span})
	}
	if x == nil {
		return nil
	}
	t := x.Type()
	f, ok := t.Field(n.str)
	if !ok {
		return nil
	}
	m := &Member{E: E{f.Type, n.span}, X: x, Field: f}
	for i := range t.Fields {
		if t.Fields[i].Name == n.str {
			m.Index = i
		}
	}
	if f.Type.Kind == types.Pointer || t.Kind == types.Record {
		m.T = e.T
	}
	return b.text(m, e.T)
}

func (b *builder) argField(n *node, e E) Expr {
	scope := b.act.points[0].Scope
	if scope.ArgsType != nil {
		f, ok := scope.ArgsType.Field(n.str)
		if !ok && n.str == recordThread {
			tid := &Call{E: E{types.TUint32, n.span}, Fn: builtin.Get(builtin.TID), InitialNS: true}
			return castTo(tid, types.TInt32)
		}
		m := &Member{E: E{f.Type, n.span}, X: &ArgsRef{E: E{scope.ArgsType, n.kids[0].span}}, Field: f}
		if f.Type.Kind == types.Pointer {
			m.T = e.T
		}
		return b.text(m, e.T)
	}
	i, ok := argNamed(scope, n.str, n.kids[0].locals())
	if !ok {
		return nil
	}
	t := e.T
	if a := scope.Args[i]; a.Type.IsText() {
		t = a.Type
	}
	return b.text(&ArgRef{E{t, n.span}, i}, e.T)
}

func (b *builder) tupleField(n *node, e E) Expr {
	k := n.kids[0]
	switch t := k.ty; {
	case t.none():
		b.expr(k)
		return nil
	case !t.is(types.Tuple):
		b.errorf(n.span, "Can not access index '%d' on expression of type '%s'", n.num, typestr(t.t))
		return nil
	case n.num >= uint64(len(t.t.Fields)):
		b.errorf(n.span, "Invalid tuple index: %d. Found %d elements in tuple.", n.num, len(t.t.Fields))
		return nil
	}
	x := b.expr(k)
	if x == nil {
		return nil
	}
	f := x.Type().Fields[n.num]
	return &Member{E: E{f.Type, n.span}, X: x, Field: f, Index: int(n.num)}
}

func (b *builder) index(n *node, e E) Expr {
	k, i := n.kids[0], n.kids[1]
	t := k.ty
	if t.none() || n.ty.none() {
		b.expr(k)
		b.expr(i)
		return nil
	}
	_, isArray := t.t.JavaElement()
	if !isArray && b.movedObject(n, t) {
		return nil
	}
	if !isArray && t.isPtr() && t.t.Elem.Size == 0 && (t.t.Elem.Kind == types.Void || t.t.Elem.Kind == types.Func) {
		b.errorf(n.span, "The array index operator [] cannot be used on a pointer to an unsized type (void *).")
		return nil
	}
	if i.posInt() {
		length := 0
		switch {
		case t.is(types.Array):
			length = max(t.t.Len, 0)
		case t.isStr():
			length = t.t.Size
		}
		if length != 0 && i.num >= uint64(length) {
			b.errorf(n.span, "the index %d is out of bounds for array of size %d", i.num, length)
			return nil
		}
	} else if it := i.ty; !it.isInt() || it.signed() && !it.flex() {
		b.errorf(n.span, "The array index operator [] only accepts non-negative integer indices. Got: %s", typestr(it.t)).
			Hint("cast it: [(uint64)…]")
		return nil
	}
	x, idx := b.expr(k), castTo(b.expr(i), types.TUint64)
	if x == nil || idx == nil {
		return nil
	}
	if isArray {
		return &Index{e, x, idx}
	}
	if _, ok := elements(t.t); ok {
		return b.listIndex(n, x, idx, e)
	}
	if t.isPtr() {
		elem := x.Type().Elem
		sum := &Binary{E{types.TUint64, n.span}, "+", castTo(x, types.TUint64), scale(idx, b.stride(n, elem))}
		return b.deref(n, &Cast{E{x.Type(), n.span}, sum}, e)
	}
	if t.is(types.Array) && x.Type().Elem.IsText() {
		return b.text(&Index{E{x.Type().Elem, n.span}, x, idx}, e.T)
	}
	return &Index{e, x, idx}
}
