// Results that are negative, null and text.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int check(int x) { __asm__ volatile("" ::: "memory"); return -x; }
int main(void)
{
	char b[4];
	check(5);
	open("/nonexistent", O_RDONLY);
	(void)!read(-1, b, 4);
	getenv("SIGNS_SET");
	getenv("SIGNS_NOT_SET");
	return 0;
}
