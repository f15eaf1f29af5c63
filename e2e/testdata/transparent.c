// Transparent unions: functions that take one of several pointers, as connect and wait of the C library do.
#include <stdio.h>
struct named { short family; char data[14]; };
struct numbered { short family; int port; };
typedef union { const struct named *a; const struct numbered *b; } address __attribute__((transparent_union));

__attribute__((noinline)) int peer(int fd, address addr, unsigned len) {
  printf("%d %p %u\n", fd, (void *)addr.a, len);
  return addr.a->family;
}

int main(void) {
  struct numbered b = {2, 80};
  return peer(3, &b, sizeof b) - 2;
}
