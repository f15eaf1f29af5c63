package syntax

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"trocar/internal/script/diag"
)

// cdefs reads C definitions and describes them, a line each; or gives the diagnostics.
func cdefs(text string, opts IncludeOptions) string {
	var diags diag.List
	if opts.System == nil {
		opts.System = []string{}
	}
	f := Parse(&diag.Source{Name: "stdin", Text: text}, ParseOptions{Include: opts}, &diags)
	if len(diags.All) > 0 {
		return format(&diags)
	}
	var lines []string
	for _, d := range f.CDefs {
		lines = append(lines, cdefLabel(d))
	}
	return strings.Join(lines, "\n")
}

func TestCDefinitions(t *testing.T) {
	for _, c := range [][2]string{
		{"struct S { int x; char *y; }", "struct S { int x; char* y }"},
		{"struct S { int x }; begin {}", "struct S { int x }"},
		{"struct A { int x; } struct B { struct A a; struct A *p; } begin {}", "struct A { int x }\nstruct B { struct A " +
			"a; struct A* p }"},
		{"union U { int x; long y; };", "union U { int x; long y }"},
		{"struct S;", ""},
		{"struct S {}", "struct S {  }"},

		// Declarators.
		{
			"struct S { int *a[4]; int (*b)[4]; int c[2][3]; int (*d[2])[3]; int e[]; int f[0]; }",
			"struct S { int*[4] a; int[4]* b; int[2][3] c; int[3]*[2] d; int[] e; int[0] f }",
		},
		{
			"struct S { int (*f)(int, char *); int (*g[4])(void); void *(*h)(struct S *); int (*(*i)(int))(long); }",
			"struct S { int()* f; int()*[4] g; void()* h; int()* i }",
		},
		{"struct S { int a, *b, c[2]; const char *const d; volatile int e; }", "struct S { int a; int* b; int[2] c; char* " +
			"d; int e }"},

		// Types.
		{
			"struct S { unsigned long int a; long unsigned b; long long int c; unsigned d; short int e; signed char f; char " +
				"unsigned g; }",
			"struct S { unsigned long a; unsigned long b; long long c; unsigned int d; short e; signed char f; unsigned " +
				"char g }",
		},
		{
			"struct S { _Bool a; double b; long double c; float d; __int128 e; uint64_t f; u32 g; bool h; string i; }",
			"struct S { bool a; double b; long double c; float d; __int128 e; uint64_t f; u32 g; bool h; string i }",
		},

		// Bit-fields.
		{"struct S { int a:3, b:5; unsigned :0; int :4; int c:sizeof(int)*2; }", "struct S { int a:3; int b:5; unsigned " +
			"int:0; int:4; int c:8 }"},

		// Nesting.
		{
			"struct S { struct { int x; } a; union { int y; char z; }; struct T { int w; } t[2]; enum { P, Q } e; }",
			"struct T { int w }\nenum  { P=0, Q=1 }\n" +
				"struct S { struct  { int x } a; union  { int y; char z }; struct T[2] t; enum  { P=0, Q=1 } e }",
		},
		{"struct S { struct S *next; struct { struct { int deep; }; }; }", "struct S { struct S* next; struct  { struct  " +
			"{ int deep } } }"},

		// Attributes.
		{"struct __attribute__((packed)) S { int x; }", "struct S { int x } packed"},
		{"struct S { int x; } __attribute__((packed, aligned(1 << 3)));", "struct S { int x } packed aligned 8"},
		{
			"struct S { int x; } __attribute__((packed)) __attribute__((aligned(4))) begin {}",
			"struct S { int x } packed aligned 4",
		},
		{"struct S { int x __attribute__((aligned(16))); } __attribute__((__deprecated__(\"no\")));", "struct S { int x }"},

		// Enums.
		{"enum E { A, B = 5, C, D = 1 << 4 | 1, E = -1, F = B + sizeof(long) };", "enum E { A=0, B=5, C=6, D=17, " +
			"E=-1, F=13 }"},
		{
			"enum { X = 'a', Y = 0xffffffffU, Z = (int)3000000000U, W = 10 / 3 > 2 ? 7 : 8, V = !0 + ~0 };",
			"enum  { X=97, Y=4294967295, Z=-1294967296, W=7, V=0 }",
		},
		{"enum E { A = 3, }; struct S { int x[A]; enum E e; };", "enum E { A=3 }\nstruct S { int[3] x; enum E e }"},

		{"typedef enum E : unsigned int { A } e;", "enum E { A=0 }\ntypedef enum E e"},

		// Typedefs.
		{
			"typedef unsigned int u; typedef struct { int x; } s_t; typedef int (*fn)(int); typedef s_t arr[3];",
			"typedef unsigned int u\ntypedef struct  { int x } s_t\ntypedef int()* fn\ntypedef s_t[3] arr",
		},
		{
			"typedef struct S { int x; } S_t, *S_p; struct T { char x[sizeof(S_t) + sizeof(S_p)]; }",
			"struct S { int x }\ntypedef struct S S_t\ntypedef struct S* S_p\nstruct T { char[12] x }",
		},
		{
			"struct P { char a; long b; char c:3; } struct Q { char x[sizeof(struct P)]; int y[sizeof(int[3])]; }",
			"struct P { char a; long b; char c:3 }\nstruct Q { char[24] x; int[12] y }",
		},

		// Preprocessor.
		{"#define N 4\nstruct S { int x[N * 2]; }", "struct S { int[8] x }\ndefine N 4"},
		{"#define N 4 // four\n#define M (N /* n */ + 1)\n#define E\n#define F(x) x\n", "define N 4\ndefine M (N + 1)"},
		{"#define A 1\n#undef A\n#define A 2\n", "define A 2"},
		{"#define LONG 1 + \\\n  2\n", "define LONG 1 + 2"},
		{"#define FIELD(t, n) t n##_x\nstruct S { FIELD(int, ab); }", "struct S { int ab_x }"},
		{
			"#define ADD(...) SUM(__VA_ARGS__)\n#define SUM(a, b) ((a) + (b))\nstruct S { int x[ADD(1, 2)]; }",
			"struct S { int[3] x }",
		},
		{"#define f(x) f(x + 1)\n#define g g\nstruct S { int f; int g; }", "struct S { int f; int g }\ndefine g g"},
		{"#if 0\nstruct A { int x; }\n#else\nstruct B { int x; }\n#endif\n", "struct B { int x }"},
		{
			"#ifdef X\nstruct A { int x; }\n#elif defined(__linux__) && !defined X\nstruct B { int x; }\n#else\nstruct C { " +
				"int x; }\n#endif\n",
			"struct B { int x }",
		},
		{
			"#ifndef BPFTRACE_HAVE_BTF\nstruct A { int x; }\n#endif\nstruct B { int x; }",
			"struct A { int x }\nstruct B { int x }",
		},
		{
			"#if 1\n#if 0\n#if 1\n#error no\n#endif\n#elif 1\nstruct A { int x; }\n#elif 1\n#error no\n#endif\n#endif\n",
			"struct A { int x }",
		},
		{"struct S {\n#if 0\n  int x;\n#else\n  int y;\n#endif\n}", "struct S { int y }"},
		{"#pragma pack\n# 12 \"file\"\n#line 5\n#\nstruct S { int x; }", "struct S { int x }"},

		// Errors.
		{"struct S { int x", "stdin:1:17-17: ERROR: syntax: expected '}'\nstruct S { int x\n                \n"},
		{"struct S { int x y; }", "stdin:1:18-19: ERROR: syntax: expected ';'\nstruct S { int x y; }\n                 ~\n"},
		{"struct S { int x[n]; }", "stdin:1:18-19: ERROR: syntax: the size of the array is not an integer " +
			"constant\nstruct S { int x[n]; }\n                 ~\n"},
		{"typedef int x y;", "stdin:1:15-16: ERROR: syntax: expected ';'\ntypedef int x y;\n              ~\n"},
		{"enum E { A = x };", "stdin:1:14-15: ERROR: syntax: the value of A is not an integer constant\nenum E { A = x " +
			"};\n             ~\n"},
		{"struct S { long char x; }", "stdin:1:12-16: ERROR: syntax: invalid combination of type specifiers 'long " +
			"char'\nstruct S { long char x; }\n           ~~~~\n"},
		{"#if 1\nstruct S { int x; }", "stdin:1:1-6: ERROR: unterminated conditional directive\n#if 1\n~~~~~\n"},
		{"#endif\n", "stdin:1:1-7: ERROR: #endif without #if\n#endif\n~~~~~~\n"},
		{"#error broken thing\n", "stdin:1:1-20: ERROR: #error broken thing\n#error broken thing\n~~~~~~~~~~~~~~~~~~~\n"},
		{"#foo\n", "stdin:1:1-5: ERROR: invalid preprocessing directive #foo\n#foo\n~~~~\n"},
		{"#if 1 +\n#endif\n", "stdin:1:5-8: ERROR: invalid expression in #if\n#if 1 +\n    ~~~\n"},
		{"#include <no/such.h>\n", "stdin:1:1-21: ERROR: 'no/such.h' file not found\n#include " +
			"<no/such.h>\n~~~~~~~~~~~~~~~~~~~~\nHINT: searched in: \n"},
		{"struct S { int x; } struct S { int y; }", "stdin:1:21-40: ERROR: redefinition of 'struct S'\nstruct S { int x; " +
			"} struct S { int y; }\n                    ~~~~~~~~~~~~~~~~~~~\nstdin:1:1-20: ERROR: previous definition is " +
			"here\nstruct S { int x; } struct S { int y; }\n~~~~~~~~~~~~~~~~~~~\n"},
	} {
		if got := cdefs(c[0], IncludeOptions{}); got != c[1] {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", c[0], got, c[1])
		}
	}
}

