package trocar

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

func TestQuoteWord(t *testing.T) {
	for text, want := range map[string]string{
		"malloc": "malloc", "./a-b/c.d": "./a-b/c.d", "": `""`, "a b": `"a b"`, "0x10": `"0x10"`, `a"b\c`: `"a\"b\\c"`,
		"ns::f": `"ns::f"`, "main.(*T).F": `"main.(*T).F"`, "f*": `"f*"`,
	} {
		if got := quoteWord(text); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
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
	text.Source.Form = types.GoStringForm
	plain := in(types.CPlusPlus, types.Type{Kind: types.Struct, Name: "P", Size: 8, Fields: []types.Field{{Name: "x", Type: word}}})
	named := in(types.Go, types.Type{Kind: types.Struct, Name: "main.T", Size: 16, Fields: []types.Field{{Name: "s", Type: text}}})
	large := in(types.C, types.Type{Kind: types.Struct, Name: "L", Size: 4096})
	for _, c := range []struct {
		name string
		t    *types.Type
		want Show
	}{
		{"integer", word, ShowValue},
		{"char *", in(types.C, *types.PointerTo(char, types.User)), ShowText},
		{"unsigned char *", in(types.C, *types.PointerTo(types.TUint8, types.User)), ShowValue},
		{"Go string", text, ShowString},
		{"struct", plain, ShowValue},
		{"struct with a string", named, ShowWhole},
		{"reference to a struct", ref(plain), ShowWhole},
		{"reference to what has a string", ref(named), ShowWhole},
		{"large struct", large, ShowValue},
		{"nothing", nil, ShowWhole},
	} {
		if got, _ := showOf(c.t); got != c.want {
			t.Errorf("%s: %d, not %d", c.name, got, c.want)
		}
	}

	fn := Function{types: map[string]*types.Type{"p": in(types.C, *types.PointerTo(named, types.User)), "n": word, "s": text}}
	for expr, want := range map[string]Show{
		"n": ShowValue, "n + 1": ShowValue, "s": ShowString, "p.s": ShowString, "p->s": ShowString, "args.p.s": ShowString, "*p": ShowWhole, "p": ShowValue,
		"pid": ShowValue, "p.nosuch": ShowWhole, "retval": ShowWhole, "nosuch(": ShowWhole, "str(p)": ShowValue,
	} {
		if got, _ := fn.ShowExpr(expr); got != want {
			t.Errorf("%s: %d, not %d", expr, got, want)
		}
	}
}

func TestPlaceText(t *testing.T) {
	if arch() != types.AMD64 {
		t.Skip("the registers are those of amd64")
	}
	for _, c := range []struct {
		p    types.Place
		want string
	}{
		{types.Place{Kind: types.InRegister, Reg: 5}, "rdi"},
		{types.Place{Kind: types.InMemory, Reg: 7, Offset: 8}, "[rsp+8]"},
		{types.Place{Kind: types.InMemory, Reg: 6, Offset: -24, Derefs: []int64{0, 16}}, "[[[rbp-24]]+16]"},
		{types.Place{Kind: types.Constant, Value: 1<<64 - 5}, "= -5"},
		{types.Place{Kind: types.InPieces, Pieces: []types.Piece{{Size: 8, Place: types.Place{Kind: types.InRegister, Reg: 8}}, {Size: 4, Place: types.Place{Why: "optimized out"}}}}, "r8 (8 bytes), optimized out (4 bytes)"},
		{types.Place{Kind: types.Computed, Reg: 7, Offset: 32}, "= rsp+32"},
		{types.Place{Kind: types.InRegister, Reg: 17}, "xmm0"},
		{types.Place{}, "unavailable"},
	} {
		if got := placeText(c.p); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
