package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
)

// meaning is what check knows of one builtin beside its entry in the table of builtins. What a builtin does not need is
// nil.
type meaning struct {
	// plain: the table says it all; the builtin takes no arguments and has one type.
	plain bool
	// short writes out what is short for something else; the node itself: it stays a call.
	short func(l *lowerer, n *node) *node
	// form checks which arguments are literals, before types are known; false: refused.
	form func(inf *inferrer, n *node, args []*node) bool
	// word takes a bare name as an argument, such as a clock or the mode of a stack.
	word func(inf *inferrer, n *node)
	// place refuses the builtin where it makes no sense.
	place func(inf *inferrer, n *node)
	// typed gives the call its type, where the table has none.
	typed func(inf *inferrer, n *node)
	// literal turns the call into a literal once its arguments have types; false: not yet, or refused.
	literal func(inf *inferrer, n *node) bool
	// fill completes the typed call; false: refused. Without it the call has no arguments.
	fill func(b *builder, c *Call, n *node) bool
	// value builds another expression in place of the call; nil: refused.
	value func(b *builder, n *node, e E) Expr
	// elsewhere: what makes something else of it before check sees a call. A call that comes here all the same is refused.
	elsewhere string
}

// meanings are those of all builtins, by ID.
type meanings [builtin.NumIDs]meaning

// newMeanings lists them, group by group in the order of the reference.
func newMeanings() *meanings {
	m := &meanings{}
	m.process()
	m.probeInfo()
	m.clocks()
	m.output()
	m.mapOps()
	m.aggregations()
	m.text()
	m.memory()
	m.stacks()
	m.meta()
	m.system()
	return m
}

// visitCall finds the type of a call, and what of its arguments can be checked before all types are known.
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
	m := &inf.meanings[n.fn.ID]
	if m.place != nil {
		m.place(inf, n)
	}
	switch t := n.fn.Result; {
	case m.typed != nil:
		m.typed(inf, n)
	case t != nil:
		r := known(t)
		if t.Kind == types.String {
			r.space = types.Kernel
		}
		inf.solver.set(&n.slot, r)
		inf.mapCallRules(n)
	}
}

// made gives a call the type of a value that is made here, not read from the traced program.
func (inf *inferrer) made(n *node, t *types.Type) { inf.solver.set(&n.slot, in(t, types.Kernel)) }

// argument is an argument of a call, nil if it was not given.
func argument(n *node, i int) *node {
	if i < len(n.kids) {
		return n.kids[i]
	}
	return nil
}

func (inf *inferrer) unknownFunction(n *node) {
	d := inf.errorf(n.span, "Unknown function: '%s'", n.str)
	hintNear(d, n.str, inf.functionNames())
	for _, k := range n.kids {
		inf.visit(k)
	}
}

// wrongPlace refuses a builtin at a kind of probe.
func (inf *inferrer) wrongPlace(n *node) {
	inf.errorf(n.span, "%s can not be used with \"%s\" probes", callName(n), providerName(inf.act))
}

// needsUnsafe refuses a builtin that changes the system unless that is allowed.
func (inf *inferrer) needsUnsafe(n *node) {
	if !inf.in.Unsafe {
		inf.errorf(n.span, "%s() is unsafe. To use you need the --unsafe flag", n.fn.ID)
	}
}

// rewriteCall turns a call into the literal that it stands for.
func (inf *inferrer) rewriteCall(n *node) bool {
	if n.fn == nil || len(n.kids) == 0 {
		return false
	}
	if n.fn.ID == builtin.Str && isWideText(n.kids[0].ty.t) {
		*n = node{op: opCall, span: n.span, str: "snapshot", fn: builtin.Get(builtin.Snapshot), kids: n.kids}
		return true
	}
	literal := inf.meanings[n.fn.ID].literal
	return literal != nil && literal(inf, n)
}

// call builds the call of a builtin: checks the types of its arguments and converts them.
func (b *builder) call(n *node) Expr {
	if n.fn == nil {
		return nil // reported when its type was looked for
	}
	m, e := &b.meanings[n.fn.ID], E{b.typeOf(n), n.span}
	c := &Call{E: e, Fn: n.fn}
	switch {
	case m.value != nil:
		return m.value(b, n, e)
	case m.fill != nil:
		if !m.fill(b, c, n) {
			return nil
		}
		for _, k := range n.kids {
			if b.valueless(k, "an argument of "+callName(n)+"()") {
				return nil
			}
		}
	case m.elsewhere != "":
		b.errorf(n.span, "%s() is no call here: %s", callName(n), m.elsewhere)
		return nil
	case n.fn.CompileTime:
		b.errorf(n.span, "%s() cannot be evaluated here: it depends on values that are not known at compile time",
			callName(n))
		return nil
	case len(n.kids) > 0:
		b.errorf(n.span, "internal: nothing is known of the arguments of %s()", callName(n))
		return nil
	}
	return c
}

// valueless refuses a call without a value where one is needed.
func (b *builder) valueless(n *node, where string) bool {
	if n.op != opCall || n.fn == nil || !n.ty.is(types.None, types.Void) {
		return false
	}
	b.errorf(n.span, "%s() has no value, so it cannot be %s", callName(n), where)
	return true
}

// add appends an argument; false: it was refused.
func (c *Call) add(x Expr) bool {
	c.Args = append(c.Args, Arg{Expr: x})
	return x != nil
}

// integers fills in arguments that are integers, converted to the types; those left out are left out.
func integers(ts ...*types.Type) func(*builder, *Call, *node) bool {
	return func(b *builder, c *Call, n *node) bool {
		ok := true
		for i, k := range n.kids {
			ok = ok && b.isInteger(n, i)
			c.add(castTo(b.expr(k), ts[i]))
		}
		return ok
	}
}

// literal returns an argument that must be a string literal.
func (b *builder) literal(n *node, i int) (string, bool) {
	k := n.kids[i]
	if k.op == opStr {
		return k.str, true
	}
	b.errorf(n.span, "%s() expects a string literal (%s provided)", callName(n), kindstr(k.ty.t))
	return "", false
}

func (b *builder) isInteger(n *node, i int) bool {
	if n.kids[i].ty.isInt() || n.kids[i].ty.castable() {
		return true
	}
	b.errorf(n.span, "%s() only supports int arguments (%s provided)", callName(n), kindstr(n.kids[i].ty.t))
	return false
}

func (b *builder) isKind(n *node, i int, kind types.Kind) bool {
	if n.kids[i].ty.is(kind) {
		return true
	}
	b.errorf(n.span, "%s() only supports %s arguments (%s provided)", callName(n), kindstr(&types.Type{Kind: kind}),
		kindstr(n.kids[i].ty.t))
	return false
}
