// Assembly without call frame information that is as small as padding, behind a function that ends with a frame.

#include <stdlib.h>

void entered(void);

__attribute__((noinline)) void first(long x)
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

__attribute__((noinline)) void second(long x)
{
	volatile long kept[6] = { x, x + 1 };

	exit(kept[1]);
}

int main(int argc, char **argv)
{
	if (argc > 2)
		entered();
	if (argc > 1)
		first(argc);
	second(argc);
}
