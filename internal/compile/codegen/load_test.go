package codegen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/codegen"
	"trocar/internal/compile/feature"
	"trocar/internal/kernel"
	"trocar/internal/need"
	"trocar/internal/process/probe"
)

// tree makes typed trees by hand.
type tree struct{}

func (tree) num(v int64, t *types.Type) check.Expr {
	return &check.Const{E: check.E{T: t}, Value: uint64(v)}
}

func (tree) str(s string) check.Expr {
	return &check.StrConst{E: check.E{T: types.StringOf(len(s) + 1)}, Value: s}
}
func (tree) ref(v *check.Var) check.Expr { return &check.VarRef{E: check.E{T: v.Type}, Var: v} }
func (tree) call(name string, t *types.Type, args ...check.Expr) *check.Call {
	c := &check.Call{E: check.E{T: t}, Fn: builtin.Lookup(name)}
	for _, a := range args {
		c.Args = append(c.Args, check.Arg{Expr: a})
	}
	return c
}

func (t tree) register(name string) *check.Call {
	c := t.call("reg", types.TUint64)
	c.Register = name
	return c
}

func (t tree) clock(clock types.Clock) *check.Call {
	c := t.call("nsecs", types.TUint64)
	c.Clock = clock
	return c
}

func (t tree) join(sep string, arr check.Expr) *check.Call {
	c := t.call("join", types.TNone, arr)
	c.Separator = sep
	return c
}

func (tree) formatted(name, format string, t *types.Type, args ...check.Expr) *check.Call {
	c := tree{}.call(name, t, args...)
	c.Format = format
	return c
}

func (tree) cast(x check.Expr, t *types.Type) check.Expr { return &check.Cast{E: check.E{T: t}, X: x} }

func (tree) binary(x check.Expr, op string, y check.Expr) check.Expr {
	t := x.Type()
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
		t = types.TBool
	}
	return &check.Binary{E: check.E{T: t}, Op: op, X: x, Y: y}
}
func (tree) do(e check.Expr) check.Stmt             { return &check.ExprStmt{X: e} }
func (tree) block(stmts ...check.Stmt) *check.Block { return &check.Block{Stmts: stmts} }
func (tree) jump(kind string) check.Stmt            { return &check.Jump{Kind: kind} }
func (t tree) print(args ...check.Expr) check.Stmt {
	return t.do(t.formatted("printf", "…", types.TNone, args...))
}
func (tree) set(v *check.Var, e check.Expr) check.Stmt { return &check.SetVar{Var: v, Value: e} }

// action makes a program of one action with its maps and variables.
func (tree) program(points []*probe.Point, maps []*check.Map, vars []*check.Var, stmts ...check.Stmt) *check.Program {
	for i, m := range maps {
		m.ID = i
	}
	body := &check.Block{Stmts: stmts}
	p := &check.Program{Maps: maps, Actions: []*check.Action{{Points: points, Vars: vars, Body: body}}}
	p.Config.MaxStrlen = 1024
	return p
}

// sample is a construct in each kind of probe where it makes sense.
type sample struct {
	name  string
	kinds []probe.Kind
	maps  []*check.Map
	vars  []*check.Var
	body  []check.Stmt
	need  feature.Feature // and one that it needs
	needs bool
}

