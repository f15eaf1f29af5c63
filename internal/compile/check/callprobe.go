package check

import (
	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/process/probe"
)

func (m *meanings) probeInfo() {
	m[builtin.Probe] = meaning{short: shortProbe, typed: func(inf *inferrer, n *node) {
		longest := 0
		for _, p := range inf.act.points {
			longest = max(longest, len(p.Name))
		}
		inf.made(n, types.StringOf(longest+1))
	}}
	m[builtin.ProbeType] = meaning{short: unlessArgs(func(l *lowerer, n *node) *node {
		return &node{op: opStr, span: n.span, str: probeTypeName(l.act.kind)}
	})}
	m[builtin.FuncName] = meaning{place: placeFunc, typed: func(inf *inferrer, n *node) {
		if inf.act.kind == probe.Kprobe {
			inf.made(n, types.TKSym) // the address that was probed, which may lie in a function
		} else {
			inf.made(n, types.TUSym) // with the point's number
		}
	}}
	m[builtin.FuncArgs] = meaning{place: placeGiven, typed: func(inf *inferrer, n *node) {
		inf.made(n, inf.given(inf.act, n.fn.ID).Type)
	}, fill: fillGiven}
	m[builtin.FuncRetVal], m[builtin.FuncReturn] = m[builtin.FuncArgs], m[builtin.FuncArgs]
	m[builtin.FuncReturns] = meaning{place: placeGiven}
	m[builtin.CallFrame] = meaning{place: placeCallFrame}
	m[builtin.SyscallArgs] = meaning{place: placeSyscall(true), typed: func(inf *inferrer, n *node) {
		inf.made(n, inf.syscallArgs(inf.act).Type)
	}, fill: func(b *builder, c *Call, _ *node) bool {
		c.Syscall = b.syscallArgs(b.act)
		return true
	}}
	m[builtin.SyscallDone] = meaning{place: placeSyscall(false), typed: func(inf *inferrer, n *node) {
		inf.solver.rule(&n.slot, func(in []ty) ty { return in[0] }, &n.kids[0].slot)
	}, fill: fillSyscallDone}
	m[builtin.SyscallResult] = meaning{place: placeSyscall(false), typed: func(inf *inferrer, n *node) {
		inf.made(n, inf.syscallResult(inf.act))
	}}
	m[builtin.Args] = meaning{short: unlessArgs(func(_ *lowerer, n *node) *node {
		return &node{op: opArgs, span: n.span}
	})}
	m[builtin.Vars] = meaning{short: unlessArgs(func(_ *lowerer, n *node) *node {
		return &node{op: opArgs, span: n.span, flag: true}
	})}
	m[builtin.ArgN] = meaning{place: placeArgN, typed: typedAtProbe, fill: func(_ *builder, c *Call, n *node) bool {
		c.Arg, _ = argNumber(n.str)
		return true
	}}
	m[builtin.RetVal] = meaning{short: shortRetval, place: placeRetval, typed: typedAtProbe}
	m[builtin.Duration] = meaning{place: placeDuration, fill: func(b *builder, _ *Call, _ *node) bool {
		b.out.Timed = true
		return true
	}}
	m[builtin.Reg] = meaning{
		form: formReg, place: placeReg, typed: typedAtProbe,
		fill: func(b *builder, c *Call, n *node) (ok bool) {
			c.Register, ok = b.literal(n, 0)
			return ok
		},
	}
	m[builtin.Ctx] = meaning{place: placeCtx, typed: typedCtx}
	m[builtin.UserMode] = meaning{short: shortUserMode, place: func(inf *inferrer, n *node) {
		if inf.in.Arch.UserMode() == nil {
			with := abi.Having(", ", func(a *abi.Arch) bool { return a.UserMode() != nil })
			inf.errorf(n.span, "'usermode' builtin is only supported on %s", with)
		}
	}}
}

// unlessArgs writes a builtin out if it is used without arguments; with some it is refused later.
func unlessArgs(short func(*lowerer, *node) *node) func(*lowerer, *node) *node {
	return func(l *lowerer, n *node) *node {
		if len(n.kids) != 0 {
			return n
		}
		return short(l, n)
	}
}

// typedAtProbe gives the table's type, of a value that is in the memory that the kind of probe means.
func typedAtProbe(inf *inferrer, n *node) {
	inf.solver.set(&n.slot, known(n.fn.Result).at(spaceOf(inf.act.kind)))
}

// shortProbe is the name itself where there is one point.
func shortProbe(l *lowerer, n *node) *node {
	if len(n.kids) == 0 && len(l.act.points) == 1 {
		return &node{op: opStr, span: n.span, str: l.act.points[0].Name, flag: true}
	}
	return n
}

// shortRetval is the typed result, where it is known.
func shortRetval(l *lowerer, n *node) *node {
	if s := l.act.points[0].Scope; len(n.kids) == 0 && s != nil && s.Retval != nil {
		return &node{op: opRetval, span: n.span}
	}
	return n
}

// shortUserMode is a constant in probes that are not hit by a CPU that was running something.
func shortUserMode(l *lowerer, n *node) *node {
	switch {
	case len(n.kids) != 0 || hasRegisters(l.act.kind):
		return n
	case probeTypeName(l.act.kind) == "special":
		return &node{op: opInt, span: n.span, num: 1}
	}
	return &node{op: opInt, span: n.span}
}

