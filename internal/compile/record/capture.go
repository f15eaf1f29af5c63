package record

import "trocar/internal/binary/types"

// What lies elsewhere than in a value (text, elements, what references refer to) is read when the value is shown or
// kept, while the program still has it. The type of what is captured differs from the value's own: a std::string
// becomes a String, a vector a List, a reference what it refers to. The tree of reads is bounded in depth and size.

// Bounds of captured values inside others. Text that is captured by itself has the bound of the Capture.
const (
	innerStrlen = 200
	innerElems  = 8
	maxCaptured = 4        // levels
	maxCapture  = 8 << 10  // bytes of one value
	maxWhole    = 16 << 10 // of all arguments or results together
)

// Capture says how values are captured.
type Capture struct {
	Strlen    int  // bytes of a text that is captured by itself
	Inner     int  // of one inside other values; 0: innerStrlen
	Levels    int  // how deep values inside others are followed; 0: maxCaptured, less than 0: not at all
	Kept      bool // for later: a text by itself becomes a Text as well, which has its length
	Registers bool // in a probe of the program, where also the dynamic types of Go's interfaces can be told

	hops int  // Go's pointers that were followed
	many bool // it is an element of something of Go's: there are others like it
	less int  // of Go's values less is captured, by this power of two
}

// Of is the type in which values of t are captured; t itself, and false, if they are as they lie in memory.
func (c Capture) Of(t *types.Type) (*types.Type, bool) {
	if t == nil {
		return t, false
	}
	switch t.Kind {
	case types.Struct, types.Array:
	case types.Pointer:
		if t.Space == types.Kernel {
			return t, false
		}
	default:
		return t, false
	}
	to := c.of(t, 0)
	return to, to != t
}

func (c Capture) levels() int {
	if c.Levels == 0 {
		return maxCaptured
	}
	return max(0, c.Levels)
}

func (c Capture) inner() int {
	if c.Inner > 0 {
		return min(c.Inner, maxCapture/4)
	}
	return innerStrlen
}

func (c Capture) of(t *types.Type, depth int) *types.Type {
	if t == nil || t.Source == nil && t.Kind != types.Struct && !t.IsCString() {
		return t
	}
	t = t.Complete()
	if depth > c.levels() {
		return c.deep(t, depth)
	}
	if to, ok := c.ofManaged(t, depth); ok {
		return to
	}
	if t.IsCString() && c.Kept && c.Registers {
		if depth == 0 {
			return CStringOf(c.Strlen)
		}
		return CStringOf(c.text(t, depth))
	}
	if unit := t.WideUnit(); unit > 0 {
		return WideOf(2*c.inner(), unit)
	}
	if v, ok := t.Text(); ok {
		if v.Unit > 1 {
			n := c.inner()
			if depth == 0 && t.Lang() == types.DotNet {
				n = c.Strlen // all texts there are of this kind
			}
			return TextOf(v.Unit*n, v.Unit)
		}
		switch {
		case depth > 0:
			return TextOf(c.text(t, depth), 1)
		case c.Kept:
			return TextOf(c.Strlen, 1)
		}
		return types.StringOf(c.Strlen) // sent with its true length
	}
	if w, ok := t.Walk(); ok && c.Registers && depth <= maxWalked {
		return c.ofWalk(t, w, depth)
	}
	if v, ok := t.List(); ok && v.Bits {
		return &types.Type{Kind: types.List, Name: t.Name, Size: 16, Align: 8, Len: 64, Bits: 1, Elem: types.TBool}
	} else if ok {
		if t.Form() == types.SliceForm && v.Elem.Kind == types.Int && v.Elem.Name == "uint8" {
			return BytesOf(t, c.text(t, depth))
		}
		n := innerElems
		if t.Form() == types.SliceForm {
			n >>= max(0, depth-2) + c.less
		}
		if c.many {
			n = max(1, n/2)
		}
		c.many = t.Form() == types.SliceForm
		elem := c.of(v.Elem, depth+1)
		room := maxCapture / 4
		if c.many {
			room = maxCapture / 2
		}
		// Rather two elements in less depth than one in full.
		for d := depth + 2; c.many && d <= maxCaptured && 2*elem.Size > room; d++ {
			elem = c.of(v.Elem, d)
		}
		for n > 1 && n*elem.Size > room {
			n /= 2
		}
		if t.Form() == types.SliceForm {
			return SliceOf(t, elem, n)
		}
		return ListOf(elem, n)
	}
	elem, ok := t.Referenced()
	if ok && (elem.Size > 0 || t.Lang() == types.Rust && elem.Kind != types.Void) && !elem.Incomplete {
		if to := c.ofObject(elem, c.of(elem, depth), depth); to.Size <= maxCapture {
			return to
		}
		return t
	}
	switch t.Kind {
	case types.Pointer:
		if t.Elem != nil && t.Elem.Kind == types.Func && t.Size == 8 {
			return types.TUSym // the function's name
		}
		if l := t.Lang(); c.Kept && (l == types.C || l == types.CPlusPlus) && t.Elem != nil {
			if elem := t.Elem.Complete(); elem.Kind == types.Struct || elem.Kind == types.Union {
				return c.ofPointer(t, t, depth)
			}
		}
	case types.Struct:
		if t.Alternatives() != nil {
			return c.ofVariants(t, depth)
		}
		if to, ok := c.ofRust(t, depth); ok {
			return to
		}
		if f, ok := t.Held(); ok {
			switch {
			case f.Name != "":
				return sized(t)
			case f.Type.Kind == types.Pointer && (f.Type.Elem == nil || f.Type.Elem.Kind != types.Func):
				return c.ofPointer(t, f.Type, depth)
			}
			return c.of(f.Type, depth)
		}
		if _, ok := t.Deque(); ok {
			return sized(t)
		}
		if fields, ok := t.TupleOfCPP(); ok {
			elems := make([]*types.Type, len(fields))
			for i, f := range fields {
				elems[i] = c.of(f.Type, depth+1)
			}
			tuple := types.TupleOf(elems...)
			tuple.Name = t.Name
			return tuple
		}
		return c.ofStruct(t, depth)
	case types.Array:
		if e := c.of(t.Elem, depth+1); e != t.Elem && t.Len > 0 && t.Len*e.Size <= maxCapture {
			return types.ArrayOf(e, t.Len)
		}
	}
	return t
}

