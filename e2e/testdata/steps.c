// Executes instructions with and without a uprobe on each, and compares what they did: registers with those of vectors and the FPU,
// flags, memory, signals; and how often the probe was hit.
//
//	steps FIRST STEP < FORMS
//
// FORMS are instructions, one a line: "HEX RIP" in hexadecimal, and where the distance of an operand relative to the instruction pointer is to be filled in
// (0: there is none). The FIRST and each STEP-th behind it are executed, and there is a line for each that the CPU knows: "HEX RIP same",
// "HEX RIP refused ERRNO", "HEX RIP hits N of M" or "HEX RIP differs WHAT". Addresses are fixed: memory is at SCRATCH, and jumps lead 16
// bytes on. Each form is executed with three states of registers and memory, many in one process; one that does not come out the same with
// a probe is executed again, in a process of its own, and only that counts.
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { CODE = 0x10000000, SCRATCH = 0x20000000, STATE = 0x30000000, SLOT = 128, CHUNK = 512, STATES = 3, MEMORY = 0x4000, XSAVE = 0x1000 };
#define TEXT(x) #x
#define NUM(x) TEXT(x)
#define IN "0x30000000"
#define OUT "0x30002000"

struct state { // the layout that the assembly knows
	uint64_t gpr[16]; // rax rcx rdx rbx rsp rbp rsi rdi r8 …
	uint64_t flags, mark, sig, code, at, fault, pad[10];
	uint8_t x[XSAVE];
} __attribute__((aligned(64)));
static struct state *in = (void *)STATE, *out = (void *)(STATE + 0x2000);
static uint64_t *host = (void *)(STATE + 0x4000); // rsp, target, mask
struct result { struct state s; uint64_t hits; uint8_t memory[MEMORY]; };

extern void run(void), recover(void), done1(void), done2(void);
__asm__(".text\nrun:\n push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n mov %rsp,0x30004000\n"
	" mov 0x30004010,%eax\n xor %edx,%edx\n xrstor64 0x30000100\n"
	" mov 0x30000020,%rsp\n pushq 0x30000080\n popfq\n"
	" mov 0x30000000,%rax\n mov 0x30000008,%rcx\n mov 0x30000010,%rdx\n mov 0x30000018,%rbx\n mov 0x30000028,%rbp\n mov 0x30000030,%rsi\n"
	" mov 0x30000038,%rdi\n mov 0x30000040,%r8\n mov 0x30000048,%r9\n mov 0x30000050,%r10\n mov 0x30000058,%r11\n mov 0x30000060,%r12\n"
	" mov 0x30000068,%r13\n mov 0x30000070,%r14\n mov 0x30000078,%r15\n jmp *0x30004008\n"
	"done1: movq $1,0x30002088\n jmp save\n"
	"done2: movq $2,0x30002088\n"
	"save: mov %rsp,0x30002020\n mov $0x30006000,%rsp\n pushfq\n popq 0x30002080\n cld\n"
	" mov %rax,0x30002000\n mov %rcx,0x30002008\n mov %rdx,0x30002010\n mov %rbx,0x30002018\n mov %rbp,0x30002028\n mov %rsi,0x30002030\n"
	" mov %rdi,0x30002038\n mov %r8,0x30002040\n mov %r9,0x30002048\n mov %r10,0x30002050\n mov %r11,0x30002058\n mov %r12,0x30002060\n"
	" mov %r13,0x30002068\n mov %r14,0x30002070\n mov %r15,0x30002078\n"
	" mov 0x30004010,%eax\n xor %edx,%edx\n xsave64 0x30002100\n"
	"recover: mov 0x30004000,%rsp\n pushq $2\n popfq\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n");

static uint64_t seed = 88172645463325252u;
static uint64_t rnd(void) { seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17; return seed; }

