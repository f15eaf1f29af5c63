// Has one library after the other at the same address, and writes its own call stacks there, as backtrace(3) sees them.
// The libraries are those of reloaded.c, whose frames are of different sizes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ownstack.h"

static volatile sig_atomic_t whole;

// The tracer sends SIGUSR1 when it sees the whole stack: then it knows the library.
NOINLINE void ready(void) { sink++; }

static void handler(int signal) { whole = signal; }

typedef void hop(void (*)(void));

static void *handle;
static unsigned long base;

NOINLINE hop *open_library(const char *path)
{
	handle = dlopen(path, RTLD_NOW);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	struct link_map *map;
	dlinfo(handle, RTLD_DI_LINKMAP, &map);
	if (base && map->l_addr != base) {
		fprintf(stderr, "%s is at another address\n", path);
		exit(1);
	}
	base = map->l_addr;
	return (hop *)dlsym(handle, "hop");
}

NOINLINE void show(const char *path)
{
	open_library(path)(leaf);
	dlclose(handle);
}

NOINLINE void learn(const char *path)
{
	hop *h = open_library(path);
	for (whole = 0; !whole;)
		h(ready);
	dlclose(handle);
}

static void copy(const char *from, const char *to)
{
	static char bytes[1 << 20];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT, 0755);
	ssize_t n = read(in, bytes, sizeof bytes);
	if (n <= 0 || write(out, bytes, n) != n)
		exit(1);
	close(in);
	close(out);
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, handler);
	if (argc > 1) { // executed by itself
		show(argv[1]);
		return 0;
	}
	learn("./small.so");
	learn("./large.so");
	for (int i = 0; i < 3; i++) {
		show("./small.so");
		show("./large.so");
	}
	if (fork() == 0) {
		show("./small.so");
		show("./large.so");
		return 0;
	}
	wait(NULL);
	copy("small.so", "other.so");
	learn("./other.so");
	show("./other.so");
	copy("large.so", "other.so"); // the same file with other content, in the same second
	learn("./other.so");
	show("./other.so");
	if (rename("large.so", "small.so") < 0)
		return 1;
	learn("./small.so"); // to have another name is a change of the file
	show("./small.so");
	execl(argv[0], argv[0], "./small.so", NULL);
	return 1;
}
