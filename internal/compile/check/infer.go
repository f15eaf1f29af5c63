package check

import (
	"strings"

	"trocar/internal/binary/types"
)

// Inference gives every expression, variable and map its type, over the whole script. One round walks all actions,
// collects rules and solves them. `if comptime` on types (typeinfo, is_str, sizeof …) is decided after a round; what it
// lets in is walked in the next. A type that was asked for is final: code that would change it later is refused.

type inferrer struct {
	*checker
	solver   solver
	meta     int         // inside sizeof and its kind
	pending  []*node     // comptime conditions that are not decided yet
	maps     []*mapState // used in this round, in order
	call     *node       // the call whose arguments are walked
	lockVars map[*variable]bool
	lockMaps map[*mapState]bool
}

// maxRounds bounds comptime conditions that depend on each other.
const maxRounds = 50

func (c *checker) infer() {
	var before []*node
	for round := 1; ; round++ {
		if round > maxRounds {
			c.errorf(noSpan, "Type resolution exceeded maximum iterations (%d); possible infinite loop in comptime expressions",
				maxRounds)
			return
		}
		errors := c.diags.Errors()
		inf := &inferrer{checker: c, lockVars: map[*variable]bool{}, lockMaps: map[*mapState]bool{}}
		inf.round()
		if c.diags.Errors() != errors {
			return
		}
		changed := inf.transformAll()
		for _, act := range c.actions {
			c.foldAction(act)
		}
		if c.diags.Errors() != errors {
			return
		}
		if len(inf.pending) == 0 && !changed {
			c.mapOrder = inf.maps
			return
		}
		if !changed && sameNodes(before, inf.pending) {
			for _, n := range inf.pending {
				c.errorf(n.span, "Unable to resolve comptime expression")
			}
			return
		}
		before = inf.pending
		inf.lock()
	}
}

func sameNodes(a, b []*node) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) > 0
}

func (inf *inferrer) round() {
	for _, m := range inf.checker.maps {
		m.key, m.val, m.used = slot{}, slot{}, false
	}
	for _, act := range inf.actions {
		for _, v := range act.vars {
			v.slot, v.sized = slot{}, false
		}
	}
	// Rules speak of the action they were made for.
	inf.solver.enter = func() func() {
		act := inf.act
		return func() { inf.act = act }
	}
	for _, act := range inf.actions {
		inf.act = act
		if act.pred != nil {
			inf.visit(act.pred)
		}
		inf.visit(act.body)
	}
	for {
		if !inf.solver.solve() {
			inf.errorf(noSpan, "the script's types depend on each other in too many ways")
			return
		}
		// Maps that only ever change themselves (@x++) hold numbers, from 0.
		again := false
		for _, m := range inf.maps {
			if m.val.ty.none() && m.valued {
				inf.solver.set(&m.val, known(types.TInt8))
				again = true
			}
		}
		if !again {
			return
		}
	}
}

// lock makes the types that were asked for final.
func (inf *inferrer) lock() {
	for v := range inf.lockVars {
		if !v.ty.none() && v.locked == nil {
			v.locked = v.ty.t
		}
	}
	for m := range inf.lockMaps {
		if !m.key.ty.none() && m.lockedKey == nil {
			m.lockedKey = m.key.ty.t
		}
		if !m.val.ty.none() && m.lockedVal == nil {
			m.lockedVal = m.val.ty.t
		}
	}
}

func (inf *inferrer) useMap(m *mapState) {
	if !m.used {
		m.used = true
		inf.maps = append(inf.maps, m)
	}
	if inf.meta > 0 {
		inf.lockMaps[m] = true
	}
}

func (inf *inferrer) visitAll(ns []*node) {
	for _, n := range ns {
		inf.visit(n)
	}
}

