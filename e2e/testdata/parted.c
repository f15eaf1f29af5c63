// Writes twelve lines while there is a second thread.
#include <pthread.h>
#include <unistd.h>

static void *waits(void *unused)
{
	pause();
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, waits, NULL);
	for (int i = 0; i < 12; i++)
		if (write(1, "written\n", 8) != 8)
			return 1;
	return 0;
}
