package objfile

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// An exact name is no pattern.
func TestExactQuery(t *testing.T) {
	for _, c := range []struct {
		pattern, symbol string
		fits            bool
	}{
		{"put<int*>", "_Z3putIPiEiT_", true},
		{"put<int*>", "_Z3putIPPiEiT_", false},
		{"int put<int**>(int**)", "_Z3putIPPiEiT_", true},
		{"take(Item<int>*, Item<char>*)", "_Z4takeP4ItemIiEPS_IcE", true},
		{"take(Item<int>*, Item<char>*)", "_Z4takeP4ItemIiEPPS_IcE", false},
		{"main.Count[*T]", "main.Count[*T]", true},
		{"main.Count[*T]", "main.Count[*main.T]", false},
		{"put*", "put_one", false},
		{"put*", "put*", true},
	} {
		q := NewQuery(c.pattern, Exact)
		if got := q.Match(&Symbol{Name: c.symbol}); got != c.fits || q.Wildcard() {
			t.Errorf("%s, %s: %t, wildcard %t", c.pattern, c.symbol, got, q.Wildcard())
		}
	}
}

// TestIndexedNames compares what indexes of names find with what looking at all symbols does.
func TestIndexedNames(t *testing.T) {
	cpp := build(t, "names.cc", `
namespace { template <class T> struct box { T v; __attribute__((noipa)) T get() const { return v; } }; }
template <class T> __attribute__((noipa)) T twice(T v) { return v + v; }
template <class T> struct shelf { T t; __attribute__((noipa)) operator T() { return t; }
  __attribute__((noipa)) bool operator<(const shelf &o) const { return t < o.t; }
  __attribute__((noipa)) long operator()(int *p, long n) const { return *p + n; } };
struct tagged { __attribute__((noipa, abi_tag("v2"))) int put(unsigned long a) { return a; } };
int main(int n, char **) {
  box<int> b{n}; shelf<double> s{1.0}, o{2.0}; tagged g;
  auto f = [n](int x) __attribute__((noipa)) { return n + x; };
  return b.get() + twice(n) + twice(2.0) + (s < o) + double(s) + s(&n, 2) + g.put(3) + f(1);
}`, "-O1", "-g")
	// The other file has its names in a table of functions only.
	bare := filepath.Join(t.TempDir(), "bare")
	run(t, "", "strip", "-o", bare, cpp)
	table := &listed{}
	for _, fn := range match(t, open(t, cpp), "*", "") {
		table.add(fn.Name, fn.Addr, fn.Size)
	}
	for i, name := range []string{"main.most[go.shape.int]", "main.(*set[go.shape.string]).Add", "go:mark"} {
		table.add(name, table.list[i].entry, 1)
	}
	opened := func(path string) *File {
		f := open(t, path)
		f.ReadTables(func(*File) FuncTable { return table })
		return f
	}
	for _, path := range []string{cpp, bare} {
		f := opened(path)
		var asked []string
		f.Functions(func(s *Symbol) bool {
			if len(asked) > 3000 {
				return false
			}
			name := strings.Clone(s.Name)
			asked = append(asked, name)
			for _, bare := range []bool{false, true} {
				if shown := demangled(name, bare); shown != name {
					asked = append(asked, shown, shown[returnType(shown):], WithoutParams(shown), dropTemplateArgs(shown))
				}
			}
			if i := strings.IndexByte(name, '['); i > 0 {
				asked = append(asked, name[:i], name[:i]+"[...]")
			}
			return true
		})
		if len(asked) < 20 {
			t.Fatalf("%s: %d names", path, len(asked))
		}
		indexed := opened(path)
		for range readableFrom {
			match(t, indexed, "no::such<name>", "")
		}
		for _, name := range asked {
			for _, lang := range []string{"", Exact} {
				fresh := opened(path) // which has no index yet
				want, got := match(t, fresh, name, lang), match(t, indexed, name, lang)
				if !reflect.DeepEqual(want, got) {
					t.Errorf("%s (%s): %+v with an index, %+v without", name, lang, got, want)
				}
				fresh.Close()
			}
		}
	}
}

// listed is a table of functions.
type listed struct {
	FuncTable
	names []byte
	list  []struct {
		entry, size uint64
		name        uint32
	}
}

func (l *listed) add(name string, entry, size uint64) {
	l.list = append(l.list, struct {
		entry, size uint64
		name        uint32
	}{entry, size, uint32(len(l.names))})
	l.names = append(append(l.names, name...), 0)
}

func (l *listed) Len() int              { return len(l.list) }
func (l *listed) Names() []byte         { return l.names }
func (l *listed) Mark(name string) bool { return name == "go:mark" }

func (l *listed) At(i int) (entry, end uint64, name uint32, ok bool) {
	return l.list[i].entry, l.list[i].entry + l.list[i].size, l.list[i].name, true
}
