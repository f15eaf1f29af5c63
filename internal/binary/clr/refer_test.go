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
