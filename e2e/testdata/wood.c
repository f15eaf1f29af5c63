// A library with a function of the name that WOOD gives.
__attribute__((noinline)) static void WOOD(long n)
{
	for (volatile long i = 0; i < n; i++)
		;
}

void burn(long n)
{
	WOOD(n);
	asm volatile("");
}
