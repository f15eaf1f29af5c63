#include <stdarg.h>
#include <string.h>

struct wide { long v[8]; } __attribute__((aligned(64)));

void use(void *);

__attribute__((noinline)) int realigned(int n, ...)
{
	struct wide w;
	va_list ap;
	va_start(ap, n);
	memset(&w, va_arg(ap, int), sizeof w);
	va_end(ap);
	char room[n];
	use(&w);
	use(room);
	return w.v[3] + room[n / 2];
}

__attribute__((noinline)) void use(void *p)
{
	*(volatile char *)p = 1;
}

int main(int argc, char **argv)
{
	return realigned(argc + 3, 7) == 0;
}
