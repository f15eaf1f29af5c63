// Calls functions whose arguments, variables and types scripts look at, by name and at lines.
#include <cstdio>
#include <string>
#include <vector>

namespace chest {
enum class Wood : signed char { Oak = 1, Pine = -2 };
template <class T> struct Box {
    T first;
    int n;
};
struct Drawer {
    std::string label;
    std::vector<int> sizes;
    Box<long> box;
    Wood wood;
    unsigned deep : 3;
    int left : 5;
    int grid[2][3];
};
} // namespace chest

static inline __attribute__((always_inline)) int twice(const chest::Drawer *d, int k) {
    int t = d->sizes[0] * k;
    asm volatile("" ::: "memory");
    return t + 1;
}

__attribute__((noinline)) int open(void *raw, const chest::Drawer &d, chest::Wood wood, int by) {
    int sum = by;
    for (int size : d.sizes) {
        int part = size * by;
        asm volatile("" : "+r"(part) : : "memory");
        sum += part; // in the loop
    }
    int both = twice(&d, by) + sum;
    asm volatile("" : "+r"(both) : : "memory");
    return both; // at the end
}

int main() {
    chest::Drawer top{"top", {1, 2, 3}, {77, 8}, chest::Wood::Pine, 5, -3, {{1, 2, 3}, {4, 5, 6}}};
    chest::Drawer low{"low", {10}, {78, 9}, chest::Wood::Oak, 0, 4, {{7, 8, 9}, {0, 0, 0}}};
    int first = open(&top, top, top.wood, 4);
    printf("%d %d\n", first, open(&low, low, low.wood, 2));
}
