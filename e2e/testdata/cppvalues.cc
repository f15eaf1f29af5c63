// Calls with values of all kinds of C++'s types. To the file that it is given the program writes how a trace must show each
// call: it says itself what it passes.
#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#ifdef __clang__
#define FN __attribute__((noinline))
#else
#define FN __attribute__((noipa))
#endif
#define KEEP __asm__ volatile("" ::: "memory")

// A function has to look at the objects that it is given: GCC's callers need not store what nobody looks at.
static volatile long seen;
template <class T> struct Tuple : std::false_type {};
template <class... E> struct Tuple<std::tuple<E...>> : std::true_type {};
template <class A, class B> struct Tuple<std::pair<A, B>> : std::true_type {};
template <class T> static void look(const T &v)
{
	if constexpr (std::is_arithmetic_v<T>)
		seen = v;
	else if constexpr (Tuple<T>::value)
		std::apply([](const auto &...e) { (look(e), ...); }, v);
	else
		for (const auto &e : v)
			look(e);
}

static FILE *wanted;
__attribute__((format(printf, 1, 2))) static void want(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	vfprintf(wanted, format, list);
	va_end(list);
	fputc('\n', wanted);
}

namespace z {
struct Copy { long a; Copy(long x) : a(x) {} Copy(const Copy &o) : a(o.a) {} };
struct Move { long a; Move(long x) : a(x) {} Move(Move &&o) : a(o.a) { o.a = 0; } };
struct Dtor { long a; ~Dtor() { a = 0; KEEP; } };
struct ByBase : Copy { int b; ByBase(long x, int y) : Copy(x), b(y) {} };
struct ByMember { int k; Copy c; };
struct Defaulted { long a; Defaulted(long x) : a(x) {} Defaulted(const Defaulted &) = default; };
struct Deleted { long a; Deleted(const Deleted &) = delete; Deleted(Deleted &&) = default; Deleted(long x) : a(x) {} };
struct Assigned { long a; Assigned &operator=(const Assigned &o) { a = o.a; return *this; } };
struct Outside { long a; Outside(long x) : a(x) {} Outside(const Outside &); ~Outside(); };
Outside::Outside(const Outside &) = default;
Outside::~Outside() = default;
struct Two { long a; int b; Two(long x, int y) : a(x), b(y) {} };
struct Virt { long a; Virt(long x) : a(x) {} virtual ~Virt() {} };
struct Empty {};
struct Odd { char c; long l; } __attribute__((packed));
struct Aligned { long x, y; } __attribute__((aligned(16)));
struct Bits { unsigned a : 3; int b : 5; unsigned long long c : 40; bool d : 1; };
enum class Color : unsigned char { red, green = 7 };
enum class Sign : short { minus = -1, plus = 5 };

FN long byCopy(Copy c, int k) { KEEP; return c.a + k; }
FN Copy toCopy(long x) { KEEP; return Copy(x); }
FN long byMove(Move c, int k) { KEEP; return c.a + k; }
FN Move toMove(long x) { KEEP; return Move(x); }
FN long byDtor(Dtor c, int k) { KEEP; return c.a + k; }
FN Dtor toDtor(long x) { KEEP; return Dtor{x}; }
FN long byBase(ByBase c, int k) { KEEP; return c.a + c.b + k; }
FN ByBase toBase(long x) { KEEP; return ByBase(x, 5); }
FN long byMember(ByMember c, int k) { KEEP; return c.k + c.c.a + k; }
FN ByMember toMember(long x) { KEEP; return ByMember{3, Copy(x)}; }
FN long byDefaulted(Defaulted c, int k) { KEEP; return c.a + k; }
FN Defaulted toDefaulted(long x) { KEEP; return Defaulted(x); }
FN long byDeleted(Deleted c, int k) { KEEP; return c.a + k; }
FN Deleted toDeleted(long x) { KEEP; return Deleted(x); }
FN long byAssigned(Assigned c, int k) { KEEP; return c.a + k; }
FN Assigned toAssigned(long x) { KEEP; return Assigned{x}; }
FN long byOutside(Outside c, int k) { KEEP; return c.a + k; }
FN Outside toOutside(long x) { KEEP; return Outside(x); }
FN long byTwo(Two c, int k) { KEEP; return c.a + c.b + k; }
FN Two toTwo(long x) { KEEP; return Two(x, -1); }
FN long byVirt(Virt c, int k) { KEEP; return c.a + k; }
FN int byOdd(Odd x, Empty e, int k) { KEEP; return x.c + x.l + k; }
FN int byAligned(int a, Aligned x, int k) { KEEP; return a + x.x + x.y + k; }
FN Bits byBits(Bits x) { KEEP; x.a--; return x; }
FN int enums(Color a, Sign b, Color none) { KEEP; return (int)a + (int)b + (int)none; }
FN __int128 wide(__int128 x, int k) { KEEP; return x + k; }
FN int late(int a, int b, int c, int d, int e, Two x, char f, short g, bool h) { KEEP; return a + b + c + d + e + x.a + x.b + f + g + h; }
FN int strings(std::string s, std::string_view v, const std::string &r, std::string &&m, std::wstring w, std::u16string u)
{
	look(s), look(w), look(u); KEEP;
	return s.size() + v.size() + r.size() + m.size() + w.size() + u.size();
}
FN std::string toString(int n) { KEEP; return std::string(n, 'x'); }
FN std::string_view toView(int n) { KEEP; return std::string_view("view", n); }
FN int vectors(std::vector<int> a, const std::vector<std::string> &b, std::vector<bool> &c, std::vector<std::vector<int>> d)
{
	look(a), look(d); KEEP;
	return a.size() + b.size() + c.size() + d.size();
}
FN int fixed(std::array<int, 3> a, std::array<std::string, 2> b, int (&c)[2]) { look(b); KEEP; return a[0] + a[2] + b.size() + c[1]; }
FN int together(std::pair<std::string, int> b, std::tuple<int, short, std::string> t) { look(b), look(t); KEEP; return b.second + std::get<0>(t); }
FN int trees(std::map<int, int> &a, std::unordered_map<std::string, int> &b, std::set<int> &c, std::list<int> &f, std::deque<int> &g)
{
	KEEP;
	return a.size() + b.size() + c.size() + f.size() + g.size();
}
FN int maybe(std::optional<int> &a, std::optional<int> &b, std::optional<std::string> &c) { KEEP; return a.value_or(0) + b.value_or(0) + c->size(); }
FN int either(std::variant<int, std::string> &a, std::variant<int, std::string> &b, std::variant<char, double> &c) { KEEP; return a.index() + b.index() + c.index(); }
FN int times(std::chrono::milliseconds a, std::chrono::hours h, std::chrono::duration<int, std::ratio<60>> m) { KEEP; return a.count() + h.count() + m.count(); }
FN int calls(int (*p)(int), std::function<int(int)> &e) { KEEP; return p(1) + !!e; }
FN int choose(int op, std::string &s)
{
	KEEP;
	switch (op) {
	case 0: s += "a"; return 1;
	case 1: KEEP; return 22;
	case 2: s += "c"; return 3;
	case 3: s.clear(); return 4;
	case 4: KEEP; return 15;
	case 5: KEEP; return 6;
	case 6: throw std::runtime_error("six");
	}
	return -1;
}
struct Left { int l = 1; virtual int left(int x) { return x + l; } virtual ~Left() {} };
struct Right { int r = 2; virtual int right(int x, std::string s) { return x + r + s.size(); } virtual ~Right() {} };
struct Both : Left, Right {
	int d;
	FN Both(int x) : d(x) { KEEP; }
	FN int left(int x) override { KEEP; return x + d; }
	FN int right(int x, std::string s) override { look(s); KEEP; return x + d + s.size(); }
	FN ~Both() { KEEP; }
};
int plus5(int x) { KEEP; return x + 5; }
}

