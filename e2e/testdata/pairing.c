// Ways in which calls end. The argument says which; calls and those that return are counted and printed.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))
#define OPAQUE(x) __asm__ volatile("" : "+r"(x)::"memory")

static int calls, returned;

static void report(void)
{
	printf("calls %d returned %d\n", calls, returned);
	fflush(stdout);
}

// 1,501 calls deep, through a pointer.
static int (*volatile self)(int);

NOINLINE int deep(int n)
{
	calls++;
	int below = n ? self(n - 1) : 0;
	OPAQUE(below);
	returned++;
	return below + 1;
}

// Of 12 calls, every other one is left.
static jmp_buf out;

NOINLINE int leap(int n)
{
	calls++;
	OPAQUE(n);
	if (n % 2)
		longjmp(out, n);
	returned++;
	return n;
}

// Each of three threads makes four calls and ends in the fourth.
NOINLINE int ends(int n)
{
	calls++;
	OPAQUE(n);
	if (n == 3)
		pthread_exit(NULL);
	returned++;
	return n;
}

static void *ending(void *arg)
{
	for (int i = 0; i < 4; i++)
		ends(i);
	return arg;
}

// Two fibers make five calls each; each call begins on one thread and returns on another.
static ucontext_t fiber[2], loop;
static int pass;

NOINLINE int turn(int n, int who)
{
	calls++;
	OPAQUE(n);
	swapcontext(&fiber[who], &loop);
	returned++;
	return n * 3;
}

static void weave(int who)
{
	for (int i = 0; i < 5; i++)
		turn(i, who);
	swapcontext(&fiber[who], &loop);
}

static void *round_(void *arg)
{
	swapcontext(&loop, &fiber[0]);
	swapcontext(&loop, &fiber[1]);
	return arg;
}

// Functions in one frame: of 12 calls of outer none returns, each goes on in inner.
NOINLINE int inner(int n)
{
	OPAQUE(n);
	returned++;
	return n * 3;
}

NOINLINE int outer(int n)
{
	calls++;
	OPAQUE(n);
	return inner(n + 1);
}

// Six calls are open when the process ends.
NOINLINE int last(int n)
{
	calls++;
	OPAQUE(n);
	if (n == 0) {
		report();
		_exit(0);
	}
	int below = last(n - 1);
	OPAQUE(below);
	returned++;
	return below;
}

// A part that is rarely used lies elsewhere.
extern void rare(int n) __attribute__((cold));
NOINLINE void rare(int n) { OPAQUE(n); }

NOINLINE int parts(int n)
{
	calls++;
	OPAQUE(n);
	if (__builtin_expect(n % 3 == 0, 0)) {
		rare(n);
		rare(n + 1);
		returned++;
		return n - 1;
	}
	returned++;
	return n;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	self = deep;
	if (!strcmp(how, "deep"))
		deep(1500);
	if (!strcmp(how, "leap"))
		for (volatile int i = 0; i < 12; i++)
			if (!setjmp(out))
				leap(i);
	if (!strcmp(how, "leaps")) { // all are left, without end
		printf("ready\n");
		fflush(stdout);
		for (;;)
			if (!setjmp(out))
				leap(1);
			else
				usleep(1000);
	}
	if (!strcmp(how, "ends"))
		for (int i = 0; i < 3; i++) {
			pthread_t t;
			pthread_create(&t, NULL, ending, NULL);
			pthread_join(t, NULL);
		}
	if (!strcmp(how, "turn")) {
		for (int i = 0; i < 2; i++) {
			getcontext(&fiber[i]);
			fiber[i].uc_stack.ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			fiber[i].uc_stack.ss_size = 65536;
			makecontext(&fiber[i], (void (*)(void))weave, 1, i);
		}
		for (pass = 0; pass < 6; pass++) {
			pthread_t t;
			pthread_create(&t, NULL, round_, NULL);
			pthread_join(t, NULL);
		}
	}
	if (!strcmp(how, "outer"))
		for (int i = 0; i < 12; i++)
			outer(i);
	if (!strcmp(how, "last"))
		last(5);
	if (!strcmp(how, "parts"))
		for (int i = 0; i < 10; i++)
			parts(i);
	report();
	return 0;
}
