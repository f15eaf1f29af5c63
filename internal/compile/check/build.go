package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/script/diag"
)

// builder makes the typed tree of an action from its nodes: conversions become explicit, and what only the final types
// can tell is checked.
type builder struct {
	*checker
	out  *Action
	loop int
	// times is how often what is built now comes again by the unrolled loops around it; unrolled is how many statements
	// there are beyond those that are written.
	times, unrolled uint64
	done            map[*types.Type]*types.Type // final forms
}

func (c *checker) build() *Program {
	prog := &Program{Config: c.cfg}
	for _, g := range c.getopts {
		prog.Getopts = append(prog.Getopts, g.Getopt)
	}
	b := &builder{checker: c, times: 1, done: map[*types.Type]*types.Type{}}
	for _, m := range c.mapOrder {
		if out := b.mapOut(m); out != nil {
			out.ID = len(prog.Maps)
			prog.Maps = append(prog.Maps, out)
		}
	}
	for _, d := range c.file.MapDecls {
		if m := c.maps[d.Name]; m != nil && !m.used {
			c.warnf(d.Span, "Unused map: %s", d.Name)
		}
	}
	for _, act := range c.actions {
		prog.Actions = append(prog.Actions, b.action(act))
	}
	return prog
}

// mapOut makes a map of the program; nil if it was never given a value.
func (b *builder) mapOut(m *mapState) *Map {
	if m.val.ty.none() || !m.scalar && m.key.ty.none() {
		return nil // told where it is used
	}
	out := &Map{Name: m.name, Value: b.final(m.val.ty.t), Max: b.cfg.MaxMapKeys, Kind: m.kind, Span: m.span}
	if !m.scalar {
		out.Key = b.final(m.key.ty.t)
	}
	if m.decl != nil {
		out.Max, out.Declared, out.Span = int(m.decl.Max), true, m.decl.Span
	}
	if m.scalar {
		out.Max = 1
	}
	m.out = out
	return out
}

// mapRef checks the use of a map and returns it.
func (b *builder) mapRef(m *mapState, span diag.Span) *Map {
	if m.out == nil {
		d := b.errorf(span, "Undefined map: %s", m.name)
		var names []string
		for name, other := range b.maps {
			if other.out != nil {
				names = append(names, name)
			}
		}
		hintNear(d, m.name, names)
		return &Map{Name: m.name, Value: types.TInt64}
	}
	if m.decl == nil {
		return m.out
	}
	perCPU := needsPerCPU(m.out.Value)
	if declared := m.kind == PerCPUHash || m.kind == PerCPULRUHash; declared != perCPU {
		is := "hash"
		if perCPU {
			is = "percpuhash"
		}
		b.errorf(span, "Incompatible map types. Type from declaration: %s. Type from value/key type: %s", m.decl.Kind, is)
	}
	return m.out
}

func (b *builder) action(act *action) *Action {
	b.act = act
	b.out = &Action{Span: act.probe.Span, Index: act.index, Points: act.points, Entries: act.entries}
	for _, v := range act.vars {
		if v.ty.none() {
			continue // only used where no code is left
		}
		v.out = &Var{Name: v.name, Type: b.final(v.ty.t), Span: v.span, Addressed: v.addr}
		b.out.Vars = append(b.out.Vars, v.out)
	}
	if act.pred != nil {
		b.out.Pred = b.condition(act.pred)
	}
	b.out.Body = b.block(act.body)
	return b.out
}

// final is a type as it stands in the program: pointers whose space is not known or mixed are told by the address.
func (b *builder) final(t *types.Type) *types.Type {
	switch {
	case t == nil:
		return types.TNone
	case isFlexible(t):
		return types.IntOf(t.Size, true)
	case t.Kind != types.Pointer && t.Kind != types.Tuple && t.Kind != types.Record && t.Kind != types.Array:
		return t
	}
	if f := b.done[t]; f != nil {
		return f
	}
	f := t
	switch t.Kind {
	case types.Pointer:
		if elem := b.final(t.Elem); t.Space == mixed || elem != t.Elem {
			space := t.Space
			if space == mixed {
				space = types.AnySpace
			}
			f = types.PointerTo(elem, space)
		}
	case types.Array:
		if e := b.final(t.Elem); e != t.Elem {
			f = types.ArrayOf(e, t.Len)
		}
	default:
		for i := range t.Fields {
			e := b.final(t.Fields[i].Type)
			if e == t.Fields[i].Type {
				continue
			}
			if f == t {
				copied := *t
				copied.Fields = append([]types.Field(nil), t.Fields...)
				f = &copied
			}
			f.Fields[i].Type = e
		}
	}
	b.done[t] = f
	return f
}

func (b *builder) typeOf(n *node) *types.Type { return b.final(n.ty.t) }

