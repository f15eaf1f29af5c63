// Texts that are there, empty, null and at addresses that nothing is at.
#include <stddef.h>
#define FN __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")
struct note { const char *text; int n; char mark[4]; };
FN int open_it(const char *path, int n) { KEEP; return n; }
FN const char *get_it(int n) { KEEP; return n ? "NULL" : NULL; }
FN int by_value(struct note r) { KEEP; return r.n; }
int main(void)
{
	open_it(NULL, 1);
	open_it("", 2);
	open_it((char *)0x10, 3);
	open_it((char *)-1, 4);
	open_it("<unreadable 0x10>", 5);
	get_it(0);
	get_it(1);
	by_value((struct note){NULL, 6, ", .x"});
	by_value((struct note){"\"a\"\n", 7, {'b'}});
	return 0;
}