func TestHaveBTF(t *testing.T) {
	text := "#ifdef BPFTRACE_HAVE_BTF\nstruct A { int x; }\n#endif\n"
	if got := cdefs(text, IncludeOptions{HaveBTF: true}); got != "struct A { int x }" {
		t.Errorf("got %s", got)
	}
	if got := cdefs(text, IncludeOptions{}); got != "" {
		t.Errorf("got %s", got)
	}
}

// writeFiles makes files below a new directory.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestIncludes(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"i/a.h": "#pragma once\n#include \"b.h\"\nstruct a { struct b b; };\n",
		"i/b.h": "#ifndef B\n#define B 7\nstruct b { int x; };\n#endif\n",
		"sys/s.h": "extern int f(int); static inline int g(void) { struct hidden { int x; }; return 1; }\nbroken broken " +
			"{};\nstruct s { what ever x; };\nstruct r { int y; };\nint v = 3, w[] = { 1, 2 };\n#error broken\n#define " +
			"S_CONST (1 << 3)\n",
		"sys/n.h":   "struct outer { int x; };\n",
		"i/n.h":     "#include_next <n.h>\nstruct inner { int x; };\n",
		"loop.h":    "#include \"loop.h\"\n",
		"local.h":   "struct local { int x; };\n",
		"dir.h/x.h": "",
		"i/odd.h": "struct odd { what is this; };\nstruct fine { int x; };\ntemplate <class T> class C { int x; " +
			"};\nstruct last { int y; };\n",
	})
	opts := IncludeOptions{Dirs: []string{dir + "/i"}, System: []string{dir + "/sys"}}
	for _, c := range [][2]string{
		{"#include <a.h>\n#include \"b.h\"\n#include <a.h>\n", "struct b { int x }\nstruct a { struct b b }\ndefine B 7"},
		{"#include <s.h>\n", "struct r { int y }\ndefine S_CONST (1 << 3)"},
		{"#include <n.h>\n", "struct outer { int x }\nstruct inner { int x }"},
		{"#include <stddef.h>\n#include <stdbool.h>\nstruct S { size_t x; bool y; }", "typedef unsigned long size_t"},
		{"#if __has_include(<a.h>) && !__has_include(\"zzz.h\")\nstruct S { int x; }\n#endif\n", "struct S { int x }"},
		{"#define H <b.h>\n#include H\n", "struct b { int x }\ndefine H <b.h>\ndefine B 7"},
		{fmt.Sprintf("#include \"%s/local.h\"\n", dir), "struct local { int x }"},
		{fmt.Sprintf("#include \"%s/loop.h\"\n", dir), "#include nested too deeply"},
		{fmt.Sprintf("#include \"%s/dir.h\"\n", dir), "file not found"},
		{"#include\n", "expected \"FILENAME\" or <FILENAME>"},
	} {
		if got := cdefs(c[0], opts); got != c[1] && !(strings.Contains(got, "ERROR") && strings.Contains(got, c[1])) &&
			!strings.HasPrefix(got, c[1]+"\ntypedef long ptrdiff_t\n") {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", c[0], got, c[1])
		}
	}
	var diags diag.List
	f := Parse(&diag.Source{Name: "stdin", Text: "#include <odd.h>\n"}, ParseOptions{Include: opts}, &diags)
	if diags.Errors() > 0 || len(diags.All) == 0 || len(f.CDefs) != 2 || cdefLabel(f.CDefs[1]) != "struct last { int y }" {
		t.Errorf("%d definitions, %s", len(f.CDefs), format(&diags))
	}
	opts.Files = []string{dir + "/local.h", "b.h"}
	if got := cdefs("struct S { int x[B]; }", opts); got != "struct local { int x }\nstruct b { int x }\nstruct S { "+
		"int[7] x }\ndefine B 7" {
		t.Errorf("got %s", got)
	}
}

