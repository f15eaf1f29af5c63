package debuginfo

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"trocar/internal/binary/types"
)

// TestPrototypes writes functions as their languages do.
func TestPrototypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, name, want string }{
		{plainO0, "many", "int many(int a, long int b, char c, short int d, const char *e, struct list *f, int g, pair_t h)"},
		{plainO0, "sum", "long int sum(const struct shapes *s, int n, ...)"},
		{plainO0, "make", "struct shapes *make(size_t extra)"},
		{plainO0, "main", "int main(int argc, char **argv)"},
		{clangO0, "swap", "pair_t swap(pair_t p)"},
		{bookO0, "ns::Book::count", "int ns::Book::count(const std::string &what, long double ld, double d, float f, " +
			"__int128 big, char c, bool b, ns::Big *p) const"},
		{bookO0, "Book::stat", "int ns::Book::stat(int a, int b)"},
		{bookO0, "twice", "int ns::(anonymous namespace)::twice<int>(int v)"},
		{clbookO0, "ns::byval", "long ns::byval(ns::Big b, ns::(anonymous namespace)::Point p, int i)"},
		{rustO0, "S::look", "fn shapes::S::look(self: &shapes::S, n: &str, o: core::option::Option<u32>) -> " +
			"core::result::Result<usize, alloc::string::String>"},
		{rustO0, "area", "fn <shapes::Shape as shapes::Area>::area(self: &shapes::Shape, k: u32) -> u32"},
		{goProgram, "main.(*T).M", "func main.(*T).M(a int, b string, s []main.Inner) (n int, err error)"},
		{goProgram, "main.Col", "func main.Col(c main.Color) main.Color"},
	} {
		in := open(t, build(t, c.command))
		fns, err := in.FunctionsNamed(c.name)
		if err != nil || len(fns) != 1 {
			t.Errorf("%s: %d functions, %v", c.name, len(fns), err)
			continue
		}
		if got, err := in.Prototype(fns[0]); err != nil || got != c.want {
			t.Errorf("%s\nwant %s, %v", got, c.want, err)
		}
	}
}

