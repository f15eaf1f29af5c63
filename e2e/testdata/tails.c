// Functions that end in tail calls: another one returns in their place.
#include <stdio.h>

#define OPAQUE(x) asm volatile("" : "+r"(x)::"memory")

__attribute__((noinline)) int inner(int n) {
	OPAQUE(n);
	return n * 3;
}

// Of 23 calls, 11 return and 12 are left.
__attribute__((noinline)) int outer(int n) {
	OPAQUE(n);
	if (n & 1)
		return -n;
	return inner(n + 1);
}

__attribute__((noinline)) int only(int n) {
	OPAQUE(n);
	return inner(n + 2);
}

// The deepest of 201 nested calls ends in a tail call.
__attribute__((noinline)) int deep(int n) {
	OPAQUE(n);
	if (n == 0)
		return inner(5);
	int r = deep(n - 1);
	OPAQUE(r);
	return r + 1;
}

int main(void) {
	int outers = 0, onlys = 0;
	for (int i = 0; i < 23; i++) {
		outers += outer(i);
		onlys += only(i);
	}
	printf("outer %d only %d deep %d\n", outers, onlys, deep(200));
}
