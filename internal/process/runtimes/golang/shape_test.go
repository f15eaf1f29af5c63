package golang

import (
	"testing"

	"trocar/internal/binary/objfile"
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
		s := p.shape(&objfile.GoFunc{Name: "main.f", ArgInfo: []byte(c.data)})
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

// TestStore takes the moves apart that save arguments.
func TestStore(t *testing.T) {
	for _, c := range []struct {
		code string
		want saved
		off  int
		ok   bool
	}{
		{"\x48\x89\x44\x24\x08", saved{0, false, 8}, 8, true},
		{"\x48\x89\x5c\x24\x10", saved{3, false, 8}, 16, true},
		{"\x4c\x89\x9c\x24\x80\x00\x00\x00", saved{11, false, 8}, 128, true},
		{"\x44\x89\x44\x24\x18", saved{8, false, 4}, 24, true},
		{"\x66\x89\x4c\x24\x0a", saved{2, false, 2}, 10, true},
		{"\x40\x88\x7c\x24\x09", saved{5, false, 1}, 9, true},
		{"\xf2\x0f\x11\x44\x24\x10", saved{0, true, 8}, 16, true},
		{"\xf3\x44\x0f\x11\x54\x24\x10", saved{10, true, 4}, 16, true},
		{"\x48\x89\x44\x25\x08", saved{}, 0, false}, // another base
		{"\x48\x89\x04\x24", saved{}, 0, false},
		{"\x48\x8b\x44\x24\x08", saved{}, 0, false}, // a load
		{"\x48", saved{}, 0, false},
		{"", saved{}, 0, false},
	} {
		got, off, ok := store([]byte(c.code))
		if ok != c.ok || ok && (got != c.want || off != c.off) {
			t.Errorf("%x: %+v %d %v", c.code, got, off, ok)
		}
	}
}

// FuzzShape reads anything as a description of arguments.
func FuzzShape(f *testing.F) {
	for _, s := range []string{"\xff", "\x00\x08\xff", "\xfe\x00\x08\xfc\xfd\xfc\xff", "\xfe\xfe\xfe\xfb\xfd\xfd\xfd\x01\x01\xff"} {
		f.Add([]byte(s), []byte{8, 0, 16, 3}, "main.(*T[go.shape.int]).m")
	}
	p := &Program{f: mustOpen(f)}
	f.Fuzz(func(t *testing.T, data, saves []byte, name string) {
		s := p.shape(&objfile.GoFunc{Name: name, ArgInfo: data})
		store(saves)
		if len(saves) > 0 {
			s.saved = map[int]saved{}
			for ; len(saves) >= 2; saves = saves[2:] {
				s.saved[int(saves[0])] = saved{reg: dwarfNumbers[saves[1]&15], float: saves[1]&16 != 0, size: 1 << (saves[1] >> 5 & 3)}
			}
		}
		fn := Function{Name: name}
		p.shaped(&fn, &objfile.GoFunc{Name: name, ArgInfo: data}, s)
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
