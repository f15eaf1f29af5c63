// A library whose function has a frame of FRAME bytes. What is the same in all of them has the same size.
void hop(void (*f)(void))
{
	volatile char some[FRAME];
	some[0] = some[FRAME - 1] = 1;
	f();
	some[0]++;
}
