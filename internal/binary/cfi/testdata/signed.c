// Frames of all kinds: none, of one size, of any size, with a part for another path.
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) int leaf(int x)
{
	return x * 3;
}

__attribute__((noinline)) int frame(int x)
{
	char b[200];
	memset(b, x, sizeof b);
	return leaf(b[x & 127]) + b[3];
}

__attribute__((noinline)) int variable(int n)
{
	char *p = __builtin_alloca(n);
	memset(p, n, n);
	if (n == 77)
		abort();
	return frame(p[n / 2]);
}

int main(int argc, char **argv)
{
	if (argc > 3)
		return atoi(argv[1]);
	return variable(argc * 10 + 20) + (argc > 1 ? frame(argc) : leaf(argc));
}
