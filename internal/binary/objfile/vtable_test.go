package objfile

import "testing"

func TestClassAt(t *testing.T) {
	f := open(t, build(t, "classes.cc", `
struct A { virtual ~A() {} int a; };
struct B { virtual void b() {} };
template<class T> struct C : A, B { T c; };
int main() { C<long> c; A a; c.b(); return a.a; }`, "-O0"))
	for _, c := range []struct{ symbol, class string }{{"_ZTV1A", "A"}, {"_ZTV1B", "B"}, {"_ZTV1CIlE", "C<long>"}} {
		addr, size, ok := f.Symbol(c.symbol)
		if !ok {
			t.Fatalf("no %s", c.symbol)
		}
		for _, at := range []uint64{addr, addr + 16, addr + size - 1} {
			if class, ok := f.ClassAt(at); class != c.class || !ok {
				t.Errorf("at %#x: %q, %v, want %s", at, class, ok, c.class)
			}
		}
	}
	if class, ok := f.ClassAt(f.Entry()); ok {
		t.Errorf("a virtual table of %s in code", class)
	}
}
