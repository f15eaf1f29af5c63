package codegen_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/codegen"
	"trocar/internal/compile/feature"
	"trocar/internal/process/probe"
)

var update = flag.Bool("update", false, "write the golden files anew")

// construct is a construct of the language by itself.
type construct struct {
	name string
	kind probe.Kind
	maps []*check.Map
	vars []*check.Var
	pred check.Expr
	body []check.Stmt
	// timed: the body asks for durations; session: of a kernel that runs programs at both ends of a call.
	timed, session bool
	scope          *probe.Scope // of the point
}

// readScope is what a program at the return of the kernel's vfs_read(file, buf, count, pos) sees.
func readScope() *probe.Scope {
	file := &types.Type{Kind: types.Struct, Name: "struct file", Size: 64, Align: 8, Fields: []types.Field{
		{Name: "f_flags", Type: types.TUint32, Offset: 16},
	}}
	args := &types.Type{Kind: types.Struct, Name: "struct vfs_read_args", Size: 32, Align: 8, Fields: []types.Field{
		{Name: "file", Type: types.PointerTo(file, types.Kernel)},
		{Name: "buf", Type: types.PointerTo(types.TChar, types.Kernel), Offset: 8},
		{Name: "count", Type: types.TUint64, Offset: 16},
		{Name: "pos", Type: types.PointerTo(types.TInt64, types.Kernel), Offset: 24},
	}}
	result := types.Place{Kind: types.InContext, Offset: 32}
	return &probe.Scope{ArgsType: args, Retval: &probe.Var{Name: "retval", Type: types.TInt32, Place: result}}
}

