// Objects whose class is not that of the pointers to them.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>
#define FN __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")

enum Colour { Red, Green, Blue };
struct At { int x, y; };

struct Shape {
	int id;
	std::string label;
	explicit Shape(int i, const char *l) : id(i), label(l) { made(this); }
	virtual ~Shape() {}
	virtual long area() const { return 0; }
	static FN int made(const Shape *s) { KEEP; return s->id; }
};

struct Tagged {
	unsigned low : 3, high : 5;
	Tagged() : low(5), high(17) {}
	virtual ~Tagged() {}
	virtual int tag() { return 1; }
};

struct Circle : Shape {
	long r;
	Colour colour;
	std::string note, essay;
	Circle(int i) : Shape(i, "a label that does not fit inside of the string"), r(2 * i), colour(Blue), note("note"),
		essay("an essay that does not fit inside of the string") {}
	long area() const override { return r * r; }
};

namespace geo {
template<class T> struct Box : Shape, Tagged {
	T w, h;
	At at;
	std::vector<int> list{1, 2, 3};
	Box(int i) : Shape(i, "box"), w(4), h(5), at{6, 7} {}
	long area() const override { return w * h; }
};
}

namespace { struct Hidden : Shape { char c = 'h'; Hidden() : Shape(9, "hidden") {} }; }

struct Virtual : virtual Shape { int v; Virtual() : Shape(7, "virtual"), v(8) {} };

struct Deep : Circle { short more; Deep() : Circle(20), more(-3) {} };

FN long area(const Shape *p, const Shape &r) { KEEP; return p->area() + r.area(); }
FN int tag(Tagged *t) { KEEP; return t->tag(); }
FN int owned(std::unique_ptr<Shape> &u, std::shared_ptr<Shape> s) { KEEP; return u->id + s->id; }
FN int all(std::vector<Shape *> &v) { KEEP; return v.size(); }

int main()
{
	Circle c(1);
	geo::Box<int> b(3);
	Hidden h;
	Virtual v;
	Deep d;
	Shape s(5, "shape");
	printf("%ld\n", area(&c, b));
	printf("%ld\n", area(&d, s));
	printf("%ld\n", area(&v, h));
	printf("%d\n", tag(&b));
	std::unique_ptr<Shape> u(new Circle(11));
	std::shared_ptr<Shape> shared = std::make_shared<geo::Box<int>>(13);
	printf("%d\n", owned(u, shared));
	std::vector<Shape *> list{&c, &b, &s};
	printf("%d\n", all(list));
}