int main(int argc, char **argv)
{
	using namespace z;
	wanted = fopen(argv[1], "w");
	volatile int one = 1;
#define CLASS(name) \
	want("z::by" name "(c={ .a = 11 }, k=1) = 12"); want("z::to" name "(x=12) = { .a = 12 }")
	CLASS("Copy"); byCopy(Copy(11), one); toCopy(12);
	CLASS("Move"); byMove(Move(11), one); toMove(12);
	CLASS("Dtor"); byDtor(Dtor{11}, one); toDtor(12);
	CLASS("Defaulted"); byDefaulted(Defaulted(11), one); toDefaulted(12);
	CLASS("Deleted"); byDeleted(Deleted(11), one); toDeleted(12);
	CLASS("Assigned"); byAssigned(Assigned{11}, one); toAssigned(12);
	CLASS("Outside"); byOutside(Outside(11), one); toOutside(12);
	want("z::byBase(c={ .a = 11, .b = 4 }, k=1) = 16"); byBase(ByBase(11, 4), one);
	want("z::toBase(x=12) = { .a = 12, .b = 5 }"); toBase(12);
	want("z::byMember(c={ .k = 4, .c = { .a = 11 } }, k=1) = 16"); byMember(ByMember{4, Copy(11)}, one);
	want("z::toMember(x=12) = { .k = 3, .c = { .a = 12 } }"); toMember(12);
	want("z::byTwo(c={ .a = 11, .b = -4 }, k=1) = 8"); byTwo(Two(11, -4), one);
	want("z::toTwo(x=12) = { .a = 12, .b = -1 }"); toTwo(12);
	want("z::byVirt(c={ .a = 11 }, k=1) = 12"); byVirt(Virt(11), one);
	want("z::byOdd(x={ .c = 1, .l = -2 }, e={}, k=1) = 0"); byOdd(Odd{1, -2}, Empty{}, one);
	want("z::byAligned(a=4, x={ .x = 1, .y = 2 }, k=1) = 8"); byAligned(4, Aligned{1, 2}, one);
	want("z::byBits(x={ .a = 5, .b = -9, .c = 78187493530, .d = true }) = { .a = 4, .b = -9, .c = 78187493530, .d = true }"); byBits(Bits{5, -9, 0x123456789aULL, true});
	want("z::enums(a=green, b=minus, none=3) = 9"); enums(Color::green, Sign::minus, (Color)3);
	want("z::wide(x=-18446744073709551617, k=1) = -18446744073709551616"); wide(-((__int128)1 << 64) - 1, one);
	want("z::late(a=1, b=2, c=3, d=4, e=5, x={ .a = 6, .b = -7 }, f=8, g=-9, h=true) = 14"); late(1, 2, 3, 4, 5, Two(6, -7), 8, -9, true);
	std::string longer = "a string that is longer than fits inside of it";
	want("z::strings(s=\"short\", v=\"view\", r=\"%s\", m=\"moved\", w=\"wide ü\", u=\"u16 😀\") = 72", longer.c_str());
	strings("short", "view", longer, "moved", L"wide ü", u"u16 😀");
	want("z::toString(n=3) = \"xxx\""); toString(3);
	want("z::toString(n=20) = \"xxxxxxxxxxxxxxxxxxxx\""); toString(20);
	want("z::toView(n=4) = \"view\""); toView(4);
	std::vector<std::string> texts{"one", "two"};
	std::vector<bool> bits{true, false, true};
	want("z::vectors(a=[1,-2,3], b=[\"one\",\"two\"], c=[true,false,true], d=[[1],[2,3]]) = 10"); vectors({1, -2, 3}, texts, bits, {{1}, {2, 3}});
	int plain[2] = {8, 9};
	want("z::fixed(a=[1,2,3], b=[\"x\",\"y\"], c=[8,9]) = 15"); fixed({1, 2, 3}, {"x", "y"}, plain);
	want("z::together(b={ .first = \"p\", .second = 3 }, t=(1, -99, \"s\")) = 4"); together({"p", 3}, {1, -99, "s"});
	std::map<int, int> map{{1, 2}, {3, 4}};
	std::unordered_map<std::string, int> hash{{"a", 1}};
	std::set<int> set{1, 2, 3};
	std::list<int> list{1, 2, 3, 4};
	std::deque<int> deque(1000, 1);
	want("z::trees(a={ [1] = 2, [3] = 4 }, b={ [\"a\"] = 1 }, c=[1,2,3], f=[1,2,3,4], g=[1,1,1,1,1,1,1,1,… of 1000]) = 1010"); trees(map, hash, set, list, deque);
	std::optional<int> some = 42, none;
	std::optional<std::string> text = "str";
	want("z::maybe(a=42, b=nullopt, c=\"str\") = 45"); maybe(some, none, text);
	std::variant<int, std::string> number = 5, word = "text";
	std::variant<char, double> real = 2.5;
	want("z::either(a=5, b=\"text\", c=2.5) = 2"); either(number, word, real);
	want("z::times(a=1500ms, h=3h, m=4min) = 1507"); times(std::chrono::milliseconds(1500), std::chrono::hours(3), std::chrono::minutes(4));
	std::function<int(int)> empty;
	want("z::calls(p=z::plus5(int), e=PTR) = 6"); calls(plus5, empty);
	std::string s = "s";
	const char *before[] = {"s", "sa", "sa", "sac", "", ""};
	int result[] = {1, 22, 3, 4, 15, 6};
	for (int i = 0; i < 6; i++) {
		want("z::choose(op=%d, s=\"%s\") = %d", i, before[i], result[i]);
		choose(i, s);
	}
	want("z::choose(op=6, s=\"\") was left: exception");
	try {
		choose(6, s);
	} catch (const std::runtime_error &) {
	}
	want("z::Both::Both(this=PTR, x=6)");
	Both *both = new Both(6);
	want("z::Both::left(this=PTR, x=1) = 7"); static_cast<Left *>(both)->left(one);
	want("z::Both::right(this=PTR, x=1, s=\"nn\") = 9"); static_cast<Right *>(both)->right(one, "nn");
	want("z::Both::~Both(this=PTR)");
	want("z::Both::~Both [deleting](this=PTR)");
	delete static_cast<Right *>(both);
	fclose(wanted);
}
