/* Calls functions of the C and mathematical libraries for ever, in three threads, and compares each result with that of the
   first round, when nothing was traced. Writes "RIGHT WRONG" to standard output every 100 ms, and which call was wrong. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static unsigned long right, wrong;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t mix(uint64_t h, const void *p, size_t n) {
	const unsigned char *b = p;
	for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * 1099511628211u;
	return h;
}
#define MIX(x) do { __typeof__(x) v_ = (x); h = mix(h, &v_, sizeof v_); } while (0)

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static uint64_t strings(unsigned n) {
	uint64_t h = 14695981039346656037u;
	char a[300], b[300], c[700];
	size_t len = 1 + n * 7 % 250;
	memset(a, 'a' + n % 26, len);
	a[len] = 0;
	MIX(strlen(a));
	strcpy(b, a);
	b[len / 2] = '!';
	MIX((long)(strchr(b, '!') - b));
	MIX((long)(strrchr(b, '!') - b));
	MIX((long)((char *)memchr(b, '!', len) - b));
	MIX((long)(strchrnul(b, '?') - b));
	MIX(strcmp(a, b) > 0);
	MIX(strncmp(a, b, len / 2));
	MIX(memcmp(a, b, len) > 0);
	memcpy(c, a, len + 1);
	memmove(c + 3, c, len + 1);
	h = mix(h, c, len + 4);
	strcat(c, b);
	MIX(strlen(c));
	MIX(strspn(a, "abcdefghijklmnopqrstuvwxyz"));
	MIX(strcspn(b, "!"));
	MIX(strstr(c, "!") != 0);
	MIX(strcasecmp("HeLLo", "hello"));
	char *save, words[] = "one two three";
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(0, " ", &save)) MIX(strlen(w));
	char *copy = strdup(a);
	MIX(strnlen(copy, 20));
	free(copy);
	return h;
}

static uint64_t numbers(unsigned n) {
	uint64_t h = 14695981039346656037u;
	char text[200];
	int len = snprintf(text, sizeof text, "%d %s %08.3f %lx %c %5u", (int)n, "text", n / 7.0, n * 0x10001ul, 'x', n);
	h = mix(h, text, len);
	int i;
	float f;
	char word[20];
	MIX(sscanf(text, "%d %19s %f", &i, word, &f));
	MIX(i);
	MIX(f);
	MIX(strtol("-123456789", 0, 10));
	MIX(strtoul("ffffffff", 0, 16));
	MIX(strtod("2.718281828459045", 0));
	MIX(atoi("42"));
	int list[64];
	for (int k = 0; k < 64; k++) list[k] = (int)(n * 2654435761u >> (k % 20)) % 1000;
	qsort(list, 64, sizeof *list, by_number);
	h = mix(h, list, sizeof list);
	int key = list[20];
	MIX(*(int *)bsearch(&key, list, 64, sizeof *list, by_number));
	MIX(toupper('a' + n % 26));
	wchar_t wide[40];
	MIX(mbstowcs(wide, "wide text", 40));
	MIX(wcslen(wide));
	MIX((long)(wcschr(wide, L't') - wide));
	struct tm tm;
	time_t t = 86400l * n;
	gmtime_r(&t, &tm);
	MIX(tm.tm_yday);
	MIX(strftime(text, sizeof text, "%Y-%m-%d", &tm));
	MIX(div(1000 + n, 7).rem);
	return h;
}

static uint64_t mathematics(unsigned n) {
	uint64_t h = 14695981039346656037u;
	double x = 0.01 + n % 97 / 97.0;
	float f = (float)x;
#define EACH(M) M(sin) M(cos) M(tan) M(asin) M(acos) M(atan) M(sinh) M(cosh) M(tanh) M(exp) M(exp2) M(expm1) M(log) M(log2) \
	M(log10) M(log1p) M(sqrt) M(cbrt) M(erf) M(tgamma) M(floor) M(ceil) M(rint) M(trunc) M(j0) M(y0)
#define ONE(g) MIX(g(x));
#define SINGLE(g) MIX(g##f(f));
	EACH(ONE)
	EACH(SINGLE)
	MIX(pow(x, 3.7));
	MIX(powf(f, 3.7f));
	MIX(atan2(x, 2.0));
	MIX(atan2f(f, 2.0f));
	MIX(fmod(x * 100, 7.0));
	MIX(hypot(x, 3.0));
	MIX(fma(x, 2.0, 1.0));
	MIX(ldexp(x, 5));
	return h;
}

static uint64_t memory(unsigned n) {
	uint64_t h = 14695981039346656037u;
	void *blocks[16];
	for (int i = 0; i < 16; i++) {
		size_t size = 1 + (n * 37 + i * 101) % 5000;
		blocks[i] = i % 3 ? malloc(size) : calloc(1, size);
		memset(blocks[i], i, size);
		blocks[i] = realloc(blocks[i], size + 100);
		h = mix(h, blocks[i], size);
	}
	for (int i = 0; i < 16; i++) free(blocks[i]);
	jmp_buf env;
	static __thread int jumped;
	jumped = 0;
	if (setjmp(env) == 0) longjmp(env, 1);
	else jumped = 1;
	MIX(jumped);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	errno = 0;
	MIX(close(-1));
	MIX(errno);
	MIX(getenv("SURELY_NOT_SET") == 0);
	return h;
}

#define ROUNDS 64
static struct { const char *name; uint64_t (*run)(unsigned); uint64_t first[ROUNDS]; } calls[] = {
	{"strings", strings, {0}}, {"numbers", numbers, {0}}, {"mathematics", mathematics, {0}}, {"memory", memory, {0}},
};
#define CALLS (sizeof calls / sizeof *calls)

static void *work(void *unused) {
	(void)unused;
	for (unsigned n = 0;; n++)
		for (unsigned i = 0; i < CALLS; i++)
			if (calls[i].run(n % ROUNDS) == calls[i].first[n % ROUNDS])
				__atomic_add_fetch(&right, 1, __ATOMIC_RELAXED);
			else if (__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED) < 10)
				dprintf(1, "wrong: %s %u\n", calls[i].name, n % ROUNDS);
	return 0;
}

int main(void) {
	for (unsigned i = 0; i < CALLS; i++)
		for (unsigned n = 0; n < ROUNDS; n++) calls[i].first[n] = calls[i].run(n);
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		pthread_create(&t, 0, work, 0);
	}
	for (;;) {
		dprintf(1, "%lu %lu\n", __atomic_load_n(&right, __ATOMIC_RELAXED), __atomic_load_n(&wrong, __ATOMIC_RELAXED));
		struct timespec pause = {0, 100000000};
		nanosleep(&pause, 0);
	}
}