// visit collects the rules of a node and what is below it. The order is bpftrace's: see solver.
func (inf *inferrer) visit(n *node) {
	s := &inf.solver
	n.slot = slot{}
	switch n.op {
	case opNone:
	case opInt:
		s.set(&n.slot, literalType(n.num, n.neg))
	case opStr:
		s.set(&n.slot, in(types.StringOf(len(n.str)+1), types.Kernel))
		inf.checkLength(n)
	case opBool:
		s.set(&n.slot, known(types.TBool))
	case opEnum:
		s.set(&n.slot, known(n.typ))
	case opIdent:
		inf.visitIdent(n)
	case opTuple:
		inf.visitTuple(n)
	case opVar:
		s.pass(&n.v.slot, &n.slot)
		if inf.meta > 0 {
			inf.lockVars[n.v] = true
		}
	case opMap:
		inf.useMap(n.m)
	case opMapGet:
		inf.visitKey(n.m, n.kids[0], n)
		s.pass(&n.m.val, &n.slot)
		n.m.valued = true
	case opCall:
		inf.visitCall(n)
	case opAggregate:
		inf.visitAggregate(n)
	case opArgs, opRetval, opArg:
		inf.visitArgs(n)
	case opUnary:
		inf.visit(n.kids[0])
		s.rule(&n.slot, func(in []ty) ty { return inf.unaryType(n, in[0]) }, &n.kids[0].slot)
	case opBinary:
		inf.visitAll(n.kids)
		inf.withoutSign(n)
		s.rule(&n.slot, func(in []ty) ty { return inf.binaryType(n, in[0], in[1]) }, &n.kids[0].slot, &n.kids[1].slot)
	case opNil:
		inf.visit(n.kids[0])
		s.set(&n.slot, known(types.TBool))
	case opIf:
		inf.visitIf(n)
	case opIncDec:
		inf.visitIncDec(n)
	case opCast:
		inf.visitCast(n)
	case opField:
		inf.visit(n.kids[0])
		s.rule(&n.slot, func(in []ty) ty { return inf.fieldType(n, in[0]) }, &n.kids[0].slot)
	case opTupleField:
		inf.visit(n.kids[0])
		s.rule(&n.slot, func(in []ty) ty { return tupleElem(in[0], n.num) }, &n.kids[0].slot)
	case opIndex:
		inf.visitAll(n.kids)
		s.rule(&n.slot, func(in []ty) ty { return inf.indexType(n, in[0]) }, &n.kids[0].slot)
	case opSizeof, opOffsetof, opTypeinfo:
		inf.visitMeta(n)
	case opType:
		inf.visitType(n)
	case opComptime:
		inf.visit(n.kids[0])
		inf.pending = append(inf.pending, n)
	case opBlock:
		inf.visitAll(n.kids)
		if n.value != nil {
			inf.visit(n.value)
			s.pass(&n.value.slot, &n.slot)
		}
	case opAddr:
		inf.visitAddr(n)
	case opExpr, opDiscard, opJump, opWhile, opUnroll:
		if n.op == opUnroll {
			inf.checkUnroll(n)
		}
		inf.visitAll(n.kids)
	case opSetVar:
		inf.visitSetVar(n)
	case opSetMap:
		inf.visitSetMap(n)
	case opDecl:
		inf.visitDecl(n)
	case opForMap, opForRange:
		inf.visitFor(n)
	}
}

func (inf *inferrer) visitIdent(n *node) {
	if inf.call != nil {
		if word := inf.meanings[inf.call.fn.ID].word; word != nil {
			word(inf, n)
			return
		}
	}
	if len(n.names) > 0 {
		hint := "write it with its enum in front, as in Color::RED, or its number"
		if len(n.names) > 1 {
			hint = n.names[1]
		}
		if d := inf.errorf(n.span, "%s: %s", n.str, n.names[0]); hint != "" {
			d.Hint("%s", hint)
		}
		return
	}
	if t := inf.typeNamed(n.str); t != nil && inf.meta > 0 {
		inf.solver.set(&n.slot, known(t))
		return
	}
	if strings.HasPrefix(n.str, "sarg") {
		inf.errorf(n.span, "sarg* is deleted. This was deprecated in v0.21 and was last available in v0.24.").
			Hint("Use *(reg(\"sp\") + <stack_offset>) instead.")
		return
	}
	d := inf.errorf(n.span, "Unknown identifier: '%s'", n.str)
	hintNear(d, n.str, inf.valueNames())
}

func (inf *inferrer) visitTuple(n *node) {
	if len(n.kids) == 0 {
		inf.solver.set(&n.slot, known(types.TupleOf()))
		return
	}
	slots := make([]*slot, len(n.kids))
	for i, k := range n.kids {
		inf.visit(k)
		slots[i] = &k.slot
	}
	inf.solver.rule(&n.slot, func(in []ty) ty {
		elems := make([]*types.Type, len(in))
		for i, t := range in {
			t = inf.kept(t)
			elems[i] = t.t
			switch {
			case t.castable():
				elems[i] = aggInt(t.t)
			case multiKey(t.t):
				what := "tuple"
				if n.names != nil {
					what = "record"
				}
				inf.errorf(n.kids[i].span, "Map type %s cannot exist inside a %s.", typestr(t.t), what)
				return ty{}
			}
		}
		if n.names != nil {
			return known(types.RecordOf(n.names, elems))
		}
		return known(types.TupleOf(elems...))
	}, slots...)
}

// visitKey collects the rules of a map access; at is where errors are shown.
func (inf *inferrer) visitKey(m *mapState, key, at *node) {
	inf.useMap(m)
	if key.op == opNone {
		return
	}
	inf.visit(key)
	inf.keyRule(m, key, at)
}

func (inf *inferrer) keyRule(m *mapState, key, at *node) {
	inf.solver.rule(&m.key, func(in []ty) ty {
		t := inf.kept(in[0])
		if !assignable(t, m.key.ty, false) {
			inf.errorf(at.span, "Value '%s' cannot be used as a map key.", typestr(t.t))
			return ty{}
		}
		if m.lockedKey != nil {
			return inf.locked(m.lockedKey, t, at, m.name)
		}
		p, ok := promote(m.key.ty, t)
		if !ok {
			p, ok = word(m.key.ty, t)
		}
		if !ok {
			inf.errorf(at.span, "Argument mismatch for %s: trying to access with arguments: '%s' when map expects "+
				"arguments: '%s'",
				m.name, typestr(t.t), typestr(m.key.ty.t))
		}
		return p
	}, &key.slot)
}

