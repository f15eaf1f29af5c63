// Calls that exceptions leave. Of 12 calls of thrower eight return and four are left: two are caught by the caller, two pass
// a frame with a destructor. Of 6 calls of middle, two of each are left.
#include <cstdio>
#include <stdexcept>

#define NOINLINE __attribute__((noinline, noclone))
#define OPAQUE(x) asm volatile("" : "+r"(x)::"memory")

static int calls, returned;

NOINLINE int thrower(int n) {
	calls++;
	OPAQUE(n);
	if (n % 3 == 2)
		throw std::runtime_error("three");
	returned++;
	return n;
}

struct guard {
	int *n;
	~guard() { OPAQUE(n); }
};

NOINLINE int middle(int n) {
	guard g{&n};
	int r = thrower(n);
	OPAQUE(r);
	return r + 1;
}

NOINLINE int catcher(int n) {
	try {
		return n < 6 ? thrower(n) : middle(n);
	} catch (const std::exception &) {
		return -1;
	}
}

int main() {
	int sum = 0;
	for (int i = 0; i < 12; i++)
		sum += catcher(i);
	std::printf("calls %d returned %d sum %d\n", calls, returned, sum);
}
