// Calls functions of the C and the mathematical library, and compares each result with what plain loops or known values give.
//	library [ROUNDS [wait]]    with wait it begins at a line on stdin
#define _GNU_SOURCE
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <wchar.h>

static long right, wrong;

static void check(int ok, const char *what, long round)
{
	if (ok) {
		right++;
	} else if (wrong++ < 20) {
		fprintf(stderr, "wrong: %s in round %ld\n", what, round);
	}
}
#define CHECK(c) check(c, #c, round)

static uint64_t state = 88172645463325252u;
static unsigned rnd(unsigned n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (state >> 33) % n;
}

enum { MOST = 700 };
static unsigned char a[MOST + 200], b[MOST + 200], c[MOST + 200];
static wchar_t wa[MOST + 200], wb[MOST + 200];

static void plain_copy(void *to, const void *from, size_t n)
{
	volatile unsigned char *t = to;
	const volatile unsigned char *f = from;
	for (size_t i = 0; i < n; i++)
		t[i] = f[i];
}

static int plain_equal(const void *x, const void *y, size_t n)
{
	const volatile unsigned char *p = x, *q = y;
	for (size_t i = 0; i < n; i++)
		if (p[i] != q[i])
			return 0;
	return 1;
}

static int sign(int n) { return (n > 0) - (n < 0); }

static void memory(long round)
{
	size_t n = rnd(MOST), off = rnd(64), at = n ? rnd(n) : 0;
	unsigned char *p = a + off, byte = 1 + rnd(255);
	for (size_t i = 0; i < sizeof a; i++)
		a[i] = 1 + rnd(255), b[i] = a[i], c[i] = 0;
	CHECK(memcpy(c + off, p, n) == c + off && plain_equal(c + off, p, n) && c[off + n] == 0);
	CHECK(memcmp(c + off, p, n) == 0);
	if (n) {
		c[off + at] ^= 0x80;
		CHECK(sign(memcmp(c + off, p, n)) == (c[off + at] > p[at] ? 1 : -1));
	}
	memset(p, byte, n);
	int filled = 1;
	for (size_t i = 0; i < n; i++)
		filled &= ((volatile unsigned char *)p)[i] == byte;
	CHECK(filled && a[off + n] == b[off + n]);
	plain_copy(a, b, sizeof a);
	memmove(a + 20, a + 3, n);
	CHECK(plain_equal(a + 20, b + 3, n));
	plain_copy(a, b, sizeof a);
	memmove(a + 3, a + 20, n);
	CHECK(plain_equal(a + 3, b + 20, n));
	plain_copy(a, b, sizeof a);
	void *first = NULL, *last = NULL;
	for (size_t i = 0; i < n; i++)
		if (p[i] == byte)
			last = p + i, first = first ? first : last;
	CHECK(memchr(p, byte, n) == first);
	CHECK(memrchr(p, byte, n) == last);
	CHECK(mempcpy(c, p, n) == c + n);
	CHECK(memccpy(c, p, byte, n) == (first ? c + ((unsigned char *)first - p) + 1 : NULL));
	CHECK(memmem(p, n + 30, p + at, 8) != NULL);
	CHECK(bcmp(p, p, n) == 0);
	bzero(c, n + 1);
	CHECK(n == 0 || c[0] == 0 && c[n / 2] == 0 && c[n] == 0);
}

