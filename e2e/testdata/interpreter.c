// An interpreter by computed gotos, as Python's: its jumps to labels are none to other functions.
#include <setjmp.h>
#include <stdio.h>

#define OPAQUE(x) asm volatile("" : "+r"(x)::"memory")

// Through a register, as where the compiler has loaded it before.
#define NEXT next = labels[(int)*code++]; OPAQUE(next); goto *next

__attribute__((noinline)) int helper(int n) {
	OPAQUE(n);
	return n + 1;
}

__attribute__((noinline)) int run(const char *code) {
	static void *labels[] = {&&end, &&add, &&twice, &&call};
	void *next;
	int n = 1;
	NEXT;
add:
	n += 3;
	OPAQUE(n);
	NEXT;
twice:
	n *= 2;
	OPAQUE(n);
	NEXT;
call:
	n = helper(n) + helper(n);
	NEXT;
end:
	return n;
}

// One without a frame, of which some instructions are calls of functions that return in its place.
static int more(int n) {
	OPAQUE(n);
	return n + 100;
}

static int less(int n) {
	OPAQUE(n);
	return n - 100;
}

__attribute__((noinline)) int leaf(const char *code, int n) {
	static void *labels[] = {&&end, &&add, &&twice, &&call};
	static int (*const calls[])(int) = {more, less};
	goto *labels[(int)*code++];
add:
	n += 3;
	goto *labels[(int)*code++];
twice:
	n *= 2;
	goto *labels[(int)*code++];
call:
	return calls[n & 1](n);
end:
	return n;
}

// A program that can leave its calls otherwise: the kernel's return probe is not for it.
void (*volatile leap)(jmp_buf, int) = longjmp;

int main(void) {
	int sum = 0;
	for (int i = 0; i < 50; i++)
		sum += run((char[]){1, 2, 3, 1, 1, 2, 3, 0});
	for (int i = 0; i < 10; i++)
		sum += leaf((char[]){1, 2, 1, 0}, i) + leaf((char[]){2, 1, 1, 3}, i);
	printf("sum %d\n", sum);
}
