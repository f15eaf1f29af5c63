package objfile

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestQuery(t *testing.T) {
	for _, c := range []struct {
		pattern, lang, name string
		want                bool
	}{
		{"malloc", "", "malloc", true},
		{"mallo", "", "malloc", false},
		{"*alloc", "", "malloc", true},
		{"*a*l*", "", "malloc", true},
		{"*aba", "", "ababa", true},
		{"m*", "", "main", true},
		{"m*n*n", "", "main", false},
		{"*", "", "x", true},
		{"main.(*server).handle", "", "main.(*server).handle", true},
		{"main.(*server).handle", "", "main.(*observer).handle", false},
		{"main.(*server).*", "", "main.(*server).handle", true},
		{"main.(*server).*", "", "main.(*observer).handle", false},
		{"main.(*s*).h*", "", "main.(*server).handle", true},
		{"main.(*).handle", "", "main.(*server).handle", true},
		{"main.(**).handle", "", "main.(*server).handle", true},
		{"main.(*", "", "main.(*server).handle", true},
		{"helper", "", "helper.llvm.1234", true},
		{"helper", "", "helper.isra.0", false},
		{"helper.isra.0", "", "helper.isra.0", true},

		// C++: A::b(int), A::b(char const*), A::get() const, template max<int>, std::string f()
		{"A::b", "cpp", "_ZN1A1bEi", true},
		{"A::b", "", "_ZN1A1bEi", true},
		{"A::b(int)", "cpp", "_ZN1A1bEi", true},
		{"A::b(int)", "", "_ZN1A1bEi", true},
		{"A::b(char const*)", "cpp", "_ZN1A1bEi", false},
		{"A::b(char const*)", "cpp", "_ZN1A1bEPKc", true},
		{"A::b( char const * )", "cpp", "_ZN1A1bEPKc", true},
		{"A::*", "cpp", "_ZN1A1bEi", true},
		{"A::get()", "cpp", "_ZNK1A3getEv", true},
		{"A::get() const", "cpp", "_ZNK1A3getEv", true},
		{"A::get", "cpp", "_ZNK1A3getEv", true},
		{"b", "", "_ZN1A1bEi", false},
		{"add", "", "_Z3addii", false}, // needs the second try of Match
		{"_Z3addii", "", "_Z3addii", true},
		{"_Z*addii", "", "_Z3addii", true},
		{"larger<int>", "cpp", "_Z6largerIiET_S0_S0_", true},
		{"larger", "cpp", "_Z6largerIiET_S0_S0_", true},
		{"larger<char>", "cpp", "_Z6largerIiET_S0_S0_", false},
		{"int larger<int>(int, int)", "cpp", "_Z6largerIiET_S0_S0_", true},
		{"larger<int>(int, int)", "cpp", "_Z6largerIiET_S0_S0_", true},
		{"name_of", "cpp", "_Z7name_ofB5cxx11i", true},
		{"name_of[abi:cxx11]", "cpp", "_Z7name_ofB5cxx11i", true},
		{"A::b", "cpp", "_ZN1A1bEi.cold", false},
		{"operator new", "cpp", "_Znwm", true},

		// Lambdas, as GNU's tools and as LLVM's write them.
		{"main::{lambda(int)#1}::operator()(int) const", "", "_ZZ4mainENKUliE_clEi", true},
		{"main::'lambda'(int)::operator()(int) const", "", "_ZZ4mainENKUliE_clEi", true},
		{"main::{lambda(int)#1}::operator()", "", "_ZZ4mainENKUliE_clEi", true},
		{"main::'lambda'(int)::operator()", "", "_ZZ4mainENKUliE_clEi", true},
		{"main::{lambda(int)#2}::operator()", "", "_ZZ4mainENKUliE_clEi", false},
		{"main::{lambda(int)#2}::operator()", "", "_ZZ4mainENKUliE0_clEi", true},
		{"main::'lambda0'(int)::operator()", "", "_ZZ4mainENKUliE0_clEi", true},
		{"main::{lambda(char)#1}::operator()", "", "_ZZ4mainENKUliE_clEi", false},
		{"W::go(int)::{lambda(int)#1}::operator()", "", "_ZZN1W2goEiENKUliE_clEi", true},
		{"W::go(int)::{lambda(int)#1}::*", "", "_ZZN1W2goEiENKUliE_clEi", true},
		{"W::go(char)::{lambda(int)#1}::operator()", "", "_ZZN1W2goEiENKUliE_clEi", false},
		{"auto main::'lambda0'(auto)::operator()<int>(int) const", "exact", "_ZZ4mainENKUlT_E0_clIiEEDaS_", true},
		{"*lambda*", "cpp", "_ZZ4mainENKUliE_clEi", true},
		{"*{lambda(int)#1}*", "cpp", "_ZZ4mainENKUliE_clEi", true},
		{"A::~A", "cpp", "_ZN1AD1Ev", true},
		{"(anonymous namespace)::hidden", "cpp", "_ZN12_GLOBAL__N_16hiddenEi", true},
		{"std::terminate", "cpp", "_ZSt9terminatev", true},
		{"std::*", "cpp", "_ZSt9terminatev", true},

		// Go: instances of generic functions.
		{"main.(*pair).set", "", "main.(*pair[go.shape.string,go.shape.[]int]).set", true},
		{"main.(*pair[...]).set", "", "main.(*pair[go.shape.string,go.shape.[]int]).set", true},
		{"main.(*pair).set", "", "main.(*pair[string,[]int]).set", false}, // only calls the other
		{"main.(*pair).set", "", "main.(*pair[go.shape.int]).set.func1", false},
		{"main.(*pair).set", "", "main.(*pairs[go.shape.int]).set", false},
		{"main.gen", "cpp", "main.gen[go.shape.struct { X [4]int32 }]", true},
		{"main.gen[...].func1", "cpp", "main.gen[go.shape.int].func1", true},
		{"main.gen", "cpp", "type:.eq.main.gen[go.shape.int]", false},

		// Rust, both manglings.
		{"depot_app::depot::greet", "", "_ZN9depot_app5depot5greet17h0123456789abcdefE", true},
		{"depot_app::Shelf<T>::put", "", "_ZN9depot_app14Shelf$LT$T$GT$3put17h0123456789abcdefE", true},
		{
			"<depot_app::Shelf<u8> as depot_app::Label>::label", "",
			"_ZN63_$LT$depot_app..Shelf$LT$u8$GT$$u20$as$u20$depot_app..Label$GT$5label17h0123456789abcdefE", true,
		},
		{"depot_app::*", "", "_ZN9depot_app5depot5greet17h0123456789abcdefE", true},
		{"depot_app::depot::greet", "", "_ZN9depot_app5depot5greet17h0123456789abcdefE.llvm.77", true},
		{"depot_app::Shelf<u8>::put", "", "_RNvMCsabcd_9depot_appINtB2_5ShelfhE3putCsabcd_9depot_app", true},
		{"depot_app::Shelf<u16>::put", "", "_RNvMCsabcd_9depot_appINtB2_5ShelfhE3putCsabcd_9depot_app", false},
		{"depot_app::Shelf::put", "", "_RNvMCsabcd_9depot_appINtB2_5ShelfhE3putCsabcd_9depot_app", true},
		{"<depot_app::Shelf<u8>>::put", "", "_RNvMCsabcd_9depot_appINtB2_5ShelfhE3putCsabcd_9depot_app", true},
		{"Shelf::put", "cpp", "_ZN5ShelfIiE3putEi", true},
		{"Shelf<int>::put", "cpp", "_ZN5ShelfIiE3putEi", true},
		{"Shelf<char>::put", "cpp", "_ZN5ShelfIiE3putEi", false},
		{"operator<", "cpp", "_ZltRK1AS1_", true},
		{"hello_rust::fun1", "", "_RNvCs7NAv3frp1Oz_10hello_rust4fun1", true},
		{"hello_rust::fun2", "", "_RNvCs7NAv3frp1Oz_10hello_rust4fun1", false},
		{"_RNvCs7NAv3frp1Oz_10hello_rust4fun1", "", "_RNvCs7NAv3frp1Oz_10hello_rust4fun1", true},
	} {
		q := NewQuery(c.pattern, c.lang)
		if got := q.Match(&Symbol{Name: c.name}); got != c.want {
			t.Errorf("%q (%s) for %s: %v, demangled %q", c.pattern, c.lang, c.name, got, Demangle(c.name))
		}
	}
}