// samples are programs for the verifier: one for each construct that random programs don't make.
func samples() []sample {
	t := tree{}
	u64, i64 := types.TUint64, types.TInt64
	argN := func(n int) check.Expr {
		c := t.call("argN", u64)
		c.Arg = n
		return c
	}
	user := func(n int, elem *types.Type) check.Expr { return t.cast(argN(n), types.PointerTo(elem, types.User)) }
	entry := []probe.Kind{probe.Uprobe}
	code := []probe.Kind{probe.Uprobe, probe.Uretprobe}
	all := []probe.Kind{probe.Begin, probe.Uprobe, probe.Interval}
	bits := types.PointerTo(userStruct, types.User)
	small := types.StringOf(64)
	m := func(name string, key, value *types.Type) *check.Map {
		return &check.Map{Name: name, Key: key, Value: value, Max: 100}
	}
	i := &check.Var{Name: "$i", Type: i64}
	j := &check.Var{Name: "$j", Type: i64}
	s := &check.Var{Name: "$s", Type: small}
	long := &check.Var{Name: "$long", Type: types.StringOf(1024)}
	aggregate := func(m *check.Map, key check.Expr, args ...check.Expr) check.Stmt {
		return &check.Aggregate{Map: m, Key: key, Args: args}
	}
	counts := m("@counts", types.TUint32, types.AggOf(types.Count, false))
	values := m("@values", types.TupleOf(types.TUint32, types.StringOf(16)), i64)
	kv := &check.Var{Name: "$kv", Type: types.TupleOf(types.TUint32, i64)}
	whole := func(name string, m *check.Map) *check.Call {
		c := t.call(name, types.TNone)
		c.Args = []check.Arg{{Map: m}}
		return c
	}
	var six []check.Stmt
	for n := range 9 {
		six = append(six, t.print(argN(n)))
	}
	var many []check.Expr
	for n := range 20 {
		many = append(many, t.call("str", small, user(n%6, types.TInt8)))
	}
	deep := check.Expr(argN(0))
	for n := range 14 {
		deep = t.binary(t.call("strlen", u64, t.call("str", small, user(n%6, types.TInt8))), "+", deep)
	}
	loops := t.block(t.print(t.ref(i)))
	for n := range 3 {
		v := []*check.Var{i, j, {Name: "$k", Type: i64}}[n]
		loops = t.block(&check.ForRange{Var: v, Start: t.num(0, i64), End: t.cast(argN(n), i64), Body: t.block(
			&check.If{Cond: t.binary(t.ref(v), "==", t.num(7, i64)), Then: t.block(t.jump("return"))}, loops)})
	}
	k := loops.Stmts[0].(*check.ForRange).Var
	kinds := goKinds()
	return []sample{
		{name: "arguments", kinds: code, body: six},
		{name: "registers", kinds: []probe.Kind{probe.Uprobe, probe.Uretprobe, probe.Interval}, body: []check.Stmt{
			t.print(t.register("ip"), t.register("sp"), t.register("ax")),
		}},
		{name: "result", kinds: []probe.Kind{probe.Uretprobe}, body: []check.Stmt{t.print(t.call("retval", u64))}},
		{name: "process", kinds: all, body: []check.Stmt{
			t.print(t.call("pid", types.TUint32), t.call("tid", types.TUint32), t.formatted("pid", "init", types.TUint32),
				t.call("uid", u64), t.call("gid", u64), t.call("cpu", types.TUint32)),
			t.print(t.call("comm", types.StringOf(16)), t.call("cgroup", u64), t.call("rand", types.TUint32),
				t.call("username", types.TUsername), t.call("ncpus", u64), t.call("numaid", types.TUint32)),
			t.print(t.call("nsecs", u64), t.clock(types.ClockMonotonic), t.clock(types.ClockSwTAI), t.call("elapsed", u64),
				t.call("jiffies", u64), t.call("curtask", u64)),
		}},
		{name: "probe", kinds: all, body: []check.Stmt{t.print(t.call("probe", types.StringOf(256)),
			t.call("func", types.TUSym), t.call("ctx", types.PointerTo(types.TVoid, types.Kernel)))}},
		{
			name: "stacks", kinds: []probe.Kind{probe.Uprobe, probe.Uretprobe, probe.Interval},
			maps: []*check.Map{m("@s", types.StoredStack(types.UStack, 127, 0), types.AggOf(types.Count, false))},
			body: []check.Stmt{
				t.print(t.call("ustack", types.StackType(types.UStack, 3, 0)),
					t.call("ustack", types.StackType(types.UStack, 127, 0)), t.call("kstack", types.StackType(types.KStack, 127, 0))),
				t.do(t.call("ustack", types.StackType(types.UStack, 1, 0))),
			},
		},
		{
			name: "keys of stacks", kinds: entry,
			maps: []*check.Map{m("@s", types.StoredStack(types.UStack, 127, 0), types.AggOf(types.Count, false))},
			body: []check.Stmt{
				aggregate(m("@s", types.StoredStack(types.UStack, 127, 0), types.AggOf(types.Count, false)),
					t.call("ustack", types.StoredStack(types.UStack, 127, 0))),
			},
		},
		{name: "texts", kinds: entry, vars: []*check.Var{s, long}, body: []check.Stmt{
			t.print(t.call("str", types.StringOf(1024), user(0, types.TInt8)),
				t.call("str", small, user(1, types.TInt8), argN(2))),
			t.set(s, t.call("str", small, user(0, types.TInt8))),
			t.set(long, t.call("str", long.Type, user(0, types.TInt8), argN(1))),
			t.print(t.ref(s), t.ref(long), t.call("strlen", u64, t.ref(long))),
			&check.If{Cond: t.binary(t.ref(s), "==", t.str("hello")), Then: t.block(t.print(t.num(1, i64)))},
			&check.If{Cond: t.binary(t.ref(long), "!=", t.ref(s)), Then: t.block(t.print(t.num(1, i64)))},
			t.print(t.call("strncmp", u64, t.ref(long), t.ref(s), t.num(70, u64))),
			t.print(t.call("str_concat", types.StringOf(1024), t.ref(long), t.ref(s))),
		}},
		{name: "any space", kinds: entry, body: []check.Stmt{
			t.print(t.call("str", small, t.cast(argN(0), types.PointerTo(types.TInt8, types.AnySpace))),
				t.call("buf", types.BufferOf(60), t.cast(argN(0), types.PointerTo(types.TUint8, types.AnySpace)), argN(1)),
				&check.Deref{E: check.E{T: types.TInt32}, X: t.cast(argN(0), types.PointerTo(types.TInt32, types.AnySpace))},
				&check.Deref{E: check.E{T: types.TInt32}, X: t.cast(argN(0), types.PointerTo(types.TInt32, types.Kernel))}),
		}},
		{name: "bytes", kinds: entry, body: []check.Stmt{
			t.print(t.call("buf", types.BufferOf(60), user(0, types.TUint8), argN(1)),
				t.call("buf", types.BufferOf(1020), user(0, types.TUint8), argN(1)),
				t.call("buf", types.BufferOf(9), user(0, types.TUint8), t.num(9, u64))),
			t.print(t.call("macaddr", types.TMAC, user(0, types.TUint8)),
				t.call("ntop", types.TInet, t.num(0, i64), t.cast(argN(1), types.TUint32)),
				t.call("ntop", types.TInet, t.num(0, i64), &check.Deref{
					E: check.E{T: types.ArrayOf(types.TUint8, 16)},
					X: user(0, types.ArrayOf(types.TUint8, 16)),
				})),
			t.print(&check.Member{
				E: check.E{T: types.TUint64},
				X: &check.Deref{E: check.E{T: userStruct}, X: t.cast(argN(0), bits)}, Field: userStruct.Fields[2],
			}),
			t.print(&check.Deref{E: check.E{T: userStruct}, X: t.cast(argN(0), bits)}),
		}},
		{name: "symbols", kinds: entry, body: []check.Stmt{
			t.print(t.call("usym", types.TUSym, argN(0)), t.call("ksym", types.TKSym, argN(0)),
				t.call("strerror", types.StringOf(64), t.cast(argN(0), types.TInt32)),
				t.call("signal_name", types.StringOf(64), t.cast(argN(0), types.TInt32)),
				t.call("syscall_name", types.StringOf(64), t.cast(argN(0), types.TInt32))),
			t.print(t.formatted("strftime", "%H", types.TimestampOf(types.ClockBoot), t.call("nsecs", u64)),
				t.call("cgroup_path", types.TCgroupPath, t.call("cgroup", u64))),
		}},
		{name: "messages", kinds: all, maps: []*check.Map{counts}, body: []check.Stmt{
			aggregate(counts, t.call("tid", types.TUint32)),
			t.do(whole("print", counts)), t.do(whole("clear", counts)), t.do(whole("zero", counts)),
			t.do(t.formatted("time", "%H", types.TNone)),
			t.do(t.formatted("cat", "/x/%d", types.TNone, t.call("pid", types.TUint32))),
			t.do(t.formatted("system", "echo %s", types.TNone, t.call("comm", types.StringOf(16)))),
			t.do(t.formatted("warnf", "%d", types.TNone, t.num(1, i64))),
			t.do(t.call("exit", types.TNone, t.num(3, i64))), t.jump("return"),
		}},
		{name: "join", kinds: entry, body: []check.Stmt{t.do(t.join(",", user(1, types.TChar)))}},
		{name: "signal", kinds: entry, body: []check.Stmt{
			t.do(t.call("signal", types.TNone, t.cast(argN(0), types.TUint32))),
		}},
		{
			name: "addresses", kinds: entry, maps: []*check.Map{counts, values},
			vars: []*check.Var{{Name: "$a", Type: i64, Addressed: true}}, body: []check.Stmt{
				t.print(t.binary(t.cast(&check.AddrOf{
					E: check.E{T: types.PointerTo(i64, types.BPF)},
					X: &check.MapGet{E: check.E{T: i64}, Map: values, Key: &check.TupleLit{
						E: check.E{T: values.Key}, Elems: []check.Expr{t.num(1, types.TUint32), t.cast(t.str("a"), types.StringOf(16))},
					}},
				}, u64), ">>", t.num(3, u64))),
				t.print(t.binary(t.cast(t.call("ctx", types.PointerTo(types.TVoid, types.Kernel)), u64), "*", t.num(3, u64))),
			},
		},
		{name: "aggregations", kinds: entry, maps: []*check.Map{
			counts, m("@h", nil, types.HistOf(5)), m("@l", types.TUint32, types.LHistOf(0, 1000, 1)),
			m("@min", nil, types.AggOf(types.Min, true)),
			m("@max", types.TUint32, types.AggOf(types.Max, false)), m("@avg", nil, types.AggOf(types.Avg, true)),
			m("@t", nil, types.SeriesOf(types.SeriesSpec{IntervalNS: 1e9, Count: 10, Agg: types.Avg, Signed: true})),
			m("@u", types.TUint32, types.SeriesOf(types.SeriesSpec{IntervalNS: 1e9, Count: 7, Agg: types.Max})),
			m("@v", nil, types.SeriesOf(types.SeriesSpec{IntervalNS: 1e9, Count: 7, Agg: types.None})),
		}},
		{name: "loop over a map", kinds: all, maps: []*check.Map{counts}, vars: []*check.Var{kv}, body: []check.Stmt{
			&check.ForMap{Var: kv, Map: counts, Body: t.block(
				&check.If{Cond: t.binary(&check.Member{E: check.E{T: i64}, X: t.ref(kv), Field: kv.Type.Fields[1], Index: 1}, ">",
					t.num(5, i64)), Then: t.block(t.jump("break"))},
				t.print(&check.Member{E: check.E{T: types.TUint32}, X: t.ref(kv), Field: kv.Type.Fields[0]},
					&check.Member{E: check.E{T: i64}, X: t.ref(kv), Field: kv.Type.Fields[1], Index: 1}),
				t.do(func() check.Expr {
					c := t.call("delete", types.TBool, nil, &check.Member{
						E: check.E{T: types.TUint32}, X: t.ref(kv),
						Field: kv.Type.Fields[0],
					})
					c.Args[0].Map = counts
					return c
				}()),
			)},
		}, need: feature.MapLookupPercpu, needs: true},
		{
			name: "nested loops that return", kinds: entry, vars: []*check.Var{i, j, k}, body: loops.Stmts, need: feature.Loop,
			needs: true,
		},
		{name: "search in a loop", kinds: entry, vars: []*check.Var{i, s}, body: []check.Stmt{
			&check.ForRange{Var: i, Start: t.num(0, i64), End: t.cast(argN(0), i64), Body: t.block(
				t.set(s, t.call("str", small, user(1, types.TInt8))),
				t.print(t.call("strstr", types.TInt32, t.ref(s), t.str("needle")), t.call("strcontains", types.TBool, t.ref(s),
					t.call("comm", types.StringOf(16)))),
			)},
		}, need: feature.Loop, needs: true},
		{name: "while", kinds: entry, vars: []*check.Var{i}, body: []check.Stmt{
			t.set(i, t.cast(argN(0), i64)),
			&check.While{
				Cond: t.binary(t.ref(i), ">", t.num(0, i64)),
				Body: t.block(t.set(i, t.binary(t.ref(i), "-", t.num(1, i64))), t.print(t.ref(i))),
			},
		}},
		{name: "many texts in one record", kinds: entry, body: []check.Stmt{t.print(many...)}},
		{name: "values of Go", kinds: code, body: []check.Stmt{
			t.print(&check.Deref{E: check.E{T: kinds}, X: user(0, kinds)}),
		}},
		{
			name: "an interface of Go in a loop", kinds: entry, vars: []*check.Var{i},
			body: []check.Stmt{&check.ForRange{Var: i, Start: t.num(0, i64), End: t.num(3, i64), Body: t.block(
				t.print(&check.Member{
					E: check.E{T: kinds.Fields[0].Type}, X: &check.Deref{E: check.E{T: kinds}, X: user(0, kinds)},
					Field: kinds.Fields[0],
				}))}},
		},
		{name: "deep expression", kinds: entry, body: []check.Stmt{t.print(deep)}},
	}
}