// TestSystemHeaders reads what real programs include, if this machine has it.
func TestSystemHeaders(t *testing.T) {
	cpu, ok := map[string]CPU{
		"amd64": {Predefined: []string{"__x86_64__ 1"}, Triplet: "x86_64-linux-gnu", Tree: "x86"},
		"arm64": {Predefined: []string{"__aarch64__ 1"}, Triplet: "aarch64-linux-gnu", Tree: "arm64"},
	}[runtime.GOARCH]
	if !ok {
		t.Skipf("the headers of %s are not known", runtime.GOARCH)
	}
	for _, c := range []struct{ header, script, want string }{
		{"sys/socket.h", "begin { print(AF_INET6); print(sizeof(struct sockaddr)) }", "struct sockaddr { sa_family_t " +
			"sa_family; char[14] sa_data }"},
		{
			"netinet/in.h", "begin { $s = (struct sockaddr_in *)arg1 }",
			"struct sockaddr_in { sa_family_t sin_family; in_port_t sin_port; struct in_addr sin_addr; unsigned char[8] " +
				"sin_zero }",
		},
		{"sys/stat.h", "begin { $s = (struct stat *)arg1 }", "struct timespec st_atim"},
		{"stdio.h", "begin { $f = (FILE *)arg1 }", "typedef struct _IO_FILE FILE"},
		{"linux/perf_event.h", "begin { print(PERF_COUNT_HW_CPU_CYCLES) }", "PERF_COUNT_HW_CPU_CYCLES=0"},
		{"linux/in6.h", "begin { $a = (struct in6_addr *)0; }", "__u8[16] u6_addr8"},
		{"signal.h", "begin { $a = (siginfo_t *)0; }", "typedef struct  { int si_signo"},
		{"errno.h", "begin { print(ENOENT) }", "define ENOENT 2"},
		{"sys/epoll.h", "begin { $e = (struct epoll_event *)arg1 }", "struct epoll_event { uint32_t events; epoll_data_t " +
			"data } packed"},
	} {
		if found, _ := filepath.Glob("/usr/include/" + c.header); found == nil {
			if found, _ = filepath.Glob("/usr/include/*/" + c.header); found == nil {
				continue
			}
		}
		var diags diag.List
		f := Load(&diag.Source{Name: "stdin", Text: "#include <" + c.header + ">\n" + c.script},
			ParseOptions{Include: IncludeOptions{CPU: cpu}}, &diags)
		if diags.Errors() > 0 {
			t.Errorf("%s: %s", c.header, format(&diags))
			continue
		}
		var lines []string
		for _, d := range f.CDefs {
			lines = append(lines, cdefLabel(d))
		}
		if text := strings.Join(lines, "\n"); !strings.Contains(text, c.want) {
			t.Errorf("%s: no %q in\n%.2000s", c.header, c.want, text)
		}
		if len(f.CDefs) > 60 {
			t.Errorf("%s: %d definitions are kept", c.header, len(f.CDefs))
		}
	}
}

