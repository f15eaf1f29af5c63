package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
)

func (m *meanings) stacks() {
	typed := func(inf *inferrer, n *node) {
		if t := inf.stackType(n); t != nil {
			inf.made(n, t)
		}
	}
	// All of a stack is in its type, and the mode is looked at with the call.
	stack := meaning{
		typed: typed, word: func(*inferrer, *node) {},
		fill: func(*builder, *Call, *node) bool { return true },
	}
	m[builtin.UStack], m[builtin.KStack] = stack, stack
	m[builtin.DwUStack] = stack
	symbol := meaning{fill: func(b *builder, c *Call, n *node) bool {
		t := n.kids[0].ty
		c.add(castTo(b.expr(n.kids[0]), types.TUint64))
		if !t.isInt() && !t.isPtr() {
			b.errorf(n.span, "%s() expects an integer or pointer argument", n.fn.ID)
			return false
		}
		return true
	}}
	m[builtin.USym], m[builtin.KSym] = symbol, symbol
}

func (inf *inferrer) stackType(n *node) *types.Type {
	kind, mode, depth := types.UStack, inf.cfg.StackMode, 127
	if n.fn.ID == builtin.KStack {
		kind = types.KStack
	}
	limit := -1
	if len(n.kids) > 0 {
		if id := n.kids[0]; id.op == opIdent {
			m, ok := parseStackMode(id.str)
			if !ok {
				inf.errorf(id.span, "Error parsing stack mode: %s: Invalid value for stack_mode: valid values are bpftrace, "+
					"raw, perf, and build_id.",
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
	return types.StoredStack(kind, depth, mode)
}
