// Functions of many kinds of arguments and results, more than are shown one by one.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum colour { RED, GREEN = 7 };
struct point { int x, y; };
struct wide { long a, b, c; };

#define KEEP __attribute__((noinline, noclone))
#define PLAIN(n, type, name) KEEP type many_##n(type name) { __asm__ volatile("" ::: "memory"); return name; }
PLAIN(i8, int8_t, small)
PLAIN(u8, uint8_t, byte)
PLAIN(i16, int16_t, half)
PLAIN(u16, uint16_t, port)
PLAIN(i32, int32_t, number)
PLAIN(u32, uint32_t, bits)
PLAIN(i64, int64_t, offset)
PLAIN(u64, uint64_t, size)
PLAIN(bool, bool, flag)
PLAIN(enum, enum colour, shade)
PLAIN(text, const char *, path)
PLAIN(address, void *, where)
PLAIN(pointer, struct point *, at)
PLAIN(real, double, ratio)
PLAIN(pair, struct point, both)
PLAIN(wide, struct wide, all)
KEEP void many_nothing(void) { __asm__ volatile(""); }
KEEP void many_void(int ignored) { __asm__ volatile("" ::"r"(ignored)); }
KEEP int many_six(int a, const char *b, long c, const char *d, bool e, const char *f)
{
	return a + b[0] + c + d[0] + e + f[0];
}
KEEP int many_seven(int a, int b, int c, int d, int e, int f, int g) { return a + b + c + d + e + f + g; }
KEEP int many_texts(const char *a, const char *b, const char *c, const char *d) { return *a + *b + *c + *d; }
PLAIN(null, const char *, none)

#ifdef CROWD
#define ONE(n) int filler_##n(int a) { return a + 1##n; }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
HUNDRED(1) HUNDRED(2) HUNDRED(3)
#endif

int main(void)
{
	struct point p = {3, 4};
	many_i8(-8), many_u8(200), many_i16(-1600), many_u16(65000), many_i32(-32), many_u32(4000000000u);
	many_i64(-64000000000), many_u64(18000000000000000000u), many_bool(true), many_enum(GREEN);
	many_text("/tmp/\"x\""), many_address((void *)0x1234), many_pointer(&p), many_real(1.5), many_pair(p);
	many_wide((struct wide){1, 2, 3});
	many_nothing(), many_void(5);
	int sum = many_six(1, "b", 3, "d", true, "f") + many_seven(1, 2, 3, 4, 5, 6, 7);
	sum += many_texts("first", "second", "third", "fourth");
	many_null(0);
	printf("%d %p\n", sum, (void *)&p);
}
