// Variables in namespaces and classes.
#include <map>
#include <string>
#define FN __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")

namespace depot {
std::string title = "the title of the depot";
namespace inner { int depth = 3; }
namespace { int hidden = 4; }
struct Shelf { static long count; static inline int made = 6; };
long Shelf::count = 5;
}
std::map<int, std::string> names{{1, "one"}, {2, "two"}};
int depth = 9;

FN int look() { KEEP; return depot::inner::depth + depot::hidden + depot::Shelf::count + depot::Shelf::made + depth + names.size() + depot::title.size(); }
int main() { depot::hidden++; depot::Shelf::count--; return look() == 0; }
