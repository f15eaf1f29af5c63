// Results that are negative, null and text.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
__attribute__((noinline)) int check(int x) { __asm__ volatile("" ::: "memory"); return -x; }
// What is above an int in its register is not defined: here something is.
__attribute__((noinline)) int above(const struct iovec *v, long count, long prot)
{
	return (int)writev(-1, v, (int)count) + mprotect((void *)4096, 4096, (int)prot);
}
int main(void)
{
	char b[4], dir[4096];
	struct iovec v = {b, 1};
	check(5);
	open("/nonexistent", O_RDONLY);
	(void)!read(-1, b, 4);
	getenv("SIGNS_SET");
	getenv("SIGNS_NOT_SET");
	above(&v, 0x4ffffffffL, 0x7f00000001L);
	eventfd(4, EFD_NONBLOCK);
	getcwd(dir, sizeof dir);
	return 0;
}
