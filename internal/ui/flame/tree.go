package flame

import (
	"cmp"

	"trocar/internal/order"
)

// node is a function where it was called from: a rectangle of a flame graph.
type node struct {
	name     string
	detail   string // file and line, module
	kernel   bool
	total    uint64 // of the stacks that go through it
	self     uint64 // of those that end in it
	before   uint64 // the total in the profile that is compared with
	children []*node
	byName   map[string]*node
}

// tree puts stacks together by their beginnings; the children of a node are sorted by name.
func (p *Profile) tree() *node {
	root := &node{name: "all"}
	if p.Base != nil {
		root.add(p.Base.Samples, func(n *node) *uint64 { return &n.before }, false)
	}
	root.add(p.Samples, func(n *node) *uint64 { return &n.total }, true)
	root.sort()
	return root
}

// add adds the stacks of samples to a sum of the nodes.
func (n *node) add(samples []Sample, sum func(*node) *uint64, self bool) {
	for i := range samples {
		s := &samples[i]
		*sum(n) += s.Count
		at := n
		for j, name := range s.names() {
			at = at.child(name)
			*sum(at) += s.Count
			if k := len(s.Frames) - 1 - (j - len(s.Roots)); j >= len(s.Roots) && k >= 0 {
				at.describe(s, k)
			}
		}
		if self {
			at.self += s.Count
		}
	}
}

func (n *node) child(name string) *node {
	if c := n.byName[name]; c != nil {
		return c
	}
	c := &node{name: name}
	if n.byName == nil {
		n.byName = map[string]*node{}
	}
	n.byName[name] = c
	n.children = append(n.children, c)
	return c
}

// describe keeps where a frame is.
func (n *node) describe(s *Sample, k int) {
	f := s.Frames[k]
	n.kernel = Kernel(f)
	if n.detail != "" {
		return
	}
	switch {
	case n.kernel:
		n.detail = "kernel"
	case f.Inlined:
		n.detail = "inlined, " + f.Module
	default:
		n.detail = f.Module
	}
}

func (n *node) sort() {
	order.By(n.children, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	for _, c := range n.children {
		c.sort()
	}
}

// depth is how many levels there are.
func (n *node) depth() int {
	d := 0
	for _, c := range n.children {
		d = max(d, c.depth())
	}
	return d + 1
}
