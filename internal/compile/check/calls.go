package check

import (
	"net/netip"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// Types of builtins, and what of their arguments can be checked before all types are known.

func (inf *inferrer) visitCall(n *node) {
	if n.fn == nil {
		inf.unknownFunction(n)
		return
	}
	if !inf.checkArgs(n) {
		return
	}
	saved := inf.call
	inf.call = n
	inf.visitAll(n.kids)
	inf.call = saved
	inf.checkPlace(n)
	inf.checkUnstable(n)
	if t := n.fn.Result; t != nil && n.fn.ID != "nsecs" {
		r := known(t)
		if n.fn.ID == "argN" || n.fn.ID == "retval" || n.fn.ID == "reg" {
			r = r.at(spaceOf(inf.act.kind))
		}
		if n.fn.ID == "comm" || t.Kind == types.String {
			r.space = types.Kernel
		}
		inf.solver.set(&n.slot, r)
		inf.mapCallRules(n)
		return
	}
	inf.callType(n)
}

func (inf *inferrer) unknownFunction(n *node) {
	d := inf.errorf(n.span, "Unknown function: '%s'", n.str)
	hintNear(d, n.str, inf.functionNames())
	for _, k := range n.kids {
		inf.visit(k)
	}
}

// mapCallRules lets keys that are asked for take part in the type of a map's keys.
func (inf *inferrer) mapCallRules(n *node) {
	if !n.fn.MapArg || len(n.kids) == 0 || n.kids[0].op != opMap {
		return
	}
	m := n.kids[0].m
	what := keyedCall(n)
	if what != "" && m.isScalar() {
		if n.fn.ID == "len" {
			inf.errorf(n.span, "call to len() expects a map with explicit keys (non-scalar map)")
			return
		}
		inf.errorf(n.span, "call to %s expects a map with explicit keys (non-scalar map)", what)
		return
	}
	switch n.fn.ID {
	case "delete":
		m.valued = true
		if len(n.kids) == 1 && !m.isScalar() {
			inf.errorf(n.span, "call to delete() with a single argument expects a map without explicit keys (scalar map)").
				Hint("name the entry: delete(%s, key), or remove all: clear(%s)", m.name, m.name)
			return
		}
	case "has_key", "find":
		m.valued = true
	default:
		return
	}
	if len(n.kids) > 1 {
		inf.keyRule(m, n.kids[1], n)
	}
	if n.fn.ID == "find" {
		inf.findRule(n, m)
	}
}

// findRule gives the variable of find the type of the map's values.
func (inf *inferrer) findRule(n *node, m *mapState) {
	v := n.kids[2]
	if v.op != opVar {
		inf.errorf(v.span, "find() expects a variable as the last argument, to be set to the value")
		return
	}
	if v.v.sized {
		return
	}
	inf.solver.rule(&v.v.slot, func(in []ty) ty {
		if needsPerCPU(in[0].t) && !in[0].castable() {
			inf.errorf(n.span, "Value '%s' cannot be assigned to a scratch variable.", typestr(in[0].t))
			return ty{}
		}
		return inf.assignVar(v.v, in[0], n)
	}, &m.val)
}

// callType gives types to the builtins whose type depends on their arguments.
func (inf *inferrer) callType(n *node) {
	s := &inf.solver
	arg := func(i int) *node {
		if i < len(n.kids) {
			return n.kids[i]
		}
		return nil
	}
	fixed := func(t *types.Type) { s.set(&n.slot, in(t, types.Kernel)) }
	switch n.fn.ID {
	case "str":
		fixed(types.StringOf(inf.strSize(n)))
	case "snapshot":
		s.rule(&n.slot, func(in []ty) ty {
			if t, ok := inf.capture(n, inf.act.kind).Of(in[0].t); ok {
				return known(t).at(types.Kernel)
			}
			return in[0]
		}, &arg(0).slot)
	case "buf":
		limit := inf.cfg.MaxStrlen - 4
		if len(n.kids) == 1 {
			s.rule(&n.slot, func(in []ty) ty {
				size := limit
				if in[0].is(types.Array) {
					size = min(in[0].t.Size, limit)
				}
				return known(types.BufferOf(max(size, 0))).at(types.Kernel)
			}, &arg(0).slot)
			return
		}
		size := limit
		if l := arg(1); l.posInt() {
			size = int(min(l.num, uint64(max(limit, 0))))
		}
		fixed(types.BufferOf(max(size, 0)))
	case "pton":
		if t := inf.ptonType(n); t != nil {
			fixed(t)
		}
	case "probe":
		longest := 0
		for _, p := range inf.act.points {
			longest = max(longest, len(p.Name))
		}
		fixed(types.StringOf(longest + 1))
	case "func":
		if spaceOf(inf.act.kind) == types.User {
			fixed(types.TUSym)
		} else {
			fixed(types.TKSym)
		}
	case "ctx":
		t := types.TVoid
		if p := inf.act.points[0]; p.Kind == probe.Iter {
			if r := inf.typeNamed("struct bpf_iter__" + p.Event); r != nil {
				t = r
			}
		}
		s.set(&n.slot, pointer(t, types.Kernel))
	case "curtask":
		t := inf.typeNamed("struct task_struct")
		s.set(&n.slot, pointer(t, types.Kernel))
	case "ustack", "kstack", "dw_ustack":
		if t := inf.stackType(n); t != nil {
			fixed(t)
		}
	case "kptr", "uptr":
		space := types.Kernel
		if n.fn.ID == "uptr" {
			space = types.User
		}
		s.rule(&n.slot, func(in []ty) ty {
			t := in[0]
			if t.isPtr() {
				t.t = types.PointerTo(t.t.Elem, space)
			}
			t.space = space
			return t
		}, &arg(0).slot)
	case "bswap":
		s.rule(&n.slot, func(in []ty) ty {
			if !in[0].isInt() {
				inf.errorf(n.span, "bswap() only supports integer arguments (%s provided)", kindstr(in[0].t))
				return ty{}
			}
			return known(types.IntOf(in[0].t.Size, false))
		}, &arg(0).slot)
	case "nsecs":
		if a := arg(0); a != nil {
			s.rule(&n.slot, func(in []ty) ty {
				t := known(types.TUint64)
				t.clock = in[0].clock
				return t
			}, &a.slot)
			return
		}
		s.set(&n.slot, known(types.TUint64))
	case "strftime":
		s.rule(&n.slot, func(in []ty) ty {
			t := known(types.TimestampOf(in[0].clock))
			t.clock = in[0].clock
			return t
		}, &arg(1).slot)
	case "uaddr":
		inf.uaddrType(n)
	case "percpu_kaddr":
		fixed(types.PointerTo(types.TUint64, types.Kernel))
	case "path":
		size := inf.cfg.MaxStrlen
		if l := arg(1); l != nil && l.posInt() {
			size = int(min(l.num, uint64(size)))
		}
		fixed(types.StringOf(size))
	case "strcap":
		s.rule(&n.slot, func(in []ty) ty {
			if in[0].isPtr() {
				return known(types.TUint64)
			}
			return known(types.TInt8) // becomes a literal
		}, &arg(0).slot)
	}
}

// strSize is the capacity of str's value.
func (inf *inferrer) strSize(n *node) int {
	size := inf.cfg.MaxStrlen
	if len(n.kids) < 2 {
		return inf.cfg.TextSize()
	}
	l := n.kids[1]
	switch {
	case l.op == opInt && l.neg:
		inf.errorf(n.span, "str cannot use negative length (%d)", int64(l.num))
	case l.posInt() && (l.num >= uint64(size)):
		inf.warnf(n.span, "length param (%d) is too long and will be shortened to %d bytes (see BPFTRACE_MAX_STRLEN)", l.num, size)
	case l.posInt():
		return int(l.num) + 1
	}
	return size
}

func (inf *inferrer) ptonType(n *node) *types.Type {
	a := n.kids[0]
	if a.op != opStr {
		inf.errorf(n.span, "pton() expects an string literal at the first argument")
		return nil
	}
	if !strings.ContainsAny(a.str, ".:") {
		inf.errorf(n.span, "pton() expects an string argument of an IPv4/IPv6 address, got %s", a.str)
		return nil
	}
	addr, err := netip.ParseAddr(a.str)
	if err != nil || addr.Zone() != "" {
		inf.errorf(n.span, "pton() expects a valid IPv4/IPv6 address, got %s", a.str)
		return nil
	}
	return types.ArrayOf(types.TUint8, addr.BitLen()/8)
}

func (inf *inferrer) stackType(n *node) *types.Type {
	kind, mode, depth := types.UStack, inf.cfg.StackMode, 127
	if n.fn.ID == "kstack" {
		kind = types.KStack
	}
	limit := -1
	if len(n.kids) > 0 {
		if id := n.kids[0]; id.op == opIdent {
			m, ok := parseStackMode(id.str)
			if !ok {
				inf.errorf(id.span, "Error parsing stack mode: %s: Invalid value for stack_mode: valid values are bpftrace, raw, perf, and build_id.",
					n.fn.ID)
				return nil
			}
			mode, limit = m, 1
		} else if len(n.kids) == 2 {
			inf.errorf(n.span, "Expected stack mode as first argument")
			return nil
		} else {
			limit = 0
		}
	}
	if limit >= 0 && limit < len(n.kids) {
		l := n.kids[limit]
		if !l.posInt() {
			inf.errorf(n.span, "%s: invalid limit value", n.fn.ID)
			return nil
		}
		if l.num > 1024 {
			inf.errorf(n.span, "%s([int limit]): limit shouldn't exceed 1024, %d given", n.fn.ID, l.num)
			return nil
		}
		depth = int(l.num)
	}
	if mode == types.StackBuildID && kind == types.KStack {
		if limit == -1 {
			inf.warnf(n.span, "'build_id' stack mode can only be used for ustack. Falling back to 'raw' mode.")
			mode = types.StackRaw
		} else {
			inf.errorf(n.span, "'build_id' stack mode can only be used for ustack")
			return nil
		}
	}
	return types.StackType(kind, depth, mode)
}

// uaddrType looks the symbol up; its size tells what the address points to.
func (inf *inferrer) uaddrType(n *node) {
	a := n.kids[0]
	if a.op != opStr {
		inf.errorf(n.span, "uaddr() expects a string literal as the first argument")
		return
	}
	for _, b := range []byte(a.str) {
		if !(b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("./_-$@", b) >= 0) || b == 0 {
			inf.errorf(n.span, "uaddr() expects a string that is a valid symbol (^[a-zA-Z0-9./_-]+$) as input (\"%s\" provided)", a.str)
			return
		}
	}
	sym, ok := inf.userSymbol(n)
	if !ok {
		return
	}
	size := 8
	if sym.Size == 1 || sym.Size == 2 || sym.Size == 4 {
		size = int(sym.Size)
	}
	inf.solver.set(&n.slot, pointer(types.IntOf(size, false), types.User))
}

func (inf *inferrer) userSymbol(n *node) (Symbol, bool) {
	p := inf.act.points[0]
	if inf.in.Lookup.UserSymbol == nil {
		inf.errorf(n.span, "Could not resolve symbol: %s:%s", p.Path, n.kids[0].str)
		return Symbol{}, false
	}
	sym, err := inf.in.Lookup.UserSymbol(p, n.kids[0].str)
	if err != nil {
		inf.errorf(n.span, "%s", err.Error())
		return Symbol{}, false
	}
	return sym, true
}

// placedArgs tells whether the points themselves say where arguments by position are.
func (inf *inferrer) placedArgs() bool {
	s := inf.act.points[0].Scope
	return s != nil && s.ArgN != nil
}

// checkPlace refuses builtins that make no sense in the kind of probe.
func (inf *inferrer) checkPlace(n *node) {
	kind := inf.act.kind
	unavailable := func() {
		inf.errorf(n.span, "%s can not be used with \"%s\" probes", callName(n), providerName(inf.act))
	}
	switch n.fn.ID {
	case "reg":
		if !hasRegisters(kind) {
			unavailable()
		}
	case "goid", "goframe":
		switch p := inf.act.points[0]; {
		case kind != probe.Uprobe && kind != probe.Uretprobe, p.Call == nil:
			where := providerName(inf.act) + " probes"
			if p.Path != "" {
				where = "code that is not Go's (" + p.Name + ")"
			}
			inf.errorf(n.span, "%s is not known in %s: there is no goroutine, or none that can be told", callName(n), where)
		case p.Call.Unknown != "":
			inf.errorf(n.span, "%s is not known: %s", callName(n), p.Call.Unknown)
		}
	case "duration":
		switch p := inf.act.points[0]; {
		case kind != probe.Uretprobe:
			inf.errorf(n.span, "duration is that of a call that returns, and only known in uretprobes").
				Hint("in other probes keep the time yourself: @start[tid] = nsecs")
		case p.Call == nil:
		case p.Call.Unknown != "":
			inf.errorf(n.span, "duration is not known: %s", p.Call.Unknown)
		}
	case "uaddr":
		if spaceOf(kind) != types.User {
			unavailable()
		}
	case "skboutput", "socket_cookie":
		if kind != probe.Fentry && kind != probe.Fexit && kind != probe.Iter && kind != probe.RawTracepoint {
			unavailable()
		}
	case "retval":
		if kind != probe.Kretprobe && kind != probe.Uretprobe && kind != probe.Fentry && kind != probe.Fexit {
			try := ""
			if kind == probe.Tracepoint {
				try = " (try to use args.ret instead)"
			}
			inf.errorf(n.span, "The retval builtin can only be used with 'kretprobe' and 'uretprobe' and 'fentry' probes%s", try)
		}
	case "argN":
		if kind != probe.Kprobe && kind != probe.Uprobe && kind != probe.USDT && kind != probe.RawTracepoint {
			inf.errorf(n.span, "The %s builtin can only be used with 'kprobes', 'uprobes' and 'usdt' probes", n.str)
			return
		}
		if i, _ := argNumber(n.str); kind != probe.USDT && !inf.placedArgs() && i >= inf.registerArgs() {
			inf.errorf(n.span, "%s doesn't support %s", inf.machine(), n.str).
				Hint("further arguments are on the stack: *(uint64 *)(reg(\"sp\") + 8) is the first of them on amd64")
		}
	case "func":
		if !kind.Traits().Function {
			inf.errorf(n.span, "The func builtin can not be used with '%s' probes", providerName(inf.act))
		}
	case "ctx":
		switch {
		case kind == probe.Tracepoint:
			inf.errorf(n.span, "Use args instead of ctx in tracepoint")
		case !hasRegisters(kind) && kind != probe.Iter:
			inf.errorf(n.span, "The ctx builtin can not be used with '%s' probes", providerName(inf.act))
		}
	case "usermode":
		if inf.in.Arch == "arm64" {
			inf.errorf(n.span, "'usermode' builtin is only supported on x86_64")
		}
	case "path":
		if kind != probe.Fentry && kind != probe.Fexit && kind != probe.Iter {
			inf.errorf(n.span, "The path function can only be used with 'fentry', 'fexit', 'iter' probes")
		} else if !inf.in.Features.DPath {
			inf.errorf(n.span, "BPF_FUNC_d_path not available for your kernel version")
		}
	case "override":
		if kind != probe.Kprobe {
			inf.errorf(n.span, "override() can only be used inside kprobes")
		} else if !inf.in.Unsafe {
			inf.errorf(n.span, "override() is unsafe. To use you need the --unsafe flag")
		}
	case "write_user":
		if !inf.in.Unsafe {
			inf.errorf(n.span, "write_user() is unsafe. To use you need the --unsafe flag")
		}
	case "system":
		if !inf.in.Unsafe {
			inf.errorf(n.span, "system() is an unsafe function being used in safe mode").Hint("--unsafe allows it")
		}
	case "signal", "signal_thread":
		inf.checkSignal(n)
	case "comm":
		if len(n.kids) == 1 && !inf.in.Features.TaskComm {
			inf.errorf(n.span, "Syntax comm(PID) is not supported in this probe type yet. Type: %s", probeTypeName(kind))
		}
	case "dw_ustack":
		inf.errorf(n.span, "dw_ustack is not available: this version walks user stacks by frame pointers only").
			Hint("ustack does so; without frame pointers its stacks end early")
	case "syscall_name":
		// The table is amd64's: its numbers mean other calls on arm64.
		if inf.in.Arch == "arm64" {
			inf.errorf(n.span, "syscall_name is not available on arm64: only the table of amd64 is known").
				Hint("print the number")
		}
	}
}

func (inf *inferrer) registerArgs() int {
	if inf.in.Arch == "arm64" {
		return 8
	}
	return 6
}

func (inf *inferrer) machine() string {
	if inf.in.Arch == "arm64" {
		return "aarch64"
	}
	return "x86_64"
}

// checkUnstable warns of features that may change, once, or refuses them.
func (inf *inferrer) checkUnstable(n *node) {
	switch n.fn.ID {
	case "tseries":
		inf.unstableFeature(n, "tseries", "unstable_tseries", inf.cfg.UnstableTSeries)
	}
}

func (inf *inferrer) checkTypeinfo(n *node) {
	inf.unstableFeature(n, "typeinfo", "unstable_typeinfo", inf.cfg.UnstableTypeinfo)
}

func (inf *inferrer) unstableFeature(n *node, feature, setting, mode string) {
	switch {
	case mode == "error":
		inf.errorf(n.span, "%s feature is not enabled by default. To enable this unstable feature, set the config flag to enable. %s=enable",
			feature, setting)
	case mode == "warn" && !inf.unstable[setting]:
		inf.unstable[setting] = true
		inf.warnf(noSpan, "Script is using an unstable feature: %s. To prevent this warning you must explicitly enable it in the config "+
			"e.g. %s=enable", feature, setting)
	}
}

// functionNames and valueNames list what could have been meant.
func (inf *inferrer) functionNames() []string { return builtinNames(false) }

func (inf *inferrer) valueNames() []string {
	names := builtinNames(true)
	for n := range inf.defs.enumerators {
		names = append(names, n)
	}
	return names
}
