package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"trocar/internal/script/diag"
)

// seeds are scripts that use much of the language.
func seeds(f *testing.F) {
	scripts, _ := filepath.Glob("testdata/*.bt")
	scripts = append(scripts, "testdata/format/comments.bt")
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, s := range []string{
		"", "{", "begin", "begin { $x = (", "begin { @x[1, (2,)] = (a=1, b=(c=2)) ?: -$y.0.1 }",
		"begin /@a[1] / 2 > 1/ { if comptime f(1) { 1 } else if $x { 2 } else { 3 } }",
		"k:\"a b\":$1, uprobe:/a/b:c+4 { for $i : 1..$#  { unroll 3 { *(int8*[4]*)$p->x[$i]; _ = {1}; } } }",
		"macro m($a, @b, c) { let $d : typeof(c) = c; @b[$d] = sizeof(struct c) + offsetof(c, x) } begin { m($x, @y, " +
			"typeof(int32*)) }",
		"fn f($x : int32[4]*) : void { return } let @m = lruhash(1e3); begin { import \"x.h\"; break; continue }",
		"#define A B\n#define B(x, ...) x ## 1 #x\nstruct s { int (*f)(int), *a[A], b:3; union { struct { enum e { X = 1 " +
			"<< 2 } y; }; }; } __attribute__((packed))\nbegin { A }",
		"#if defined(X) || !0 && (1 ? 2 : 'a') > -1L\n#include <x>\n#elif 1\n#else\n#endif\ntypedef unsigned long int " +
			"(*x)[sizeof(long) * 2];",
		"begin { $x = \"\\x41\\101\\n\"; $y = 0x1f + 1_000 + 5ms + 1e9 + 017u }",
		"begin { assert($x, \"no\"); $p = container_of($q, typeof(struct foo), bar.baz); static_assert(true, \"\") }",
		"config = { a = \"b\"; c = 1 } import \"d\"; /* unterminated",
	} {
		f.Add(s)
	}
}

// FuzzParse checks that parsing ends, that places lie in the text, and that what was understood prints and parses again
// to the same tree.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		src := &diag.Source{Name: "fuzz", Text: text}
		var diags diag.List
		opts := ParseOptions{Params: []string{"p:1"}, Include: IncludeOptions{System: []string{}}}
		file := Parse(src, opts, &diags)
		for _, d := range diags.All {
			if len(d.String()) > 1<<20 {
				t.Errorf("a message of %d bytes", len(d.String()))
			}
		}
		var nodes []Node
		for _, p := range file.Probes {
			nodes = append(nodes, p)
		}
		for _, m := range file.Macros {
			nodes = append(nodes, m)
		}
		for _, n := range nodes {
			Inspect(n, func(n Node) bool {
				if s := n.Pos(); s.Source != src || s.Start < 0 || s.End < s.Start || s.End > len(text) {
					t.Errorf("%T at %d-%d of %d", n, s.Start, s.End, len(text))
				}
				return true
			})
		}
		if diags.Errors() > 0 {
			return
		}
		printed := Print(file)
		again := Parse(&diag.Source{Name: "printed", Text: printed}, opts, &diags)
		if diags.Errors() > 0 {
			t.Fatalf("printed:\n%s\n%s", printed, format(&diags))
		}
		if a, b := Dump(file), Dump(again); a != b {
			t.Fatalf("printed:\n%s\nis the tree:\n%s\ninstead of:\n%s", printed, b, a)
		}
		if len(again.Comments) != len(file.Comments) {
			t.Fatalf("%d comments of %d in\n%s", len(again.Comments), len(file.Comments), printed)
		}
		if twice := Print(again); twice != printed {
			t.Fatalf("printed:\n%s\nprinted again:\n%s", printed, twice)
		}
	})
}