func constructs() []construct {
	t := tree{}
	i64, u64 := types.TInt64, types.TUint64
	x, y := &check.Var{Name: "$x", Type: i64}, &check.Var{Name: "$y", Type: i64}
	vars := []*check.Var{x, y}
	name := &check.Var{Name: "$s", Type: types.StringOf(16)}
	array := &check.Var{Name: "$a", Type: types.ArrayOf(types.TInt32, 4)}
	scalar := &check.Map{Name: "@", Value: i64, Max: 1}
	keyed := &check.Map{Name: "@k", Key: types.TInt32, Value: i64, Max: 100}
	pair := &check.Map{Name: "@p", Key: types.TupleOf(types.TInt32, types.StringOf(16)), Value: i64, Max: 100}
	agg := func(t *types.Type) *check.Map { return &check.Map{Name: "@", Value: t, Max: 1} }
	arg := func(n int) check.Expr {
		c := t.call("argN", u64)
		c.Arg = n
		return c
	}
	get := func(m *check.Map, key check.Expr) check.Expr {
		return &check.MapGet{E: check.E{T: m.Value}, Map: m, Key: key}
	}
	aggregate := func(m *check.Map, args ...check.Expr) check.Stmt { return &check.Aggregate{Map: m, Args: args} }
	user := func(n int, elem *types.Type) check.Expr { return t.cast(arg(n), types.PointerTo(elem, types.User)) }
	entry := &check.Var{Name: "$kv", Type: types.TupleOf(types.TInt32, i64)}
	one := func(s check.Stmt) []check.Stmt { return []check.Stmt{s} }
	count := agg(types.AggOf(types.Count, false))
	read := readScope()
	argOf := func(i int) check.Expr {
		f := read.ArgsType.Fields[i]
		return &check.Member{E: check.E{T: f.Type}, X: &check.ArgsRef{E: check.E{T: read.ArgsType}}, Field: f, Index: i}
	}
	flags := read.ArgsType.Fields[0].Type.Elem.Fields[0]
	return []construct{
		{name: "fentry-args", kind: probe.Fentry, scope: read, body: one(t.print(argOf(2), &check.Member{
			E: check.E{T: flags.Type}, X: &check.Deref{E: check.E{T: read.ArgsType.Fields[0].Type.Elem}, X: argOf(0)},
			Field: flags,
		}))},
		{
			name: "fexit-result", kind: probe.Fexit, scope: read,
			body: one(t.print(&check.RetvalRef{E: check.E{T: types.TInt32}}, argOf(2))),
		},
		{name: "empty"},
		{
			name: "predicate", pred: t.binary(t.call("cpu", types.TUint32), "==", t.num(1, types.TUint32)),
			maps: []*check.Map{scalar}, body: one(&check.SetMap{Map: scalar, Value: t.num(1, i64)}),
		},
		{name: "variables", vars: vars, maps: []*check.Map{scalar}, body: []check.Stmt{
			t.set(x, t.cast(t.call("rand", types.TUint32), i64)),
			t.set(y, t.binary(t.ref(x), "+", t.num(1, i64))),
			&check.SetMap{Map: scalar, Value: t.ref(y)},
		}},
		{
			name: "division", vars: vars, maps: []*check.Map{scalar},
			body: one(&check.SetMap{Map: scalar, Value: t.binary(t.ref(x), "/", t.ref(y))}),
		},
		{name: "logic", vars: vars, body: one(&check.If{
			Cond: &check.Logic{E: check.E{T: types.TBool}, Op: "&&", X: t.binary(t.ref(x), "<", t.num(0, i64)), Y: &check.Logic{
				E: check.E{T: types.TBool}, Op: "||", X: t.ref(y), Y: t.binary(t.ref(x), "!=", t.ref(y)),
			}},
			Then: t.block(t.set(x, t.num(1, i64))), Else: t.block(t.set(x, t.num(2, i64))),
		})},
		{
			name: "ternary", vars: vars, maps: []*check.Map{scalar},
			body: one(&check.SetMap{Map: scalar, Value: &check.Ternary{
				E: check.E{T: i64}, Cond: t.ref(x), Then: t.ref(y),
				Else: t.num(5, i64),
			}}),
		},
		{
			name: "narrow", vars: vars, maps: []*check.Map{scalar},
			body: one(&check.SetMap{Map: scalar, Value: t.cast(t.cast(t.ref(x), types.TInt16), i64)}),
		},
		{name: "string", vars: []*check.Var{name, x}, body: []check.Stmt{
			t.set(name, t.call("comm", name.Type)),
			&check.If{Cond: t.binary(t.ref(name), "==", t.str("bash")), Then: t.block(t.set(x, t.num(1, i64)))},
		}},
		{
			name: "index", vars: []*check.Var{array, x}, maps: []*check.Map{scalar},
			body: one(&check.SetMap{Map: scalar, Value: t.cast(&check.Index{
				E: check.E{T: types.TInt32}, X: t.ref(array),
				I: t.cast(t.ref(x), u64),
			}, i64)}),
		},
		{
			name: "bit-field", kind: probe.Uprobe, maps: []*check.Map{scalar},
			body: one(&check.SetMap{Map: scalar, Value: t.cast(&check.Member{
				E: check.E{T: types.TInt32}, X: &check.Deref{E: check.E{T: userStruct}, X: user(0, userStruct)},
				Field: userStruct.Fields[1],
			}, i64)}),
		},
		{
			name: "map", maps: []*check.Map{keyed},
			body: one(&check.SetMap{Map: keyed, Key: t.num(1, types.TInt32), Value: get(keyed, t.num(2, types.TInt32))}),
		},
		{
			name: "map-tuple", maps: []*check.Map{pair},
			body: one(&check.SetMap{Map: pair, Key: &check.TupleLit{
				E:     check.E{T: pair.Key},
				Elems: []check.Expr{t.num(7, types.TInt32), t.call("comm", types.StringOf(16))},
			}, Value: t.num(1, i64)}),
		},
		{
			name: "map-increment", maps: []*check.Map{keyed},
			body: one(t.do(&check.IncDec{E: check.E{T: i64}, Target: get(keyed, t.num(1, types.TInt32)), Step: 1, Post: true})),
		},
		{name: "map-delete", maps: []*check.Map{keyed}, body: one(t.do(func() check.Expr {
			c := t.call("delete", types.TBool, nil, t.num(1, types.TInt32))
			c.Args[0].Map = keyed
			return c
		}()))},
		{name: "count", maps: []*check.Map{count}, body: one(aggregate(count))},
		{name: "count-keyed", maps: []*check.Map{{Name: "@", Key: types.TInt32, Value: count.Value, Max: 10}}},
		{name: "max", maps: []*check.Map{agg(types.AggOf(types.Max, true))}},
		{name: "avg-read", maps: []*check.Map{agg(types.AggOf(types.Avg, false)), {Name: "@x", Value: u64, Max: 1}}},
		{name: "hist", maps: []*check.Map{agg(types.HistOf(0))}},
		{name: "lhist", maps: []*check.Map{agg(types.LHistOf(0, 100, 10))}},
		{name: "tseries", maps: []*check.Map{agg(types.SeriesOf(types.SeriesSpec{
			IntervalNS: 1e9, Count: 10, Agg: types.Max,
			Signed: true,
		}))}},
		{name: "printf", kind: probe.Uprobe, body: one(t.print(arg(0), t.cast(arg(1), types.TInt32)))},
		{
			name: "printf-text", kind: probe.Uprobe,
			body: one(t.print(t.call("str", types.StringOf(64), user(0, types.TInt8)))),
		},
		{name: "buffer", kind: probe.Uprobe, body: one(
			t.print(t.call("buf", types.BufferOf(60), user(0, types.TUint8), arg(1))))},
		{
			name: "duration-session", kind: probe.Uretprobe, timed: true, session: true, maps: []*check.Map{scalar},
			body: one(&check.SetMap{Map: scalar, Value: t.cast(t.call("duration", u64), i64)}),
		},
		{
			name: "duration-map", kind: probe.Uretprobe, timed: true, maps: []*check.Map{scalar},
			body: one(&check.SetMap{Map: scalar, Value: t.cast(t.call("duration", u64), i64)}),
		},
		{name: "stack", kind: probe.Uprobe, body: one(t.print(t.call("ustack", types.StackType(types.UStack, 10, 0))))},
		{name: "exit", body: []check.Stmt{t.do(t.call("exit", types.TNone)), t.jump("return")}},
		{name: "while", vars: vars, body: one(&check.While{Cond: t.binary(t.ref(x), "<", t.num(10, i64)), Body: t.block(
			&check.If{Cond: t.ref(y), Then: t.block(t.jump("break"))}, t.set(x, t.binary(t.ref(x), "+", t.num(1, i64))))})},
		{name: "for-range", vars: vars, body: one(&check.ForRange{
			Var: x, Start: t.num(0, i64), End: t.num(10, i64),
			Body: t.block(t.set(y, t.binary(t.ref(y), "+", t.ref(x)))),
		})},
		{
			name: "for-map", vars: []*check.Var{entry, x}, maps: []*check.Map{keyed},
			body: one(&check.ForMap{Var: entry, Map: keyed, Body: t.block(
				t.set(x, &check.Member{E: check.E{T: i64}, X: t.ref(entry), Field: entry.Type.Fields[1], Index: 1}))}),
		},
		{name: "unroll", vars: vars, body: one(&check.Unrolled{Bodies: []*check.Block{
			t.block(t.set(x, t.binary(t.ref(x), "*", t.ref(y)))),
			t.block(t.set(x, t.binary(t.ref(x), "*", t.ref(y)))),
		}})},
		{
			name: "strcontains", vars: []*check.Var{name},
			body: one(&check.If{
				Cond: t.call("strcontains", types.TBool, t.ref(name), t.str("ash")),
				Then: t.block(t.print(t.num(1, i64))),
			}),
		},
	}
}

