// System calls of which some arguments are given only sometimes: elsewhere their registers have what was in them.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LEFT 0xdeadbeefUL

int main(void)
{
	int fd = syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY, LEFT), word = 0;
	syscall(SYS_openat, AT_FDCWD, "made", O_RDWR | O_CREAT, 0640);
	syscall(SYS_fcntl, fd, F_GETFD, LEFT);
	syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
	syscall(SYS_fcntl, fd, F_SETFL, O_NONBLOCK);
	syscall(SYS_fcntl, fd, F_DUPFD, 77);
	struct flock lock = { F_RDLCK, SEEK_SET, 10, 20 };
	syscall(SYS_fcntl, fd, F_SETLK, &lock);
	syscall(SYS_prctl, PR_SET_NAME, "renamed", LEFT, LEFT, LEFT);
	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM, LEFT, LEFT, LEFT);
	syscall(SYS_prctl, PR_GET_DUMPABLE, LEFT, LEFT, LEFT, LEFT);
	int id = syscall(SYS_semget, IPC_PRIVATE, 2, 0600);
	syscall(SYS_semctl, id, 0, SETVAL, 5);
	syscall(SYS_semctl, id, 0, IPC_RMID, LEFT);
	void *at = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	syscall(SYS_mremap, at, 4096, 4096, MREMAP_MAYMOVE, LEFT);
	struct timespec short_time = { 0, 1000 };
	syscall(SYS_futex, &word, FUTEX_WAKE, 1, LEFT, LEFT, LEFT);
	syscall(SYS_futex, &word, FUTEX_WAIT, 0, &short_time, LEFT, LEFT);
	syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 2, &word, 0);
	syscall(SYS_epoll_ctl, -1, EPOLL_CTL_DEL, 0, LEFT);
	syscall(SYS_ioctl, fd, FIOCLEX, LEFT);
	for (long i = 1; i <= 3; i++)
		syscall(SYS_fcntl, 77, F_GETFD, i, i, i, i);
	syscall(SYS_prctl, PR_SET_NAME, 5);
	syscall(SYS_fcntl, fd, F_SETLK, 3);
	syscall(SYS_prctl, PR_SET_PDEATHSIG, 0xdead00000009UL);
	syscall(SYS_fcntl, fd, 1024 + 4, LEFT);
	syscall(SYS_prctl, 13, LEFT, LEFT, LEFT, LEFT);
	syscall(SYS_fcntl, fd, F_SETLEASE, F_UNLCK);
	umask(022);
	unshare(CLONE_FS);
	ioctl(fd, 0xc0185879, 0);
	return mprotect((void *)1, 4096, PROT_READ | PROT_EXEC) == 0;
}
