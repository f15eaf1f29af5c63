// Thread-local variables of a program, and of a library that is loaded late. Each thread prints
// its own.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct pair { int left; char name[12]; };

__thread char padding[37] __attribute__((aligned(64))) = "x";
__thread int mine = 7;
__thread struct pair pair;
static __thread long hidden = -3;

__thread long shared = 50;

__attribute__((noinline)) int show(int id) { asm volatile("" : "+r"(id) :: "memory"); return id; }
__attribute__((noinline)) int again(int id) { asm volatile("" : "+r"(id) :: "memory"); return id + 1; }

static int (*late)(int);

static void *work(void *arg) {
  int id = (int)(long)arg;
  static __thread short inner = 4;
  mine += id;
  hidden -= id;
  inner *= id + 2;
  pair.left = 100 * id;
  snprintf(pair.name, sizeof pair.name, "name-%d", id);
  shared += 3 * id;
  int far = late ? late(id) : 0;
  errno = id + 30;
  show(id + inner - inner);
  again(id);
  printf("%d: %d %ld %d %s %ld %d\n", id, mine, hidden, pair.left, pair.name, shared, far);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1) {
    void *lib = dlopen(argv[1], RTLD_NOW);
    if (!lib) { puts(dlerror()); return 1; }
    late = (int (*)(int))dlsym(lib, "late");
  }
  for (long id = 1; id <= 3; id++) {
    pthread_t t;
    pthread_create(&t, 0, work, (void *)id);
    pthread_join(t, 0);
  }
  work(0);
  return 0;
}
