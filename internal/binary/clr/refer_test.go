package clr

import (
	"slices"
	"testing"
)

func TestRefer(t *testing.T) {
	im := open(t, shapes(t))
	for row := uint32(1); row <= im.Types(); row++ {
		var name Name
		links := im.meta.chain(nil, tTypeDef, row)
		name.Space = string(links[0].space)
		for _, l := range links {
			name.Path = append(name.Path, string(l.name))
		}
		if got, _, ok := im.Find(name); !ok || got != row {
			t.Errorf("%v: %d, %v", name, got, ok)
		}
	}
	if row, assembly, ok := im.Find(Name{Space: "Depot", Path: []string{"Nothing"}}); ok {
		t.Errorf("%d in %s", row, assembly)
	}
	store, _, _ := im.Find(Name{Space: "Depot", Path: []string{"Store"}})
	base, ok := im.Base(store)
	assembly, name, ok2 := im.Refers(&base)
	if !ok || !ok2 || assembly != "mscorlib" || name.Space != "System" || !slices.Equal(name.Path, []string{"Object"}) {
		t.Errorf("%v, %s, %v", base, assembly, name)
	}
	shelf, _, _ := im.Find(Name{Space: "Depot", Path: []string{"Shelf`1"}})
	if own := im.TypeOf(shelf); im.Text(&own, []Type{{Element: String}}, nil) != "Shelf<string>" || im.IsInterface(shelf) {
		t.Error(im.Text(&own, []Type{{Element: String}}, nil))
	}
	count, _, _ := im.Find(Name{Space: "Depot", Path: []string{"ICount"}})
	if _, ok := im.Base(count); ok || !im.IsInterface(count) {
		t.Error("an interface has a base, or is none")
	}
}

// TestModuleCell: the cell is the one that is told to have the module's address.
func TestModuleCell(t *testing.T) {
	im := open(t, compiled(t, shapes(t), []uint32{1}, nil))
	if _, ok := im.ModuleCell(); ok {
		t.Error("there is none")
	}
	text := im.sections[0]
	at := func(off uint32) uint32 { return text.Addr + off }
	put := func(off uint32, b ...byte) { copy(im.data[text.Offset+off:], b) }
	word := func(v uint32) []byte { return []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)} }
	put(0x00, 0x10, 0x05) // a type
	put(0x08, 0x1a, 0x01) // the module
	put(0x10, append(word(at(0)), word(at(8))...)...)
	put(0x20, slices.Concat(word(at(0x100)), word(16), []byte{1, 0, 0, 8}, word(at(0x10)), word(0))...)
	im.native.imports = im.at(at(0x20), 20)
	if cell, ok := im.ModuleCell(); !ok || cell != at(0x108) {
		t.Errorf("%#x, %v", cell, ok)
	}
	put(0x28, 0) // not filled when the file is loaded
	if cell, ok := im.ModuleCell(); ok {
		t.Errorf("%#x", cell)
	}
}