func TestDefinesInScripts(t *testing.T) {
	for _, c := range [][2]string{
		{"#define A 1 + 2\nbegin { print(A * 3) }", "print((1 + 2) * 3);"},
		{"#define A B\n#define B \"x\"\nbegin { print(A) }", `print("x");`},
		{"#define A (int32)B\n#define B $x\nbegin { print(A) }", "print((int32)$x);"},
		{"#define A 'a'\n#define B _IO(1)\n#define _IO(x) (x << 8)\nbegin { print(A + B) }", "print(97 + 256);"},
		{"#define A sizeof(int) * -1\n#define B (A\nbegin { print(A); print(1) }", "print(sizeof(int) * -1); print(1);"},
		{"#define A 1 2\nbegin { print(A) }", "stdin:2:15-16: ERROR: unable to expand macro as an expression: 1 2\n" +
			"begin { print(A) }\n              ~\n"},
		{"#define A B + 1\n#define B A\nbegin { print(A) }", "stdin:3:15-16: ERROR: Macro recursion: A->B->A\n" +
			"begin { print(A) }\n              ~\n"},
		{
			"#define A0 1+1\n#define A1 A0+A0\n#define A2 A1+A1+A1+A1+A1+A1+A1+A1\n#define A3 A2+A2+A2+A2+A2+A2+A2+A2\n" +
				"#define A4 A3+A3+A3+A3+A3+A3+A3+A3\n#define A5 A4+A4+A4+A4+A4+A4+A4+A4\n#define A6 A5+A5+A5+A5+A5+A5+A5+A5\n" +
				"#define A7 A6+A6+A6+A6+A6+A6+A6+A6\nbegin { print(A7+A7) }",
			"ERROR: macros expand to more than 300000 expressions, or too deep ones\n" +
				"HINT: bind an argument that is used more than once to a variable first: let $x = x;\n",
		},
	} {
		if got := expand(t, c[0]); got != c[1] {
			t.Errorf("%s\ngot:  %s\nwant: %s", c[0], got, c[1])
		}
	}
}
