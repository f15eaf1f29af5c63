// Loads two libraries by turns at one address and calls a function of each, on one line, three and four times.
#include <dlfcn.h>
#include <stdio.h>

__attribute__((noinline)) void note(void) { asm volatile(""); }

int main(void)
{
	const char *names[] = {"./oak.so", "./elm.so"};
	void *where = NULL;
	for (int i = 0; i < 10; i++) {
		void *library = dlopen(names[i % 2], RTLD_NOW);
		void (*cut)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, "cut");
		if (where && where != (void *)cut)
			puts("moved");
		where = (void *)cut;
		for (int k = 0; k < 3 + i % 2; k++)
			cut(note);
		dlclose(library);
	}
	return 0;
}
