// Four threads that take a mutex and a lock of readers and writers in turns, and say how long each of these let them wait,
// by its address and their own clock. A condition variable is waited for, too.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_long waited[2];

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void rest(long milliseconds)
{
	struct timespec t = {0, milliseconds * 1000000};
	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void hold(void)
{
	long begin = now();
	pthread_mutex_lock(&mutex);
	waited[0] += now() - begin;
	rest(2);
	pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void change(void)
{
	long begin = now();
	pthread_rwlock_wrlock(&rwlock);
	waited[1] += now() - begin;
	rest(3);
	pthread_rwlock_unlock(&rwlock);
}

static void *works(void *arg)
{
	for (int i = 0; i < 40; i++) {
		hold();
		change();
	}
	return arg;
}

int main(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, works, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&other);
	pthread_cond_timedwait(&cond, &other, &until);
	fprintf(stderr, "mutex %ld\nrwlock %ld\n", waited[0], waited[1]);
	return 0;
}
