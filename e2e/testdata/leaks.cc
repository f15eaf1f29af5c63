// A program that loses blocks of memory at three places, in threads that reuse freed addresses, and says how many. It
// waits for a line before it begins and before it ends, if it is told to.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <unistd.h>

static void *volatile lost;

__attribute__((noinline)) void first(int n) { lost = malloc(n); }
__attribute__((noinline)) void second(int n) { lost = new char[n]; }
__attribute__((noinline)) void third(int n) { lost = calloc(n, 3); }

// What is freed, moved or refused, and the addresses are used again.
static void churn(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		void *volatile p = malloc(24 + i % 200);
		p = realloc(p, 3000);
		if (realloc(p, (size_t)1 << 62))
			abort();
		char *volatile s = strdup("text");
		free(s);
		void *volatile q = nullptr;
		if (posix_memalign((void **)&q, 64, 100 + i % 7))
			abort();
		free(q);
		free(p);
		q = calloc(1, 20000);
		free(q);
		delete new int(i);
	}
}

int main(int argc, char **argv)
{
	char line[2];
	if (argc > 1) {
		fprintf(stderr, "ready\n");
		if (read(0, line, 2) < 1)
			return 1;
	}
	std::thread threads[3];
	for (auto &t : threads)
		t = std::thread([] {
			churn(100);
			for (int i = 0; i < 200; i++)
				second(100 + i);
			churn(100);
		});
	for (int i = 0; i < 300; i++) {
		first(10 + i);
		churn(1);
		third(40);
	}
	for (auto &t : threads)
		t.join();
	void *grown = nullptr;
	for (int i = 1; i < 30; i++)
		grown = realloc(grown, i * 1000);
	lost = realloc(grown, 77);
	if (argc > 1) {
		fprintf(stderr, "done\n");
		if (read(0, line, 2) < 1)
			return 1;
	}
	return 0;
}
