package record

import (
	"strings"

	"trocar/internal/binary/types"
)

// maxHops is how many of Go's pointers are followed from a value, one behind the other.
const maxHops = 1

// maxPointed bounds the values that pointers are followed to.
const maxPointed = 1 << 10

// ofManaged is the type in which the kinds of values are captured that a runtime has besides C's.
func (c Capture) ofManaged(t *types.Type, depth int) (*types.Type, bool) {
	if !c.Registers {
		return nil, false
	}
	switch t.Form() {
	case types.InterfaceForm, types.AnyForm:
		return IfaceOf(t, c.nodes(depth)), true
	case types.MapForm:
		return c.ofMap(t, depth), true
	case types.ChannelForm:
		if _, ok := t.ChannelLayout(); ok {
			return ChannelOf(t), true
		}
		return nil, false
	case types.ClosureForm:
		return TClosure, true
	case types.UnsafeForm:
		return nil, false
	case types.JavaForm:
		return JavaOf(t, 2*c.inner()), true
	case types.PythonForm:
		return PythonOf(t, c.inner()), true // each argument has room for a text
	}
	if t.Kind == types.Pointer && t.Lang() == types.DotNet {
		return c.ofDotNet(t, depth)
	}
	if t.Kind != types.Pointer || !t.Lang().Managed() || t.Elem == nil || t.Shared() ||
		c.hops >= maxHops || depth > 2 || depth >= c.levels() {
		return nil, false
	}
	elem := t.Elem.Complete()
	if elem.Size <= 0 || elem.Size > maxPointed || elem.Incomplete ||
		elem.Kind == types.Pointer && elem.Form() == types.NoForm {
		return nil, false
	}
	c.hops++
	return PointedOf(t, c.of(elem, depth+1)), true
}

// ofPointer is the type in which a smart pointer of C++, or a pointer to a structure, is captured: with what it points
// to, unless that is too much.
func (c Capture) ofPointer(t, p *types.Type, depth int) *types.Type {
	if p.Elem == nil || c.hops >= maxHops || depth > 2 || depth >= c.levels() || !c.Registers || p.Space == types.Kernel {
		return p
	}
	elem := p.Elem.Complete()
	_, text := elem.Text()
	if elem.Size <= 0 || elem.Size > maxPointed || elem.Incomplete || elem.Kind == types.Pointer ||
		elem.Kind == types.Void ||
		elem.Kind == types.Func || strings.Contains(t.Name, "[]") {
		return p
	}
	most := maxOwned
	if t == p {
		most = maxFollowed
	}
	c.hops++
	for ; c.less < 3; c.less++ {
		if to := c.of(elem, depth+1); to.Size <= most || text {
			out := PointedOf(p, c.ofObject(elem, to, depth))
			out.Source = &types.Source{Lang: types.CPlusPlus}
			return out
		}
	}
	return p
}

// ofObject is the type in which an object is captured that may be of a class derived from t; to is that of t's part.
func (c Capture) ofObject(t, to *types.Type, depth int) *types.Type {
	if !c.Registers || depth > 2 || !t.Polymorphic() {
		return to
	}
	return ObjectOf(t, to, mostOfObject>>depth)
}

// mostOfObject is how many bytes of an object are captured whose class is not known beforehand.
const mostOfObject = 4 * ObjectChunk

// What is captured behind a smart pointer, and behind any pointer to a structure of C and C++: many functions have some
// of these.
const (
	maxOwned    = 2 << 10
	maxFollowed = 768
)

// ofMap is the captured form of a map: only its length where its layout is not known, or it lies deep in a value.
func (c Capture) ofMap(t *types.Type, depth int) *types.Type {
	m, ok := t.MapLayout()
	if !ok || depth > 2 {
		return EntriesOf(t, types.TVoid, types.TVoid, 0)
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
func (c Capture) nodes(depth int) Nodes {
	switch {
	case depth <= 1 && !c.many && c.less == 0:
		return Nodes{Len: 5, Raw: 112, FirstText: 80, MoreText: 40, Texts: 3, Long: c.inner()}
	case depth <= 2 && c.less < 2:
		return Nodes{Len: 3, Raw: 80, FirstText: 80, MoreText: 32, Texts: 3}
	}
	return Nodes{Len: 2, Raw: 64, FirstText: 48, MoreText: 24, Texts: 3}
}

// deep is the captured form of what lies too deep for more: of text a little, of Go's slices the length.
func (c Capture) deep(t *types.Type, depth int) *types.Type {
	if !t.Lang().Managed() || depth > 2*maxCaptured {
		return t
	}
	c.hops = maxHops
	if to, ok := c.ofManaged(t, depth); ok {
		return to
	}
	if _, ok := t.Text(); ok {
		return TextOf(c.text(t, maxCaptured), 1)
	}
	if v, ok := t.List(); ok {
		return SliceOf(t, v.Elem, 0)
	}
	if t.Kind == types.Struct && t.Form() == types.NoForm {
		if to, ok := c.fields(t, depth); ok {
			return to
		}
	}
	return t
}
