#!/bin/sh
# Builds a C++ program of some 200 MB, nearly all of it debug info, for measuring: build.sh OUT [UNITS] [CXX [FLAGS…]].
# One unit that instantiates a wide part of the standard library for its own types is compiled; the others are copies of
# its object file with other names in it (of the same length, so that nothing moves).
set -eu
out=$1
units=${2:-21}
cxx=${3:-g++}
[ $# -ge 3 ] && shift 3 || shift $#
flags=${*:--O1 -g}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/unit.cpp" <<END
#include <algorithm>
#include <deque>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>
namespace unit00 {
END
j=0
while [ "$j" -lt 12 ]; do
	cat >>"$dir/unit.cpp" <<END
struct Item$j { std::string name; int n; std::vector<double> v; bool operator<(const Item$j &o) const { return n < o.n; } };
class Store$j {
 public:
  explicit Store$j(int n) : n_(n) {}
  virtual ~Store$j() {}
  int add(const std::string &name, Item$j item, std::optional<int> at);
  std::shared_ptr<Item$j> find(const std::string &name, int limit) const;
 private:
  int n_;
  std::map<std::string, Item$j> byName_;
  std::unordered_map<int, std::shared_ptr<Item$j>> byId_;
  std::deque<std::variant<int, std::string, Item$j>> log_;
  std::set<Item$j> sorted_;
};
int Store$j::add(const std::string &name, Item$j item, std::optional<int> at) {
  byName_[name] = item;
  byId_[at.value_or(n_)] = std::make_shared<Item$j>(item);
  log_.emplace_back(item);
  sorted_.insert(item);
  std::function<int(int)> f = [&, this](int k) { return k + n_ + static_cast<int>(log_.size()); };
  std::vector<Item$j> all(sorted_.begin(), sorted_.end());
  std::sort(all.begin(), all.end(), [](const Item$j &a, const Item$j &b) { return a.name < b.name; });
  std::stable_sort(all.begin(), all.end());
  return f(static_cast<int>(all.size()));
}
std::shared_ptr<Item$j> Store$j::find(const std::string &name, int limit) const {
  auto it = byName_.find(name);
  if (it == byName_.end() || limit < 0) return nullptr;
  std::list<std::tuple<int, std::string, Item$j>> l{{limit, name, it->second}};
  return std::make_shared<Item$j>(std::get<2>(l.front()));
}
END
	j=$((j + 1))
done
echo 'int run(int n) { int total = 0;' >>"$dir/unit.cpp"
j=0
while [ "$j" -lt 12 ]; do
	echo "  { Store$j st(n); total += st.add(\"x\", Item$j{\"x\", n, {1.5}}, n); if (auto p = st.find(\"x\", n)) total += p->n; }" >>"$dir/unit.cpp"
	j=$((j + 1))
done
echo '  return total; }}' >>"$dir/unit.cpp"
$cxx -std=c++17 $flags -c "$dir/unit.cpp" -o "$dir/unit.obj"
{
	i=0
	while [ "$i" -lt "$units" ]; do printf 'namespace unit%02d { int run(int); }\n' "$i"; i=$((i + 1)); done
	echo 'int main(int argc, char **) { int t = 0;'
	i=0
	while [ "$i" -lt "$units" ]; do printf 't += unit%02d::run(argc);\n' "$i"; i=$((i + 1)); done
	echo 'return t == 0; }'
} >"$dir/main.cpp"
$cxx -std=c++17 $flags -c "$dir/main.cpp" -o "$dir/main.o"
i=0
while [ "$i" -lt "$units" ]; do
	LC_ALL=C sed "s/unit00/unit$(printf %02d "$i")/g" "$dir/unit.obj" >"$dir/u$i.o"
	i=$((i + 1))
done
$cxx $flags -o "$out" "$dir"/*.o -pthread
ls -l "$out"
