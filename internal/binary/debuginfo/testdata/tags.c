// One source for several units that have different types of one name, and some that differ in nothing.
struct ctx;
struct same;
struct twin;
#ifdef USER
__attribute__((noinline)) int work(struct ctx *c, struct same *s, struct twin *t) {
	__asm__ volatile("" ::"r"(c), "r"(s), "r"(t));
	return 1;
}
#elif defined LAST
struct ctx { char *title; long n; };
typedef long unlike;
typedef unsigned char alike;
struct same { int a, b; };
int work(struct ctx *c, struct same *s, struct twin *t);
int main(void) {
	struct ctx c = {"two", 22};
	struct same s = {1, 2};
	unlike u = 3;
	alike v = 4;
	__asm__ volatile("" ::"r"(&u), "r"(&v));
	return work(&c, &s, 0);
}
#line 500
struct twin { int a; float b; } twin;
#else
struct ctx { int a; char *name; };
typedef double unlike;
typedef unsigned char octet;
typedef octet alike;


struct same { int a, b; };
void other(void) {
	struct ctx c = {1, "one"};
	struct same s = {1, 2};
	unlike u = 3;
	alike v = 4;
	__asm__ volatile("" ::"r"(&c), "r"(&s), "r"(&u), "r"(&v));
}
#line 500
struct twin { float a; int b; } pair;
#endif
