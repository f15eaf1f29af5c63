package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
)

func (m *meanings) output() {
	formatted := meaning{fill: (*builder).formatted}
	m[builtin.Printf], m[builtin.Errorf], m[builtin.Warnf], m[builtin.Cat] = formatted, formatted, formatted, formatted
	m[builtin.System] = meaning{fill: (*builder).formatted, place: func(inf *inferrer, n *node) {
		if !inf.in.Unsafe {
			inf.errorf(n.span, "system() is an unsafe function being used in safe mode").Hint("--unsafe allows it")
		}
	}}
	m[builtin.Debugf] = meaning{form: formDebugf, fill: (*builder).formatted}
	m[builtin.Print] = meaning{fill: (*builder).print}
	m[builtin.Snapshot] = meaning{fill: (*builder).snapshot, typed: func(inf *inferrer, n *node) {
		inf.solver.rule(&n.slot, func(in []ty) ty {
			if t, ok := inf.capture(n, inf.act.kind).Of(in[0].t); ok {
				return known(t).at(types.Kernel)
			}
			return in[0]
		}, &n.kids[0].slot)
	}}
	m[builtin.Join] = meaning{fill: (*builder).join}
}

func formDebugf(inf *inferrer, n *node, args []*node) bool {
	inf.warnf(n.span, "The debugf() builtin is not recommended for production use. "+
		"For more information see bpf_trace_printk in bpf-helpers(7).")
	if len(args) > 4 {
		inf.errorf(n.span, "cannot use more than 3 conversion specifiers")
		return false
	}
	return true
}

// formatted builds printf and its kind.
func (b *builder) formatted(c *Call, n *node) bool {
	format, ok := b.literal(n, 0)
	if !ok {
		return false
	}
	c.Format = format
	var ts []*types.Type
	for _, k := range n.kids[1:] {
		ts = append(ts, k.ty.t)
	}
	for _, k := range n.kids[1:] {
		if multiKey(k.ty.t) {
			b.errorf(k.span, "Map type %s cannot print the value of individual keys. You must print the whole map.",
				typestr(k.ty.t))
			return false
		}
	}
	if problem := checkFormat(format, ts); problem != "" {
		b.errorf(n.span, "%s", problem)
		return false
	}
	if n.fn.ID == builtin.Debugf && !b.debugFormat(n, format, ts) {
		return false
	}
	for _, k := range n.kids[1:] {
		e := b.expr(k)
		if e == nil {
			return false
		}
		c.Args = append(c.Args, Arg{Expr: e})
	}
	return true
}

// debugFormat checks the few conversions that the kernel's bpf_trace_printk has.
func (b *builder) debugFormat(n *node, format string, ts []*types.Type) bool {
	for i, conv := range conversions(format) {
		want := types.Int
		switch conv {
		case "d", "u", "x", "p":
		case "s":
			want = types.String
		default:
			b.errorf(n.kids[0].span, "Invalid format specifier for `debugf`: %s", conv)
			return false
		}
		if ts[i].Kind != want && !(want == types.Int && isInt(ts[i])) {
			b.errorf(n.kids[i+1].span, "Type does not match format specifier: %s", conv)
			return false
		}
	}
	return true
}

func (b *builder) print(c *Call, n *node) bool {
	k := n.kids[0]
	if k.op != opMap {
		t := k.ty
		switch {
		case multiKey(t.t):
			b.errorf(n.span, "Map type %s cannot print the value of individual keys. You must print the whole map.",
				typestr(t.t))
			return false
		case t.none(), t.is(types.Void):
			b.expr(k)
			b.errorf(n.span, "%s type passed to print() is not printable", typestr(t.t))
			return false
		case len(n.kids) != 1:
			b.errorf(n.span, "Non-map print() only takes 1 argument, %d found", len(n.kids))
			return false
		}
		e := b.expr(k)
		c.Args = []Arg{{Expr: e}}
		return e != nil
	}
	m := b.mapRef(k.m, k.span)
	c.Args = []Arg{{Map: m}}
	if b.loop > 0 {
		b.warnf(n.span, "Due to it's asynchronous nature using 'print()' in a loop can lead to unexpected behavior. The "+
			"map will "+
			"likely be updated before the runtime can 'print' it.")
	}
	if m.Value.Kind == types.Stats && len(n.kids) > 1 {
		b.warnf(n.span, "print()'s top and div arguments are ignored when used on stats() maps.")
	}
	for _, a := range n.kids[1:] {
		if !a.posInt() {
			b.errorf(n.span, "print() expects a int literal (%s provided)", kindstr(a.ty.t))
			return false
		}
		c.Args = append(c.Args, Arg{Expr: castTo(b.expr(a), types.TUint64)})
	}
	return true
}

func (b *builder) join(c *Call, n *node) bool {
	k := n.kids[0]
	if !k.ty.isInt() && !k.ty.isPtr() {
		b.errorf(n.span, "join() only supports int or pointer arguments (%s provided)", kindstr(k.ty.t))
		return false
	}
	c.Separator = " "
	ok := true
	if len(n.kids) > 1 {
		c.Separator, ok = b.literal(n, 1)
	}
	c.Args = []Arg{{Expr: b.pointerArg(k, types.PointerTo(types.TChar, types.AnySpace))}}
	return ok
}

// pointerArg builds a pointer to elem in the space that a value came from.
func (b *builder) pointerArg(k *node, elem *types.Type) Expr {
	space := k.ty.where()
	if space == mixed {
		space = types.AnySpace
	}
	if space == types.AnySpace {
		space = spaceOf(b.act.kind)
	}
	x := b.expr(k)
	if x == nil {
		return nil
	}
	if k.ty.isInt() {
		x = castTo(x, types.IntOf(8, k.ty.signed()))
	}
	return castTo(x, types.PointerTo(elem, space))
}

// snapshot builds the call that keeps a value.
func (b *builder) snapshot(c *Call, n *node) bool {
	if len(n.kids) > 1 && !n.kids[1].posInt() {
		b.errorf(n.span, "snapshot() expects an int literal as the length (%s provided)", kindstr(n.kids[1].ty.t))
		return false
	}
	e := b.expr(n.kids[0])
	if e == nil {
		return false
	}
	c.TextSize, c.Args = b.capture(n, b.act.kind).Strlen, []Arg{{Expr: e}}
	return true
}

// capture says how a call of snapshot captures its value.
func (c *checker) capture(n *node, kind probe.Kind) record.Capture {
	how := c.cfg.Capture()
	how.Kept, how.Registers = true, spaceOf(kind) == types.User
	if n != nil && len(n.kids) > 1 && n.kids[1].posInt() {
		how.Strlen = int(min(n.kids[1].num, uint64(how.Strlen)))
	}
	return how
}
