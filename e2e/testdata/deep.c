// Calls down(500), which calls itself and returns one more than what it was given.
__attribute__((noinline, noclone, noipa)) static int down(int n)
{
	int below = n ? down(n - 1) : 0;
	__asm__ volatile("");
	return below + 1;
}

int main(void)
{
	return down(500) != 501;
}