// locked checks a type against one that is final.
func (inf *inferrer) locked(final *types.Type, t ty, at *node, name string) ty {
	if p, ok := promote(known(final), t); !ok || !same(p.t, final) {
		inf.errorf(at.span, "Type mismatch for %s: this type has been locked because it was used in another part of the "+
			"type graph "+
			"that was already resolved (e.g. `sizeof`, `typeinfo`, etc.). The new type '%s' doesn't fit into the locked "+
			"type '%s'",
			name, typestr(t.t), typestr(final))
	}
	return known(final)
}

// assignable tells whether a value of type t may be assigned to what has type cur. Aggregations may only be made by
// their functions; those that are numbers may go where a number is.
func assignable(t, cur ty, toMap bool) bool {
	switch {
	case t.is(types.None, types.Void):
		return false
	case needsPerCPU(t.t) && !t.castable():
		return false
	case !cur.isInt() && t.castable():
		return !toMap && cur.none()
	}
	return true
}

func (inf *inferrer) visitIf(n *node) {
	if n.flag {
		inf.visit(n.kids[0])
		inf.pending = append(inf.pending, n.kids[0])
		return
	}
	inf.visitAll(n.kids)
	for i := 1; i <= 2; i++ {
		inf.solver.rule(&n.slot, func(in []ty) ty {
			p, ok := promote(n.ty, inf.textual(in[0]))
			if !ok {
				left, right := typestr(in[0].t), typestr(n.ty.t)
				if i == 2 {
					left, right = right, left
				}
				inf.errorf(n.span, "Branches must return the same type or compatible types: have '%s' and '%s'", left, right)
			}
			return p
		}, &n.kids[i].slot)
	}
}

func (inf *inferrer) visitCast(n *node) {
	t, x, s := n.kids[0], n.kids[1], &inf.solver
	inf.visit(x)
	s.rule(&n.slot, func(in []ty) ty { return inf.castType(t.ty, in[0]) }, &x.slot)
	inf.visit(t)
	if t.written() {
		s.set(&n.slot, inf.castType(t.ty, x.ty))
		return
	}
	s.rule(&n.slot, func(in []ty) ty { return inf.castType(in[0], x.ty) }, &t.slot)
}

// castType is the type of a cast: an array without a size gets it from the value.
func (inf *inferrer) castType(to, from ty) ty {
	if to.none() || from.none() {
		return to
	}
	if to.is(types.Array) && to.t.Len < 0 && to.t.Elem.Size != 0 {
		if size := from.t.Size; size%to.t.Elem.Size == 0 {
			to.t = types.ArrayOf(to.t.Elem, size/to.t.Elem.Size)
		}
	}
	space := from.where()
	if space == types.AnySpace {
		space = spaceOf(inf.act.kind)
	}
	return to.at(space)
}

func (inf *inferrer) visitAddr(n *node) {
	k := n.kids[0]
	switch {
	case k.op == opVar:
		inf.visit(k)
		inf.solver.rule(&n.slot, func(in []ty) ty { return pointer(in[0].t, types.BPF) }, &k.slot)
	case k.op == opMapGet:
		inf.visit(k)
		inf.solver.rule(&n.slot, func(in []ty) ty { return pointer(in[0].t, types.BPF) }, &k.m.val)
	default:
		inf.errorf(n.span, "the address-of operator (&) can only be used on variables and maps")
	}
}

func (inf *inferrer) visitMeta(n *node) {
	t, s := n.kids[0], &inf.solver
	if n.op == opTypeinfo {
		inf.checkTypeinfo(n)
		inf.meta++
	}
	inf.noMapWrites(n)
	inf.visit(t)
	if n.op == opTypeinfo {
		inf.meta--
	}
	switch n.op {
	case opTypeinfo:
		s.rule(&n.slot, func(in []ty) ty {
			base, full := kindstr(in[0].t), typestr(in[0].t)
			return known(types.RecordOf([]string{"btf_id", "base_type", "full_type"},
				[]*types.Type{types.TUint64, types.StringOf(len(base) + 1), types.StringOf(len(full) + 1)}))
		}, &t.slot)
	case opSizeof:
		s.rule(&n.slot, func([]ty) ty { return known(types.TUint8) }, &t.slot)
	case opOffsetof:
		s.rule(&n.slot, func(in []ty) ty {
			if _, ok := inf.offsetOf(n, in[0].t); !ok {
				return ty{}
			}
			return known(types.TUint8)
		}, &t.slot)
	}
}

// noMapWrites refuses assignments to maps where nothing is evaluated.
func (inf *inferrer) noMapWrites(n *node) {
	what := map[op]string{opSizeof: "sizeof", opOffsetof: "offsetof"}[n.op]
	if what == "" {
		what = "typeof or typeinfo"
	}
	for _, k := range n.kids {
		k.walk(func(k *node) bool {
			if k.op == opSetMap || k.op == opAggregate {
				inf.errorf(k.span, "Map assignments not allowed inside of %s", what)
			}
			return true
		})
	}
}
