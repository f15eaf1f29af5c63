package types

import "strings"

// The forms in which values of Go that lie elsewhere are captured.

// IfaceOf makes the captured form of a Go interface: u32 number of the probe point + 1 (0: the interface is nil), u32 unused,
// then the nodes, first the interface's own value, then those of interfaces in it, and Long bytes: the beginning of the
// first string in the first node, in place of what the node has of it.
func IfaceOf(t *Type, nodes IfaceNodes) *Type {
	return &Type{Kind: Iface, Name: t.Name, Size: 8 + nodes.Size(), Align: 8, Nodes: &nodes}
}

// IfaceNodes is how much of an interface's value is captured.
type IfaceNodes struct {
	Len int // nodes
	// A node is what is captured of one dynamic value: u64 address of its type minus that of the probed instruction (0: there
	// is no value), u64 the data word, u64 its place (1 + offset in the node that holds it, whose number is in the upper 32
	// bits; no matter for the first), u64 number of bytes of the value that follow, Raw bytes, then Texts times: u64 1 +
	// offset of a string in the value (0: none), u64 its length, and its first bytes: FirstText, then MoreText of them.
	Raw, FirstText, MoreText, Texts int
	Long                            int
}

// IfaceHeader is the part of a node in front of the value's bytes.
const IfaceHeader = 32

// Text gives the place of the i-th string in a node, and how many bytes of it there are at most.
func (n *IfaceNodes) Text(i int) (at, most int) {
	at = IfaceHeader + n.Raw
	if i == 0 {
		return at, n.FirstText
	}
	return at + 16 + n.FirstText + (i-1)*(16+n.MoreText), n.MoreText
}

// Node is the size of a node.
func (n *IfaceNodes) Node() int {
	at, _ := n.Text(n.Texts)
	return at
}

// Valid tells whether there are nodes, of a sensible size.
func (n *IfaceNodes) Valid() bool {
	if n == nil || n.Len < 1 {
		return false
	}
	for _, size := range []int{n.Len, n.Raw, n.FirstText, n.MoreText, n.Texts, n.Long} {
		if size < 0 || size > 1<<16 {
			return false
		}
	}
	return true
}

// Size is the size of all nodes and of the long text.
func (n *IfaceNodes) Size() int { return n.Len*n.Node() + n.Long }

// BytesOf makes the captured form of a Go slice of bytes: a Text that is shown as bytes.
func BytesOf(t *Type, n int) *Type {
	b := TextOf(n, 1)
	b.Name, b.Source = t.Name, &Source{Lang: Go, Form: GoSliceForm}
	return b
}

// EntriesOf makes the captured form of a Go map: u64 address (0: nil), u64 number of entries, u64 number of those that
// follow, then at most n times a key and a value.
func EntriesOf(t, key, value *Type, n int) *Type {
	entry := &Type{Kind: Struct, Align: 8, Fields: []Field{{Name: "key", Type: key}, {Name: "value", Type: value, Offset: roundUp(key.Size)}}}
	entry.Size = roundUp(key.Size) + roundUp(value.Size)
	return &Type{Kind: Entries, Name: t.Name, Size: EntriesHeader + n*entry.Size, Align: 8, Elem: entry, Len: n}
}

// EntriesHeader is the part of a captured map in front of its entries.
const EntriesHeader = 24

// ChannelOf makes the captured form of a Go channel.
func ChannelOf(t *Type) *Type { return &Type{Kind: Channel, Name: t.Name, Size: 32, Align: 8} }

// TClosure is the captured form of Go's funcs.
var TClosure = &Type{Kind: Closure, Name: "func", Size: 16, Align: 8}

// PointedOf makes the captured form of a Go pointer with its target.
func PointedOf(t, target *Type) *Type {
	return &Type{Kind: Pointed, Name: t.Name, Size: 8 + roundUp(target.Size), Align: 8, Elem: target}
}

