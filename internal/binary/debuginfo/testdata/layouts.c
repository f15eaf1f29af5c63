#include <stdint.h>
typedef unsigned char byte;
enum color { red, green = 300, blue = -1 };
struct empty {};
struct plain { char a; int b; short c; long d; byte e; };
struct __attribute__((packed)) packed { char a; int b; short c; long d; };
struct bits { unsigned a : 3, : 4, b : 9; int c : 1; long d : 40; byte e : 2; _Bool f : 1; enum color g : 12; };
struct gaps { unsigned a : 3; unsigned : 0; unsigned b : 5; char c; unsigned d : 7; };
struct nested { struct plain p; struct bits b[2]; union { int i; float f; struct { short lo, hi; } parts; } u; int last; };
struct unnamed { int kind; union { long number; struct { char *text; int length; }; char raw[24]; }; struct { int x : 4; int y; } at; short end; };
struct flexible { long size; char kind; int data[]; };
struct aligned { char a; int b __attribute__((aligned(32))); char c; };
struct pointers { int (*call)(int, char *); struct later *next; void *(*table[3])(void); const volatile char *const *names; int grid[2][3][4]; };
struct wide { __int128 big; long double ld; _Complex double z; float v __attribute__((vector_size(16))); char tail; };
struct atomic { _Atomic int n; _Atomic long m; char c; };
struct bools { _Bool a; _Bool b : 1, c : 1; uint16_t d; int8_t e; };
struct later { struct pointers p; struct later *self; };
struct use { struct empty e; struct plain p; struct packed q; struct bits b; struct gaps g; struct nested n; struct unnamed u; struct flexible *f; struct aligned a;
	struct pointers t; struct wide w; struct atomic o; struct bools l; struct later r; };
struct use all;
int main(void) { return all.p.b; }
