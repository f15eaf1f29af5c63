/* System calls whose arguments are decoded, each made once with values that tell it apart. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A text on a page that nobody has touched when the call begins. */
static char *untouched(const char *file, size_t at) {
	int fd = open(file, O_RDONLY);
	char *p = mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	madvise(p, 4096, MADV_DONTNEED);
	close(fd);
	return p + at;
}

int main(void) {
	char buf[64];
	int fds[2];
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(9)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/nowhere/so\"ck"};
	struct timespec wait = {.tv_nsec = 1000};
	int fd = open("made", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	write(fd, "some\n\"data\"", 11);
	lseek(fd, 0, SEEK_SET);
	read(fd, buf, sizeof buf);
	close(open("text", O_WRONLY | O_CREAT, 0600));
	rename("made", "renamed \\ \"x\"");
	fchmodat(AT_FDCWD, "text", 04755, 0);
	open("/", O_DIRECTORY | O_PATH);
	unlinkat(AT_FDCWD, "nothing", AT_REMOVEDIR);

	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	inet_pton(AF_INET, "127.0.0.1", &in.sin_addr);
	connect(s, (struct sockaddr *)&in, sizeof in);
	int s6 = socket(AF_INET6, SOCK_DGRAM, 0);
	inet_pton(AF_INET6, "::1", &in6.sin6_addr);
	connect(s6, (struct sockaddr *)&in6, sizeof in6);
	int u = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	connect(u, (struct sockaddr *)&un, sizeof un);
	memcpy(un.sun_path, "\0hidden", 7);
	bind(u, (struct sockaddr *)&un, offsetof(struct sockaddr_un, sun_path) + 7);
	socklen_t len = sizeof in;
	getsockname(s, (struct sockaddr *)&in, &len);

	pipe2(fds, O_NONBLOCK);
	struct pollfd p[2] = {{.fd = fds[0], .events = POLLIN}, {.fd = fds[1], .events = POLLOUT | POLLERR}};
	poll(p, 2, 0);
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = {.events = EPOLLOUT | EPOLLET, .data.u64 = 0x77};
	epoll_ctl(ep, EPOLL_CTL_ADD, fds[1], &ev);
	epoll_wait(ep, &ev, 1, 0);

	void *m = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(m, 4096, PROT_NONE);
	munmap(m, 8192);
	int word = 1;
	syscall(SYS_futex, &word, 128 | 0, 2, &wait, 0, 0);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, 0);
	kill(getpid(), SIGURG);
	getcwd(buf, sizeof buf);
	close(-1);
	memset(buf, 'u', sizeof buf);
	write(-1, buf, (size_t)-1);
	open(untouched("/proc/self/exe", 0) + 1, O_RDONLY);
	open(0, O_RDONLY);
	open((char *)1, O_RDONLY);
	printf("fds %d %d\n", fds[0], fds[1]);
	return 3;
}
