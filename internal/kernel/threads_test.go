package kernel

import (
	"fmt"
	"testing"

	"trocar/internal/need"
	"trocar/internal/process/probe"
)

// TestThreadsInTheMaking: threads that are made while a breakpoint is opened have it once.
func TestThreadsInTheMaking(t *testing.T) {
	need.Root(t)
	if fires, err := BreakpointsFire(); err != nil || !fires {
		t.Skip("debug registers do not work on this machine")
	}
	const threads, writes, rounds = 40, 5, 25
	path := build(t, "maker", `
#include <pthread.h>
#include <stdio.h>
enum { makers = 4, threads = 40, writes = 5 };
static volatile long watched __attribute__((aligned(8)));
static pthread_barrier_t made, go;
static void *writer(void *none) {
	pthread_barrier_wait(&made);
	pthread_barrier_wait(&go);
	for (int i = 0; i < writes; i++)
		watched++;
	return 0;
}
static void *maker(void *none) {
	pthread_t all[threads / makers];
	for (int i = 0; i < threads / makers; i++)
		pthread_create(&all[i], 0, writer, 0);
	for (int i = 0; i < threads / makers; i++)
		pthread_join(all[i], 0);
	return 0;
}
int main(void) {
	char line[100];
	setvbuf(stdout, 0, _IOLBF, 0);
	pthread_barrier_init(&made, 0, threads + 1);
	pthread_barrier_init(&go, 0, threads + 1);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		printf("%lu\n", (unsigned long)&watched);
		if (line[0] == 'a')
			continue;
		pthread_t all[makers];
		for (int i = 0; i < makers; i++)
			pthread_create(&all[i], 0, maker, 0);
		pthread_barrier_wait(&made);
		if (!fgets(line, sizeof line, stdin))
			return 1;
		pthread_barrier_wait(&go);
		for (int i = 0; i < makers; i++)
			pthread_join(all[i], 0);
		puts("done");
	}
	return 0;
}`)
	c := start(t, path)
	var watched uint64
	fmt.Sscan(c.ask("address"), &watched)
	for round := range rounds {
		l := load(t, Options{}, &Program{
			Name: "p", Type: probe.PerfProgram, Insns: sender(1, -1, false),
			Points: []*probe.Point{{
				Kind: probe.Watchpoint, Name: "watchpoint", Addr: watched, WatchMode: "w", WatchLen: 8, PID: c.pid(),
			}},
		})
		c.ask("make")
		attachAll(t, l)
		c.ask("go")
		if n := len(drain(t, l)); n != threads*writes {
			t.Errorf("round %d: %d writes, want %d", round, n, threads*writes)
		}
		l.Close()
	}
}
