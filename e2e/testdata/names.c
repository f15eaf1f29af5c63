// A program of several tasks with names. It starts a thread, a child, a child that has ended and was not waited for, and
// one that was, says "ready", and for each line on stdin (once if stdin is closed) calls note() with the number of each
// and says "done". The file that is its argument has what /proc says of their names, joined by |.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline, noclone, noipa)) int note(pid_t thread, pid_t child, pid_t zombie, pid_t gone)
{
	__asm__ volatile("" ::"r"(thread), "r"(child), "r"(zombie), "r"(gone));
	return thread;
}

static pid_t thread;
static int named[2];

static void *run(void *unused)
{
	prctl(PR_SET_NAME, "a thread");
	thread = syscall(SYS_gettid);
	write(named[1], "", 1);
	pause();
	return unused;
}

static pid_t child(const char *name, int stays)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	write(named[1], "", 1);
	if (stays)
		pause();
	_exit(0);
}

static void await(int fd)
{
	char c;
	if (read(fd, &c, 1) != 1)
		exit(9);
}

static void name(FILE *to, pid_t pid, const char *then)
{
	char path[64], text[64] = "";
	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	FILE *f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%63[^\n]", text) != 1)
			exit(8);
		fclose(f);
	}
	fprintf(to, "%s%s", text, then);
}

int main(int argc, char **argv)
{
	char line[64];
	pthread_t t;
	siginfo_t info;
	if (argc < 2 || pipe(named))
		return 7;
	setvbuf(stdout, NULL, _IOLBF, 0);
	pid_t stays = child("a child", 1);
	await(named[0]);
	pid_t zombie = child("a child, ended,", 0); // 15 characters
	await(named[0]);
	pid_t gone = child("no more", 0);
	await(named[0]);
	waitid(P_PID, zombie, &info, WEXITED | WNOWAIT);
	waitpid(gone, NULL, 0);
	pthread_create(&t, NULL, run, NULL);
	await(named[0]);
	FILE *to = fopen(argv[1], "w");
	if (!to)
		return 6;
	name(to, thread, "|");
	name(to, stays, "|");
	name(to, zombie, "|");
	name(to, gone, "|");
	name(to, getpid(), "\n");
	fclose(to);
	puts("ready");
	int lines = 0;
	while (fgets(line, sizeof line, stdin)) {
		note(thread, stays, zombie, gone);
		lines++;
		puts("done");
	}
	if (!lines)
		note(thread, stays, zombie, gone);
	kill(stays, SIGKILL);
	return 0;
}
