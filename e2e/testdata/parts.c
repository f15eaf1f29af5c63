// A function of which GCC inlines the first part, and makes a function of the rest: guard is called 10 times by a pointer, and
// twice where it is inlined.
#include <stdio.h>

static int total;

__attribute__((noinline)) int other(int n)
{
	__asm__ volatile("" : "+r"(n)::"memory");
	return n * 2;
}

static int guard(int n)
{
	if (n < 6)
		return n;
	int r = 0;
	for (int i = 0; i < n; i++) {
		r += other(i) + other(r);
		total += r;
		if (r > 1000000)
			r = other(r) - 7;
	}
	total += other(r);
	return r;
}

__attribute__((noinline)) int quick(int n) { return guard(n) + 1; }
__attribute__((noinline)) int slow(int n) { return guard(n) + 2; }

static int (*volatile called)(int) = guard;

int main(void)
{
	int sum = 0;
	for (int i = 0; i < 10; i++)
		sum += called(i);
	sum += quick(3) + slow(7);
	printf("sum %d total %d\n", sum, total);
}
