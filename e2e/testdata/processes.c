// "family N": chore(0) once, N children one after another and N at a time, each of which calls chore(1) and executes this
// program again, which calls chore(2) and, in a thread, chore(3). A child whose parents are gone calls chore(4) last, after the
// others have ended. With "wait" as first argument it says "ready" and goes on after a line on stdin.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline, noclone, noipa)) int chore(int who)
{
	return who + 1;
}

static void *thread(void *arg)
{
	chore(3);
	return arg;
}

static void child(void)
{
	chore(1);
	execl("/proc/self/exe", "family", "again", (char *)0);
	_exit(9);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "again")) {
		pthread_t t;
		chore(2);
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
		return 0;
	}
	if (argc > 2) {
		char line[80];
		puts("ready");
		fflush(stdout);
		if (!fgets(line, sizeof line, stdin))
			return 1;
	}
	int n = atoi(argv[argc - 1]);
	chore(0);
	for (int i = 0; i < n; i++) {
		if (fork() == 0)
			child();
		wait(NULL);
	}
	for (int i = 0; i < n; i++)
		if (fork() == 0)
			child();
	while (wait(NULL) > 0)
		;
	int ends[2];
	if (pipe(ends))
		return 1;
	if (fork() == 0) {
		if (fork() == 0) {
			char c;
			setsid();
			close(ends[1]);
			if (read(ends[0], &c, 1) == 0) // both parents are gone
				chore(4);
			_exit(0);
		}
		_exit(0);
	}
	wait(NULL);
	puts("done");
	return 0;
}
