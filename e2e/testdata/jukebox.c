// Loads six libraries one after another at one address and has each of them compute for a while.
#include <dlfcn.h>
#include <stdio.h>

__attribute__((noinline)) void play(long which) { asm volatile("" : : "r"(which)); }

int main(void)
{
	void *where = NULL;
	for (int i = 0; i < 6; i++) {
		char name[20];
		snprintf(name, sizeof name, "./wood%d.so", i);
		void *library = dlopen(name, RTLD_NOW);
		void (*burn)(long) = (void (*)(long))dlsym(library, "burn");
		if (where && where != (void *)burn)
			puts("moved");
		where = (void *)burn;
		play(i);
		burn(30000000);
		play(9);
		dlclose(library);
	}
	return 0;
}
