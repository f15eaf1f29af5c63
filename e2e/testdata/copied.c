/* Says "ready", and after a line of input calls work once where it is, says "done", and calls a copy of it elsewhere. With "null" it reads at 0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((noipa)) int work(int n) { return n + 1; }

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "null") == 0)
		return *(volatile int *)0;
	printf("ready\n");
	fflush(stdout);
	getchar();
	int sum = work(1);
	printf("done\n");
	fflush(stdout);
	char *copy = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, (char *)work, 64);
	sum += ((int (*)(int))copy)(2);
	printf("%d\n", sum);
	return 0;
}
