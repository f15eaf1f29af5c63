package runtimes

import "testing"

func TestWithoutTypes(t *testing.T) {
	for name, want := range map[string]string{
		"Add": "Add", "Add<T>": "Add", "Add<List<int>,T[]>": "Add",
		"<Main>b__0": "<Main>b__0", "<Main>b__0<T>": "<Main>b__0",
		"System.IComparable<Coll>.CompareTo": "System.IComparable<Coll>.CompareTo",
		"":                                   "", "<>": "<>", ">": ">", "a>>": "a>>",
		"I<A>.M<T>": "I<A>.M",
	} {
		if got := WithoutTypes(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
