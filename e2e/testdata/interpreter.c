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

// A program that can leave its calls otherwise: the kernel's return probe is not for it.
void (*volatile leap)(jmp_buf, int) = longjmp;

int main(void) {
	int sum = 0;
	for (int i = 0; i < 50; i++)
		sum += run((char[]){1, 2, 3, 1, 1, 2, 3, 0});
	printf("sum %d\n", sum);
}
