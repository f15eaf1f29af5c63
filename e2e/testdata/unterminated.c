// Calls emit(text, length) with texts that no NUL ends: in the middle of others, with the length 0, with a NUL in the middle,
// and at the end of the last page that is there. struct note has the same as fields.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct note {
	const char *text;
	unsigned short length;
};

__attribute__((noinline, noclone, noipa)) long emit(const char *text, long length)
{
	__asm__ volatile("" ::"r"(text));
	return length;
}

__attribute__((noinline, noclone, noipa)) void keep(const struct note *n)
{
	__asm__ volatile("" ::"r"(n));
}

int main(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *last = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (last == MAP_FAILED || munmap(last + page, page))
		return 1;
	memcpy(last + page - 4, "edge", 4);
	emit("onetwothree", 3);
	emit("zero", 0);
	emit("a\0b", 3);
	emit(last + page - 4, 4);
	keep(&(struct note){ "pick(me)", 4 });
	return 0;
}