static void strings(long round)
{
	size_t n = rnd(300), off = rnd(64);
	char *s = (char *)a + off, *t = (char *)b + rnd(64), *u = (char *)c + rnd(32);
	for (size_t i = 0; i < n; i++)
		s[i] = 'a' + rnd(26);
	s[n] = 0;
	char byte = 'a' + rnd(26);
	char *first = NULL, *last = NULL;
	for (size_t i = 0; i < n; i++)
		if (s[i] == byte)
			last = s + i, first = first ? first : last;
	CHECK(strlen(s) == n);
	CHECK(strnlen(s, n / 2) == n / 2 && strnlen(s, n + 9) == n);
	CHECK(strchr(s, byte) == first);
	CHECK(strrchr(s, byte) == last);
	CHECK(strchrnul(s, byte) == (first ? first : s + n));
	CHECK(rawmemchr(s, 0) == s + n);
	CHECK(strcpy(t, s) == t && plain_equal(t, s, n + 1));
	CHECK(stpcpy(u, s) == u + n && plain_equal(u, s, n + 1));
	CHECK(strcmp(s, t) == 0 && strcasecmp(s, t) == 0 && strncmp(s, t, n) == 0);
	if (n) {
		t[n - 1] = 'A';
		CHECK(strcmp(s, t) > 0 && strcmp(t, s) < 0 && strncmp(s, t, n - 1) == 0 && strncmp(s, t, n) > 0);
		t[n - 1] = s[n - 1] - 'a' + 'A';
		CHECK(strcasecmp(s, t) == 0 && strncasecmp(s, t, n) == 0);
	}
	CHECK(strncpy(t, s, n + 20) == t && plain_equal(t, s, n + 1) && t[n + 19] == 0);
	strcpy(u, "0:"), strcat(u, s), strncat(u, "tail", 2);
	CHECK(strlen(u) == n + 4 && plain_equal(u + 2, s, n) && u[n + 2] == 't' && u[n + 4 - 1] == 'a');
	CHECK(strspn(s, "abcdefghijklmnopqrstuvwxyz") == n);
	char set[2] = { byte, 0 };
	CHECK(strcspn(s, set) == (first ? (size_t)(first - s) : n));
	CHECK(strpbrk(s, set) == first);
	CHECK(strstr(s, s + n / 2) != NULL && (n == 0 || strstr(u, s) == u + 2 && strcasestr(u, s) == u + 2));
	char *copy = strdup(s);
	CHECK(strcmp(copy, s) == 0);
	free(copy);
	int number = (int)rnd(2000000) - 1000000, back = 0;
	char text[200], word[64];
	CHECK(snprintf(text, sizeof text, "%d|%5.3f|%s|%x|%c", number, number / 8.0, "word", number, 'q') == (int)strlen(text));
	double d = 0;
	unsigned hex = 0;
	CHECK(sscanf(text, "%d|%lf|%60[a-z]|%x", &back, &d, word, &hex) == 4 && back == number && fabs(d - number / 8.0) < 0.001 && !strcmp(word, "word") && hex == (unsigned)number);
	CHECK(strtol(text, NULL, 10) == number && atoi(text) == number);
	CHECK(strtoul("fFe", NULL, 16) == 0xffe && strtod("-1.5e3", NULL) == -1500);
	char list[] = "one,two;three", *save = NULL;
	CHECK(!strcmp(strtok_r(list, ",;", &save), "one") && !strcmp(strtok_r(NULL, ",;", &save), "two") && !strcmp(strtok_r(NULL, ",;", &save), "three"));
	CHECK(toupper('q') == 'Q' && isalpha('q') && !isdigit('q'));
}

static void wide(long round)
{
	size_t n = rnd(200), off = rnd(16);
	wchar_t *s = wa + off, *t = wb + rnd(16);
	for (size_t i = 0; i < n; i++)
		s[i] = 'a' + rnd(26);
	s[n] = 0;
	wchar_t one = 'a' + rnd(26), *first = NULL, *last = NULL;
	for (size_t i = 0; i < n; i++)
		if (s[i] == one)
			last = s + i, first = first ? first : last;
	CHECK(wcslen(s) == n && wcsnlen(s, n / 2) == n / 2);
	CHECK(wcschr(s, one) == first && wcsrchr(s, one) == last && wmemchr(s, one, n) == first);
	CHECK(wcscpy(t, s) == t && plain_equal(t, s, 4 * n + 4) && wcscmp(s, t) == 0 && wmemcmp(s, t, n) == 0 && wcsncmp(s, t, n) == 0);
	if (n) {
		t[n - 1]++;
		CHECK(wcscmp(s, t) < 0 && wmemcmp(t, s, n) > 0);
	}
	wmemset(t, one, n);
	int filled = 1;
	for (size_t i = 0; i < n; i++)
		filled &= t[i] == one;
	CHECK(filled);
	wchar_t text[100];
	CHECK(swprintf(text, 100, L"%d-%ls", 42, L"wide") == 7 && !wcscmp(text, L"42-wide"));
}

