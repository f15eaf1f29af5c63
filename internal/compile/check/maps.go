package check

import (
	"trocar/internal/compile/builtin"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Maps: which of them have keys. The first use of a map decides; `typeof(@x)` and functions that take any map do not.

func (c *checker) resolveMaps() {
	for _, d := range c.file.MapDecls {
		c.declareMap(d)
	}
	var later []*node
	for _, act := range c.actions {
		if act.pred != nil {
			c.mapUses(act.pred, &later)
		}
		c.mapUses(act.body, &later)
	}
	for _, n := range later {
		c.mapUses(n, nil)
	}
}

var mapKinds = map[string]MapKind{
	"hash": Hash, "lruhash": LRUHash, "percpuhash": PerCPUHash, "percpulruhash": PerCPULRUHash,
}

func (c *checker) declareMap(d *syntax.MapDecl) {
	kind, ok := mapKinds[d.Kind]
	if !ok {
		c.errorf(d.Span, "Invalid bpf map type: %s", d.Kind).
			Hint("Valid map types: hash, lruhash, percpuhash, percpulruhash")
		return
	}
	if d.Max < 1 || d.Max > 1<<31-1 {
		c.errorf(d.Span, "a map must have between 1 and %d entries (%d given)", 1<<31-1, d.Max)
		return
	}
	m := c.mapNamed(d.Name, d.Span)
	if m.decl != nil {
		c.errorf(d.Span, "Redeclaration of existing map: %s", d.Name).Note(m.decl.Span, "This is the initial declaration.")
		return
	}
	m.decl, m.kind = d, kind
}

// mapUses finds out which maps have keys, in the order of the script. later takes what is looked at in the end.
func (c *checker) mapUses(n *node, later *[]*node) {
	switch n.op {
	case opType:
		if later != nil {
			if len(n.kids) > 0 {
				*later = append(*later, n)
			}
			return
		}
		if len(n.kids) > 0 && n.kids[0].op == opMap {
			if m := n.kids[0].m; !m.known {
				m.known, m.scalar = true, true
			}
			return
		}
	case opSetMap, opMapGet, opAggregate:
		scalar := n.kids[0].op == opNone
		m := n.m
		switch {
		case !m.known:
			m.known, m.scalar = true, scalar
		case m.scalar == scalar:
		case scalar:
			c.errorf(n.mapSpan(), "%s used as a map without an explicit key (scalar map), previously used with an explicit key "+
				"(non-scalar map)", m.name)
		default:
			c.errorf(n.span, "%s used as a map with an explicit key (non-scalar map), previously used without an explicit key "+
				"(scalar map)", m.name)
		}
	case opForMap:
		if m := n.m; !m.known {
			m.known = true
		} else if m.scalar {
			c.errorf(n.kids[1].span, "%s has no explicit keys (scalar map), and cannot be used for iteration", m.name)
		}
		c.mapUses(n.kids[2], later)
		return
	case opCall:
		c.mapCall(n)
	case opAddr:
		if n.kids[0].op == opMapGet && n.kids[0].kids[0].op == opNone {
			return
		}
	}
	for _, k := range n.kids {
		c.mapUses(k, later)
	}
	if n.value != nil {
		c.mapUses(n.value, later)
	}
}

// mapSpan is the place of the map in an access to it.
func (n *node) mapSpan() diag.Span {
	for _, k := range append(append([]*node(nil), n.kids...), n.value) {
		if k != nil && k.op == opMap {
			return k.span
		}
	}
	return n.span
}

// keyed names, for messages, the functions that need a map with keys.
func keyedCall(n *node) string {
	switch {
	case is(n, builtin.Delete) && len(n.kids) == 2:
		return "delete() with two arguments"
	case is(n, builtin.HasKey):
		return "has_key()"
	case is(n, builtin.Find):
		return "find"
	case is(n, builtin.Len):
		return "len()"
	}
	return ""
}

func (c *checker) mapCall(n *node) {
	if n.fn == nil || !n.fn.MapArg || len(n.kids) == 0 || n.kids[0].op != opMap {
		return
	}
	m := n.kids[0].m
	if what := keyedCall(n); what != "" && !m.known {
		m.known = true
	}
	if is(n, builtin.Delete) && len(n.kids) == 1 && !m.known {
		m.known, m.scalar = true, true
	}
}

// isScalar tells whether a map has no keys.
func (m *mapState) isScalar() bool { return m.known && m.scalar }
