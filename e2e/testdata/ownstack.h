// A function that writes its own call stack, as backtrace(3) sees it.
#include <execinfo.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

// The first frame is leaf's own, and what it was called from is the same for the tracer.
NOINLINE void leaf(void)
{
	void *frames[100];
	int n = backtrace(frames, 100);
	for (int i = 1; i < n; i++)
		printf("%lx\n", (unsigned long)frames[i]);
	printf("--\n");
	fflush(stdout);
	sink++;
}
