// Containers of C++ whose elements are in nodes, smart pointers, and pointers to structures.
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#define FN __attribute__((noinline))
#define KEEP asm volatile("" ::: "memory")
struct Part { int a; std::string s; };
struct Whole { std::map<int, Part> parts; std::set<std::string> *names; };
FN int trees(std::map<std::string, int> &m, std::multimap<int, Part> &mm, std::set<int> &s, std::map<int, int> &big, std::map<int, int> &none, std::map<char, long double> &wide) { KEEP; return m.size(); }
FN int hashes(std::unordered_map<std::string, Part> &u, std::unordered_set<long> &us, std::unordered_multimap<int, int> &um) { KEEP; return u.size(); }
FN int lists(std::list<Part> &l, std::deque<int> &d, std::forward_list<int> &f, std::forward_list<int> &longer, std::queue<int> &q, std::deque<Part> &dp) { KEEP; return l.size(); }
FN int pointers(std::unique_ptr<Part> &u, std::shared_ptr<Part> s, std::shared_ptr<int> i, Part *p, std::unique_ptr<int[]> several, std::unique_ptr<std::string> t, Whole *w) { KEEP; return 1; }
int main()
{
	std::map<std::string, int> m{{"a,b", 1}, {"c", 2}, {"dd", 3}};
	std::multimap<int, Part> mm{{1, {1, "x"}}, {1, {2, "y"}}};
	std::set<int> s{5, 3, 9, 1, 7};
	std::map<int, int> big, none;
	for (int i = 0; i < 1000; i++)
		big[i] = i * i;
	for (int i = 0; i < 500; i += 2)
		big.erase(i);
	std::map<char, long double> wide{{'a', 1.5}};
	trees(m, mm, s, big, none, wide);
	std::unordered_map<std::string, Part> u{{"k", {7, "v"}}};
	std::unordered_set<long> us{8};
	std::unordered_multimap<int, int> um{{1, 2}};
	hashes(u, us, um);
	std::list<Part> l{{1, "one"}, {2, "two"}};
	std::deque<int> d;
	for (int i = 0; i < 300; i++)
		d.push_back(i);
	for (int i = 0; i < 125; i++)
		d.pop_front();
	std::forward_list<int> f{1, 2, 3}, longer(100, 6);
	std::queue<int> q;
	q.push(4);
	std::deque<Part> dp{{3, "three"}, {4, "four"}};
	lists(l, d, f, longer, q, dp);
	std::unique_ptr<Part> up(new Part{1, "up"});
	Part p{3, "pp"};
	Whole w{{{1, {2, "in"}}}, nullptr};
	pointers(up, std::make_shared<Part>(Part{2, "sp"}), std::make_shared<int>(42), &p, std::make_unique<int[]>(3), std::make_unique<std::string>("text"), &w);
	up.reset();
	pointers(up, nullptr, nullptr, nullptr, nullptr, nullptr, (Whole *)16);
	return 0;
}
