package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
)

// Rules of what gives variables and maps their types: assignments, aggregations, counting, loops.

func (inf *inferrer) visitSetVar(n *node) {
	inf.visit(n.kids[0])
	if len(n.kids) > 2 {
		inf.visit(n.kids[2])
	} else {
		inf.visit(n.kids[1])
	}
	v := n.v
	if v.sized {
		return // the declaration says it all; whether the value fits is seen when it is built
	}
	inf.solver.rule(&v.slot, func(in []ty) ty {
		if !assignable(in[0], v.ty, false) {
			inf.errorf(n.span, "Value '%s' cannot be assigned to a scratch variable.", typestr(in[0].t))
			return ty{}
		}
		return inf.assignVar(v, inf.textual(in[0]), n)
	}, &n.kids[0].slot)
}

func (inf *inferrer) assignVar(v *variable, t ty, at *node) ty {
	if v.locked != nil {
		return inf.locked(v.locked, t, at, v.name)
	}
	p, ok := promote(v.ty, t)
	if !ok {
		inf.errorf(at.span, "Type mismatch for %s: trying to assign value of type '%s' when variable already has a type '%s'",
			v.name, typestr(t.t), typestr(v.ty.t))
	}
	return p
}

func (inf *inferrer) visitDecl(n *node) {
	v := n.v
	if len(n.kids) > 1 {
		t := n.kids[1]
		inf.visit(t)
		inf.checkDecl(n)
		if t.written() {
			if !t.ty.none() {
				inf.solver.set(&v.slot, t.ty)
				v.sized = t.ty.t.Size != 0 // a "string" without a size gets it from what is assigned
			}
		} else {
			v.sized = true
			inf.solver.pass(&t.slot, &v.slot)
		}
	}
	inf.visit(n.kids[0])
}

func (inf *inferrer) visitSetMap(n *node) {
	m := n.m
	inf.visitKey(m, n.kids[0], n)
	m.valued = true
	rhs := n.kids[1]
	inf.visit(rhs)
	inf.solver.rule(&m.val, func(in []ty) ty {
		t := inf.kept(in[0])
		if !assignable(t, m.val.ty, true) {
			inf.refuseAggregate(n, t)
			return ty{}
		}
		return inf.assignMap(m, t, n)
	}, &rhs.slot)
}

// refuseAggregate explains that an aggregation cannot be copied.
func (inf *inferrer) refuseAggregate(n *node, t ty) {
	if !t.t.IsAgg() {
		inf.errorf(n.span, "Value '%s' cannot be assigned to a map.", typestr(t.t))
		return
	}
	example := map[types.Kind]string{
		types.Count: "count()", types.Sum: "sum(retval)", types.Min: "min(retval)", types.Max: "max(retval)",
		types.Avg:  "avg(retval)",
		types.Hist: "hist(retval)", types.LHist: "lhist(rand %10, 0, 10, 1)", types.TSeries: "tseries(rand %10, 10s, 1)",
		types.Stats: "stats(arg2)", types.Times: "times(duration)",
	}[t.t.Kind]
	d := inf.errorf(n.span, "Map value '%s' cannot be assigned from one map to another. The function that returns this "+
		"type must be "+
		"called directly e.g. `%s = %s;`.", typestr(t.t), n.m.name, example)
	if rhs := n.kids[1]; rhs.op == opMapGet && t.castable() {
		d.Hint("Add a cast to integer if you want the value of the aggregate, e.g. `%s = (int64)%s;`.", n.m.name, rhs.m.name)
	}
}

func (inf *inferrer) assignMap(m *mapState, t ty, at *node) ty {
	if m.lockedVal != nil {
		return inf.locked(m.lockedVal, t, at, m.name)
	}
	p, ok := promote(m.val.ty, t)
	if !ok {
		p, ok = word(m.val.ty, t)
	}
	if m.val.ty.castable() || !ok {
		inf.errorf(at.span, "Type mismatch for %s: trying to assign value of type '%s' when map already has a type '%s'",
			m.name, typestr(t.t), typestr(m.val.ty.t))
		return ty{}
	}
	return p
}

