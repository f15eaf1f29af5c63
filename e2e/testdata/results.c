// Functions with results of all kinds.
#include <stdlib.h>

#define KEEP __attribute__((noipa))

struct pair { int a, b; };
enum kind { FIRST, SECOND, THIRD };

KEEP struct pair *get_pair(int n) {
	struct pair *p = malloc(sizeof *p);
	p->a = n;
	p->b = 2 * n;
	return p;
}
KEEP struct pair get_both(int n) { return (struct pair){n, n + 1}; }
KEEP const char *get_name(int n) { return n % 2 ? "odd" : "even"; }
KEEP int get_number(int n) { return n * n; }
KEEP double get_double(int n) { return n * 1.5; }
KEEP enum kind get_kind(int n) { return n % 3; }

int main(void) {
	int sum = 0;
	for (int i = 0; i < 10; i++) {
		struct pair *p = get_pair(i);
		sum += p->a + get_both(i).b + get_name(i)[0] + get_number(i) + (int)get_double(i) + get_kind(i);
		free(p);
	}
	return sum == 0;
}
