package debuginfo

import "testing"

// TestSpelled writes integer types as GCC does.
func TestSpelled(t *testing.T) {
	for in, want := range map[string]string{
		"Box<long>": "Box<long int>", "Box<unsigned long, int>": "Box<long unsigned int,int>",
		"Box<unsigned>": "Box<unsigned int>",
		"Box<short*>":   "Box<short int*>", "std::map<int, long long>": "std::map<int,long long int>",
		"Box<unsigned char>": "Box<unsigned char>",
		"Box<const Foo>":     "Box<const Foo>", "long": "long",
		"a<b<unsigned long long>, 3>::c": "a<b<long long unsigned int>,3>::c",
		"Box<signed char>":               "Box<signed char>", "Box<double>": "Box<double>",
		"Box<long double>": "Box<long double>",
		"Box<":             "Box<",
		"Box<long int>":    "Box<long int>", "Box<long unsigned int>": "Box<long unsigned int>",
	} {
		if got := spelled(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