// text is how much of a text inside another value is captured: of Go, where more is followed, less the deeper it lies.
func (c Capture) text(t *types.Type, depth int) int {
	switch {
	case c.Inner > 0:
		return c.inner()
	case !t.Lang().Managed():
		return c.inner() >> c.less
	case c.many:
		return innerStrlen >> min(3, max(1, depth-1)+c.less)
	}
	return innerStrlen >> min(3, max(0, depth-2)+c.less)
}

// sized is what is shown of a container whose elements are in a tree or table: their number.
func sized(t *types.Type) *types.Type {
	size := types.Field{Name: "size", Type: types.TUint64}
	return &types.Type{Kind: types.Struct, Name: t.Name, Size: 8, Align: 8, Fields: []types.Field{size}}
}

// ofStruct captures each field in its own way, with less of what lies elsewhere if that would be too much.
func (c Capture) ofStruct(t *types.Type, depth int) *types.Type {
	to, ok := c.fields(t, depth)
	if ok {
		return to
	}
	for c.less < 2 {
		c.less++
		if to, ok := c.fields(t, depth); ok {
			return to
		}
	}
	c.hops = maxHops
	for d := depth; d < maxCaptured; d++ {
		if to, ok := c.fields(t, d); ok {
			return to
		}
	}
	return t
}

func (c Capture) fields(t *types.Type, depth int) (to *types.Type, fits bool) {
	changed := false
	out := *t
	out.Fields = nil
	at := 0
	for _, f := range t.Fields {
		if f.Artificial {
			changed = true
			continue
		}
		n := f
		if f.BitSize == 0 {
			n.Type = c.of(f.Type, depth+1)
		}
		changed = changed || n.Type != f.Type
		size := n.Type.Size
		if f.BitSize > 0 {
			size = (f.BitOffset + f.BitSize + 7) / 8
		}
		at = (at + 7) &^ 7
		n.Offset = at
		at += size
		out.Fields = append(out.Fields, n)
	}
	if !changed {
		return t, true
	}
	out.Size, out.Align = (at+7)&^7, 8
	if depth == 0 {
		return &out, at <= maxWhole
	}
	return &out, at <= maxCapture
}
