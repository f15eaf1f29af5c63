// A library with a function of the name that WOOD gives.
__attribute__((noinline)) static void WOOD(void (*call)(void))
{
	call();
	asm volatile("");
}

void cut(void (*call)(void))
{
	WOOD(call);
	asm volatile("");
}
