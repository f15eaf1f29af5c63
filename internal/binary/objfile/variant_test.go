package objfile

import "testing"

func TestVariant(t *testing.T) {
	for _, c := range []struct {
		name, base string
		reshaped   bool
	}{
		{"f", "f", false},
		{"f.constprop.0", "f", true},
		{"f.constprop.0.isra.12", "f", true},
		{"f.llvm.123456", "f", false},
		{"f.lto_priv.0", "f", false},
		{"f.lto_priv.0.isra.0", "f", true},
		{"f.cold", "f.cold", false},
		{"f.part.0", "f.part.0", false},
		{"f.isra", "f.isra", false},
		{"f.isra.x", "f.isra.x", false},
		{".isra.0", ".isra.0", false},
		{"", "", false},
	} {
		if base, reshaped := Variant(c.name); base != c.base || reshaped != c.reshaped {
			t.Errorf("%s: %s, %v", c.name, base, reshaped)
		}
	}
	exact, all := NewQuery("f", ""), NewQuery("f", "")
	all.Variants = true
	for name, want := range map[string][2]bool{
		"f": {true, true}, "f.isra.0": {false, true}, "f.lto_priv.1": {true, true}, "f.cold": {false, false},
		"g.isra.0": {false, false},
	} {
		if got := [2]bool{exact.Match(&Symbol{Name: name}), all.Match(&Symbol{Name: name})}; got != want {
			t.Errorf("f and %s: %v", name, got)
		}
	}
	if q := NewQuery("A::operator()", ""); !q.Match(&Symbol{Name: "_ZN1AclEi"}) {
		t.Error("operator()")
	}
}
