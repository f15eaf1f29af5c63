package match

import (
	"context"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/objfile"
	"trocar/internal/need"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

var roundTrip = flag.String("round-trip", "", "TestRoundTrip: also the functions of these files, separated by commas")

// TestRoundTrip: each name that is listed can be put into a script, and finds exactly the functions that have it.
func TestRoundTrip(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, cpp := filepath.Join(dir, "names.cc"), filepath.Join(dir, "names")
	if err := os.WriteFile(source, []byte(roundTripNames), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(need.Tool(t, "g++"), "-O2", "-o", cpp, source).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	files := []string{self, cpp, compile(t, dir, "plain", shop, "-g", "-O2")}
	if *roundTrip != "" {
		files = append(files, strings.Split(*roundTrip, ",")...)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			var diags diag.List
			m := newMatcher(context.Background(), Options{Demangle: true}, &diags)
			defer m.close()
			m.listing = true
			list := m.specs(splitPattern("uprobe:" + file + ":*"))[0]
			if !list.kind.parse(m, list) {
				t.Fatal(diags.All)
			}
			want := map[string]map[uint64]bool{}
			n := 0
			for _, l := range list.kind.list(m, list) {
				text := "uprobe:" + l.in.name + ":" + l.name
				if want[text] == nil {
					want[text] = map[uint64]bool{}
				}
				want[text][l.fn.Addr] = true
				n++
			}
			m.listing = false
			wrong := 0
			for _, text := range slices.Sorted(maps.Keys(want)) {
				got, why := found(m, text)
				if maps.Equal(got, want[text]) {
					continue
				}
				if wrong++; wrong <= 20 {
					t.Errorf("%s\nfinds %#x, is at %#x %s", text, slices.Sorted(maps.Keys(got)),
						slices.Sorted(maps.Keys(want[text])), why)
				}
			}
			t.Logf("%d functions, %d names, %d wrong", n, len(want), wrong)
			if n == 0 {
				t.Error("nothing is listed")
			}
		})
	}
}

// found are the functions that an attach point finds.
func found(m *matcher, text string) (at map[uint64]bool, why string) {
	var wrong diag.List
	file := syntax.Parse(&diag.Source{Name: "pasted", Text: text + " {}"}, syntax.ParseOptions{}, &wrong)
	if wrong.Errors() > 0 || len(file.Probes) != 1 || len(file.Probes[0].Points) != 1 {
		return nil, "is no attach point"
	}
	for _, s := range m.specs(file.Probes[0].Points[0]) {
		if !s.kind.parse(m, s) {
			return nil, "is no function"
		}
		targets, err := m.target(s)
		if err != nil || len(targets) != 1 {
			return nil, "is of no file"
		}
		fns, err := targets[0].obj.Match(objfile.NewQuery(s.fn, s.lang))
		if err != nil {
			return nil, err.Error()
		}
		for i := range fns {
			if at == nil {
				at = map[uint64]bool{}
			}
			at[fns[i].Addr] = true
		}
	}
	return at, ""
}

// roundTripNames has the kinds of names that are not words.
const roundTripNames = `
#define KEEP __attribute__((noipa))
namespace { template <class T> struct box { T v; KEEP T get() const { return v; } KEEP T *at(T *p) { return p + 1; } }; }
template <class T> KEEP T *twice(T *v) { return v + 1; }
template <class T> KEEP long twice(T v) { return v + v; }
template <class T> struct shelf {
	T t;
	KEEP operator T() { return t; }
	KEEP operator T *() { return &t; }
	KEEP bool operator<(const shelf &o) const { return t < o.t; }
	KEEP T operator*(int n) const { return t * n; }
	KEEP shelf &operator*=(int n) { t *= n; return *this; }
	KEEP long operator()(int *p, unsigned long n) const { return *p + n; }
};
struct both { int n; KEEP int &at(int i) { return n += i; } KEEP int at(int i) const { return n + i; } };
struct tagged { KEEP __attribute__((abi_tag("v2"))) int put(unsigned long a) { return a; } };
KEEP int take(int (*f)(int *), int *p) { return f(p); }
int main(int n, char **) {
	box<int> b{n};
	shelf<double> s{1.0}, o{2.0};
	tagged g;
	both w{n};
	const both c{n};
	auto f = [n](int x) KEEP { return n + x; };
	auto h = [](int *x) KEEP { return *x; };
	s *= 2;
	return b.get() + *b.at(&n) + *twice(&n) + twice(2.0) + (s < o) + double(s) + (s * 3) + *(double *)s + s(&n, 2) +
		g.put(3) + w.at(1) + c.at(2) + f(1) + take(h, &n);
}`
