package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/process/probe"
)

func (m *meanings) system() {
	m[builtin.Exit] = meaning{fill: integers(types.TInt64)}
	m[builtin.Assert] = meaning{elsewhere: byMacro}
	signal := meaning{place: (*inferrer).checkSignal, fill: func(b *builder, c *Call, n *node) bool {
		t := n.kids[0].ty
		c.add(castTo(b.expr(n.kids[0]), types.TUint32))
		if !t.isInt() {
			b.errorf(n.span, "%s() accepts a string literal or an integer", n.fn.ID)
			return false
		}
		return true
	}}
	m[builtin.Signal], m[builtin.SignalThread] = signal, signal
	m[builtin.Override] = meaning{place: placeOverride, fill: func(b *builder, c *Call, n *node) bool {
		t := n.kids[0].ty
		c.add(castTo(b.expr(n.kids[0]), types.TUint64))
		if !t.isInt() {
			b.errorf(n.span, "override() only supports int arguments (%s provided)", kindstr(t.t))
			return false
		}
		return true
	}}
	for _, id := range []builtin.ID{builtin.CPU, builtin.NUMAID, builtin.Rand, builtin.SyscallID, builtin.Traced} {
		m[id] = meaning{plain: true}
	}
	m[builtin.NCPUs] = meaning{value: func(b *builder, n *node, e E) Expr {
		if b.in.NCPU > 0 {
			return &Const{e, uint64(b.in.NCPU)}
		}
		return &Call{E: e, Fn: n.fn}
	}}
	m[builtin.CgroupID] = meaning{value: (*builder).compileTime}
	m[builtin.CgroupPath] = meaning{fill: func(b *builder, c *Call, n *node) bool {
		ok := b.isInteger(n, 0)
		c.add(castTo(b.expr(n.kids[0]), types.TUint64))
		if ok && len(n.kids) > 1 {
			c.Filter, ok = b.literal(n, 1)
		}
		return ok
	}}
}

func placeOverride(inf *inferrer, n *node) {
	if inf.act.kind != probe.Kprobe {
		inf.errorf(n.span, "override() can only be used inside kprobes")
		return
	}
	inf.needsUnsafe(n)
}

func (inf *inferrer) checkSignal(n *node) {
	name := n.fn.ID.String() + "()"
	if !inf.act.kind.Traits().Signals {
		inf.errorf(n.span, "%s can not be used for this probetype %s", name, probeTypeName(inf.act.kind))
		return
	}
	if !inf.in.Unsafe {
		inf.errorf(n.span, "%s is unsafe. To use you need the --unsafe flag", name)
		return
	}
	switch a := n.kids[0]; {
	case a.op == opStr:
		if num, ok := signalNumber(a.str); ok {
			a.toInt(uint64(num), false)
			a.ty = literalType(uint64(num), false)
		} else {
			inf.errorf(n.span, "Invalid string for signal: %s", a.str)
		}
	case a.op == opInt && (a.neg || a.num < 1 || a.num > 64):
		inf.errorf(n.span, "%s accepts a string literal or an integer between 1 and 64 (inclusive)", name)
	case a.op == opBool, a.op == opTuple:
		inf.errorf(n.span, "%s accepts a string literal or a positive integer", name)
	}
}
