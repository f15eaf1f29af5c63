package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// scriptTypes are the names of the script's own types besides the integers.
var scriptTypes = []struct {
	name string
	t    *types.Type
}{
	{"void", types.TVoid},
	{"bool", types.TBool},
	{"int8", types.TInt8},
	{"int16", types.TInt16},
	{"int32", types.TInt32},
	{"int64", types.TInt64},
	{"uint8", types.TUint8},
	{"uint16", types.TUint16},
	{"uint32", types.TUint32},
	{"uint64", types.TUint64},
	{"count_t", types.AggOf(types.Count, false)},
	{"min_t", types.AggOf(types.Min, true)},
	{"umin_t", types.AggOf(types.Min, false)},
	{"max_t", types.AggOf(types.Max, true)},
	{"umax_t", types.AggOf(types.Max, false)},
	{"sum_t", types.AggOf(types.Sum, true)},
	{"usum_t", types.AggOf(types.Sum, false)},
	{"avg_t", types.AggOf(types.Avg, true)},
	{"uavg_t", types.AggOf(types.Avg, false)},
	{"stats_t", types.AggOf(types.Stats, true)},
	{"ustats_t", types.AggOf(types.Stats, false)},
	{"timestamp", types.TimestampOf(types.ClockBoot)},
	{"macaddr_t", types.TMAC},
	{"cgroup_path_t", types.TCgroupPath},
	{"username_t", types.TUsername},
	{"usym_t", types.TUSym},
	{"ksym_t", types.TKSym},
	// These take their size from a dimension behind them.
	{"string", types.StringOf(0)},
	{"buffer", types.BufferOf(0)},
	{"inet", types.TInet},
}

// scriptType is one of those; nil: there is none of that name.
func scriptType(name string) *types.Type {
	for i := range scriptTypes {
		if scriptTypes[i].name == name {
			return scriptTypes[i].t
		}
	}
	return nil
}

// written tells whether the type is spelled out (not typeof an expression).
func (n *node) written() bool { return n.typ != nil || len(n.kids) == 0 }

func (inf *inferrer) visitType(n *node) {
	s := &inf.solver
	switch {
	case n.typ != nil:
		s.set(&n.slot, known(n.typ))
		return
	case len(n.kids) > 0:
		inf.visitTypeof(n)
		return
	}
	e := n.expr
	base := inf.typeNamed(e.Base)
	if base == nil {
		if n.str != "" && inf.valueNamed(n) {
			return
		}
		if err := inf.several[e.Base]; err != nil {
			inf.errorf(n.span, "'%s' is not one type: %v", e.Base, err).Hint("a script may define it at its top")
			return
		}
		d := inf.errorf(n.span, "Cannot resolve unknown type \"%s\"", e.Base)
		hintNear(d, e.Base, append(inf.defs.names(), scriptTypeNames()...))
		return
	}
	if t := inf.modify(n, base); t != nil {
		s.set(&n.slot, known(t))
	}
}

// valueNamed treats a name in sizeof and its kind that is no type as the value it may be.
func (inf *inferrer) valueNamed(n *node) bool {
	l := &lowerer{checker: inf.checker, act: inf.act}
	v := l.name(n.span, n.str)
	if v.op == opIdent {
		return false
	}
	n.kids, n.str = []*node{v}, ""
	inf.visitTypeof(n)
	return true
}

func (inf *inferrer) visitTypeof(n *node) {
	k, s := n.kids[0], &inf.solver
	inf.noMapWrites(n)
	inf.meta++
	inf.visit(k)
	inf.meta--
	apply := func(in []ty) ty {
		if n.expr == nil || len(n.expr.Mods) == 0 {
			return in[0]
		}
		if t := inf.modify(n, in[0].t); t != nil {
			return known(t)
		}
		return ty{}
	}
	if k.op == opMap {
		// The type of a map with keys is that of its keys.
		from := &k.m.key
		if k.m.isScalar() {
			from = &k.m.val
		}
		s.rule(&n.slot, apply, from)
		return
	}
	s.rule(&n.slot, apply, &k.slot)
}

