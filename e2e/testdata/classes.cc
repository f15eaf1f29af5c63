// A shelf of books: put() three times, weigh() once, find() of what is there and, by an exception through two frames of
// itself, of what isn't. Its exit status is 0 if the exception came through.
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone, noipa))

namespace lib {
enum class Cover { soft, hard = 5 };
struct Size {
	int pages;
	short height;
};
class Shelf {
	std::vector<std::string> titles, authors;

public:
	virtual ~Shelf() {}
	NOINLINE size_t put(const std::string &title, std::string author, Cover cover, Size size)
	{
		titles.push_back(title);
		authors.push_back(author);
		return title.size() + author.size() + size.pages * (cover == Cover::hard);
	}
	NOINLINE double weigh(double each) { return each * titles.size(); }
	NOINLINE bool any(const std::vector<int> &of) { return !of.empty() && !titles.empty(); }
	NOINLINE int find(const std::string &title, int from)
	{
		if (from >= (int)titles.size())
			throw std::out_of_range(title);
		if (titles[from] == title)
			return from;
		int found = find(title, from + 1);
		__asm__ volatile("");
		return found;
	}
};
}

int main()
{
	lib::Shelf shelf;
	shelf.put("Middlemarch", "George Eliot", lib::Cover::hard, {900, -1});
	shelf.put("A title that is longer than the buffer in the string", "", lib::Cover::soft, {2, 30});
	shelf.put("Emma", "Jane Austen", lib::Cover::soft, {400, 20});
	shelf.weigh(0.5);
	shelf.any({3, -4});
	shelf.find("Emma", 1);
	try {
		shelf.find("Ulysses", 1);
	} catch (const std::out_of_range &) {
		return 0;
	}
	return 1;
}
