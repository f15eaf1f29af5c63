package golang

import (
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/runtimes/golang/pclntab"
)

// TestShapes reads descriptions of arguments (internal/abi/symtab.go).
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		data string
		want string
		bad  bool
	}{
		{"\xff", "()", false},
		{"\x00\x08\xff", "(word)", false},
		{"\x00\x01\xfe\x08\x08\x10\x08\xfd\xff", "(word8, {word, word})", false},
		{"\xfe\xfe\xfd\xfd\x00\x04\xff", "({{}}, word32)", false},
		{"\xfe\x00\x08\xfc\xfd\xfc\xff", "({word, …})…", false},
		{"\x00\x08\xfb\xff", "(word, ?)", false},
		{"", "", true},
		{"\x00", "", true},
		{"\xfd\xff", "", true},
		{"\xfe\xff", "", true},
		{"\xf3\xff", "", true},
	} {
		p := &Program{f: mustOpen(t)}
		s := p.shape(&pclntab.Func{Name: "main.f", ArgInfo: []byte(c.data)})
		got := ""
		if s.unknown == "" {
			g := shape{group: true, parts: s.args}
			text := g.text()
			got = "(" + text[1:len(text)-1] + ")"
			if s.more {
				got += "…"
			}
		}
		if got != c.want || (s.unknown != "") != c.bad {
			t.Errorf("%q: %q %q, want %q", c.data, got, s.unknown, c.want)
		}
	}
}

// FuzzShape reads anything as a description of arguments.
func FuzzShape(f *testing.F) {
	for _, s := range []string{
		"\xff", "\x00\x08\xff", "\xfe\x00\x08\xfc\xfd\xfc\xff",
		"\xfe\xfe\xfe\xfb\xfd\xfd\xfd\x01\x01\xff",
	} {
		f.Add([]byte(s), []byte{8, 0, 16, 3}, "main.(*T[go.shape.int]).m")
	}
	p := &Program{f: mustOpen(f)}
	f.Fuzz(func(t *testing.T, data, saves []byte, name string) {
		s := p.shape(&pclntab.Func{Name: name, ArgInfo: data})
		code.StackStore(abi.AMD64, saves)
		if len(saves) > 0 {
			s.saved = map[int]saved{}
			for ; len(saves) >= 2; saves = saves[2:] {
				s.saved[int(saves[0])] = saved{
					reg: abi.AMD64.Encoded(int(saves[1] & 15)), float: saves[1]&16 != 0,
					size: 1 << (saves[1] >> 5 & 3),
				}
			}
		}
		fn := Function{Name: name}
		p.shaped(&fn, &pclntab.Func{Name: name, ArgInfo: data}, s)
		for _, a := range fn.Params {
			if a.Type == nil {
				t.Fatal("an argument without a type")
			}
		}
		p.agrees(&fn, s)
	})
}

func mustOpen(t testing.TB) *objfile.File {
	t.Helper()
	f, err := objfile.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	f.ReadTables(pclntab.Read)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestHasDictionary(t *testing.T) {
	for name, want := range map[string]bool{
		"main.max[go.shape.int]":                       true,
		"main.max[go.shape.struct { x.A []int }]":      true,
		"main.(*list[go.shape.int]).push":              true,
		"main.(*list[go.shape.int]).func2go":           true, // a method's own name
		"main.(*list[go.shape.int]).func1":             true,
		"main.list[go.shape.int].push":                 true,
		"main.list[go.shape.int].func2go":              true,
		"main.max[go.shape.int].func1":                 false,
		"main.max[go.shape.int].func1.2":               false,
		"main.max[go.shape.int].gowrap1":               false,
		"main.max[go.shape.int]-range1":                false,
		"main.(*list[go.shape.int]).push.func1":        false,
		"main.(*list[go.shape.int]).push.deferwrap1":   false,
		"main.(*list[go.shape.int]).push-fm":           false,
		"main.(*list[go.shape.int]).push.func1-range2": false,
		"type:.eq.main.pair[go.shape.int]":             false,
		"main.max[int]":                                false,
		"main.max":                                     false,
	} {
		if got := HasDictionary(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The sign of a number is not known where only its size is: it is shown in hexadecimal.
func TestWordsHaveNoSign(t *testing.T) {
	for _, size := range []int{1, 2, 4, 8} {
		if w := word(size, false); w.Kind != types.Pointer || w.Size != size || w.Align != size {
			t.Errorf("%d bytes are %+v", size, w)
		}
	}
}
