// A program that waits in three ways for about 200 ms each, and says how long by its own clock: it sleeps ten times, a
// thread waits for a lock, and another one reads from a pipe.
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int fds[2];

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((noinline)) static void *locks(void *arg)
{
	long begin = now();
	pthread_mutex_lock(&lock);
	fprintf(stderr, "futex %ld\n", now() - begin);
	pthread_mutex_unlock(&lock);
	return arg;
}

__attribute__((noinline)) static void *reads(void *arg)
{
	char c;
	long begin = now();
	if (read(fds[0], &c, 1) != 1)
		return arg;
	fprintf(stderr, "read %ld\n", now() - begin);
	return arg;
}

__attribute__((noinline)) static void sleeps(void)
{
	struct timespec t = {0, 20000000};
	long begin = now();
	for (int i = 0; i < 10; i++)
		nanosleep(&t, NULL);
	fprintf(stderr, "clock_nanosleep %ld\n", now() - begin);
}

int main(void)
{
	pthread_t a, b;
	if (pipe(fds) != 0)
		return 1;
	pthread_mutex_lock(&lock);
	pthread_create(&a, NULL, locks, NULL);
	pthread_create(&b, NULL, reads, NULL);
	sleeps();
	pthread_mutex_unlock(&lock);
	if (write(fds[1], "x", 1) != 1)
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
