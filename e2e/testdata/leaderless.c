// The first thread ends; another one says "ready", waits for a line, makes 20 calls, says "done" and waits for the next.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline, noclone)) int pull(int n)
{
	__asm__ volatile("" : "+r"(n)::"memory");
	return n + 1;
}

static pthread_t first;

static void *work(void *arg)
{
	char line[8];
	pthread_join(first, NULL);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		volatile int sum = 0;
		for (int i = 0; i < 20; i++)
			sum += pull(i);
		puts("done");
		fflush(stdout);
	}
	exit(0);
	return arg;
}

int main(void)
{
	pthread_t t;
	first = pthread_self();
	pthread_create(&t, NULL, work, NULL);
	pthread_exit(NULL);
}