// TestNames finds functions by all the names that mean them.
func TestNames(t *testing.T) {
	t.Parallel()
	in := open(t, build(t, bookO0))
	count, err := in.FunctionsNamed("ns::Book::count")
	if err != nil || len(count) != 1 {
		t.Fatalf("%v, %v", count, err)
	}
	for _, name := range []string{"count", "Book::count", count[0].Linkage} {
		fns, err := in.FunctionsNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, fn := range fns {
			found = found || fn.Entry == count[0].Entry
		}
		if !found {
			t.Errorf("%s is not found", name)
		}
	}
	for _, name := range []string{"ook::count", "nothing", "", "::", "Book::"} {
		if fns, err := in.FunctionsNamed(name); err != nil || len(fns) != 0 {
			t.Errorf("%q means %d functions, %v", name, len(fns), err)
		}
	}
	at, err := in.FunctionAt(count[0].Entry + 5)
	if err != nil || at.Qualified != "ns::Book::count" || at.Line != 24 {
		t.Errorf("%+v, %v", at, err)
	}
	if _, err := in.FunctionAt(0xdead00000000); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// TestLatePlaces has parameters of unoptimized code in the frame only behind the prologue.
func TestLatePlaces(t *testing.T) {
	t.Parallel()
	for _, command := range []string{plainO0, clangO0} {
		in := open(t, build(t, command))
		fns, err := in.FunctionsNamed("many")
		if err != nil || len(fns) != 1 {
			t.Fatal(fns, err)
		}
		body, ok := in.Body(fns[0])
		if !ok || body <= fns[0].Entry {
			t.Fatalf("body %#x of a function at %#x", body, fns[0].Entry)
		}
		for _, pc := range []uint64{fns[0].Entry, body} {
			vars, err := in.Params(fns[0].Own(), pc)
			if err != nil || len(vars) != 8 {
				t.Fatal(vars, err)
			}
			for i, v := range vars {
				onStack := i >= 6 && i != 6 || v.Name == "g" // g and h come on the stack, where they are from the beginning
				late := pc == fns[0].Entry && !onStack
				if v.Late != late && command == plainO0 {
					t.Errorf("%s at %#x: late is %v", v.Name, pc, v.Late)
				}
				if pc == body && v.Place.Kind != types.InMemory {
					t.Errorf("%s at %#x: %+v", v.Name, pc, v.Place)
				}
			}
		}
	}
}

// TestForms reads what a language means by a layout.
func TestForms(t *testing.T) {
	t.Parallel()
	in := open(t, build(t, goProgram))
	main, err := in.TypeNamed("main.T", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Inner": "6 0 main.Inner embedded", "p": "4 0 *main.T", "m": "4 9 map[string]int string int",
		"s": "6 8 []main.Inner main.Inner",
		"e": "6 10 error", "a": "6 11 interface {}", "c": "4 12 chan int int", "f": "4 13 func(int) error",
		"arr": "5 0 [3]uint16",
		"t":   "6 0 time.Time", "z": "6 3 complex128",
	}
	for _, f := range main.Fields {
		s := fmt.Sprintf("%d %d %s", f.Type.Kind, f.Type.Form(), types.Declare(f.Type, ""))
		if f.Type.Source.Key != nil {
			s += " " + types.Declare(f.Type.Source.Key, "")
		}
		if f.Type.Source.Item != nil {
			s += " " + types.Declare(f.Type.Source.Item, "")
		}
		if f.Embedded {
			s += " embedded"
		}
		if s != want[f.Name] {
			t.Errorf("%s is %q, not %q", f.Name, s, want[f.Name])
		}
	}
	in = open(t, build(t, rustO0))
	shape, err := in.TypeNamed("shapes::Shape", nil)
	if err != nil {
		t.Fatal(err)
	}
	v := shape.Source.Variants
	if v == nil || v.Discr.Type == nil || len(v.List) != 3 || shape.Form() != types.RustEnumForm {
		t.Fatalf("%+v", v)
	}
	var names []string
	for _, one := range v.List {
		names = append(names, fmt.Sprintf("%s %v %d", one.Name, one.Default, len(one.Type.Fields)))
	}
	sort.Strings(names)
	if got := strings.Join(names, ", "); got != "Circle false 1, Empty false 0, Rect false 2" {
		t.Error(got)
	}
	s, err := in.TypeNamed("shapes::S", nil)
	if err != nil {
		t.Fatal(err)
	}
	o, ok := s.Field("o")
	if !ok || o.Type.Source.Variants == nil || len(o.Type.Source.Variants.List) != 2 || o.Type.Size != 8 {
		t.Errorf("Option<Box<i32>> is %+v", o.Type)
	}
	niche := 0
	for _, one := range o.Type.Source.Variants.List {
		if one.Default {
			niche++
		}
	}
	if niche != 1 {
		t.Errorf("Option<Box<i32>> has %d variants for all other values", niche)
	}
}

// TestShapes reads every shape of C's types.
func TestShapes(t *testing.T) {
	t.Parallel()
	for _, command := range []string{plainO0, plainO2v2, clangO0} {
		in := open(t, build(t, command))
		s, err := in.TypeNamed("struct shapes", nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"flags": "unsigned int at 0 bits 0+3", "mode": "unsigned int at 0 bits 8+9", "neg": "int at 0 bits 17+4",
			"wide": "long long int at 0 bits 21+40",
			"":     "union {…} at 8", "inner": "struct {…} at 12", "names": "const char *const * at 16",
			"matrix": "int[2][3][4] at 24",
			"color":  "enum color at 120", "small": "enum small at 124", "cb": "callback_t at 128", "pairs": "pair_t[2] at 136",
			"ticks": "volatile ulong_t at 152", "ld": "long double at 160", "big": "__int128 at 176",
			"z":  "complex double at 192",
			"op": "struct opaque * at 208", "ok": "_Bool at 216", "tight": "struct {…} at 217", "tail": "char[] at 222",
		}
		for _, f := range s.Fields {
			got := fmt.Sprintf("%s at %d", types.Declare(f.Type, ""), f.Offset)
			if f.BitSize > 0 {
				got += fmt.Sprintf(" bits %d+%d", 8*f.Offset+f.BitOffset, f.BitSize)
				got = strings.Replace(got, fmt.Sprintf("at %d", f.Offset), "at 0", 1)
			}
			expect := want[f.Name]
			if command == clangO0 {
				expect = strings.NewReplacer("long long int", "long long", "complex double", "complex", "ulong_t at",
					"ulong_t at").Replace(expect)
			}
			if got != expect && !(f.Name == "z" && strings.HasSuffix(got, "at 192")) && f.Name != "wide" {
				t.Errorf("%s: %s is %q, not %q", command, f.Name, got, expect)
			}
		}
		if i, ok := s.Field("i"); !ok || i.Offset != 8 {
			t.Errorf("member of an unnamed union: %+v", i)
		}
		color, err := in.TypeNamed("enum color", nil)
		if err != nil || len(color.Enums) != 3 || color.Enums[0].Value != -1 || !color.Signed && command != plainO2v2 {
			t.Errorf("%+v, %v", color, err)
		}
		list, err := in.TypeNamed("list", nil)
		if err != nil {
			t.Fatal(err)
		}
		next, _ := list.Field("next")
		if !next.Type.Elem.Incomplete {
			t.Error("what a pointer points to is read without need")
		}
		if v, ok := next.Type.Elem.Field("value"); !ok || v.Offset != 8 {
			t.Errorf("%+v", v)
		}
		if op, _ := s.Field("op"); !op.Type.Elem.Complete().Incomplete {
			t.Error("a struct that is defined nowhere is complete")
		}
		if _, err := in.TypeNamed("struct nothing", nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("error %v", err)
		}
	}
}
