// Takes 3,000 paths to leaf while other threads change the mappings all the time.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noipa))

static volatile int done;

NOINLINE int leaf(int n) { return n + 1; }

NOINLINE int deep(int n)
{
	int r = n ? deep(n - 1) : leaf(n);
	__asm__ volatile("" : "+r"(r));
	return r + n;
}

static int compare(const void *a, const void *b) { return deep(10) ? *(const int *)a - *(const int *)b : 0; }

static void *churn(void *library)
{
	while (!done) {
		void *handle = dlopen(library, RTLD_NOW);
		for (int i = 0; i < 20; i++) {
			char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			memset(p, 1, 8192);
			munmap(p, 1 << 20);
		}
		if (handle)
			dlclose(handle);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, churn, "./small.so");
	for (int i = 0; i < 1000; i++) {
		int some[] = {3, 1, 2};
		qsort(some, 3, sizeof some[0], compare);
	}
	done = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
