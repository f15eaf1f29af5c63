#include <stdio.h>

// Inlined in both callers, and called by address.
static inline __attribute__((always_inline)) int patch(int w, int h)
{
	int grout = w + h;
	__asm__ volatile("" : "+r"(w), "+r"(h), "+r"(grout));
	return w * h + grout;
}

// Inlined only, in a loop.
static inline __attribute__((always_inline)) int trim(int n, int unused)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3;
}

__attribute__((noinline, noipa)) int floor_a(int n) { return patch(n, 2) + 1; }
__attribute__((noinline, noipa)) int floor_b(int n) { return patch(n, 3) - 1; }

__attribute__((noinline, noipa)) int border(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += trim(i, s);
	return s;
}

int (*volatile by_pointer)(int, int) = patch;

int main(void)
{
	int s = 0;
	for (int i = 1; i <= 3; i++) s += floor_a(i);
	for (int i = 1; i <= 2; i++) s += floor_b(i * 10);
	for (int i = 1; i <= 4; i++) s += by_pointer(i * 100, 4);
	printf("%d %d\n", s, border(4));
	return 0;
}
