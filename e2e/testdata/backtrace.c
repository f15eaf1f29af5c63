// Writes its own call stacks, as backtrace(3) sees them: of functions without frame pointers, below qsort(3), in a signal
// handler on a stack of its own, with an aligned stack, and below a function whose return is probed.
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ownstack.h"

NOINLINE int returning(int n)
{
	leaf();
	return sink + n;
}

NOINLINE int aligned(int n)
{
	volatile char wide[64] __attribute__((aligned(64)));
	char *some = alloca(n * 16 + 1);
	wide[0] = some[0] = n;
	if (n > 0)
		return aligned(n - 1) + wide[0] + some[0];
	return returning(n) + wide[0];
}

NOINLINE int deep(int n)
{
	if (n == 0)
		return aligned(3);
	return deep(n - 1) * 3 + sink;
}

static int compare(const void *a, const void *b)
{
	sink += deep(4);
	return *(const int *)a - *(const int *)b;
}

static void handler(int signal)
{
	sink += deep(2) + signal;
}

int main(void)
{
	static char stack[1 << 16];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	sigaltstack(&alternate, NULL);
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &action, NULL);
	deep(20);
	int some[] = {3, 1, 2};
	qsort(some, 3, sizeof some[0], compare);
	raise(SIGUSR1);
	return 0;
}
