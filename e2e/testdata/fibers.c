// Calls that begin and end on stacks of their own: two fibers that take turns, a handler of signals on its own stack, and
// recursion deeper than the kernel's list of replaced return addresses (64).
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

static ucontext_t fiber[2], loop;

__attribute__((noinline)) int turn(int n, int who) {
  asm volatile("" : "+r"(n) :: "memory");
  swapcontext(&fiber[who], &loop);
  return n * 3;
}

static int sum;
static void run(int who) { for (int i = 1; i <= 50; i++) sum += turn(i + 100 * who, who); swapcontext(&fiber[who], &loop); }

__attribute__((noinline)) int nest(int n) {
  asm volatile("" : "+r"(n));
  int r = n ? nest(n - 1) : 0;
  asm volatile("" : "+r"(r));
  return r + 1;
}

static jmp_buf out;
__attribute__((noinline)) int leap(int n) {
  asm volatile("" : "+r"(n) :: "memory");
  if (n % 2) longjmp(out, n);
  return n;
}

static void on(int s) { sum += nest(s & 3); }

int main(void) {
  for (int i = 0; i < 2; i++) {
    getcontext(&fiber[i]);
    fiber[i].uc_stack.ss_sp = malloc(65536);
    fiber[i].uc_stack.ss_size = 65536;
    makecontext(&fiber[i], (void (*)(void))run, 1, i);
  }
  stack_t own = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&own, 0);
  struct sigaction a = {.sa_handler = on, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &a, 0);
  for (int i = 0; i < 51; i++) { swapcontext(&loop, &fiber[0]); swapcontext(&loop, &fiber[1]); raise(SIGUSR1); }
  for (volatile int i = 0; i < 20; i++) if (!setjmp(out)) sum += leap(i);
  sum += nest(200);
  printf("%d\n", sum);
  return 0;
}