// prepare makes input state n for the instruction in a slot.
static void prepare(int n, int slot)
{
	uint64_t pad = CODE + slot * SLOT + 64; // where jumps by registers and memory lead
	seed = 88172645463325252u + n;
	memset(in, 0, sizeof *in);
	memset(out, 0, sizeof *out);
	uint64_t *m = (void *)SCRATCH;
	for (int i = 0; i < MEMORY / 8; i++)
		m[i] = n ? pad : (rnd() & 0x00007fff0007ffff) | 0x3f800000;
	for (int i = 0; i < 16; i++)
		in->gpr[i] = n == 2 ? pad : SCRATCH + 0x1000 + i * 64;
	in->gpr[1] = n == 1 ? SCRATCH + 0x1040 : 5;
	if (n == 2) // rbp: enter copies what is below it, which is not to be code, where the probe's breakpoint can be read
		in->gpr[3] = SCRATCH + 0x10c0, in->gpr[5] = SCRATCH + 0x1200, in->gpr[6] = SCRATCH + 0x1800, in->gpr[7] = SCRATCH + 0x1900;
	in->gpr[4] = SCRATCH + 0x2000;
	m[0x2000 / 8] = pad; // for returns
	in->flags = n == 1 ? 0x8d7 : 0x202;
	uint8_t *x = in->x;
	*(uint16_t *)x = 0x37f, *(uint32_t *)(x + 24) = 0x1f80, x[4] = 0xff; // FCW, MXCSR, FTW
	for (int i = 0; i < 8; i++)
		*(uint64_t *)(x + 32 + 16 * i) = 0x8000000000000000u | i << 8, *(uint16_t *)(x + 40 + 16 * i) = 0x3fff + i;
	for (int i = 160; i < 416; i += 4)
		*(uint32_t *)(x + i) = 0x3f800000 + (rnd() & 0x7ffff);
	*(uint64_t *)(x + 512) = *(uint32_t *)(host + 2);
	for (int c = 2; c < 8; c++) {
		unsigned a, b, d, e;
		if (!(host[2] >> c & 1))
			continue;
		__cpuid_count(0xd, c, a, b, d, e);
		for (unsigned i = 0; i + 4 <= a && b + i + 4 <= XSAVE; i += 4)
			*(uint32_t *)(x + b + i) = c == 5 ? 0x55555555 : 0x3f800000 + (rnd() & 0x7ffff);
	}
}