// TestGolden compares the code of each construct with a golden file, so that a change of it is seen.
func TestGolden(t *testing.T) {
	known := map[string]bool{}
	for _, c := range constructs() {
		t.Run(c.name, func(t *testing.T) {
			body := c.body
			switch {
			case c.name == "avg-read":
				body = []check.Stmt{&check.SetMap{Map: c.maps[1], Value: &check.MapGet{
					E:   check.E{T: types.TUint64},
					Map: c.maps[0],
				}}}
			case c.name == "count-keyed":
				body = []check.Stmt{&check.Aggregate{Map: c.maps[0], Key: tree{}.num(1, types.TInt32)}}
			case body == nil && len(c.maps) > 0:
				body = []check.Stmt{&check.Aggregate{
					Map:  c.maps[0],
					Args: []check.Expr{tree{}.cast(tree{}.call("cpu", types.TUint32), types.TInt64)},
				}}
			}
			at := points(c.kind, 1)
			at[0].Scope = c.scope
			prog := tree{}.program(at, c.maps, c.vars, body...)
			prog.Actions[0].Pred = c.pred
			opts := codegen.Options{Features: feature.All, Arch: abi.AMD64, CPUs: 2}
			if c.timed {
				prog.Actions[0].Timed, prog.Actions[0].Entries = true, points(probe.Uprobe, 1)
			}
			if c.session {
				opts.Session = func() *codegen.Session { return &codegen.Session{IsReturn: 1, Cookie: 2} }
			}
			out, err := compile(prog, opts)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, p := range out.Programs {
				p.IR.Dump(&got)
			}
			file := filepath.Join("testdata", "ir", c.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("the code of %s differs from %s (-update writes it anew):\n%s", c.name, file, got.String())
			}
		})
		known[c.name+".txt"] = true
	}
	files, err := os.ReadDir(filepath.Join("testdata", "ir"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f.Name()] {
			t.Errorf("testdata/ir/%s is of no construct", f.Name())
		}
	}
}
