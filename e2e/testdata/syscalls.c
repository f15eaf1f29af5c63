// System calls with parameters that are narrower than the words they are passed in.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	syscall(SYS_openat, AT_FDCWD, "/nonexistent", O_RDONLY, 0x7777770000L + 0640);
	syscall(SYS_openat, 0x1234500000000L + 77, "/nonexistent", O_RDONLY, 0);
	syscall(SYS_lseek, -1, -5L, SEEK_END);
	syscall(SYS_lseek, -1, 1L << 40, SEEK_SET);
	return 0;
}
