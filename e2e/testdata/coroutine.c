// A coroutine: its stack begins in assembly without call frame information, as small as the padding between functions,
// and what is above on that stack are addresses of code that has not called it.

#include <stdio.h>
#include <stdlib.h>

void entered(void);
static char stack[65536];

__attribute__((noinline)) void leaf(void)
{
	__asm__ volatile("nop" ::: "memory");
}

__attribute__((noinline)) void body(void)
{
	leaf();
	exit(0);
}

__attribute__((noinline)) void ends(long x)
{
	volatile long kept[6] = { x, x + 1 };

	exit(kept[1]);
}

__asm__(".text\n"
	".globl entered\n"
	".type entered, @function\n"
	"entered:\n"
	"	mov %r12, %rdi\n"
	"	call *%r13\n"
	"	ud2\n"
	".size entered, . - entered\n");

__attribute__((noinline)) void elsewhere(void)
{
	leaf();
	puts("never");
}

int main(int argc, char **argv)
{
	long *top = (long *)(stack + sizeof stack);

	if (argc > 1)
		ends(argc);
	if (argc > 2)
		elsewhere();
	for (int i = 1; i <= 32; i++)
		top[-i] = (long)elsewhere + 5;
	__asm__ volatile("mov %0, %%rsp\n"
			 "xor %%ebp, %%ebp\n"
			 "mov %1, %%r13\n"
			 "jmp entered" ::"r"(top - 32), "r"(body) : "r12", "r13", "memory");
}
