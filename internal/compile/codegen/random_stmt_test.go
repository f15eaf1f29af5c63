package codegen_test

import (
	"fmt"
	"math/rand/v2"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
	"trocar/internal/process/probe"
)

// The statements of random programs.

// condition is a value of which only the truth counts.
func (w *writer) condition(depth int) check.Expr {
	if w.one(3) {
		return w.expr(w.intType(), depth)
	}
	return w.boolExpr(depth)
}

// print sends values, which have no side effects: the order of evaluation is not laid down.
func (w *writer) print(depth int) check.Stmt {
	w.pure++
	defer func() { w.pure-- }()
	var args []check.Expr
	for range 1 + w.IntN(3) {
		args = append(args, w.expr(w.anyType(), depth))
	}
	c := w.call("printf", types.TNone, args...)
	w.formats++
	c.Format = fmt.Sprintf("format %d", w.formats)
	return &check.ExprStmt{X: c}
}

func (w *writer) aggregate(depth int) check.Stmt {
	signed := w.one(2)
	var t *types.Type
	switch w.IntN(8) {
	case 0:
		t = types.AggOf(types.Count, false)
	case 1:
		t = types.AggOf(types.Sum, signed)
	case 2:
		t = types.AggOf(types.Min, signed)
	case 3:
		t = types.AggOf(types.Max, signed)
	case 4:
		t = types.AggOf(types.Avg, signed)
	case 5:
		t = types.AggOf(types.Stats, signed)
	case 6:
		t = types.HistOf(w.IntN(6))
	case 7:
		lo := int64(w.IntN(100))
		step := int64(1 + w.IntN(9))
		t = types.LHistOf(lo, lo+step+int64(w.IntN(300)), step)
	}
	s := &check.Aggregate{Map: w.findMap(t, false)}
	s.Key = w.key(s.Map, depth)
	if t.Kind != types.Count {
		s.Args = []check.Expr{w.expr(types.IntOf(8, signed), depth)}
	}
	return s
}

// block makes statements with variables of their own.
func (w *writer) block(n int) *check.Block {
	mark := len(w.vars)
	w.depth++
	defer func() { w.vars = w.vars[:mark]; w.depth-- }()
	b := &check.Block{}
	for range n {
		b.Stmts = append(b.Stmts, w.stmt())
	}
	return b
}

func (w *writer) stmt() check.Stmt {
	const depth = 4
	if w.depth > 3 || w.budget < 0 {
		return w.print(1)
	}
	switch w.IntN(16) {
	case 0, 1, 2, 3:
		return w.print(depth)
	case 4, 5:
		t := w.anyType()
		v := w.variable(t)
		return &check.SetVar{Var: v, Value: w.expr(t, depth)}
	case 6, 7:
		m := w.findMap(w.anyType(), false)
		w.pure++
		defer func() { w.pure-- }()
		return &check.SetMap{Map: m, Value: w.expr(m.Value, depth), Key: w.key(m, depth)}
	case 8, 9:
		return w.aggregate(depth)
	case 10:
		return &check.ExprStmt{X: w.incDec(w.intType(), depth)}
	case 11, 12:
		s := &check.If{Cond: w.condition(depth)}
		if !w.one(6) {
			s.Then = w.block(1 + w.IntN(3))
		}
		if w.one(2) {
			s.Else = w.block(1 + w.IntN(3))
		}
		return s
	case 13:
		return w.loop()
	case 14:
		body := w.block(1 + w.IntN(2))
		u := &check.Unrolled{}
		for range 1 + w.IntN(3) {
			u.Bodies = append(u.Bodies, body)
		}
		return u
	case 15:
		if w.loops > 0 && w.one(2) {
			return &check.If{
				Cond: w.condition(2),
				Then: &check.Block{Stmts: []check.Stmt{&check.Jump{Kind: []string{"break", "continue"}[w.IntN(2)]}}},
			}
		}
		if w.one(3) {
			return &check.If{Cond: w.condition(2), Then: &check.Block{Stmts: []check.Stmt{&check.Jump{Kind: "return"}}}}
		}
		return w.block(1 + w.IntN(3))
	}
	return nil
}