static int order(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

static void other(long round)
{
	int v[100], sorted = 1;
	for (int i = 0; i < 100; i++)
		v[i] = rnd(10000);
	int some = v[50];
	qsort(v, 100, sizeof *v, order);
	for (int i = 1; i < 100; i++)
		sorted &= v[i - 1] <= v[i];
	int *found = bsearch(&some, v, 100, sizeof *v, order);
	CHECK(sorted && found && *found == some);
	time_t t = 86400 * (long)rnd(20000) + 3661;
	struct tm tm;
	char text[50];
	CHECK(gmtime_r(&t, &tm) && tm.tm_hour == 1 && tm.tm_min == 1 && tm.tm_sec == 1 && timegm(&tm) == t);
	CHECK(strftime(text, sizeof text, "%H:%M:%S", &tm) == 8 && !strcmp(text, "01:01:01"));
	char *p = calloc(1 + rnd(5000), 1);
	CHECK(p && p[0] == 0);
	p = realloc(p, 10000);
	memset(p, 7, 10000);
	CHECK(p[9999] == 7);
	free(p);
}

#define NEAR(got, want) CHECK(fabs((double)(got) - (double)(want)) <= 1e-5 * (1 + fabs((double)(want))))
#define CLOSE(got, want) CHECK(fabs((got) - (want)) <= 1e-12 * (1 + fabs(want)))

// series is a function's value by its Taylor series.
static double sine(double x)
{
	double t = x, sum = x;
	for (int i = 1; i < 30; i++)
		t *= -x * x / (2 * i * (2 * i + 1)), sum += t;
	return sum;
}
static double cosine(double x)
{
	double t = 1, sum = 1;
	for (int i = 1; i < 30; i++)
		t *= -x * x / (2 * i * (2 * i - 1)), sum += t;
	return sum;
}
static double power(double x) // e to it
{
	double t = 1, sum = 1;
	for (int i = 1; i < 60; i++)
		t *= x / i, sum += t;
	return sum;
}

static void mathematics(long round)
{
	double x = (rnd(2000001) - 1000000.0) / 400000, y = 0.1 + rnd(1000000) / 300000.0, s, co;
	float f = x, g = y, fs, fc;
	CLOSE(sin(x), sine(x));
	CLOSE(cos(x), cosine(x));
	CLOSE(tan(x / 3), sine(x / 3) / cosine(x / 3));
	sincos(x, &s, &co);
	CLOSE(s, sine(x));
	CLOSE(co, cosine(x));
	CLOSE(exp(x), power(x));
	CLOSE(exp2(x), power(x * 0.69314718055994530942));
	CLOSE(expm1(x), power(x) - 1);
	CLOSE(power(log(y)), y);
	CLOSE(power(log2(y) * 0.69314718055994530942), y);
	CLOSE(power(log10(y) * 2.30258509299404568402), y);
	CLOSE(power(log1p(y)), 1 + y);
	CLOSE(pow(y, x), power(x * log(y)));
	CLOSE(sine(asin(x / 3)), x / 3);
	CLOSE(cosine(acos(x / 3)), x / 3);
	CLOSE(sine(atan(x)) / cosine(atan(x)), x);
	CLOSE(sine(atan2(x, y)) / cosine(atan2(x, y)), x / y);
	CLOSE(sqrt(y) * sqrt(y), y);
	CLOSE(cbrt(y) * cbrt(y) * cbrt(y), y);
	CLOSE(hypot(x, y) * hypot(x, y), x * x + y * y);
	CLOSE(sinh(x), (power(x) - power(-x)) / 2);
	CLOSE(cosh(x), (power(x) + power(-x)) / 2);
	CLOSE(tanh(x), (power(x) - power(-x)) / (power(x) + power(-x)));
	CLOSE(fma(x, y, 3), x * y + 3);
	CHECK(floor(x) <= x && floor(x) > x - 1 && ceil(x) >= x && ceil(x) < x + 1 && trunc(x) == (long)x);
	CHECK(fabs(rint(x) - x) <= 0.5 && fabs(nearbyint(x) - x) <= 0.5 && labs(lrint(x) - (long)x) <= 1);
	CLOSE(fmod(y, 0.75), y - 0.75 * (long)(y / 0.75));
	CLOSE(tgamma(5.0), 24.0);
	CLOSE(erf(x) + erfc(x), 1.0);
	int e;
	double part = frexp(y, &e);
	CLOSE(ldexp(part, e), y);
	NEAR(sinf(f), sine(f));
	NEAR(cosf(f), cosine(f));
	NEAR(tanf(f / 3), sine(f / 3) / cosine(f / 3));
	sincosf(f, &fs, &fc);
	NEAR(fs, sine(f));
	NEAR(fc, cosine(f));
	NEAR(expf(f), power(f));
	NEAR(exp2f(f), power(f * 0.69314718055994530942));
	NEAR(expm1f(f), power(f) - 1);
	NEAR(power(logf(g)), g);
	NEAR(power(log2f(g) * 0.69314718055994530942), g);
	NEAR(power(log10f(g) * 2.30258509299404568402), g);
	NEAR(power(log1pf(g)), 1 + (double)g);
	NEAR(powf(g, f), power(f * log(g)));
	NEAR(sine(asinf(f / 3)), f / 3);
	NEAR(cosine(acosf(f / 3)), f / 3);
	NEAR(atanf(f), atan(f));
	NEAR(atan2f(f, g), atan2(f, g));
	NEAR(sinhf(f), sinh(f));
	NEAR(coshf(f), cosh(f));
	NEAR(tanhf(f), tanh(f));
	NEAR(fmaf(f, g, 3), (double)f * g + 3);
	CHECK(floorf(f) <= f && ceilf(f) >= f && truncf(f) == (long)f && fabsf(rintf(f) - f) <= 0.5f && fabsf(nearbyintf(f) - f) <= 0.5f);
	NEAR(hypotf(f, g) * hypotf(f, g), (double)f * f + (double)g * g);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000;
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	for (long round = 0; round < rounds; round++)
		memory(round), strings(round), wide(round), other(round), mathematics(round);
	printf("right %ld wrong %ld\n", right, wrong);
	puts("done");
	return wrong > 0;
}