static void caught(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	greg_t *g = u->uc_mcontext.gregs;
	out->sig = sig, out->code = info->si_code, out->at = g[REG_RIP], out->fault = (sig == SIGSEGV || sig == SIGBUS) && info->si_code != SI_KERNEL ? g[REG_CR2] : 0; // else it is an older one
	static const int order[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
	for (int i = 0; i < 16; i++)
		out->gpr[i] = g[order[i]];
	out->flags = g[REG_EFL] & ~0x10000; // RF is set by faults
	g[REG_RIP] = (greg_t)recover, g[REG_EFL] = 2;
}

static uint64_t fs_base;
static volatile uint64_t *counted; // how often the probe of each slot was hit

// unknown tells whether the CPU does not know the instruction of a slot.
static int unknown(struct state *s, int slot) { return s->sig == SIGILL && s->at == (uint64_t)CODE + slot * SLOT; }

static void execute(int slot, struct result *r)
{
	for (int n = 0; n < STATES; n++) {
		prepare(n, slot);
		syscall(SYS_arch_prctl, 0x1002, fs_base); // another form may have loaded the segment registers
		syscall(SYS_arch_prctl, 0x1001, 0);
		host[1] = CODE + slot * SLOT;
		run();
		out->flags &= ~0x4000; // NT: the kernel clears it when it is entered
		memset(out->x + 8, 0, 24 - 8); // where the FPU was last: the copy's address
		memset(out->x + 28, 0, 4);
		memcpy(&r[n].s, out, sizeof *out);
		memcpy(r[n].memory, (void *)SCRATCH, MEMORY);
		r[n].hits = counted ? counted[slot] : 0;
		if (unknown(&r[n].s, slot))
			return; // in any state
	}
}

static void child(int first, int last, int *skip, struct result *r, volatile int *at)
{
	for (int i = first; i < last; i++) {
		if (skip[i])
			continue;
		struct itimerval t = { { 0 }, { 1, 0 } };
		setitimer(ITIMER_PROF, &t, NULL);
		*at = i;
		execute(i, r + i * STATES);
	}
	*at = last;
	syscall(SYS_exit_group, 0);
}

// in_child executes what is not to be skipped. It gives the child's status, and at what slot it has ended.
static int in_child(int first, int last, int *skip, struct result *r, volatile int *at)
{
	int status;
	pid_t p = fork();
	if (p == 0)
		child(first, last, skip, r, at);
	waitpid(p, &status, 0);
	return status;
}

// compare tells what differs, else whether the probe was hit other than once in each state.
static const char *compare(struct result *a, struct result *b)
{
	static char what[200];
	int differs = snprintf(what, sizeof what, "differs ");
	char *rest = what + differs;
	size_t room = sizeof what - differs;
	static const char *names[16] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15" };
	for (int n = 0; n < STATES; n++, a++, b++) {
		if (a->s.sig != b->s.sig || a->s.code != b->s.code || a->s.at != b->s.at || a->s.fault != b->s.fault) {
			snprintf(rest, room, "signal %d for %d, at %lx for %lx", (int)b->s.sig, (int)a->s.sig, b->s.at, a->s.at);
			return what;
		}
		if (a->s.mark != b->s.mark)
			return strcpy(rest, "path"), what;
		for (int i = 0; i < 16; i++)
			if (a->s.gpr[i] != b->s.gpr[i])
				return snprintf(rest, room, "%s %lx for %lx", names[i], b->s.gpr[i], a->s.gpr[i]), what;
		if (a->s.flags != b->s.flags)
			return snprintf(rest, room, "flags %lx for %lx", b->s.flags, a->s.flags), what;
		if (memcmp(a->s.x, b->s.x, XSAVE))
			for (int i = 0; i < XSAVE; i++)
				if (a->s.x[i] != b->s.x[i])
					return snprintf(rest, room, "vectors +%d", i), what;
		for (int i = 0; i < MEMORY; i++)
			if (a->memory[i] != b->memory[i])
				return snprintf(rest, room, "memory +%#x %02x for %02x", i, b->memory[i], a->memory[i]), what;
	}
	if (b[-1].hits != STATES)
		return snprintf(what, sizeof what, "hits %lu of %d", b[-1].hits, STATES), what;
	return NULL;
}

// bpf makes a system call; its attributes are words, as in union bpf_attr of linux/bpf.h.
static int bpf(int command, void *words, int size) { return syscall(SYS_bpf, command, words, size); }

// counter loads a program that counts its runs, for each slot, and has the counts mapped.
static int counter(void)
{
	uint32_t map[] = { 2, 4, 8, CHUNK, 1 << 10, 0, 0, 0 }; // an array, BPF_F_MMAPABLE
	int counts = bpf(0, map, sizeof map);
	counted = mmap(NULL, CHUNK * 8, PROT_READ | PROT_WRITE, MAP_SHARED, counts, 0);
	if (counted == MAP_FAILED)
		perror("counts"), exit(1);
	struct { uint8_t op, regs; int16_t off; int32_t imm; } p[] = {
		{ 0x85, 0, 0, 174 },                 // r0 = bpf_get_attach_cookie(r1), which is the slot
		{ 0x63, 0x0a, -4, 0 },               // *(u32 *)(r10 - 4) = r0
		{ 0x18, 0x11, 0, counts }, { 0 },    // r1 = the array
		{ 0xbf, 0xa2, 0, 0 }, { 0x07, 0x02, 0, -4 }, // r2 = r10 - 4
		{ 0x85, 0, 0, 1 },                   // r0 = bpf_map_lookup_elem
		{ 0x15, 0, 2, 0 },                   // if it is 0: the end
		{ 0xb7, 1, 0, 1 }, { 0xdb, 0x10, 0, 0 }, // lock *r0 += 1
		{ 0xb7, 0, 0, 0 }, { 0x95 },
	};
	static char log[4096];
	struct { uint32_t type, n; uint64_t insns, license; uint32_t level, size; uint64_t log; uint32_t version, flags; char name[16]; uint32_t ifindex, attach; } a = {
		2, sizeof p / sizeof *p, (uintptr_t)p, (uintptr_t)"GPL", 1, sizeof log, (uintptr_t)log, 0, 0, "steps", 0, 48,
	};
	int fd = bpf(5, &a, sizeof a);
	if (fd < 0)
		perror("program"), fputs(log, stderr), exit(1);
	return fd;
}

// probe puts probes on places of a file, all or none.
static int probe(int program, const char *path, uint64_t *offsets, int n)
{
	uint64_t slots[CHUNK];
	for (int i = 0; i < n; i++)
		slots[i] = offsets[i] / SLOT;
	struct { uint32_t prog, target, type, flags; uint64_t path, offsets, refs, cookies; uint32_t count, flags2, pid, pad; } a = {
		program, 0, 48, 0, (uintptr_t)path, (uintptr_t)offsets, 0, (uintptr_t)slots, n, 0, 0, 0,
	};
	return bpf(28, &a, sizeof a);
}

// sift puts probes on as many places as the kernel takes, in halves; refused gets its error for the others.
static void sift(int program, const char *path, uint64_t *offsets, int n, int *refused)
{
	if (n == 0 || probe(program, path, offsets, n) >= 0)
		return;
	if (n == 1) {
		refused[offsets[0] / SLOT] = errno;
		return;
	}
	sift(program, path, offsets, n / 2, refused);
	sift(program, path, offsets + n / 2, n - n / 2, refused);
}

// each executes the slots, in one process if none ends it, which ended tells.
static void each(int n, int *skip, struct result *r, volatile int *at, int *ended)
{
	memset(ended, 0, n * sizeof *ended);
	for (int from = 0; from < n; from = *at + 1) {
		in_child(from, n, skip, r, at);
		if (*at < n)
			ended[*at] = 1;
	}
}

static void *map(uintptr_t at, size_t n, int prot, int flags, int fd)
{
	void *p = mmap((void *)at, n, prot, flags, fd, 0);
	if (p == MAP_FAILED)
		perror("mmap"), exit(1);
	return p;
}

int main(int argc, char **argv)
{
	int first = atoi(argv[1]), step = atoi(argv[2]), cpu = 0;
	unsigned a, b, c, d;
	cpu_set_t set;
	sched_getaffinity(0, sizeof set, &set);
	for (int n = 0, i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set) && n++ == first % CPU_COUNT(&set))
			cpu = i;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
	int program = counter();
	map(SCRATCH - 0x10000, 0x20000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
	mprotect((void *)(SCRATCH - 0x10000), 0x10000, PROT_NONE);
	mprotect((void *)(SCRATCH + MEMORY), 0xc000, PROT_NONE);
	map(STATE, 0x10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
	__cpuid_count(0xd, 0, a, b, c, d);
	host[2] = a & 0xe7;
	syscall(SYS_arch_prctl, 0x1003, &fs_base);
	stack_t alt = { .ss_sp = map(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1), .ss_size = 1 << 16 };
	sigaltstack(&alt, NULL);
	struct sigaction sa = { .sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	for (int i = 0, s[] = { SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGTRAP, SIGSYS }; i < 6; i++)
		sigaction(s[i], &sa, NULL);
	size_t size = sizeof(struct result) * STATES * CHUNK;
	struct result *plain = map(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	struct result *probed = map(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	volatile int *at = map(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	char line[100], lines[CHUNK][100];
	for (long number = 0, more = 1; more;) {
		static uint8_t code[CHUNK * SLOT];
		memset(code, 0xcc, sizeof code);
		int n = 0, refused[CHUNK] = { 0 }, skip[CHUNK] = { 0 }, ended[CHUNK], probes = 0;
		uint64_t offsets[CHUNK];
		while (n < CHUNK && (more = fgets(line, sizeof line, stdin) != NULL)) {
			if (number++ % step != first)
				continue;
			line[strcspn(line, "\n")] = 0;
			strcpy(lines[n], line);
			uint8_t *p = code + n * SLOT;
			char *s = line;
			for (; sscanf(s, "%2hhx", p) == 1 && *s != ' '; s += 2)
				p++;
			int rip = atoi(s);
			uint32_t distance = SCRATCH + 0x800 - (CODE + (p - code));
			if (rip > 0)
				memcpy(code + n * SLOT + rip, &distance, 4);
			// Behind it, 16 bytes further and in the slot's middle: jmp *done
			uint64_t *ends = (void *)(code + n * SLOT + 96);
			ends[0] = (uint64_t)done1, ends[1] = (uint64_t)done2;
			for (int i = 0; i < 3; i++) {
				uint8_t *q = i == 0 ? p : i == 1 ? p + 16 : code + n * SLOT + 64;
				uint32_t to = code + n * SLOT + 96 + 8 * (i > 0) - (q + 6);
				q[0] = 0xff, q[1] = 0x25, memcpy(q + 2, &to, 4);
			}
			n++;
		}
		int fd = memfd_create("steps", MFD_CLOEXEC);
		char path[64];
		snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), fd);
		if (write(fd, code, sizeof code) != sizeof code)
			return perror("write"), 1;
		map(CODE, sizeof code, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd);
		each(n, skip, plain, at, ended);
		for (int i = 0; i < n; i++) { // one that ends its process is left out
			skip[i] = ended[i] || unknown(&plain[i * STATES].s, i);
			if (!skip[i])
				offsets[probes++] = i * SLOT;
		}
		sift(program, path, offsets, probes, refused);
		for (int i = 0; i < n; i++)
			if (!skip[i] && refused[i])
				printf("%s refused %d\n", lines[i], refused[i]), skip[i] = 1;
		memset(probed, 0, size);
		memset((void *)counted, 0, CHUNK * 8);
		each(n, skip, probed, at, ended);
		for (int i = 0; i < n; i++) {
			if (skip[i])
				continue;
			struct result *a = plain + i * STATES, *b = probed + i * STATES;
			int status = 0;
			if (ended[i] || compare(a, b)) {
				memset(b, 0, sizeof *b * STATES);
				counted[i] = 0;
				status = in_child(i, i + 1, skip, probed, at);
			}
			const char *what = compare(a, b);
			if (status)
				printf("%s differs ended by signal %d\n", lines[i], WTERMSIG(status));
			else
				printf("%s %s\n", lines[i], what ? what : "same");
		}
		fflush(stdout);
		close_range(fd, ~0u, 0); // the file and what was put on it
	}
	return 0;
}
