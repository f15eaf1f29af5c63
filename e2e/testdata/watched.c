// Writes to variables that are watched, from two places.
#include <stdio.h>

struct {
	int calm;
	long busy;
} box;
long counter;

__attribute__((noinline)) static void once(void) { counter = 1; }

__attribute__((noinline)) static void often(void) {
	counter++;
	box.busy++;
}

int main(void) {
	once();
	for (int i = 0; i < 5; i++)
		often();
	printf("%ld %ld\n", counter, box.busy);
	return 0;
}
