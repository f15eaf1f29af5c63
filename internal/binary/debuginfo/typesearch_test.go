package debuginfo

import (
	"slices"
	"testing"
)

// TestTypesLike finds types by parts of their names.
func TestTypesLike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, name string
		want          []string
	}{
		{gxx5 + shelfCpp, "Shelf", []string{"ns::Shelf"}},
		{gxx5 + shelfCpp, "ns::Shelf", []string{"ns::Shelf"}},
		{gxx5 + shelfCpp, "class Shelf", []string{"ns::Shelf"}},
		{gxx5 + shelfCpp, "enum Shelf", nil},
		{gxx5 + shelfCpp, "Kind", []string{"ns::Kind"}},
		{gxx5 + shelfCpp, "ns::Point", []string{"ns::(anonymous namespace)::Point"}},
		{gxx5 + shelfCpp, "Ring", []string{"ns::(anonymous namespace)::Ring<double, 8>"}},
		{gxx5 + shelfCpp, "Ring<double,8>", []string{"ns::(anonymous namespace)::Ring<double, 8>"}},
		{gxx5 + shelfCpp, "ns::Ring<double>", []string{"ns::(anonymous namespace)::Ring<double, 8>"}},
		{gxx5 + shelfCpp, "vector<int>", []string{"std::vector<int, std::allocator<int> >"}},
		{gxx5 + shelfCpp, "ing", nil},
		{gxx5 + shelfCpp, "", nil},
		{gxx5 + shelfCpp, "::", nil},
		{goProgram, "Inner", []string{"main.Inner"}},
		{rustO0, "Shape", []string{"shapes::Shape"}},
		{rustO0, "Option<u32>", []string{"core::option::Option<u32>"}},
		{plainO0, "struct list", []string{"list"}},
	} {
		in := open(t, build(t, c.command))
		got, err := in.TypesLike(c.name)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}
