#include <string>
#include <vector>
#include <map>
#include <memory>
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <iostream>
namespace ns { namespace {
struct Point { int x, y; virtual ~Point() {} virtual int area() const { return x*y; } };
struct P3 : Point { int z; int area() const override { return x*y*z; } };
template<class T> T twice(T v) { return v+v; }
}
class Book {
 public:
  Book(std::string n, std::vector<int> v) : name(std::move(n)), pages(std::move(v)) {}
  ~Book() { std::puts(name.c_str()); }
  int count(const std::string &what, long double ld, double d, float f, __int128 big, char c, bool b, struct Big *p) const;
  static int stat(int a, int b) { return a*b; }
 private:
  std::string name; std::vector<int> pages; unsigned a:3, bb:5; signed cc:7; union { int u1; float u2; }; enum class E : unsigned char { A, B=200 } e = E::A; int arr[2][3]; int Book::*mp; int (Book::*mf)(int);
};
struct Big { long v[10]; };
int Book::count(const std::string &what, long double ld, double d, float f, __int128 big, char c, bool b, struct Big *p) const {
  int n = 0; for (size_t i = 0; i < name.size(); i++) n += name[i] == what[0]; for (int q : pages) n += q; 
  std::map<std::string,int> m; m[what] = n; std::ostringstream os; os << ld << d << f << c << b << (long)big << p->v[1]; return n + m.size() + os.str().size();
}
long byval(Big b, Point p, int i) { return b.v[3] + p.area() + i; }
}
int main(int argc, char **argv) {
  ns::Book b("hello", {1,2,3}); ns::Big g{}; ns::P3 p; p.x=argc; p.y=2; p.z=3;
  std::unique_ptr<ns::Point> up(new ns::P3(p)); auto lam = [&](int q) { return q + argc; };
  std::sort(argv, argv+argc, [](char *a, char *b) { return std::string(a) < std::string(b); });
  printf("%d %ld %d %d %d\n", b.count(argv[0], 1, 2, 3, 4, 'c', true, &g), ns::byval(g, *up, 3), ns::twice(4), lam(3), ns::Book::stat(argc, 2));
}
