// Functions that change what their arguments point to: buffers that they fill, and containers that they empty.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
#define FN extern "C" __attribute__((noinline))
#define KEEP asm volatile("" ::: "memory")
struct Inner { std::vector<std::string> w; std::string name; };
struct Shelf { std::vector<int> v; std::string s; Inner *p; };
FN int eat(Shelf *s)
{
	KEEP;
	int n = s->v.size();
	s->p->w[0] = "changed";
	s->p->name = "later";
	s->s = "other";
	s->v[0] = 99;
	s->v.clear();
	s->v.shrink_to_fit();
	return n;
}
FN int fill(char *buf, int n, int *len, Shelf **out)
{
	KEEP;
	strcpy(buf, "filled");
	*len = 6;
	*out = new Shelf{{7, 8}, "made", nullptr};
	return 6;
}
int main()
{
	Shelf s{{1, 2, 3}, "str", new Inner{{"a", "b"}, "nm"}};
	eat(&s);
	char b[32] = "before";
	int len = 0;
	Shelf *out = nullptr;
	fill(b, sizeof b, &len, &out);
	fopen("/nonexistent", "r");
	return len != 6;
}
