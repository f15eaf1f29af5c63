package types

import "testing"

func TestCapture(t *testing.T) {
	in := func(lang Language, typ Type) *Type {
		typ.Source = &Source{Lang: lang}
		return &typ
	}
	ref := func(to *Type) *Type {
		p := in(CPlusPlus, *PointerTo(to, User))
		p.Source.Ref = LValueRef
		return p
	}
	word := &Type{Kind: Int, Name: "long", Size: 8, Align: 8}
	view := in(CPlusPlus, Type{Kind: Struct, Name: "std::basic_string_view<char, std::char_traits<char> >", Size: 16, Align: 8, Fields: []Field{
		{Name: "_M_len", Type: word}, {Name: "_M_str", Type: PointerTo(TChar, User), Offset: 8},
	}})
	named := in(CPlusPlus, Type{Kind: Struct, Name: "Named", Size: 24, Align: 8, Fields: []Field{{Name: "n", Type: word}, {Name: "name", Type: view, Offset: 8}}})
	plain := in(CPlusPlus, Type{Kind: Struct, Name: "P", Size: 8, Align: 8, Fields: []Field{{Name: "x", Type: word}}})
	huge := in(CPlusPlus, Type{Kind: Struct, Name: "H", Size: 1 << 20, Align: 8, Fields: []Field{{Name: "x", Type: ArrayOf(word, 1<<17)}}})
	kernel := in(C, *PointerTo(plain, Kernel))
	for _, c := range []struct {
		name string
		t    *Type
		kept bool
		kind Kind
		size int
		ok   bool
	}{
		{"integer", word, true, Int, 8, false},
		{"text", view, false, String, 100, true},
		{"text for later", view, true, Text, 8 + 104, true},
		{"reference to text", ref(view), true, Text, 8 + 104, true},
		{"plain struct", plain, true, Struct, 8, false},
		{"reference to it", ref(plain), true, Struct, 8, true},
		{"struct with text", named, true, Struct, 8 + 8 + innerStrlen, true},
		{"array of them", in(CPlusPlus, *ArrayOf(named, 3)), true, Array, 3 * (16 + innerStrlen), true},
		{"reference to what is too large", ref(huge), true, Pointer, 8, false},
		{"pointer of the kernel", kernel, true, Pointer, 8, false},
		{"nothing", nil, true, 0, 0, false},
	} {
		to, ok := Capture{Strlen: 100, Kept: c.kept}.Of(c.t)
		if ok != c.ok || c.t != nil && (to.Kind != c.kind || to.Size != c.size) {
			t.Errorf("%s: %+v, %v", c.name, to, ok)
		}
	}
}