func placeFunc(inf *inferrer, n *node) {
	if !inf.act.kind.Traits().Function {
		inf.errorf(n.span, "The func builtin can not be used with '%s' probes", providerName(inf.act))
	}
}

// placeGiven: the arguments of functions that are called, and the results of those that return.
func placeGiven(inf *inferrer, n *node) {
	kind, where := probe.Uprobe, "uprobe"
	if n.fn.ID == builtin.FuncRetVal || n.fn.ID == builtin.FuncReturn {
		kind, where = probe.Uretprobe, "uretprobe"
	}
	if inf.act.kind != kind {
		inf.errorf(n.span, "%s can only be used with '%s' probes", n.str, where)
	}
}

// placeCallFrame: the place of the frame is known where a call begins and where it returns.
func placeCallFrame(inf *inferrer, n *node) {
	p := inf.act.points[0]
	switch {
	case p.Kind == probe.Uretprobe, p.Kind == probe.Uprobe && p.Entry && !p.Inlined:
	default:
		inf.errorf(n.span, "callframe is known where functions begin and return: in uprobes and uretprobes, without offset")
		return
	}
	if p.Call != nil && p.Call.Unknown != "" {
		inf.errorf(n.span, "callframe is not known: %s", p.Call.Unknown)
	}
}

func fillGiven(b *builder, c *Call, n *node) bool {
	c.Given = b.given(b.act, n.fn.ID)
	return true
}

func fillSyscallDone(b *builder, c *Call, n *node) bool {
	if c.Syscall = b.syscallArgsOf(n.kids[0].ty.t); c.Syscall == nil {
		b.errorf(n.span, "syscall_done() takes what syscall_args was when the call began (%s provided)",
			typestr(n.kids[0].ty.t)).Hint("keep it in a map: @call[tid] = syscall_args")
		return false
	}
	return c.add(b.expr(n.kids[0]))
}

func placeArgN(inf *inferrer, n *node) {
	kind := inf.act.kind
	if kind != probe.Kprobe && kind != probe.Uprobe && kind != probe.USDT && kind != probe.RawTracepoint &&
		kind != probe.Method {
		inf.errorf(n.span, "The %s builtin can only be used with 'kprobes', 'uprobes' and 'usdt' probes", n.str)
		return
	}
	if i, _ := argNumber(n.str); kind != probe.USDT && !inf.placedArgs() && i >= len(inf.in.Arch.IntegerArgs()) {
		d := inf.errorf(n.span, "%s doesn't support %s", inf.in.Arch, n.str)
		if first := inf.in.Arch.StackArg(0); first.Kind == types.InMemory {
			sp, _ := inf.in.Arch.ScriptName(first.Reg)
			d.Hint("further arguments are on the stack: *(uint64 *)(reg(%q) + %d) is the first of them", sp, first.Offset)
		}
	}
}

func placeRetval(inf *inferrer, n *node) {
	kind := inf.act.kind
	if kind == probe.Kretprobe || kind == probe.Uretprobe || kind == probe.Fentry || kind == probe.Fexit {
		return
	}
	try := ""
	if kind == probe.Tracepoint {
		try = " (try to use args.ret instead)"
	}
	inf.errorf(n.span, "The retval builtin can only be used with 'kretprobe' and 'uretprobe' and 'fentry' probes%s", try)
}

func placeDuration(inf *inferrer, n *node) {
	switch p := inf.act.points[0]; {
	case inf.act.kind != probe.Uretprobe:
		inf.errorf(n.span, "duration is the time that a call took: it is available in uretprobes only").
			Hint("in other probes, store the time in a map: @start[tid] = nsecs")
	case p.Call == nil:
	case p.Call.Unknown != "":
		inf.errorf(n.span, "duration is not known: %s", p.Call.Unknown)
	}
}

func formReg(inf *inferrer, n *node, args []*node) bool {
	if args[0].op != opStr {
		return true // told with the types
	}
	if _, ok := inf.in.Arch.ScriptRegister(args[0].str); !ok {
		d := inf.errorf(n.span, "'%s' is not a valid register on this architecture (%s)", args[0].str, inf.in.Arch)
		hintNear(d, args[0].str, inf.in.Arch.ScriptRegisters())
		return false
	}
	return true
}

func placeReg(inf *inferrer, n *node) {
	if !hasRegisters(inf.act.kind) {
		inf.wrongPlace(n)
	}
}

func placeCtx(inf *inferrer, n *node) {
	switch kind := inf.act.kind; {
	case kind == probe.Tracepoint:
		inf.errorf(n.span, "Use args instead of ctx in tracepoint")
	case !hasRegisters(kind) && kind != probe.Iter:
		inf.errorf(n.span, "The ctx builtin can not be used with '%s' probes", providerName(inf.act))
	}
}

// typedCtx: of iterators it points to the record that the kernel's type information has of each kind of them.
func typedCtx(inf *inferrer, n *node) {
	t := types.TVoid
	if p := inf.act.points[0]; p.Kind == probe.Iter {
		if r := inf.typeNamed("struct bpf_iter__" + p.Event); r != nil {
			t = r
		}
	}
	inf.solver.set(&n.slot, pointer(t, types.Kernel))
}

// placedArgs tells whether the points themselves say where arguments by position are.
func (inf *inferrer) placedArgs() bool {
	s := inf.act.points[0].Scope
	return s != nil && s.ArgN != nil
}
