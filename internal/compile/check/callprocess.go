package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/process/probe"
)

func (m *meanings) process() {
	id := meaning{form: formID, word: wordNamespace, fill: fillID}
	m[builtin.PID], m[builtin.TID] = id, id
	routine := meaning{place: placeRoutine}
	m[builtin.RoutineID], m[builtin.RoutineFrame] = routine, routine
	for _, id := range []builtin.ID{builtin.UID, builtin.GID, builtin.UserName, builtin.Cgroup} {
		m[id] = meaning{plain: true}
	}
	m[builtin.Comm] = meaning{place: placeComm, fill: fillComm}
	m[builtin.CPID] = meaning{short: shortCPID}
	m[builtin.HasCPID] = meaning{short: func(l *lowerer, n *node) *node {
		if len(n.kids) == 0 {
			return boolNode(n.span, l.in.ChildPID != 0)
		}
		return n
	}}
	m[builtin.Tracer] = meaning{short: shortTracer}
	m[builtin.PPID] = meaning{short: taskField("real_parent", "pid")}
	m[builtin.PComm] = meaning{short: taskField("real_parent", "comm")}
	m[builtin.LeaderTID] = meaning{short: taskField("group_leader", "pid")}
	m[builtin.LeaderComm] = meaning{short: taskField("group_leader", "comm")}
	m[builtin.CurTask] = meaning{typed: func(inf *inferrer, n *node) {
		inf.solver.set(&n.slot, pointer(inf.typeNamed("struct task_struct"), types.Kernel))
	}}
}

func formID(inf *inferrer, n *node, args []*node) bool {
	if len(args) == 1 && args[0].op != opIdent {
		inf.errorf(n.span, "%s() only supports curr_ns and init as the argument", callName(n))
		return false
	}
	return true
}

func wordNamespace(inf *inferrer, n *node) {
	if n.str != "curr_ns" && n.str != "init" {
		inf.errorf(n.span, "Invalid PID namespace mode: %s (expects: curr_ns or init)", n.str)
	}
}

func fillID(_ *builder, c *Call, n *node) bool {
	k := argument(n, 0)
	c.InitialNS = k != nil && k.str == "init"
	return true
}

func placeRoutine(inf *inferrer, n *node) {
	switch p := inf.act.points[0]; {
	case inf.act.kind != probe.Uprobe && inf.act.kind != probe.Uretprobe, p.Call == nil:
		where := providerName(inf.act) + " probes"
		if p.Path != "" {
			where = "code that is not Go's (" + p.Name + ")"
		}
		inf.errorf(n.span, "%s is not known in %s: there is no goroutine, or it cannot be determined", callName(n), where)
	case p.Call.Unknown != "":
		inf.errorf(n.span, "%s is not known: %s", callName(n), p.Call.Unknown)
	}
}

func placeComm(inf *inferrer, n *node) {
	if len(n.kids) == 1 && inf.in.Lookup.kernelType("struct task_struct") == nil {
		inf.errorf(n.span, "comm(PID) is not available: the kernel provides no type information (CONFIG_DEBUG_INFO_BTF)").
			Hint("comm is the name of the current thread")
	}
}

func fillComm(b *builder, c *Call, n *node) bool {
	if len(n.kids) == 0 || b.in.Lookup.kernelType("struct task_struct") == nil {
		return len(n.kids) == 0 // refused already
	}
	var err error
	if c.Tasks, err = findTasks(b.in.Lookup.kernelType); err != nil {
		b.errorf(n.span, "comm(PID) is not available: how this kernel keeps processes by number is not known: %v", err)
		return false
	}
	return integers(types.TUint32)(b, c, n)
}

// shortCPID is the number of the process that was started, with a warning if there is none.
func shortCPID(l *lowerer, n *node) *node {
	if len(n.kids) != 0 {
		return n
	}
	child := &node{op: opInt, span: n.span, num: uint64(max(l.in.ChildPID, 0))}
	pid := &node{op: opCast, span: n.span, kids: []*node{typeNode(n.span, types.TUint64), child}}
	if l.in.ChildPID != 0 {
		return pid
	}
	text := &node{op: opStr, span: n.span, str: "No child command (`-c`); cpid is zero"}
	warn := &node{op: opExpr, span: n.span, kids: []*node{l.make(n.span, builtin.Warnf, text)}}
	return &node{op: opBlock, span: n.span, kids: []*node{warn}, value: pid}
}

// shortTracer compares with the number of the process that runs the script.
func shortTracer(l *lowerer, n *node) *node {
	if l.in.TracerPID == 0 {
		return boolNode(n.span, false)
	}
	own := &node{op: opInt, span: n.span, num: uint64(l.in.TracerPID)}
	return &node{op: opBinary, span: n.span, str: "==", kids: []*node{l.make(n.span, builtin.PID), own}}
}

// taskField reads a field of a task that the current one (or the argument) points to.
func taskField(relative, field string) func(*lowerer, *node) *node {
	return func(l *lowerer, n *node) *node {
		if len(n.kids) > 1 {
			return n
		}
		task := l.make(n.span, builtin.CurTask)
		if len(n.kids) == 1 {
			task = n.kids[0]
		}
		rel := &node{op: opField, span: n.span, str: relative, kids: []*node{task}}
		return &node{op: opField, span: n.span, str: field, kids: []*node{rel}}
	}
}
