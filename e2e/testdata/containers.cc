// Two contacts of three strings each, the sum of whose sizes is printed; then a call with containers, and one with empty ones.
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct Entry { std::string first, last, number; };
class AddressBook {
  std::vector<Entry> entries;
  int limit = 7;
public:
  __attribute__((noinline)) void AddContact(std::string &firstName, std::string &lastName, std::string &number);
  size_t size() const { return entries.size(); }
};
void AddressBook::AddContact(std::string &firstName, std::string &lastName, std::string &number) {
  entries.push_back({firstName, lastName, number});
  printf("sum %zu\n", firstName.size() + lastName.size() + number.size());
}
__attribute__((noinline)) int lookup(const std::string &name, std::vector<int> &v, std::optional<int> o, std::unique_ptr<Entry> &u, std::shared_ptr<Entry> s, std::map<std::string,int> &m) {
  asm volatile("" ::: "memory");
  return name.size() + v.size() + (o ? *o : 0) + (u ? 1 : 0) + s.use_count() + m.size();
}
int main() {
  AddressBook b;
  std::string f = "Ada", l = "Lovelace", n = "+44 1815";
  b.AddContact(f, l, n);
  f = "Grace"; l = "Hopper with a very long name that does not fit inside"; n = "1906";
  b.AddContact(f, l, n);
  std::vector<int> v{10, -20, 30};
  std::unique_ptr<Entry> u(new Entry{"u", "v", "w"});
  auto s = std::make_shared<Entry>(Entry{"s1", "s2", "s3"});
  std::map<std::string,int> m{{"a", 1}, {"b", 2}};
  printf("%d\n", lookup(f, v, 42, u, s, m));
  u.reset();
  printf("%d\n", lookup(l, v, std::nullopt, u, nullptr, m));
  return b.size() != 2;
}