// block builds a list of statements; a value of the block is evaluated and dropped.
func (b *builder) block(n *node) *Block {
	out := &Block{S: S{n.span}}
	b.stmts(out, n)
	if n.value != nil && !ends(out.Stmts) {
		b.exprStmt(out, n.value)
	}
	return out
}

func (b *builder) stmts(out *Block, n *node) {
	for _, k := range n.kids {
		if ends(out.Stmts) {
			b.warnf(k.span, "Unreachable statement.")
			return
		}
		b.stmt(out, k)
	}
	if n.value != nil && ends(out.Stmts) {
		b.warnf(n.value.span, "Unreachable expression; block type is implicitly none.")
	}
}

// ends tells whether what follows the statements can never run.
func ends(stmts []Stmt) bool {
	if len(stmts) == 0 {
		return false
	}
	switch s := stmts[len(stmts)-1].(type) {
	case *Jump:
		return true
	case *Block:
		return ends(s.Stmts)
	case *If:
		return s.Then != nil && s.Else != nil && ends(s.Then.Stmts) && ends(s.Else.Stmts)
	}
	return false
}

// maxUnrolled bounds the statements that unrolled loops make of those that are written; those within others multiply.
const maxUnrolled = 200_000

// unroll builds the body of an unrolled loop.
func (b *builder) unroll(n *node) *Block {
	outer := b.times
	b.times *= n.kids[0].num
	body := b.block(n.kids[1])
	b.times = outer
	if outer == 1 && b.unrolled > maxUnrolled {
		b.errorf(n.span, "unroll makes more than %d statements", maxUnrolled).
			Hint("use a loop: for $i : 0..100 { ... }")
	}
	return body
}

func (b *builder) stmt(out *Block, n *node) {
	if b.times > 1 {
		b.unrolled += min(b.times, maxUnrolled+1)
	}
	add := func(s Stmt) { out.Stmts = append(out.Stmts, s) }
	switch n.op {
	case opExpr:
		k := n.kids[0]
		discards := !k.ty.none() && !k.ty.is(types.None) && k.op != opIncDec
		if discards {
			b.warnf(n.span, "Return value discarded.")
		}
		b.exprStmt(out, k)
	case opDiscard:
		b.exprStmt(out, n.kids[0])
	case opSetVar:
		b.setVar(out, n)
	case opDecl:
		if n.v.out == nil {
			if n.v.assigned || len(n.kids) > 1 {
				b.errorf(n.span, "Could not resolve the type of this variable")
			}
			return // never used
		}
		add(&SetVar{S: S{n.span}, Var: n.v.out, Decl: true})
	case opSetMap:
		m := b.mapRef(n.m, n.span)
		key := b.key(n.m, n.kids[0], n.span)
		rhs := n.kids[1]
		val, ok := b.tryConvert(rhs, n.m.val.ty)
		if !ok {
			b.errorf(n.span, "Type mismatch for %s: trying to assign value of type '%s' when map already has a value type '%s'",
				n.m.name, typestr(rhs.ty.t), typestr(n.m.val.ty.t))
		}
		add(&SetMap{S: S{n.span}, Map: m, Key: key, Value: val})
	case opWhile:
		b.loop++
		add(&While{S: S{n.span}, Cond: b.condition(n.kids[0]), Body: b.block(n.kids[1])})
		b.loop--
	case opForMap:
		m := b.mapRef(n.m, n.kids[1].span)
		b.loop++
		body := b.block(n.kids[2])
		b.loop--
		if n.v.out != nil {
			add(&ForMap{S: S{n.span}, Var: n.v.out, Map: m, Body: body})
		}
	case opForRange:
		start, end := b.rangeEnd(n, n.kids[1]), b.rangeEnd(n, n.kids[2])
		b.loop++
		body := b.block(n.kids[3])
		b.loop--
		if n.v.out != nil {
			add(&ForRange{S: S{n.span}, Var: n.v.out, Start: start, End: end, Body: body})
		}
	case opUnroll:
		body := b.unroll(n)
		u := &Unrolled{S: S{n.span}}
		for i := uint64(0); i < n.kids[0].num; i++ {
			u.Bodies = append(u.Bodies, body)
		}
		add(u)
	case opJump:
		b.jump(out, n)
	}
}

func (b *builder) rangeEnd(n, k *node) Expr {
	e, ok := b.tryConvert(k, n.v.ty)
	if !ok {
		b.errorf(k.span, "the end of a range of type '%s' does not fit into the loop variable's type '%s'", typestr(k.ty.t),
			typestr(n.v.ty.t))
	}
	return e
}

