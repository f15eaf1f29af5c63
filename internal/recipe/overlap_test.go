package recipe

import (
	"slices"
	"testing"
)

// TestOnce: of patterns that fit the same functions each function is asked about once.
func TestOnce(t *testing.T) {
	at := func(n int) start { return start{"prog", uint64(n)} }
	one := func(name string, n int) Function { return Function{Name: name, start: at(n)} }
	many := func(name string, of ...int) Function {
		f := Function{Name: name}
		for _, n := range of {
			f.stands(at(n))
		}
		return f
	}
	for _, c := range []struct {
		name     string
		out, fns []Function
		want     []string
	}{
		{"apart", []Function{many("a*", 1, 2)}, []Function{many("b*", 3), one("c", 4)}, []string{"a*", "b*", "c"}},
		{"one of them", []Function{many("a*", 1, 2)}, []Function{one("a1", 1)}, []string{"a*"}},
		{"one before", []Function{one("a1", 1), one("c", 4)}, []Function{many("a*", 1, 2)}, []string{"c", "a*"}},
		{"all of it", []Function{many("a*", 1, 2)}, []Function{many("a1*", 1)}, []string{"a*"}},
		{"more than it", []Function{many("a1*", 1)}, []Function{many("a*", 1, 2)}, []string{"a*"}},
		{"a part", []Function{many("a*", 1, 2)}, []Function{many("*b", 2, 3)}, []string{"a*", "f3"}},
		{"unknown", []Function{many("a*", 1, 2)}, []Function{{Name: "line"}, many("x*", 0)}, []string{"a*", "line", "x*"}},
	} {
		each := func() []Function { return []Function{one("f2", 2), one("f3", 3)} }
		out, rest := once(c.out, c.fns, each)
		var got []string
		for _, f := range slices.Concat(out, rest) {
			got = append(got, f.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
