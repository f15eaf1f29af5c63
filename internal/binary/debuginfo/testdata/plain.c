// A C program for the tests of debug info: every shape of type and place that C has.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum color { RED = -1, GREEN, BLUE = 70000 };
enum small { A, B, C = 200 } __attribute__((packed));

typedef unsigned long ulong_t;
typedef struct { int a; char b; } pair_t;
typedef int (*callback_t)(const char *, void *);

struct list { struct list *next; int value; };

struct opaque; /* never defined here */

struct shapes {
  unsigned flags : 3, : 5, mode : 9;
  signed neg : 4;
  long long wide : 40;
  union { int i; float f; };
  struct { short x, y; } inner;
  const char *const *names;
  int matrix[2][3][4];
  enum color color;
  enum small small;
  callback_t cb;
  pair_t pairs[2];
  volatile ulong_t ticks;
  long double ld;
  __int128 big;
  _Complex double z;
  struct opaque *op;
  _Bool ok;
  struct __attribute__((packed)) { char c; int i; } tight;
  char tail[];
};

static int twice(int x) { return x + x; }

static inline __attribute__((always_inline)) int scaled(int v, int by) {
  int r = v * by;
  asm volatile("" : "+r"(r));
  return r;
}

__attribute__((noinline)) int many(int a, long b, char c, short d, const char *e, struct list *f, int g, pair_t h) {
  return a + b + c + d + e[0] + f->value + g + h.a;
}

__attribute__((noinline)) long sum(const struct shapes *s, int n, ...) {
  va_list ap;
  long total = s ? s->flags : 0;
  va_start(ap, n);
  for (int i = 0; i < n; i++) {
    int each = va_arg(ap, int);
    total += scaled(each, 3);
  }
  va_end(ap);
  return total;
}

__attribute__((noinline)) struct shapes *make(size_t extra) {
  struct shapes *s = calloc(1, sizeof *s + extra);
  if (!s)
    abort();
  s->neg = -3;
  return s;
}

__attribute__((noinline)) double floats(float f, double d, int i) { return f * d + i; }

__attribute__((noinline)) pair_t swap(pair_t p) {
  pair_t q = {p.b, (char)p.a};
  return q;
}

__attribute__((noinline)) int taken(int n) {
  int *volatile p = &n;
  do {
    *p -= 1;
  } while (n > 0);
  return n;
}

int main(int argc, char **argv) {
  struct list l = {0, argc};
  struct shapes *s = make(argc);
  pair_t p = swap((pair_t){argc, 'x'});
  printf("%d %ld %f %d\n", many(argc, 2, 'c', 4, argv[0], &l, scaled(argc, 7), p), sum(s, 2, 1, 2), floats(1, 2, argc), taken(twice(argc)));
  return 0;
}
