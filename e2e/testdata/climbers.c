// Three threads, ada, bob and eve, each call climb(3, NAME, …), which calls itself down to level 0 and returns the sum of
// the levels; eve pauses 30 ms, or as many as the first argument says, at level 0. Then main calls fall(2), which calls
// itself and is left by longjmp, and after that land(7), which returns 7.
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

struct rope {
	int length;
	short knots;
};

static jmp_buf out;
static long pause_ms = 30;

NOINLINE static int climb(int level, const char *who, struct rope rope, const struct rope *spare)
{
	if (level == 0 && who[0] == 'e')
		nanosleep(&(struct timespec){pause_ms / 1000, pause_ms % 1000 * 1000000}, NULL);
	int below = level ? climb(level - 1, who, rope, spare) : 0;
	__asm__ volatile("" ::"r"(spare), "r"(rope.knots));
	return below + level;
}

NOINLINE static int fall(int level)
{
	if (level == 0)
		longjmp(out, 1);
	int below = fall(level - 1);
	__asm__ volatile("");
	return below + 1;
}

NOINLINE static long land(long n)
{
	__asm__ volatile("");
	return n;
}

static void *run(void *name)
{
	climb(3, name, (struct rope){.length = 50, .knots = -2}, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		pause_ms = atol(argv[1]);
	static char *names[] = {"ada", "bob", "eve"};
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run, names[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	if (!setjmp(out))
		fall(2);
	return land(7) != 7;
}