// points makes points of a kind in a file that need not be there: nothing is attached.
func points(kind probe.Kind, n int) []*probe.Point {
	var all []*probe.Point
	for i := range n {
		p := &probe.Point{
			Kind: kind, Name: fmt.Sprintf("point %d", i), Func: fmt.Sprintf("f%d", i), Path: "/bin/x",
			Offset: uint64(0x1000 + 16*i),
		}
		p.Entry = kind == probe.Uprobe
		if kind == probe.Interval {
			p.Period = 1e9
		}
		all = append(all, p)
	}
	return all
}

// TestSamplesLoad loads each sample with all that the kernel has, and as if it were old.
func TestSamplesLoad(t *testing.T) {
	need.Root(t)
	has := available()
	for _, s := range samples() {
		for _, kind := range s.kinds {
			for _, n := range []int{1, 3} {
				if kind == probe.Begin && n > 1 {
					continue
				}
				for _, features := range []feature.Fixed{has, has.Without(feature.SleepableUprobe), feature.None} {
					if s.needs && !features.Has(s.need) {
						continue
					}
					for _, o := range []codegen.Options{{}, {
						HelperErrors: true, Heads: true, PID: 1234,
						Namespace: &codegen.Namespace{Dev: 4, Ino: 0xf0000000},
					}} {
						o.Features, o.Arch, o.CPUs = features, abi.AMD64, possibleCPUs(t)
						name := fmt.Sprintf("%s, kind %d, %d points, features %x, errors %v", s.name, kind, n, uint(features),
							o.HelperErrors)
						body := s.body
						if body == nil {
							body = aggregateAll(s.maps)
						}
						out, err := compile(tree{}.program(points(kind, n), s.maps, s.vars, body...), o)
						if err != nil {
							t.Errorf("%s: %v", name, err)
							continue
						}
						l, err := load(out)
						if err != nil {
							t.Errorf("%s: %v", name, err)
							continue
						}
						l.Close()
					}
				}
			}
		}
	}
}

