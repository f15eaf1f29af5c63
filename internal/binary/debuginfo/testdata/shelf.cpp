#include <cstdio>
#include <string>
#include <vector>
namespace ns { namespace {
struct Point { int x, y; virtual ~Point() {} virtual int area() const { return x*y; } };
struct P3 : Point { int z; int area() const override { return x*y*z; } };
template<class T> T twice(T v) { return v+v; }
template<class K, int N> struct Ring { K at[N]; int head = 0; K &next() { return at[head++ % N]; } };
}
enum class Kind : unsigned char { none, some = 200 };
struct Big { long v[10]; };
class Shelf {
 public:
  Shelf(std::string n, std::vector<int> v) : name(std::move(n)), pages(std::move(v)) {}
  ~Shelf() { std::puts(name.c_str()); }
  int count(const std::string &what, long double ld, double d, float f, __int128 big, char c, bool b, Big *p) const;
  static int stat(int a, int b) { return a*b; }
 private:
  std::string name; std::vector<int> pages; unsigned a:3, bb:5; signed cc:7; union { int u1; float u2; };
  Kind kind = Kind::none; int arr[2][3]; int Shelf::*mp; int (Shelf::*mf)(int); Ring<const char *, 4> *ring;
};
int Shelf::count(const std::string &what, long double ld, double d, float f, __int128 big, char c, bool b, Big *p) const {
  int n = 0; for (size_t i = 0; i < name.size(); i++) n += name[i] == what[0]; for (int q : pages) n += q;
  return n + twice((int)ld) + (int)d + (int)f + c + b + (int)big + (int)p->v[1];
}
long byval(Big b, Point p, int i) { return b.v[3] + p.area() + i; }
double spin(Ring<double, 8> &r, int n) { double s = 0; while (n-- > 0) { double &k = r.next(); s += twice(k); } return s; }
Kind pick(Kind k, std::vector<std::string> all, const P3 &at) { return all.size() > (size_t)at.area() ? k : Kind::some; }
}
int main(int argc, char **argv) {
  ns::Shelf b("hello", {1,2,3}); ns::Big g{}; ns::P3 p; p.x=argc; p.y=2; p.z=3; ns::Ring<double, 8> r{};
  ns::Point *up = new ns::P3(p); auto lam = [&](int q) { return q + argc; };
  printf("%d %ld %d %d %d %g %d\n", b.count(argv[0], 1, 2, 3, 4, 'c', true, &g), ns::byval(g, *up, 3), ns::twice(4), lam(3), ns::Shelf::stat(argc, 2), ns::spin(r, argc), (int)ns::pick(ns::Kind::some, {argv[0]}, p));
}