func (b *builder) jump(out *Block, n *node) {
	j := &Jump{S: S{n.span}, Kind: n.str}
	if n.str != "return" && b.loop == 0 {
		b.errorf(n.span, "'%s' statement is not allowed in a probe", n.str)
	}
	if len(n.kids) > 0 {
		k := n.kids[0]
		if !k.ty.isInt() {
			b.errorf(n.span, "Probe return values can only be integers. Found %s", typestr(k.ty.t))
			return
		}
		j.Value = castTo(b.expr(k), types.TInt64)
	}
	out.Stmts = append(out.Stmts, j)
}

func (b *builder) setVar(out *Block, n *node) {
	v := n.v
	rhs := n.kids[0]
	if v.out == nil {
		b.expr(rhs) // says what is wrong with it, if anything is
		b.errorf(n.span, "Invalid expression for assignment")
		return
	}
	decl := len(n.kids) > 2 || v.decl == nil && v.span == n.span
	val, ok := b.tryConvert(rhs, v.ty)
	if !ok {
		b.errorf(n.span, "Type mismatch for %s: trying to assign value of type '%s' when variable already has a type '%s'",
			v.name, typestr(rhs.ty.t), typestr(v.ty.t))
	}
	out.Stmts = append(out.Stmts, &SetVar{S: S{n.span}, Var: v.out, Value: val, Decl: decl})
}

// exprStmt adds what an expression does, without its value.
func (b *builder) exprStmt(out *Block, n *node) {
	add := func(s Stmt) { out.Stmts = append(out.Stmts, s) }
	switch {
	case n.op == opNone:
	case n.op == opBlock:
		add(b.block(n))
	case n.op == opAggregate:
		add(b.aggregate(n))
	case n.op == opIf:
		s := &If{S: S{n.span}, Cond: b.condition(n.kids[0])}
		branch := func(k *node) *Block {
			if k.op == opNone {
				return nil
			}
			if k.op == opBlock {
				return b.block(k)
			}
			blk := &Block{S: S{k.span}}
			b.exprStmt(blk, k)
			return blk
		}
		s.Then, s.Else = branch(n.kids[1]), branch(n.kids[2])
		add(s)
	case is(n, builtin.Exit):
		add(&ExprStmt{S: S{n.span}, X: b.expr(n)})
		add(&Jump{S: S{n.span}, Kind: "return"})
	default:
		if x := b.expr(n); x != nil {
			add(&ExprStmt{S: S{n.span}, X: x})
		}
	}
}

func (b *builder) aggregate(n *node) Stmt {
	m := b.mapRef(n.m, n.span)
	a := &Aggregate{S: S{n.span}, Map: m, Key: b.key(n.m, n.kids[0], n.span)}
	if n.fn.ID == builtin.Count {
		return a
	}
	arg := n.kids[1]
	if !arg.ty.number().isInt() {
		b.errorf(n.span, "%s() only supports int arguments (%s provided)", n.fn.ID, kindstr(arg.ty.t))
		return a
	}
	signed := arg.ty.signed()
	switch n.fn.ID {
	case builtin.Hist, builtin.LHist, builtin.TSeries, builtin.Times: // as the argument is: their type doesn't tell
	case builtin.Sum, builtin.Min, builtin.Max, builtin.Avg, builtin.Stats:
		signed = n.m.val.ty.signed()
	default:
		b.errorf(n.span, "internal: %s() is not known as an aggregation", n.fn.ID)
		return a
	}
	e := b.expr(arg)
	a.Args = []Expr{castTo(e, types.IntOf(8, signed))}
	return a
}

// key builds the key of a map access; nil for a map without keys.
func (b *builder) key(m *mapState, n *node, at diag.Span) Expr {
	if n.op == opNone {
		return nil
	}
	switch t := n.ty; {
	case t.none(), t.is(types.None, types.Void):
		b.errorf(n.span, "Invalid map key type: %s", typestr(t.t))
		return nil
	case multiKey(t.t), t.is(types.Stats):
		b.errorf(n.span, "%s cannot be part of a map key", typestr(t.t))
		return nil
	}
	e, ok := b.tryConvert(n, m.key.ty)
	if !ok {
		b.errorf(at, "Type mismatch for %s: trying to assign key of type '%s' when map already has a key type '%s'",
			m.name, typestr(n.ty.t), typestr(m.key.ty.t))
	}
	return e
}

// condition builds an expression of which only the truth counts.
func (b *builder) condition(n *node) Expr {
	t := n.ty
	if !t.isInt() && !t.isBool() && !t.isPtr() && !t.castable() {
		if !t.none() || n.op == opNone {
			b.errorf(n.span, "Invalid condition: %s", kindstr(t.t))
		}
		b.expr(n)
		return &Const{E: E{types.TBool, n.span}}
	}
	return b.expr(n)
}
