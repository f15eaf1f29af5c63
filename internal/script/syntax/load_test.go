package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/script/diag"
)

// load loads a script of a directory and lists its parts, or gives the diagnostics with the directory as DIR.
func load(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var diags diag.List
	f := Load(&diag.Source{Name: filepath.Join(dir, name), Text: string(text)}, ParseOptions{}, &diags)
	if len(diags.All) > 0 {
		return strings.ReplaceAll(format(&diags), dir, "DIR")
	}
	var parts []string
	for _, d := range f.CDefs {
		parts = append(parts, cdefLabel(d))
	}
	for _, d := range f.MapDecls {
		parts = append(parts, d.Name)
	}
	for _, m := range f.Macros {
		parts = append(parts, "macro "+m.Name)
	}
	for _, p := range f.Probes {
		parts = append(parts, p.Points[0].String())
	}
	return strings.Join(parts, "; ")
}

func TestImports(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"main.bt":             `import "lib/a.bt"; import "lib/b.bt"; import "lib/a.bt"; import "./lib/../lib/a.bt"; begin { m(1) }`,
		"lib/a.bt":            `import "b.bt"; import "sub"; macro m(x) { x } self:a { }`,
		"lib/b.bt":            `import "a.bt"; let @b = hash(1); self:b { }`,
		"lib/sub/x.h":         "struct x { int x; };\n#define X 1\n",
		"lib/sub/y.bt":        "#include \"x.h\"\nstruct y { struct x x; }\nself:y { }",
		"lib/sub/README":      "not a script",
		"lib/sub/deeper/z.bt": "self:z { }",

		"std.bt":      `import "stdlib"; import "stdlib/base.bt"; begin {}`,
		"block.bt":    `begin { import "lib/sub/x.h"; $x = (struct x *)0; }`,
		"blockbt.bt":  `begin { import "lib/a.bt"; }`,
		"none.bt":     `import "nothing.bt"; begin {}`,
		"kind.bt":     `import "lib/sub/README"; begin {}`,
		"bpf.bt":      `import "x.bpf.c"; begin {}`,
		"x.bpf.c":     "int f(void) { return 1; }",
		"conf.bt":     `import "c.bt"; begin {}`,
		"c.bt":        `config = { stack_mode = raw }`,
		"bad.bt":      "import \"broken.bt\"; begin {}",
		"broken.bt":   "begin {",
		"open/a.bt":   "begin {}",
		"w.bt":        `import "open/a.bt"; begin {}`,
		"w2.bt":       `import "writable.bt"; begin {}`,
		"writable.bt": "begin {}",
		"self.bt":     `import "self.bt"; begin {}`,
		"order.bt":    `struct z { struct y y; } import "lib/sub/y.bt"; begin { print(X) }`,
		"empty.bt":    `import ""; begin {}`,
	})
	if err := os.Chmod(filepath.Join(dir, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "writable.bt"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"main.bt", "struct x { int x }; struct y { struct x x }; define X 1; @b; macro m; self:b; self:y; self:a; begin"},
		{"std.bt", "begin"},
		{"block.bt", "struct x { int x }; define X 1; begin"},
		{"self.bt", "begin"},
		{"order.bt", "struct x { int x }; struct y { struct x x }; struct z { struct y y }; define X 1; self:y; begin"},
		{
			"blockbt.bt",
			`DIR/blockbt.bt:1:9-26: ERROR: Import statements that are not at the root are limited to specific header (.h) files
begin { import "lib/a.bt"; }
        ~~~~~~~~~~~~~~~~~
`,
		},
		{"none.bt", `DIR/none.bt:1:1-20: ERROR: Unable to find suitable path for import
import "nothing.bt"; begin {}
~~~~~~~~~~~~~~~~~~~
HINT: checked: DIR/nothing.bt
`},
		{"empty.bt", `DIR/empty.bt:1:1-10: ERROR: Unable to find suitable path for import
import ""; begin {}
~~~~~~~~~
HINT: the path is empty
`},
		{"kind.bt", `DIR/kind.bt:1:1-24: ERROR: unknown import type: "README"
import "lib/sub/README"; begin {}
~~~~~~~~~~~~~~~~~~~~~~~
HINT: a .bt script, a .h header or a directory of them can be imported
`},
		{
			"bpf.bt",
			`DIR/bpf.bt:1:1-17: ERROR: cannot import x.bpf.c: BPF programs written in C need a C compiler for BPF, ` +
				`which this tracer does without
import "x.bpf.c"; begin {}
~~~~~~~~~~~~~~~~
HINT: write what it does as a macro in a .bt file
`,
		},
		{"conf.bt", "DIR/c.bt:1:12-28: ERROR: invalid `config` within import\n" + `config = { stack_mode = raw }
           ~~~~~~~~~~~~~~~~
HINT: only the script that is run may have a config block
`},
		{"bad.bt", `DIR/broken.bt:1:8-8: ERROR: syntax: expected '}'
begin {
       
DIR/broken.bt:1:7-8: ERROR: the block begins here
begin {
      ~
`},
		{"w.bt", `DIR/w.bt:1:1-19: ERROR: refusing to import from a place that everybody may write to: DIR/open
import "open/a.bt"; begin {}
~~~~~~~~~~~~~~~~~~
HINT: take the right away, with chmod o-w DIR/open, or move the file
`},
		{"w2.bt", `DIR/w2.bt:1:1-21: ERROR: refusing to import from a place that everybody may write to: DIR/writable.bt
import "writable.bt"; begin {}
~~~~~~~~~~~~~~~~~~~~
HINT: take the right away, with chmod o-w DIR/writable.bt, or move the file
`},
	} {
		if got := load(t, dir, c[0]); got != c[1] {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", c[0], got, c[1])
		}
	}
}

func TestTooManyImports(t *testing.T) {
	files := map[string]string{"main.bt": `import "d"; begin {}`}
	for i := range maxImports + 10 {
		files["d/"+strings.Repeat("x", i+1)+".bt"] = "begin {}"
	}
	if got := load(t, writeFiles(t, files), "main.bt"); !strings.Contains(got, "too many imports (more than 200 files)") ||
		strings.Count(got, "ERROR") != 1 {
		t.Errorf("got %s", got)
	}
}

func TestPrune(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"h.h": `
struct deep { int x; };
struct used { struct deep *d; used_t t; union { struct also a; }; };
typedef struct { enum kind { K_ONE, K_TWO } k; } used_t;
struct also { int z; };
struct unused { int x; };
enum { ONLY_ONE = 1 };
enum other { OTHER };
#define BASE 5
#define DERIVED (BASE + 1)
#define UNUSED 3
`,
		"main.bt": "#include \"h.h\"\nbegin { $x = (struct used *)0; print(DERIVED + ONLY_ONE) }",
	})
	want := "struct deep { int x }; struct used { struct deep* d; used_t t; union  { struct also a } }; " +
		"enum kind { K_ONE=0, K_TWO=1 }; typedef struct  { enum kind k } used_t; struct also { int z }; " +
		"enum  { ONLY_ONE=1 }; define BASE 5; define DERIVED (BASE + 1); begin"
	if got := load(t, dir, "main.bt"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