// modify applies the suffixes of a type, from left to right.
func (inf *inferrer) modify(n *node, t *types.Type) *types.Type {
	for i, m := range n.expr.Mods {
		switch {
		case m.Pointer:
			t = types.PointerTo(t, types.AnySpace)
		case i == 0 && t.Kind == types.String && t.Size == 0 && !m.NoLen:
			t = types.StringOf(m.Len)
		case i == 0 && t.Kind == types.Buffer && t.Size == 4 && !m.NoLen:
			t = types.BufferOf(m.Len)
		case i == 0 && t.Kind == types.Inet:
		case m.NoLen:
			t = types.ArrayOf(t, -1)
		case m.Len > 0 && t.Size > maxTypeSize/m.Len:
			inf.errorf(n.span, "the type is too large: more than %d bytes", maxTypeSize)
			return nil
		default:
			t = types.ArrayOf(t, m.Len)
		}
	}
	return t
}

func (inf *inferrer) typeNamed(name string) *types.Type  { return inf.checker.typeNamed(inf.act, name) }
func (inf *inferrer) complete(t *types.Type) *types.Type { return inf.checker.complete(inf.act, t) }
func (b *builder) complete(t *types.Type) *types.Type    { return b.checker.complete(b.act, t) }

// typeNamed finds a type by the name a script uses: its own, the script's, the traced program's, the kernel's.
func (c *checker) typeNamed(act *action, name string) *types.Type {
	if t := scriptType(name); t != nil {
		return t
	}
	t := c.programType(act, name)
	if (t == nil || t.Incomplete) && c.several[name] == nil {
		if k := c.in.Lookup.kernelType(name); k != nil {
			t = k
		}
	}
	if t == nil && isTag(name) {
		// Only the name is known, which is enough for a pointer.
		t = c.defs.incomplete(name)
	}
	if t != nil && t.Kind == types.Enum {
		t = wideEnum(t)
	}
	return t
}

// programType finds what a script or the traced program calls a type.
func (c *checker) programType(act *action, name string) *types.Type {
	t := c.defs.types[name]
	if t == nil {
		t = cName(name)
	}
	if (t == nil || t.Incomplete) && c.in.Lookup.UserType != nil {
		u, err := c.in.Lookup.UserType(act.points[0], name)
		switch delete(c.several, name); { // another action's unit may have decided otherwise
		case err != nil:
			c.several[name] = err
		case u != nil:
			t = u
		}
	}
	return t
}

// complete finds the definition of a type of which a pointer only knows the name; t itself if there is none.
func (c *checker) complete(act *action, t *types.Type) *types.Type {
	if !t.Incomplete {
		return t
	}
	if full := t.Complete(); !full.Incomplete || full.Source != nil && full.Source.Unknown != "" {
		return full
	}
	// What a program has of that name; the kernel's type of it is another one.
	find := c.typeNamed
	if l := t.Lang(); l != types.UnknownLanguage && act.points[0].Path != "" {
		find = c.programType
	}
	if def := find(act, t.Name); def != nil {
		if def = def.Complete(); !def.Incomplete {
			return def
		}
	}
	return t
}

func scriptTypeNames() []string {
	var names []string
	for i := range scriptTypes {
		names = append(names, scriptTypes[i].name)
	}
	return sorted(names)
}

// visitArgs gives args and the typed result their types.
func (inf *inferrer) visitArgs(n *node) {
	scope := inf.act.points[0].Scope
	switch {
	case n.op == opRetval:
		inf.solver.set(&n.slot, known(elemType(scope.Retval.Type)).at(spaceOf(inf.act.kind)))
		return
	case inf.act.kind != probe.Uprobe && inf.act.kind != probe.Tracepoint && inf.act.kind != probe.RawTracepoint &&
		inf.act.kind != probe.Fentry && inf.act.kind != probe.Fexit &&
		(scope == nil || len(scope.Args) == 0 && scope.ArgsType == nil):
		inf.errorf(n.span, "The args builtin can only be used with tracepoint, rawtracepoint, fentry/fexit, and uprobe "+
			"probes "+
			"(%s used here)", probeTypeName(inf.act.kind))
		return
	case n.flag && inf.act.kind != probe.Uprobe:
		inf.errorf(n.span, "vars can only be used with uprobe probes (%s used here)", probeTypeName(inf.act.kind))
		return
	}
	if t := inf.argsType(n.flag); t != nil {
		inf.solver.set(&n.slot, in(t, inf.argsSpace()))
		return
	}
	if n.flag {
		inf.errorf(n.span, "local variables are not available here").Hint("they are available at lines " +
			"(uprobe:FILE@SOURCE:LINE) of programs with debug information")
		return
	}
	d := inf.errorf(n.span, "Cannot read function parameters")
	if inf.act.kind == probe.Uprobe {
		d.Hint("%s has no debug information about the parameters; arg0, arg1 … are available without it",
			inf.act.points[0].Path)
	}
}

