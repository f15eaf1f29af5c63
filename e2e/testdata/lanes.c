// Functions whose first instruction is a vector instruction. Each returns what its comment says, or main tells.
#include <stdio.h>
#include <string.h>

#define F(name, body) \
	__asm__(".globl " #name "\n.type " #name ",@function\n" #name ":\n" body " ret\n.size " #name ",.-" #name "\n"); \
	extern long name(long, char *);

F(lane_move, " vmovd %edi,%xmm1\n vmovd %xmm1,%eax\n cltq\n")              // its argument
F(lane_back, " vmovd %xmm0,%eax\n cltq\n")                                 // 0x41414141
F(lane_store, " vmovdqu %xmm0,(%rsi)\n mov $16,%eax\n")                    // stores 16 bytes
F(lane_or, " vpor %xmm0,%xmm0,%xmm2\n vmovq %xmm2,%rax\n")                 // 0x4141414141414141
F(lane_equal, " vpcmpeqb %xmm0,%xmm0,%xmm3\n vmovd %xmm3,%eax\n cltq\n")   // all ones
F(lane_minus, " vpsubsb %xmm0,%xmm0,%xmm4\n vmovd %xmm4,%eax\n cltq\n")    // zero
F(lane_least, " vpminsw %xmm0,%xmm0,%xmm5\n vmovd %xmm5,%eax\n cltq\n")    // 0x41414141
F(lane_later, " mov $0,%eax\n vpor %xmm0,%xmm0,%xmm2\n movq %xmm2,%rax\n") // 0x4141414141414141
F(lane_plain, " lea 1(%rdi),%rax\n")                                       // one more

static void fill(void)
{
	__asm__ volatile("mov $0x41414141,%%eax\n vmovd %%eax,%%xmm0\n vpshufd $0,%%xmm0,%%xmm0\n"
			 "vpcmpeqb %%xmm1,%%xmm1,%%xmm1\n vmovdqa %%xmm1,%%xmm2\n vpxor %%xmm3,%%xmm3,%%xmm3\n"
			 "vmovdqa %%xmm1,%%xmm4\n vpxor %%xmm5,%%xmm5,%%xmm5\n mov $7,%%eax\n"
			 ::: "eax", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5");
}

#define CHECK(call, want) (fill(), right += (call) == (want), n++)

int main(void)
{
	int right = 0, n = 0, vectors = __builtin_cpu_supports("avx");
	char b[16];
	for (int i = 0; i < 5; i++) {
		CHECK(lane_plain(i, b), i + 1);
		if (!vectors) {
			right += 9, n += 9;
			continue;
		}
		memset(b, 0, sizeof b);
		CHECK(lane_store(0, b), 16);
		right += !memcmp(b, "AAAAAAAAAAAAAAAA", 16), n++;
		CHECK(lane_move(7 + i, b), 7 + i);
		CHECK(lane_back(0, b), 0x41414141);
		CHECK(lane_or(0, b), 0x4141414141414141);
		CHECK(lane_equal(0, b), -1);
		CHECK(lane_later(0, b), 0x4141414141414141);
		CHECK(lane_minus(0, b), 0);
		CHECK(lane_least(0, b), 0x41414141);
	}
	printf("right %d of %d\n", right, n);
	return 0;
}
