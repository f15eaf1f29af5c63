package recipe

import (
	"testing"

	"trocar/internal/binary/types"
)

func TestSplitFunction(t *testing.T) {
	for _, c := range []struct {
		pattern, lib, name string
		line               bool
	}{
		{"malloc", "", "malloc", false},
		{"libc:malloc", "libc", "malloc", false},
		{"/usr/lib/libx.so.1:f*", "/usr/lib/libx.so.1", "f*", false},
		{"ns::Class::method", "", "ns::Class::method", false},
		{"libx:ns::f", "libx", "ns::f", false},
		{"ns::f(std::string, int)", "", "ns::f(std::string, int)", false},
		{"<a::B as c::D>::e", "", "<a::B as c::D>::e", false},
		{"main.(*server).handle", "", "main.(*server).handle", false},
		{"net/http.(*conn).serve", "", "net/http.(*conn).serve", false},
		{"main.F[go.shape.int]", "", "main.F[go.shape.int]", false},
		{"file.c:42", "", "file.c:42", true},
		{"src/main.rs:7", "", "src/main.rs:7", true},
		{"libc:42", "libc", "42", false},
	} {
		lib, name, line := splitFunction(c.pattern)
		if lib != c.lib || name != c.name || line != c.line {
			t.Errorf("%s: %q, %q, %v", c.pattern, lib, name, line)
		}
	}
}

func TestShowOf(t *testing.T) {
	in := func(lang types.Language, typ types.Type) *types.Type {
		typ.Source = &types.Source{Lang: lang}
		return &typ
	}
	ref := func(to *types.Type) *types.Type {
		p := in(types.CPlusPlus, *types.PointerTo(to, types.User))
		p.Source.Ref = types.LValueRef
		return p
	}
	char := in(types.C, *types.TChar)
	word := &types.Type{Kind: types.Int, Name: "long", Size: 8, Align: 8}
	text := in(types.Go, types.Type{Kind: types.Struct, Name: "string", Size: 16, Fields: []types.Field{
		{Name: "str", Type: types.PointerTo(types.TUint8, types.User)}, {Name: "len", Type: word, Offset: 8},
	}})
	text.Source.Form = types.StringForm
	plain := in(types.CPlusPlus, types.Type{
		Kind: types.Struct, Name: "P", Size: 8,
		Fields: []types.Field{{Name: "x", Type: word}},
	})
	named := in(types.Go, types.Type{
		Kind: types.Struct, Name: "main.T", Size: 16,
		Fields: []types.Field{{Name: "s", Type: text}},
	})
	large := in(types.C, types.Type{Kind: types.Struct, Name: "L", Size: 4096})
	for _, c := range []struct {
		name string
		t    *types.Type
		want Show
	}{
		{"integer", word, AsValue},
		{"char *", in(types.C, *types.PointerTo(char, types.User)), AsText},
		{"unsigned char *", in(types.C, *types.PointerTo(types.TUint8, types.User)), AsValue},
		{"Go string", text, AsString},
		{"struct", plain, AsValue},
		{"struct with a string", named, AsWhole},
		{"reference to a struct", ref(plain), AsWhole},
		{"reference to what has a string", ref(named), AsWhole},
		{"large struct", large, AsValue},
		{"nothing", nil, AsWhole},
	} {
		if got, _ := showOf(c.t); got != c.want {
			t.Errorf("%s: %d, not %d", c.name, got, c.want)
		}
	}

	known := paramTypes{"p": in(types.C, *types.PointerTo(named, types.User)), "n": word, "s": text}
	for expr, want := range map[string]Show{
		"n": AsValue, "n + 1": AsValue, "s": AsString, "p.s": AsString, "p->s": AsString, "args.p.s": AsString, "*p": AsWhole,
		"p":   AsWhole,
		"pid": AsValue, "p.nosuch": AsWhole, "retval": AsWhole, "nosuch(": AsWhole, "str(p)": AsValue,
	} {
		if got, _ := known.show(expr); got != want {
			t.Errorf("%s: %d, not %d", expr, got, want)
		}
	}
}
