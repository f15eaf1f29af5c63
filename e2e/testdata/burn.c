// A program that uses 200 ms of a CPU in one function.
#include <time.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void spin(void)
{
	for (int i = 0; i < 1000000; i++)
		sum += i;
}

int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 5)
		spin();
	return 0;
}
