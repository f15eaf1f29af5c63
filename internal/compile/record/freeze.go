package record

import "trocar/internal/binary/types"

// Freeze gives a type that decodes values as t does and needs no file behind it: types from debug information are
// completed when they are asked for their members, which needs the file. It has what decoding looks at and nothing
// else: of what pointers lead to there is the name only, so that the type of a list's element does not hold its list.
func Freeze(t *types.Type) *types.Type {
	f := freezer{done: map[*types.Type]*types.Type{}}
	return f.freeze(t, 0)
}

// Freeze makes all types of a script independent of the files that they come from.
func (s *Script) Freeze() {
	f := freezer{done: map[*types.Type]*types.Type{}}
	for _, l := range s.Layouts {
		for i := range l.Args {
			l.Args[i].Type = f.freeze(l.Args[i].Type, 0)
		}
	}
	for i := range s.Storage {
		m := &s.Storage[i].Map
		m.Key, m.Value = f.freeze(m.Key, 0), f.freeze(m.Value, 0)
	}
}

// freezer keeps types that are used in several places one.
type freezer struct {
	done map[*types.Type]*types.Type // nil: it is being frozen
}

// freeze is bounded like Decoder: what lies deeper is not shown anyway.
func (f *freezer) freeze(t *types.Type, depth int) *types.Type {
	if t == nil || t.Source == nil && t.Elem == nil && t.Fields == nil {
		return t
	}
	out, seen := f.done[t]
	switch {
	case out != nil:
		return out
	case seen, depth > maxNesting: // a value cannot hold itself: the debug information is broken
		return &types.Type{Kind: t.Kind, Name: t.Name, Size: t.Size, Align: t.Align, Incomplete: true}
	}
	f.done[t] = nil
	out = f.copy(t.Complete(), depth)
	f.done[t] = out
	return out
}

func (f *freezer) copy(t *types.Type, depth int) *types.Type {
	c := *t
	c.Elem, c.Fields, c.Source = nil, nil, f.source(t, depth)
	switch t.Kind {
	case types.Pointer:
		c.Elem = outline(t.Elem, depth)
	case types.Struct, types.Union, types.Enum, types.Func:
		// Elem is the argument of a template, the integer below an enum, or a result: no part of the value.
	default:
		c.Elem = f.freeze(t.Elem, depth+1)
	}
	if c.Source != nil && c.Source.Variants != nil {
		return &c // which is what is shown, not the members
	}
	for _, field := range t.Fields {
		if field.Type = f.freeze(field.Type, depth+1); field.Type == nil {
			field.Type = &types.Type{Kind: types.Void, Incomplete: true}
		}
		c.Fields = append(c.Fields, field)
	}
	return &c
}

// source is what decoding asks of the source, with the alternatives that library types tell by their members.
func (f *freezer) source(t *types.Type, depth int) *types.Source {
	if t.Source == nil {
		return nil
	}
	s := &types.Source{Lang: t.Lang(), Form: t.Form()}
	if vs := t.Alternatives(); vs != nil {
		s.Variants = &types.Variants{Discr: vs.Discr}
		s.Variants.Discr.Type = f.freeze(vs.Discr.Type, depth+1)
		for _, one := range vs.List {
			one.Type = f.freeze(one.Type, depth+1)
			s.Variants.List = append(s.Variants.List, one)
		}
	}
	return s
}

// outline is the name of a type, as far as pointers and arrays take theirs from others.
func outline(t *types.Type, depth int) *types.Type {
	if t == nil {
		return nil
	}
	o := &types.Type{
		Kind: t.Kind, Name: t.Name, Size: t.Size, Align: t.Align, Signed: t.Signed, Len: t.Len, Incomplete: true,
	}
	if t.Kind == types.Pointer || t.Kind == types.Array {
		if depth > maxNesting {
			return types.TVoid
		}
		o.Elem = outline(t.Elem, depth+1)
	}
	return o
}