func roundUp(n int) int { return (n + 7) &^ 7 }

// maxHops is how many of Go's pointers are followed from a value, one behind the other.
const maxHops = 1

// maxPointed bounds the values that pointers are followed to.
const maxPointed = 1 << 10

// ofGo is the type in which Go's own kinds are captured.
func (c Capture) ofGo(t *Type, depth int) (*Type, bool) {
	if !c.Registers {
		return nil, false
	}
	switch t.Form() {
	case GoIfaceForm, GoEfaceForm:
		return IfaceOf(t, c.nodes(depth)), true
	case GoMapForm:
		return c.ofMap(t, depth), true
	case GoChanForm:
		if _, ok := t.GoChannel(); ok {
			return ChannelOf(t), true
		}
		return nil, false
	case GoFuncForm:
		return TClosure, true
	case GoUnsafePointer:
		return nil, false
	}
	if t.Kind != Pointer || t.Lang() != Go || t.Elem == nil || t.isShape() || c.hops >= maxHops || depth > 2 || depth >= c.levels() {
		return nil, false
	}
	elem := t.Elem.Complete()
	if elem.Size <= 0 || elem.Size > maxPointed || elem.Incomplete || elem.Kind == Pointer && elem.Form() == NoForm {
		return nil, false
	}
	c.hops++
	return PointedOf(t, c.of(elem, depth+1)), true
}

// isShape tells a pointer in code that several instances of a generic function share: to what is not known there.
func (t *Type) isShape() bool { return strings.HasPrefix(t.Name, "go.shape.") }

// GoChannel gives the offsets of length, capacity and whether it is closed in a channel's header.
func (t *Type) GoChannel() (at [3]int, ok bool) {
	if t.Elem == nil {
		return at, false
	}
	h := t.Elem.Complete()
	for i, name := range []string{"qcount", "dataqsiz", "closed"} {
		f, found := h.Field(name)
		if !found {
			return at, false
		}
		at[i] = f.Offset
	}
	return at, true
}

// ofMap is the captured form of a map: only its length where its layout is not known, or it lies deep in a value.
func (c Capture) ofMap(t *Type, depth int) *Type {
	m, ok := t.GoMap()
	if !ok || depth > 2 {
		return EntriesOf(t, TVoid, TVoid, 0)
	}
	c.many = true
	key, value := c.of(m.Key, depth+1), c.of(m.Value, depth+1)
	n := innerElems >> c.less
	for n > 1 && n*(key.Size+value.Size) > maxCapture/4 {
		n /= 2
	}
	return EntriesOf(t, key, value, n)
}

// nodes is how much of an interface's value is captured.
func (c Capture) nodes(depth int) IfaceNodes {
	switch {
	case depth <= 1 && !c.many && c.less == 0:
		return IfaceNodes{Len: 5, Raw: 112, FirstText: 80, MoreText: 40, Texts: 3, Long: c.inner()}
	case depth <= 2 && c.less < 2:
		return IfaceNodes{Len: 3, Raw: 80, FirstText: 80, MoreText: 32, Texts: 3}
	}
	return IfaceNodes{Len: 2, Raw: 64, FirstText: 48, MoreText: 24, Texts: 3}
}

// deep is the captured form of what lies too deep for more: of text a little, of Go's slices the length.
func (c Capture) deep(t *Type, depth int) *Type {
	if t.Lang() != Go || depth > 2*maxCaptured {
		return t
	}
	c.hops = maxHops
	if to, ok := c.ofGo(t, depth); ok {
		return to
	}
	if _, ok := t.Text(); ok {
		return TextOf(c.text(t, maxCaptured), 1)
	}
	if v, ok := t.List(); ok {
		return ListOf(v.Elem, 0)
	}
	if t.Kind == Struct && t.Form() == NoForm {
		if to, ok := c.fields(t, depth); ok {
			return to
		}
	}
	return t
}
