// One call of each function, with values of every kind of C's types.
#include <stdbool.h>
#include <stdint.h>

enum color { RED = -1, GREEN = 3, BLUE = 70000 };
struct bits {
	unsigned a : 3;
	int b : 5;
	unsigned long long c : 40;
	bool d : 1;
	enum color e : 18;
};
struct matrix {
	int m[2][3];
	short s[2];
	char name[6];
};
struct unnamed {
	int k;
	union {
		int x;
		char c[4];
	};
	struct {
		short p, q;
	};
};
struct two {
	long a;
	int b;
};
struct big {
	long v[5];
};
#define FUNCTION __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory")

FUNCTION int narrow(bool b, char c, signed char sc, unsigned char uc, short s, unsigned short us, int i, int8_t last, short more)
{
	KEEP;
	return b + c + sc + uc + s + us + i + last + more;
}
FUNCTION int enums(enum color c, enum color *p, struct bits bf)
{
	KEEP;
	return c + *p + bf.b;
}
FUNCTION int nested(struct matrix *m, struct unnamed a)
{
	KEEP;
	return m->m[1][2] + a.x;
}
FUNCTION int wide(__int128 low, unsigned __int128 high)
{
	KEEP;
	return (int)(low + (high >> 64));
}
FUNCTION struct two pair(int k)
{
	KEEP;
	return (struct two){k, -k};
}
FUNCTION struct big many(int k)
{
	KEEP;
	return (struct big){{k, -k, 3, 4, 5}};
}

int main(void)
{
	enum color red = RED;
	struct bits bits = {5, -9, 0x123456789aULL, true, BLUE};
	struct matrix m = {{{1, -2, 3}, {4, 5, -6}}, {-7, 8}, "matri"};
	struct unnamed a = {1, {0x41424344}, {-3, 4}};
	narrow(true, 'z', -5, 250, -300, 65000, -70000, -8, -999);
	enums(GREEN, &red, bits);
	nested(&m, a);
	wide(-5, ((unsigned __int128)1 << 100) + 7);
	pair(9);
	many(8);
	return 0;
}
