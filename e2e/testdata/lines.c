// Calls say(text) with texts that have line ends, quotes, escape sequences and bytes that are no UTF-8, under a name of the
// thread that has a line end; then, in each of four threads, tick(i) so often that all are at it at a time; then wait(), in
// which it ends. struct box is nested three deep.
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

struct inner { char text[8]; int n; };
struct box { int id; struct inner inner; };

__attribute__((noinline, noclone, noipa)) int say(const char *text, struct box *box)
{
	return box->id + (text != NULL);
}

__attribute__((noinline, noclone, noipa)) int tick(int i)
{
	return i + 1;
}

__attribute__((noinline, noclone, noipa)) void leave(int status)
{
	_exit(status);
}

static void *ticks(void *arg)
{
	for (int i = 0; i < 2000; i++)
		tick(i);
	return arg;
}

int main(void)
{
	pthread_t t[4];
	struct box box = { 1, { "in\nner", 7 } };
	prctl(PR_SET_NAME, "two\nlines");
	say("a\nb\t\033[31m\"q\" \\", &box);
	say("caf\303\251 \377", &box);
	prctl(PR_SET_NAME, "plain");
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, ticks, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	leave(0);
}
