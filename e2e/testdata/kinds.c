// kinds: functions of many kinds, under names that a pattern fits.
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone, noipa))

static volatile int sink;
__attribute__((visibility("hidden"))) int lock;

KEEP void kind_void(void) { sink++; }
KEEP int kind_negative(int n) { return n % 2 ? -n : n; }
KEEP long kind_long(const char *text, long n) { return text[0] + n; }
KEEP double kind_double(double x) { return x / 2; }

KEEP long mixed_number(long v) { return v; }
KEEP long mixed_pointer(long *v) { return *v; }

KEEP int target(int n) { return n + 1; }

// Two names of one function, which ends in a tail call or returns.
KEEP int named_twice(int n) { return n > 3 ? n : target(n); }
int alias_of_named(int) __attribute__((alias("named_twice")));

// Begins with a prefix that the kernel does not step over.
int kind_locked(void);
__asm__(".text\n.globl kind_locked\n.type kind_locked, @function\nkind_locked:\n"
	"lock incl lock(%rip)\nmovl lock(%rip), %eax\nret\n.size kind_locked, .-kind_locked\n");

#define MANY1(a, b, c) struct s##a##b##c { long x; }; \
	KEEP long many_##a##b##c(struct s##a##b##c *p##a##b##c, int q##a##b##c) { return p##a##b##c->x + q##a##b##c; }
#define MANY10(a, b) MANY1(a, b, 0) MANY1(a, b, 1) MANY1(a, b, 2) MANY1(a, b, 3) MANY1(a, b, 4) \
	MANY1(a, b, 5) MANY1(a, b, 6) MANY1(a, b, 7) MANY1(a, b, 8) MANY1(a, b, 9)
#define MANY(a) MANY10(a, 0) MANY10(a, 1) MANY10(a, 2) MANY10(a, 3) MANY10(a, 4) \
	MANY10(a, 5) MANY10(a, 6) MANY10(a, 7) MANY10(a, 8) MANY10(a, 9)
MANY(1)

#define CALL1(a, b, c) { struct s##a##b##c s = {1}; sum += many_##a##b##c(&s, 0); }
#define CALL10(a, b) CALL1(a, b, 0) CALL1(a, b, 1) CALL1(a, b, 2) CALL1(a, b, 3) CALL1(a, b, 4) \
	CALL1(a, b, 5) CALL1(a, b, 6) CALL1(a, b, 7) CALL1(a, b, 8) CALL1(a, b, 9)
#define CALL(a) CALL10(a, 0) CALL10(a, 1) CALL10(a, 2) CALL10(a, 3) CALL10(a, 4) \
	CALL10(a, 5) CALL10(a, 6) CALL10(a, 7) CALL10(a, 8) CALL10(a, 9)

int main(void)
{
	long sum = 0;
	for (int i = 0; i < 3; i++)
		kind_void();
	for (int i = 0; i < 4; i++)
		sum += kind_negative(i);
	sum += kind_long("text", 2) + (long)kind_double(4) + kind_locked();
	sum += mixed_number(5) + mixed_pointer(&sum);
	for (int i = 0; i < 6; i++)
		sum += alias_of_named(i);
	CALL(1)
	printf("sum %ld\n", sum);
	return 0;
}
