package record

import "trocar/internal/binary/types"

// ofAny is how much is captured of an object whose declaration says nothing of it, of which FirstOfAny bytes are
// there in any case: it may be a text, or a number.
const (
	ofAny      = 112
	FirstOfAny = 16
)

// ofDotNet is the type in which what a reference of .NET refers to is captured: an object with what tells its type,
// which may be one that is derived from the declared one, or a value. The runtime moves objects: addresses are of no
// use.
//
// What an object refers to is told by its type only, and so is the object of a method: it may be one that is not made
// yet.
func (c Capture) ofDotNet(t *types.Type, depth int) (*types.Type, bool) {
	if t.Elem == nil || depth > c.levels() {
		return nil, false
	}
	elem := t.Elem.Complete()
	follow := c.hops < maxHops && depth <= 2 && depth < c.levels()
	c.hops++
	switch elem.Form() {
	case types.DotNetListForm, types.DotNetObjectForm:
		to, raw := &types.Type{Kind: types.Struct, Name: elem.Name, Source: elem.Source}, 0
		switch {
		case !follow || t.Source.Class:
		case len(elem.Fields) > 0:
			to = c.of(elem, depth)
		default:
			raw = ofAny
		}
		if to.Kind != types.List {
			to = ObjectOf(elem, to, raw)
			to.Source = &types.Source{Lang: types.DotNet}
		}
		to = InPlaceOf(to)
		to.Source = &types.Source{Lang: types.DotNet}
		return to, true
	}
	if !follow || elem.Size <= 0 || elem.Size > maxPointed || elem.Incomplete || elem.Kind == types.Pointer {
		return nil, false
	}
	to := PointedOf(t, c.of(elem, depth+1))
	to.Source = &types.Source{Lang: types.DotNet}
	return to, true
}
