package record

import (
	"testing"

	"trocar/internal/binary/types"
)

func TestCapture(t *testing.T) {
	in := func(lang types.Language, typ types.Type) *types.Type {
		typ.Source = &types.Source{Lang: lang}
		return &typ
	}
	ref := func(to *types.Type) *types.Type {
		p := in(types.CPlusPlus, *types.PointerTo(to, types.User))
		p.Source.Ref = types.LValueRef
		return p
	}
	word := &types.Type{Kind: types.Int, Name: "long", Size: 8, Align: 8}
	view := in(types.CPlusPlus, types.Type{Kind: types.Struct, Name: "std::basic_string_view<char, " +
		"std::char_traits<char> >", Size: 16, Align: 8, Fields: []types.Field{
		{Name: "_M_len", Type: word}, {Name: "_M_str", Type: types.PointerTo(types.TChar, types.User), Offset: 8},
	}})
	named := in(types.CPlusPlus, types.Type{
		Kind: types.Struct, Name: "Named", Size: 24, Align: 8,
		Fields: []types.Field{{Name: "n", Type: word}, {Name: "name", Type: view, Offset: 8}},
	})
	plain := in(types.CPlusPlus, types.Type{
		Kind: types.Struct, Name: "P", Size: 8, Align: 8,
		Fields: []types.Field{{Name: "x", Type: word}},
	})
	huge := in(types.CPlusPlus, types.Type{
		Kind: types.Struct, Name: "H", Size: 1 << 20, Align: 8,
		Fields: []types.Field{{Name: "x", Type: types.ArrayOf(word, 1<<17)}},
	})
	kernel := in(types.C, *types.PointerTo(plain, types.Kernel))
	for _, c := range []struct {
		name string
		t    *types.Type
		kept bool
		kind types.Kind
		size int
		ok   bool
	}{
		{"integer", word, true, types.Int, 8, false},
		{"text", view, false, types.String, 100, true},
		{"text for later", view, true, types.Text, 8 + 104, true},
		{"reference to text", ref(view), true, types.Text, 8 + 104, true},
		{"plain struct", plain, true, types.Struct, 8, false},
		{"reference to it", ref(plain), true, types.Struct, 8, true},
		{"struct with text", named, true, types.Struct, 8 + 8 + innerStrlen, true},
		{"array of them", in(types.CPlusPlus, *types.ArrayOf(named, 3)), true, types.Array, 3 * (16 + innerStrlen), true},
		{"reference to what is too large", ref(huge), true, types.Pointer, 8, false},
		{"pointer of the kernel", kernel, true, types.Pointer, 8, false},
		{"nothing", nil, true, 0, 0, false},
	} {
		to, ok := Capture{Strlen: 100, Kept: c.kept}.Of(c.t)
		if ok != c.ok || c.t != nil && (to.Kind != c.kind || to.Size != c.size) {
			t.Errorf("%s: %+v, %v", c.name, to, ok)
		}
	}
}
