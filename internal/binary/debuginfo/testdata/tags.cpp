// One source for several units: a type that is declared in one, and defined in others.
namespace shop {
template <class T> struct Box;
template <class T, int N> struct Row;
}
#ifdef USER
__attribute__((noinline)) long work(shop::Box<long> *b, shop::Box<char> *c, shop::Row<short, 3> *r, struct ctx *x) {
	asm volatile("" ::"r"(b), "r"(c), "r"(r), "r"(x));
	return 1;
}
#else
namespace shop {
template <class T> struct Box { char pad; T v; int n; };
template <class T, int N> struct Row { T a[N]; };
}
#ifdef LAST
struct ctx { long n; double d; };
long work(shop::Box<long> *b, shop::Box<char> *c, shop::Row<short, 3> *r, struct ctx *x);
int main() {
	shop::Box<long> b{1, 1000, 7};
	shop::Box<char> c{2, 'x', 9};
	shop::Row<short, 3> r{{10, 20, 30}};
	shop::Row<short, 2> s{{10, 20}};
	struct ctx x{1, 2};
	asm volatile("" ::"r"(&s));
	return work(&b, &c, &r, &x);
}
#else
namespace {
struct ctx { char *name; int n; };
}
struct same { int a; };
void other() {
	ctx x{nullptr, 3};
	same y{4};
	shop::Box<double> z{1, 2.5, 3};
	asm volatile("" ::"r"(&x), "r"(&y), "r"(&z));
}
#endif
#endif