// FuzzExpand checks that expansion ends within bounds, leaves the script alone and leaves no macro of the script.
func FuzzExpand(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		var diags diag.List
		file := Parse(&diag.Source{Name: "fuzz", Text: text}, ParseOptions{Include: IncludeOptions{System: []string{}}},
			&diags)
		if diags.Errors() > 0 {
			return
		}
		before := Dump(file)
		out := Expand(file, isTestBuiltin, &diags)
		if Dump(file) != before {
			t.Error("the script was changed")
		}
		if len(out.Probes) != len(file.Probes) {
			t.Errorf("%d probes of %d", len(out.Probes), len(file.Probes))
		}
		nodes := 0
		for _, p := range out.Probes {
			Inspect(p, func(n Node) bool {
				nodes++
				if _, ok := n.(*Import); ok {
					t.Error("an import is left")
				}
				return true
			})
		}
		if limit := 4*maxExpanded + 20*len(text); nodes > limit {
			t.Errorf("%d nodes of %d bytes", nodes, len(text))
		}
	})
}

// FuzzC checks that C definitions and headers of any kind end within bounds.
func FuzzC(f *testing.F) {
	seeds(f)
	for _, s := range []string{
		"#define f(x) f(f(x)) f(x) x\nf(f(f(f(1))))", "#define x y##x##y\n#define y x\nx y", "#if 1\n#if 0\n#elif", "#define",
		"#define e(a, ...) a __VA_ARGS__ #a #__VA_ARGS__\ne(1, 2, (3, 4)) e() e(", "#include_next <a\n#include \"",
		"int f(struct x { int a; } y) { return } ; struct { } ; enum { A = 1/0, B = -9223372036854775807 / -1 };",
		"struct a { int x __attribute__((aligned(16), packed, mode(DI))); } __attribute__((vector_size(16)));",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		var diags diag.List
		u := newCUnit(IncludeOptions{System: []string{}}, &diags)
		u.read(&creader{src: &diag.Source{Name: "fuzz.h", Text: text}})
		u.read(&creader{src: &diag.Source{Name: "fuzz-sys.h", Text: text}, from: ofSystem})
		for _, d := range u.finish() {
			_ = cdefLabel(d)
			if d, ok := d.(*CDefine); ok && d.value != nil {
				_, _ = d.value()
			}
		}
	})
}

// FuzzNames checks that every name of a function and path of a file comes back from an attach point and from its
// standard form.
func FuzzNames(f *testing.F) {
	for _, s := range []string{
		"f", "a b", "two\nERROR: x", "a\"b", "a{b", "a}b,", `a\b`, `a\nb`, `\`, "a:b::c", "a$1", "f*", "(*T).f",
		"12", "0x1", "//", "/*", "+5", "f+5", "\x1b[2J", "\xff", "\u202e", "tw\to", " ", "exact:f", "end{", "ü", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		text := "uprobe:" + QuoteWord(name) + ":" + QuoteExact(name) + " { }"
		for range 2 {
			var diags diag.List
			parsed := Parse(&diag.Source{Name: "t", Text: text}, ParseOptions{}, &diags)
			if diags.Errors() > 0 || len(parsed.Probes) != 1 {
				t.Fatalf("%q as %s: %v", name, text, diags.All)
			}
			ap := parsed.Probes[0].Points[0]
			if ap.Kind != "uprobe" || ap.Parts[0] != name || ap.Parts[len(ap.Parts)-1] != name {
				t.Fatalf("%q as %s: %q", name, text, ap.Parts)
			}
			if strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError }) {
				t.Fatalf("%q as %q cannot be seen", name, text)
			}
			text = ap.String() + " { }"
		}
	})
}

// FuzzLiterals checks that strings come back as they were, and that numbers never fail in an unknown way.
func FuzzLiterals(f *testing.F) {
	for _, s := range []string{"", "a\n\x00\xff\"\\", "\\x41", "0x7f", "12e3", "5ms", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, bad := unquote(quote(s)); bad != nil || got != s {
			t.Errorf("%q: got %q %v", s, got, bad)
		}
		if lit := `"` + s; len(lit) < 1<<16 {
			_, _ = unquote(lit)
		}
		if _, _, err := ParseInt(s); err != nil && !strings.Contains(err.Error(), "integer") &&
			!strings.Contains(err.Error(), "overflow") && !strings.Contains(err.Error(), "scientific") {
			t.Errorf("%q: %v", s, err)
		}
	})
}
