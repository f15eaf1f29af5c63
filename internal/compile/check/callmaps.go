package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
)

func (m *meanings) mapOps() {
	deletes := meaning{fill: (*builder).mapCall, form: func(inf *inferrer, _ *node, args []*node) bool {
		if args[0].op != opMap {
			inf.errorf(args[0].span, "delete() expects a map argument").Hint("delete(@x, key)")
			return false
		}
		return true
	}}
	whole := meaning{form: formMap, fill: (*builder).mapCall}
	m[builtin.Delete] = deletes
	m[builtin.HasKey], m[builtin.Find], m[builtin.Clear], m[builtin.Zero] = whole, whole, whole, whole
	m[builtin.Len] = meaning{fill: (*builder).mapCall}
	m[builtin.IsScalar] = meaning{form: formMap, literal: func(_ *inferrer, n *node) bool {
		k := n.kids[0]
		if k.op != opMap || !k.m.known {
			return false
		}
		n.toBool(k.m.scalar)
		return true
	}}
}

func formMap(inf *inferrer, n *node, args []*node) bool {
	if args[0].op != opMap {
		inf.errorf(args[0].span, "%s() expects a map argument", callName(n))
		return false
	}
	return true
}

// mapCallRules lets keys that are asked for take part in the type of a map's keys.
func (inf *inferrer) mapCallRules(n *node) {
	if !n.fn.MapArg || len(n.kids) == 0 || n.kids[0].op != opMap {
		return
	}
	m := n.kids[0].m
	what := keyedCall(n)
	if what != "" && m.isScalar() {
		if n.fn.ID == builtin.Len {
			inf.errorf(n.span, "call to len() expects a map with explicit keys (non-scalar map)")
			return
		}
		inf.errorf(n.span, "call to %s expects a map with explicit keys (non-scalar map)", what)
		return
	}
	switch n.fn.ID {
	case builtin.Delete:
		m.valued = true
		if len(n.kids) == 1 && !m.isScalar() {
			inf.errorf(n.span, "call to delete() with a single argument expects a map without explicit keys (scalar map)").
				Hint("name the entry: delete(%s, key), or remove all: clear(%s)", m.name, m.name)
			return
		}
	case builtin.HasKey, builtin.Find:
		m.valued = true
	default:
		return
	}
	if len(n.kids) > 1 {
		inf.keyRule(m, n.kids[1], n)
	}
	if n.fn.ID == builtin.Find {
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

func (b *builder) mapCall(c *Call, n *node) bool {
	k := n.kids[0]
	if k.op != opMap {
		// len of a stack, or of a value of the program's language.
		_, listed := elements(k.ty.t)
		if _, array := k.ty.t.JavaElement(); !array && !listed && !k.ty.is(types.UStack, types.KStack) {
			d := b.errorf(n.span, "call to len() expects a map, ustack, or kstack, or a string or list of the traced program")
			if k.ty.t.Form() == types.JavaForm {
				d.Hint("of Java, arrays have a length; how many elements a collection has is in a field: args.list.size")
			}
			return false
		}
		x := b.expr(k)
		if listed && x != nil && x.Type().Kind == types.Pointer {
			x = &Deref{E{b.complete(x.Type().Elem), n.span}, x}
		}
		c.Args = []Arg{{Expr: x}}
		return x != nil
	}
	m := b.mapRef(k.m, k.span)
	c.Args = []Arg{{Map: m}}
	if len(n.kids) > 1 {
		key, ok := b.tryConvert(n.kids[1], k.m.key.ty)
		if !ok {
			b.errorf(n.span, "Type mismatch for %s: trying to assign key of type '%s' when map already has a key type '%s'",
				m.Name, typestr(n.kids[1].ty.t), typestr(k.m.key.ty.t))
			return false
		}
		c.Args = append(c.Args, Arg{Expr: key})
	}
	if n.fn.ID == builtin.Find {
		v := n.kids[2].v
		if v == nil || v.out == nil {
			return false
		}
		if _, ok := promote(known(v.out.Type), known(m.Value)); !ok || !same(v.out.Type, m.Value) &&
			!fits(known(m.Value), v.out.Type) {
			b.errorf(n.span, "Type mismatch for %s: trying to assign value of type '%s' when variable already has a type '%s'",
				v.name, typestr(m.Value), typestr(v.out.Type))
			return false
		}
		c.Args = append(c.Args, Arg{Var: v.out})
	}
	return true
}