// argsOf are all arguments of a scope, or all local variables.
type argsOf struct {
	scope *probe.Scope
	local bool
}

// argsType is the type of the whole args: a struct in the order of the parameters; or of the whole vars. Nil: there is
// none.
func (inf *inferrer) argsType(local bool) *types.Type {
	scope := inf.act.points[0].Scope
	if scope == nil {
		return nil
	}
	if scope.ArgsType != nil {
		return scope.ArgsType
	}
	if len(scope.Args) == 0 {
		return nil
	}
	key := argsOf{scope, local}
	if t := inf.argTypes[key]; t != nil {
		return t
	}
	t := &types.Type{Kind: types.Struct, Name: "struct " + inf.act.points[0].Name + "_args", Align: 1}
	off := 0
	vars, first := scope.Locals()
	if !local {
		vars = scope.Args[:first]
	}
	if len(vars) == 0 && (!local || first == 0) {
		return nil
	}
	for _, a := range vars {
		at := a.Type
		switch {
		case at == nil || at.Incomplete:
			at = types.Missing("its type is not known")
		default:
			if why, missing := a.Place.Missing(at.Extent()); missing {
				at = types.Missing(why)
			}
		}
		align := max(at.Align, 1)
		off = roundUp(off, align)
		t.Fields = append(t.Fields, types.Field{Name: a.Name, Type: at, Offset: off})
		off += at.Size
		t.Align = max(t.Align, align)
	}
	t.Size = roundUp(off, t.Align)
	inf.argTypes[key] = t
	return t
}

// argsSpace is the memory that pointers among the arguments point to.
func (inf *inferrer) argsSpace() types.Space {
	p := inf.act.points[0]
	if p.Kind == probe.Tracepoint && p.Category == "syscalls" {
		return types.User
	}
	return spaceOf(p.Kind)
}

// recordThread is the one of the fields that all tracepoints have that programs can see: it is the thread's number in
// the initial PID namespace (tracing_generic_entry_update).
const recordThread = "common_pid"

// argType is the type of args.name.
func (inf *inferrer) argType(n *node, args *types.Type) ty {
	scope := inf.act.points[0].Scope
	if scope.ArgsType == nil {
		return inf.argOrVar(n, args)
	}
	if f, ok := args.Field(n.str); ok {
		if f.DataLoc {
			return known(f.Type).at(types.Kernel) // in the record itself
		}
		return known(elemType(f.Type)).at(inf.argsSpace())
	}
	if inf.act.kind == probe.Tracepoint {
		switch n.str {
		case recordThread:
			return known(types.TInt32)
		case "common_type", "common_flags", "common_preempt_count":
			inf.errorf(n.span, "BPF does not support accessing common tracepoint fields, but for %s", recordThread)
			return ty{}
		}
	}
	hintNear(inf.errorf(n.span, "Struct/union of type '%s' does not contain a field named '%s'", typestr(args), n.str),
		n.str, fieldNames(args))
	return ty{}
}

// argOrVar is the type of args.name or vars.name from debug information.
func (inf *inferrer) argOrVar(n *node, args *types.Type) ty {
	scope := inf.act.points[0].Scope
	what, missing := "argument", "Can't find function parameter %s"
	if n.kids[0].locals() {
		what, missing = "variable", "no variable %s is visible here"
	}
	i, ok := argNamed(scope, n.str, n.kids[0].locals())
	if !ok {
		hintNear(inf.errorf(n.span, missing, n.str), n.str, fieldNames(args))
		return ty{}
	}
	a := scope.Args[i]
	switch {
	case a.Place.Kind == types.Unavailable:
		inf.errorf(n.span, "%s '%s' is not available: %s", what, n.str, a.Place.Why)
		return ty{}
	case a.Type == nil || a.Type.Incomplete:
		return known(types.Missing("its type is not known")).at(inf.argsSpace())
	}
	return known(elemType(a.Type)).at(inf.argsSpace())
}