func (inf *inferrer) visitAggregate(n *node) {
	m, s := n.m, &inf.solver
	inf.useMap(m)
	m.valued = true
	inf.checkArgs(n)
	inf.checkUnstable(n)
	saved := inf.call
	inf.call = n
	key := n.kids[0]
	if key.op != opNone {
		inf.visit(key)
	}
	inf.visitAll(n.kids[1:])
	inf.call = saved
	set := func(agg *types.Type) ty {
		if m.lockedVal != nil {
			return inf.locked(m.lockedVal, known(agg), n, m.name)
		}
		cur := m.val.ty
		if cur.none() {
			return known(agg)
		}
		if cur.t.Kind == agg.Kind {
			if p, ok := promote(cur, known(agg)); ok {
				inf.checkParams(n, cur.t, agg)
				return p
			}
		}
		inf.errorf(n.span, "Type mismatch for %s: trying to assign value of type '%s' when map already has a type '%s'",
			m.name, typestr(agg), typestr(cur.t))
		return ty{}
	}
	switch n.fn.ID {
	case builtin.Count, builtin.Hist, builtin.LHist, builtin.TSeries, builtin.Times:
		if agg := inf.fixedAgg(n); agg != nil {
			// In bpftrace's order: as if it followed from the call's own type.
			s.rule(&m.val, func([]ty) ty { return set(agg) }, &n.slot)
		}
	default:
		if len(n.kids) < 2 {
			return
		}
		s.rule(&m.val, func(in []ty) ty {
			t := in[0].number()
			if !t.isInt() {
				inf.errorf(n.span, "%s() only supports integer arguments (%s provided)", n.fn.ID, typestr(t.t))
				return ty{}
			}
			return set(types.AggOf(aggKind(n), t.signed()))
		}, &n.kids[1].slot)
	}
	if key.op != opNone {
		inf.keyRule(m, key, n)
	}
	s.set(&n.slot, known(types.TNone))
}

func (inf *inferrer) visitIncDec(n *node) {
	k, s := n.kids[0], &inf.solver
	inf.visit(k)
	dec := n.str == "--"
	counted := func(t ty) ty {
		if t.signed() || dec {
			return known(types.TInt64)
		}
		return known(types.TUint64)
	}
	switch k.op {
	case opMapGet:
		m := k.m
		s.rule(&m.val, func(in []ty) ty {
			if m.val.ty.isPtr() {
				return m.val.ty
			}
			return inf.assignMap(m, in[0], n)
		}, &n.slot)
		s.rule(&n.slot, func(in []ty) ty {
			if in[0].isPtr() {
				return in[0]
			}
			return counted(in[0])
		}, &k.slot)
	case opVar:
		v := k.v
		s.rule(&v.slot, func(in []ty) ty {
			if v.sized {
				return ty{}
			}
			if v.ty.isPtr() {
				return v.ty
			}
			return inf.assignVar(v, in[0], n)
		}, &n.slot)
		s.rule(&n.slot, func(in []ty) ty {
			if v.sized || v.ty.isPtr() {
				return v.ty
			}
			return counted(in[0])
		}, &k.slot)
	default:
		inf.errorf(n.span, "The %s operator must be applied to a map or variable", n.str)
	}
}

func (inf *inferrer) visitFor(n *node) {
	v, s := n.v, &inf.solver
	inf.visit(n.kids[0])
	if n.op == opForMap {
		m, ref := n.m, n.kids[1]
		inf.visit(ref)
		m.valued = true
		s.rule(&v.slot, func(in []ty) ty {
			val := in[1]
			if needsPerCPU(val.t) && !val.castable() {
				inf.errorf(ref.span, "Loop expression does not support type: %s", typestr(val.t))
				return ty{}
			}
			if val.castable() {
				val.t = aggInt(val.t)
			}
			return known(types.TupleOf(in[0].t, val.t))
		}, &m.key, &m.val)
		inf.visit(n.kids[2])
		return
	}
	start, end := n.kids[1], n.kids[2]
	inf.visit(start)
	inf.visit(end)
	s.rule(&v.slot, func(in []ty) ty {
		if !in[0].isInt() {
			inf.errorf(start.span.To(end.span), "Loop range requires an integer for the start value")
			return ty{}
		}
		if !in[1].isInt() {
			inf.errorf(start.span.To(end.span), "Loop range requires an integer for the end value")
			return ty{}
		}
		if in[0].t.Size != in[1].t.Size {
			p, _ := promote(in[0], in[1])
			return p
		}
		return in[0]
	}, &start.slot, &end.slot)
	inf.visit(n.kids[3])
}
