package objfile

import "testing"

func TestWithoutParams(t *testing.T) {
	for name, want := range map[string]string{
		"space::f15(short&)": "space::f15", "f": "f", "A::operator()(int) const": "A::operator()", "main.f": "main.f",
		"<program::C17>::f17": "program::C17::f17", "f25[abi:cxx11](char, unsigned long long)": "f25",
		"(anonymous namespace)::f(int (*)(char))": "(anonymous namespace)::f", "<T as Trait>::f": "<T as Trait>::f",
		"(x)": "(x)",
	} {
		if got := WithoutParams(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
