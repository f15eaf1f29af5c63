package record

import "trocar/internal/binary/types"

// ofRust is the type in which values of Rust's library and tuples are captured; false: as other structures are.
func (c Capture) ofRust(t *types.Type, depth int) (*types.Type, bool) {
	s, ok := t.Rust()
	if !ok {
		return nil, false
	}
	switch s.Kind {
	case types.RustInner:
		return c.of(s.Parts[0].Type, depth), true
	case types.RustDyn:
		if c.Registers {
			return DynOf(t), true
		}
	case types.RustCounted:
		p := s.Parts[0].Type
		if depth == maxCaptured {
			return p, true
		}
		return c.of(p.Elem, depth+1), true
	case types.RustParts:
		kind := types.Struct
		if s.Tuple {
			kind = types.Tuple
		}
		out := &types.Type{Kind: kind, Name: t.Name, Align: 8}
		changed := s.Implied > 0
		for _, f := range s.Parts {
			n := types.Field{Name: f.Name, Type: c.of(f.Type, depth+1), Offset: out.Size}
			changed = changed || n.Type != f.Type
			out.Size += (n.Type.Size + 7) &^ 7
			out.Fields = append(out.Fields, n)
		}
		if changed && out.Size <= maxCapture {
			return out, true
		}
		return t, true
	}
	return nil, false
}

// maxVariants bounds the alternatives of which parts are captured.
const maxVariants = 64

// ofVariants is the type in which a value with alternatives is captured: the discriminant in the first word, or two,
// then what the alternative that it tells holds.
func (c Capture) ofVariants(t *types.Type, depth int) *types.Type {
	from := t.Alternatives()
	head := 8
	if from.Discr.Type != nil {
		head = max(head, from.Discr.Type.Size)
	}
	if len(from.List) > maxVariants || head > 16 {
		return t
	}
	to := &types.Variants{Discr: from.Discr}
	to.Discr.Offset = 0
	size, changed := 0, false
	for _, v := range from.List {
		held := v.Type.Complete()
		switch {
		case held == nil:
		case v.Name == "":
			v.Type = c.of(held, depth+1)
		default:
			v.Type = c.ofHeld(held, depth)
		}
		if held != nil {
			changed = changed || v.Type != held
			size = max(size, v.Type.Size)
		}
		v.Offset = head
		to.List = append(to.List, v)
	}
	size = (size + 7) &^ 7
	if !changed || size > maxCapture {
		return t
	}
	source := &types.Source{Lang: t.Lang(), Form: types.RustEnumForm, Variants: to}
	return &types.Type{Kind: types.Struct, Name: t.Name, Size: head + size, Align: 8, Source: source}
}

// ofHeld is the type in which the members of an alternative are captured.
func (c Capture) ofHeld(t *types.Type, depth int) *types.Type {
	out := &types.Type{Kind: types.Struct, Name: t.Name, Align: 8, Source: &types.Source{}}
	changed := false
	for _, f := range t.Fields {
		n := types.Field{Name: f.Name, Type: c.of(f.Type, depth+1), Offset: out.Size}
		changed = changed || n.Type != f.Type
		out.Size += (n.Type.Size + 7) &^ 7
		out.Fields = append(out.Fields, n)
	}
	if t.Kind != types.Struct || !changed || t.Source != nil && t.Source.Variants != nil {
		return t
	}
	return out
}