func TestDemangle(t *testing.T) {
	for in, want := range map[string]string{
		"main":           "main",
		"_start":         "_start",
		"_Z3addii":       "add(int, int)",
		"_ZN1A1bEi":      "A::b(int)",
		"_Zgarbage":      "_Zgarbage",
		"_ZN1A1bEi.cold": "A::b(int) [.cold]",
		"_ZN9depot_app5depot5greet17h0123456789abcdefE":         "depot_app::depot::greet",
		"_ZN9depot_app5depot5greet17h0123456789abcdefE.llvm.77": "depot_app::depot::greet",
		"_RNvCs7NAv3frp1Oz_10hello_rust4fun1":                   "hello_rust::fun1",
		"runtime.main":                                          "runtime.main",
		"_Z" + strings.Repeat("x", maxMangled):                  "_Z" + strings.Repeat("x", maxMangled),
	} {
		if got := Demangle(in); got != want {
			t.Errorf("%.60s: %q, want %q", in, got, want)
		}
	}
}

func TestCPlusPlus(t *testing.T) {
	path := build(t, "shop.cc", `
#include <string>
namespace shop {
struct Item {
	int n;
	virtual ~Item();
	int price(int q) const;
	int price(double q) const;
	template<class T> T as(T x) const { return x + n; }
};
__attribute__((noinline)) Item::~Item() { n = 0; }
__attribute__((noinline)) int Item::price(int q) const { return n * q; }
__attribute__((noinline)) int Item::price(double q) const { return n * (int)q; }
namespace { __attribute__((noinline, used)) int hidden(int a) { return a + 1; } }
__attribute__((noinline)) std::string label(const std::string &s) { return s + "!"; }
}
int main(int c, char **v) {
	shop::Item i;
	i.n = c;
	return i.price(2) + i.price(2.0) + i.as<long>(3) + shop::label(v[0]).size() + shop::hidden(1);
}`, "-O0")
	f := open(t, path)
	addrs := nm(t, path)
	at := func(mangled ...string) (out []uint64) {
		for _, m := range mangled {
			if len(addrs[m]) == 0 {
				t.Fatalf("nm shows no %s", m)
			}
			out = append(out, addrs[m]...)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	for _, c := range []struct {
		pattern, lang string
		want          []uint64
	}{
		{"shop::Item::price", "cpp", at("_ZNK4shop4Item5priceEi", "_ZNK4shop4Item5priceEd")},
		{"shop::Item::price(int) const", "cpp", at("_ZNK4shop4Item5priceEi")},
		{"shop::Item::price(double)", "", at("_ZNK4shop4Item5priceEd")},
		{"shop::Item::as<long>", "cpp", at("_ZNK4shop4Item2asIlEET_S2_")},
		{"shop::Item::as", "cpp", at("_ZNK4shop4Item2asIlEET_S2_")},
		{"shop::Item::~Item", "cpp", at("_ZN4shop4ItemD0Ev", "_ZN4shop4ItemD1Ev", "_ZN4shop4ItemD2Ev")},
		{"shop::(anonymous namespace)::hidden", "cpp", at("_ZN4shop12_GLOBAL__N_16hiddenEi")},
		{"shop::label", "cpp", at("_ZN4shop5labelERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE")},
		{"_ZNK4shop4Item5priceEi", "", at("_ZNK4shop4Item5priceEi")},
	} {
		var got []uint64
		for _, fn := range match(t, f, c.pattern, c.lang) {
			got = append(got, fn.Addr)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %#x, want %#x", c.pattern, got, c.want)
		}
	}
	// A pattern finds what its characters name, mangled or not.
	if n := len(match(t, f, "shop::Item::pric*", "cpp")); n != 2 {
		t.Errorf("%d overloads by pattern", n)
	}
	if n := len(match(t, f, "*shop*Item*price*", "")); n != 2 {
		t.Errorf("%d overloads by pattern over mangled names", n)
	}
}

func TestRust(t *testing.T) {
	tool(t, "rustc")
	dir := t.TempDir()
	src := write(t, dir, "main.rs", `
pub struct Shelf<T> { items: Vec<T> }
impl<T> Shelf<T> { #[inline(never)] pub fn put(&mut self, item: T) -> usize { self.items.push(item); self.items.len() } }
pub trait Label { fn label(&self) -> usize; }
impl Label for Shelf<u8> { #[inline(never)] fn label(&self) -> usize { std::hint::black_box(self.items.len()) } }
mod depot { #[inline(never)] pub fn greet(n: u16) -> u16 { std::hint::black_box(n) } }
fn main() { let mut a: Shelf<u8> = Shelf { items: vec![] }; let mut b: Shelf<u64> = Shelf { items: vec![] };
  println!("{} {} {} {}", a.put(1), b.put(2), a.label(), depot::greet(3)); }`)
	for _, style := range []string{"legacy", "v0"} {
		out := filepath.Join(dir, style)
		args := []string{"--edition", "2021", "-C", "opt-level=1", "--crate-name", "depot_app", "-o", out, src}
		if style == "v0" {
			args = append(args, "-C", "symbol-mangling-version=v0")
		}
		run(t, dir, "rustc", args...)
		f := open(t, out)
		if n := len(match(t, f, "depot_app::depot::greet", "")); n != 1 {
			t.Errorf("%s: %d functions greet", style, n)
		}
		if n := len(match(t, f, "<depot_app::Shelf<u8> as depot_app::Label>::label", "")); n != 1 {
			t.Errorf("%s: %d functions label", style, n)
		}
		put := "depot_app::Shelf<T>::put"
		if style == "v0" {
			put = "depot_app::Shelf<*>::put"
		}
		if n := len(match(t, f, put, "")); n != 2 {
			t.Errorf("%s: %d functions put: %v", style, n, names(match(t, f, "*put*", "")))
		}
		for _, fn := range match(t, f, "depot_app::*", "rust") {
			if strings.Contains(Demangle(fn.Name), "17h") || IsMangled(Demangle(fn.Name)) {
				t.Errorf("%s: shown as %s", style, Demangle(fn.Name))
			}
		}
	}
}

// TestWildcardNames: a wildcard is of the name, not of the return type in front of it, finds variants, and no thunks.
func TestWildcardNames(t *testing.T) {
	for _, c := range []struct {
		pattern, symbol string
		want            bool
	}{
		{"shop::*", "_ZN4shop4Cart3addERKNS_4ItemE", true},
		{"shop::*", "_ZN4shop4Cart3addERKNS_4ItemE.isra.0", true},
		{"shop::*", "_ZN4shop4Cart3addERKNS_4ItemE.constprop.1", true},
		{"shop::*", "_ZN4shop4Cart3addERKNS_4ItemE.cold", false},
		{"shop::*", "_ZSt3getIN4shop4ItemEERT_S2_", false}, // shop::Item& std::get<shop::Item>(shop::Item)
		{"std::*", "_ZSt3getIN4shop4ItemEERT_S2_", true},
		{"shop::Item& std::get<shop::Item>(shop::Item)", "_ZSt3getIN4shop4ItemEERT_S2_", true},
		{"shop::*", "_ZThn8_N4shop4CartD1Ev", false},   // non-virtual thunk to shop::Cart::~Cart()
		{"shop::Cart::*", "_ZNK4shop4CartcviEv", true}, // operator int
		{"shop::Cart::operator*", "_ZNK4shop4CartcviEv", true},
	} {
		if got := NewQuery(c.pattern, "").Match(&Symbol{Name: c.symbol}); got != c.want {
			t.Errorf("%s fits %s (%s): %t", c.pattern, c.symbol, Demangle(c.symbol), got)
		}
	}
}

func TestUSDT(t *testing.T) {
	path := build(t, "probes.c", `
#define SITE(name, sem, ops) __asm__ volatile("900: nop\n" \
 ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n" \
 "991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 900b\n.8byte _.stapsdt.base\n.8byte " sem "\n" \
 ".asciz \"shop\"\n.asciz \"" name "\"\n.asciz \"" ops "\"\n" \
 "994: .balign 4\n.popsection\n" ::: "memory")
__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
 ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection");
unsigned short shop_sale_semaphore __attribute__((section(".probes"), used));
int main(int c, char **v) {
	SITE("open", "0", "-4@%%edi 8@$5");
	SITE("sale", "shop_sale_semaphore", "8@%%rsi");
	SITE("open", "0", "");
	return 0;
}`, "-O1")
	f := open(t, path)
	probes, err := f.USDTs()
	if err != nil {
		t.Fatal(err)
	}
	readelf := run(t, "", "readelf", "-n", "-W", path)
	if len(probes) != 3 {
		t.Fatalf("%+v", probes)
	}
	sem := nm(t, path)["shop_sale_semaphore"][0]
	for i, want := range []USDT{
		{Name: "open", Args: "-4@%edi 8@$5"},
		{Name: "sale", Args: "8@%rsi", Semaphore: sem},
		{Name: "open"},
	} {
		p := probes[i]
		if p.Provider != "shop" || p.Name != want.Name || p.Args != want.Args || p.Semaphore != want.Semaphore {
			t.Errorf("%+v, want %+v", p, want)
		}
		if b := f.Bytes(p.Addr, 1); len(b) != 1 || b[0] != 0x90 {
			t.Errorf("%s: no nop at %#x: %x", p.Name, p.Addr, b)
		}
		if !strings.Contains(readelf, strings.ToLower(strings.TrimPrefix(hex16(p.Addr), ""))) {
			t.Errorf("readelf does not show %s", hex16(p.Addr))
		}
	}
}

func hex16(n uint64) string {
	const digits = "0123456789abcdef"
	b := []byte("0x0000000000000000")
	for i := range 16 {
		b[17-i] = digits[n>>(4*i)&15]
	}
	return string(b)
}
