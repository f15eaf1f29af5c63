// Strings of UTF-16 by reference, and a function that is not called.
#include <string>
#include <vector>

volatile int total;

__attribute__((noinline)) void say(const std::u16string &text, const std::vector<int> &list)
{
	total += text.size() + list.size();
}

__attribute__((noinline)) void idle(const std::u16string &text) { total += text.size(); }

int main(int argc, char **)
{
	std::vector<int> list{1, 2, 3};
	say(u"grüße", list);
	say(u"grüsse", list);
	if (argc > 1)
		idle(u"");
	return 0;
}
