// Lambdas and classes within functions, which print what they are called with.
#include <cstdio>
#include <string>
#define FN __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")

template<class F> FN int call(F f) { KEEP; return f(2); }

FN int apply(int a, const std::string &s)
{
	auto f = [a, &s](int x) FN { KEEP; return a + x + (int)s.size(); };
	return f(3) + f(4);
}

class Wheel {
	int m = 5;

public:
	FN int go(int y) { auto g = [this, y](int z) FN { KEEP; return m + y + z; }; return g(1); }
};

int main()
{
	struct Local { int k; FN int get(int by) { KEEP; return k + by; } };
	int q = 9;
	Local l{20};
	Wheel w;
	auto more = [](auto x) FN { KEEP; return x + 1; };
	printf("%d %d %d %d %ld\n", apply(10, "four"), call([q](int x) FN { KEEP; return q * x; }), w.go(6), l.get(2), more(70L));
}