// loop makes a loop that ends soon.
func (w *writer) loop() check.Stmt {
	if w.loops > 1 || !w.features.Has(feature.Loop) && w.loops > 0 {
		return w.print(2)
	}
	mark := len(w.vars)
	w.loops++
	defer func() { w.loops--; w.vars = w.vars[:mark] }()
	i64 := types.TInt64
	// No other statement writes the counter: it is not in scope.
	v := &check.Var{Name: fmt.Sprintf("$i%d", len(w.act.Vars)), Type: i64}
	w.act.Vars = append(w.act.Vars, v)
	n := int64(w.IntN(5))
	switch {
	case w.one(3) && w.features.Has(feature.ForEachMapElem):
		// The order of entries is not known: what is done with them must not depend on it.
		for _, m := range w.prog.Maps {
			castable := m.Value.IsCastableAgg() && w.features.Has(feature.MapLookupPercpu)
			if m.Key == nil || m.Value.IsAgg() && !castable {
				continue
			}
			vt := m.Value
			if castable {
				vt = types.IntOf(8, vt.Signed)
			}
			entry := &check.Var{Name: fmt.Sprintf("$kv%d", len(w.act.Vars)), Type: types.TupleOf(m.Key, vt)}
			sum := &check.Var{Name: fmt.Sprintf("$sum%d", len(w.act.Vars)), Type: i64}
			w.act.Vars = append(w.act.Vars, entry, sum)
			w.vars = append(w.vars[:mark:mark], entry)
			w.pure++
			add := &check.SetVar{Var: sum, Value: &check.Binary{E: w.E(i64), Op: "+", X: w.varRef(sum), Y: w.summand(entry)}}
			w.pure--
			w.vars = w.vars[:mark]
			return &check.Block{Stmts: []check.Stmt{
				&check.SetVar{Var: sum, Decl: true},
				&check.ForMap{Var: entry, Map: m, Body: &check.Block{Stmts: []check.Stmt{add}}},
				&check.ExprStmt{X: &check.Call{
					E: w.E(types.TNone), Fn: builtin.Lookup("print"),
					Args: []check.Arg{{Expr: w.varRef(sum)}},
				}},
			}}
		}
		fallthrough
	case w.one(2):
		start := w.IntN(100) - 50
		s := &check.ForRange{Var: v, Start: w.constant(i64, uint64(start)), End: w.constant(i64, uint64(int64(start)+n))}
		w.vars = append(w.vars, v)
		s.Body = w.block(1 + w.IntN(3))
		return s
	}
	cond := &check.Binary{E: w.E(types.TBool), Op: "<", X: &check.IncDec{
		E: w.E(i64), Target: w.varRef(v), Step: 1,
		Post: true,
	}, Y: w.constant(i64, uint64(n))}
	return &check.Block{Stmts: []check.Stmt{
		&check.SetVar{Var: v, Decl: true},
		&check.While{Cond: cond, Body: w.block(1 + w.IntN(3))},
	}}
}

// summand is a number made of an entry of a map.
func (w *writer) summand(entry *check.Var) check.Expr {
	t := entry.Type
	i := w.IntN(2)
	field := &check.Member{E: w.E(t.Fields[i].Type), X: w.varRef(entry), Field: t.Fields[i], Index: i}
	switch ft := field.T; {
	case ft.IsScalar():
		return &check.Cast{E: w.E(types.TInt64), X: field}
	case ft.Kind == types.String:
		return &check.Cast{E: w.E(types.TInt64), X: w.call("strlen", types.TUint64, field)}
	}
	return w.constant(types.TInt64, 1)
}

// program makes a random program with one action.
func randomProgram(random *rand.Rand, user *userMemory, features feature.Set) *check.Program {
	w := &writer{Rand: random, prog: &check.Program{}, user: user, features: features, budget: *size}
	w.prog.Config.MaxStrlen = 1024
	w.act = &check.Action{Points: []*probe.Point{{Kind: probe.Begin, Name: "begin"}}}
	w.prog.Actions = []*check.Action{w.act}
	if w.one(4) {
		w.act.Pred = w.condition(2)
	}
	body := &check.Block{}
	for range 3 + w.IntN(*size/25) {
		if w.budget < 0 {
			break
		}
		body.Stmts = append(body.Stmts, w.stmt())
	}
	w.act.Body = body
	return w.prog
}