// aggregateAll updates each of the maps.
func aggregateAll(maps []*check.Map) (body []check.Stmt) {
	t := tree{}
	n := t.call("argN", types.TUint64)
	for _, m := range maps {
		s := &check.Aggregate{Map: m}
		if m.Key != nil {
			s.Key = t.call("tid", types.TUint32)
		}
		if m.Value.Kind != types.Count {
			s.Args = []check.Expr{t.cast(n, types.IntOf(8, m.Value.Signed))}
		}
		body = append(body, s)
	}
	return body
}

// available is what the running kernel offers.
func available() (set feature.Fixed) {
	f := kernel.NewFeatures()
	for _, x := range feature.List() {
		if f.Has(x) {
			set = set.With(x)
		}
	}
	return set
}

// TestRandomLoad gives random programs of probes on functions to the verifier.
func TestRandomLoad(t *testing.T) {
	need.Root(t)
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", s)
	user := newUserMemory(t, rand.New(rand.NewPCG(s, 0)))
	has := available()
	for i := range *count / 3 {
		random := rand.New(rand.NewPCG(s, uint64(i)+1))
		features := choose(random) & has
		prog := randomProgram(random, user, features)
		kind := []probe.Kind{probe.Uprobe, probe.Uretprobe, probe.Interval}[random.IntN(3)]
		prog.Actions[0].Points = points(kind, 1+random.IntN(3))
		o := codegen.Options{
			Features: features, Arch: abi.AMD64, CPUs: possibleCPUs(t), HelperErrors: random.IntN(2) == 0,
			PID: random.IntN(2), Heads: random.IntN(2) == 0,
		}
		out, err := compile(prog, o)
		if err != nil {
			t.Errorf("program %d of seed %d: %v", i, s, err)
			return
		}
		l, err := load(out)
		if tooComplex(err) || err != nil && len(prog.Maps) > 50 {
			continue
		}
		if err != nil {
			t.Errorf("program %d of seed %d (kind %d, features %x): %v", i, s, kind, uint(features), err)
			return
		}
		l.Close()
	}
}

// tooComplex tells whether the verifier gave up: on a loop that it had to follow, or on loops in each other full of
// conditions.
func tooComplex(err error) bool {
	return errors.Is(err, unix.E2BIG) || errors.Is(err, unix.EFAULT)
}
