package check

import (
	"errors"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// compile checks a script whose attach points each match what fakePoints says.
func compile(t testing.TB, src string, in Input) (*Program, *diag.List) {
	t.Helper()
	var diags diag.List
	file := syntax.Load(&diag.Source{Name: "stdin", Text: src}, syntax.ParseOptions{Params: in.Params}, &diags)
	if diags.Errors() > 0 {
		return nil, &diags
	}
	file = syntax.Expand(file, func(name string) bool { return builtin.Lookup(name) != nil }, &diags)
	if diags.Errors() > 0 {
		return nil, &diags
	}
	if in.Config == nil {
		c := ReadConfig(file, nil, in.ChildPID != 0, &diags)
		if diags.Errors() > 0 {
			return nil, &diags
		}
		in.Config = &c
	}
	if in.NCPU == 0 {
		in.NCPU = 2
	}
	if in.Arch == nil {
		in.Arch = abi.AMD64
	}
	if in.Lookup.KernelType == nil {
		in.Lookup.KernelType = fakeKernelType
	}
	if in.Lookup.UserSymbol == nil {
		in.Lookup.UserSymbol = fakeSymbol
	}
	return Check(file, fakeMatches(file), in, &diags), &diags
}

func fakeSymbol(_ *probe.Point, name string) (Symbol, error) {
	if name == "counter" {
		return Symbol{Place: types.Loaded(0x4010), Size: 4}, nil
	}
	return Symbol{}, errors.New("no symbol \"" + name + "\" in /bin/x")
}

// fakeTask is a task_struct as the kernel's type information would tell it.
var fakeTask = func() *types.Type {
	t := &types.Type{Kind: types.Struct, Name: "struct task_struct", Size: 64, Align: 8}
	self := types.PointerTo(t, types.AnySpace)
	t.Fields = []types.Field{
		{Name: "pid", Type: types.TInt32, Offset: 8},
		{Name: "real_parent", Type: self, Offset: 16},
		{Name: "group_leader", Type: self, Offset: 24},
		{Name: "comm", Type: types.ArrayOf(types.TChar, 16), Offset: 32},
	}
	return t
}()

func fakeKernelType(name string) *types.Type {
	if name == fakeTask.Name {
		return fakeTask
	}
	return nil
}

var fakeKinds = map[string]probe.Kind{
	"begin": probe.Begin, "end": probe.End, "interval": probe.Interval, "i": probe.Interval, "profile": probe.Profile,
	"uprobe": probe.Uprobe, "u": probe.Uprobe, "uretprobe": probe.Uretprobe, "ur": probe.Uretprobe, "usdt": probe.USDT,
	"tracepoint": probe.Tracepoint, "t": probe.Tracepoint, "kprobe": probe.Kprobe, "k": probe.Kprobe, "test": probe.Test,
	"fentry": probe.Fentry, "fexit": probe.Fexit, "self": probe.Self,
}

// fakeMatches gives each attach point one point of its kind; a function named a|b|c gives one for each name. Functions
// of uprobes have the arguments (int n, char *s, struct pair p) unless their name begins with "plain"; those whose
// name begins with "other" have a long n.
func fakeMatches(file *syntax.File) [][]probe.Match {
	pair := &types.Type{Kind: types.Struct, Name: "struct pair", Size: 8, Align: 4, Fields: []types.Field{
		{Name: "a", Type: types.TInt32}, {Name: "b", Type: types.TInt32, Offset: 4},
	}}
	reg := func(n int) types.Place { return types.Place{Kind: types.InRegister, Reg: n} }
	scope := func(n *types.Type) *probe.Scope {
		return &probe.Scope{Args: []probe.Var{
			{Name: "n", Type: n, Place: reg(5)},
			{Name: "s", Type: types.PointerTo(types.TChar, types.User), Place: reg(4)},
			{Name: "p", Type: pair, Place: reg(1)},
		}}
	}
	common := scope(types.TInt32)
	record := &probe.Scope{ArgsType: &types.Type{
		Kind: types.Struct, Name: "struct _tracepoint_syscalls_open", Size: 32, Align: 8,
		Fields: []types.Field{
			{Name: "fd", Type: types.TInt32, Offset: 8},
			{Name: "filename", Type: types.PointerTo(types.TChar, types.User), Offset: 16},
		},
	}}
	var all [][]probe.Match
	for _, p := range file.Probes {
		var ms []probe.Match
		for _, ap := range p.Points {
			m := probe.Match{Spec: ap}
			kind := fakeKinds[strings.ToLower(ap.Kind)]
			target, names := "", []string{""}
			if len(ap.Parts) > 0 {
				target, names = ap.Parts[0], strings.Split(ap.Parts[len(ap.Parts)-1], "|")
			}
			for _, name := range names {
				pt := &probe.Point{Kind: kind, Name: strings.ToLower(ap.Kind)}
				if target != "" {
					pt.Name += ":" + target + ":" + name
				}
				switch kind {
				case probe.Uprobe:
					pt.Path, pt.Scope = target, common
					if strings.HasPrefix(name, "other") {
						pt.Scope = scope(types.TInt64)
					} else if strings.HasPrefix(name, "wide") {
						pt.Scope = &probe.Scope{Args: []probe.Var{{Name: "w", Type: types.DotNetString(), Place: reg(5)}}}
					} else if strings.HasPrefix(name, "plain") {
						pt.Scope = nil
					}
				case probe.Tracepoint:
					pt.Category, pt.Event, pt.Scope = target, name, record
				}
				m.Points = append(m.Points, pt)
			}
			ms = append(ms, m)
		}
		all = append(all, ms)
	}
	return all
}

func text(l *diag.List) string {
	var b strings.Builder
	_ = l.Format(&b, false)
	return b.String()
}

// expectTypes checks the types of variables and maps: "$x": type, "@m": value type, "@m[]": key type.
func expectTypes(t *testing.T, src string, want map[string]string) {
	t.Helper()
	p, diags := compile(t, src, Input{})
	if p == nil {
		t.Errorf("%s\n%s", src, text(diags))
		return
	}
	verify(t, p)
	got := map[string]string{}
	for _, m := range p.Maps {
		got[m.Name] = typestr(m.Value)
		if m.Key != nil {
			got[m.Name+"[]"] = typestr(m.Key)
		}
	}
	for _, a := range p.Actions {
		for _, v := range a.Vars {
			got[v.Name] = typestr(v.Type)
		}
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s\n%s is %q, want %q", src, name, got[name], w)
		}
	}
}

// expectError checks that a script is refused with these words; "" in want: it must compile.
func expectError(t *testing.T, src, want string) { expectErrorIn(t, src, Input{}, want) }

func expectErrorIn(t *testing.T, src string, in Input, want string) {
	t.Helper()
	p, diags := compile(t, src, in)
	got := text(diags)
	switch {
	case want == "" && p == nil:
		t.Errorf("%s\nis refused:\n%s", src, got)
	case want != "" && p != nil:
		t.Errorf("%s\ncompiles, want %q", src, want)
	case !strings.Contains(got, want):
		t.Errorf("%s\nsays:\n%swant %q", src, got, want)
	}
}

// expectWarning checks that a script compiles with a warning; "": without one.
func expectWarning(t *testing.T, src, want string) {
	t.Helper()
	p, diags := compile(t, src, Input{})
	got := text(diags)
	if p == nil || want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("%s\nsays:\n%swant %q", src, got, want)
	}
}

func dump(t testing.TB, p *Program) string {
	t.Helper()
	var b strings.Builder
	if err := Dump(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
