package trocar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "trocar"

// layers says which packages there are and what each may import besides the standard library. A pattern ending in
// "/..." stands for everything below. Modules are named by their path; a package of a module is meant with it.
//
// Change it together with ARCHITECTURE.md, with a reason in the commit.
var layers = map[string][]string{
	".": {
		"result", "internal/script/...", "internal/binary/...", "internal/process/...", "internal/compile/...",
		"internal/kernel", "internal/session", "internal/recipe", "github.com/cilium/ebpf",
	},
	"result":     {},
	"cmd/trocar": {"internal/ui/cli"},

	"internal/script/diag":   {"result"},
	"internal/script/syntax": {"internal/script/diag"},

	"internal/binary/types": {},
	"internal/binary/abi":   {"internal/binary/types"},
	"internal/binary/uapi":  {"internal/binary/types", "internal/binary/abi"},
	"internal/binary/clr":   {},
	"internal/binary/code":  {"internal/binary/abi"},
	"internal/binary/btf":   {"internal/binary/types", "internal/binary/opener", "golang.org/x/sys"},
	"internal/binary/objfile": {
		"internal/binary/types",
		"internal/binary/abi", "internal/binary/clr", "internal/binary/code", "internal/binary/opener", "internal/near",
		"internal/binary/section", "github.com/ianlancetaylor/demangle",
		"github.com/klauspost/compress", "github.com/ulikunitz/xz", "golang.org/x/sys",
	},
	"internal/binary/opener":   {"golang.org/x/sys"},
	"internal/binary/packages": {"internal/binary/opener"},
	"internal/binary/debuginfo": {
		"internal/binary/types", "internal/binary/abi", "internal/binary/section", "internal/binary/cfi",
		"internal/binary/objfile",
		"internal/binary/opener",
	},

	"internal/binary/debuginfod": {"internal/binary/objfile", "internal/binary/opener"},
	"internal/binary/section":    {},
	"internal/binary/cfi":        {"internal/binary/abi", "internal/binary/section", "internal/binary/objfile"},
	"internal/binary/unwind": {
		"internal/binary/abi", "internal/binary/section", "internal/binary/cfi", "internal/binary/objfile",
	},
	"internal/binary/image": {
		"internal/binary/cfi", "internal/binary/debuginfo", "internal/binary/objfile", "internal/binary/opener",
	},

	"internal/process/target": {
		"internal/binary/abi", "internal/binary/opener", "github.com/kballard/go-shellquote", "golang.org/x/sys",
	},
	"internal/process/tracefs": {"golang.org/x/sys"},
	"internal/process/runtimes": {
		"internal/binary/types", "internal/binary/objfile", "internal/binary/debuginfo", "internal/process/probe",
	},
	"internal/process/runtimes/...": {
		"internal/binary/...", "internal/process/probe", "internal/process/runtimes", "internal/process/target",
		"internal/process/runtimes/remote", "golang.org/x/sys",
	},
	"internal/process/runtimes/remote": {},
	"internal/process/runtimes/golang": {
		"internal/binary/...", "internal/process/probe", "internal/process/runtimes",
		"internal/process/runtimes/golang/pclntab",
	},
	"internal/process/runtimes/golang/pclntab": {"internal/binary/objfile"},
	"internal/process/probe":                   {"internal/script/syntax", "internal/binary/types"},
	"internal/process/match": {
		"internal/script/...", "internal/binary/...", "internal/process/probe", "internal/process/target",
		"internal/process/tracefs", "internal/process/runtimes/...", "internal/near",
	},
	"internal/process/symbolize": {
		"result", "internal/binary/...", "internal/process/target", "golang.org/x/sys",
	},

	"internal/compile/ir":      {"github.com/cilium/ebpf"},
	"internal/compile/builtin": {"internal/binary/types", "internal/binary/abi"},
	"internal/compile/feature": {},
	"internal/compile/check": {
		"result",
		"internal/script/...", "internal/binary/types", "internal/binary/abi", "internal/binary/uapi",
		"internal/process/probe",
		"internal/compile/builtin", "internal/compile/feature", "internal/compile/record", "internal/near",
	},
	"internal/compile/record": {"internal/binary/types", "result"},
	"internal/compile/codegen": {
		"internal/compile/...", "internal/process/probe", "internal/binary/types", "internal/binary/abi",
		"internal/binary/uapi", "internal/script/diag", "result",
		"github.com/cilium/ebpf",
	},

	"internal/kernel": {
		"internal/binary/abi", "internal/binary/btf", "internal/binary/code", "internal/process/probe",
		"internal/process/tracefs",
		"internal/compile/feature", "github.com/cilium/ebpf", "golang.org/x/sys",
	},

	"internal/process/stacktables": {
		"internal/binary/...", "internal/process/target", "internal/compile/record", "golang.org/x/sys",
	},

	"internal/session": {
		"result", "internal/binary/...", "internal/process/probe", "internal/process/symbolize", "internal/process/target",
		"internal/process/stacktables", "internal/process/runtimes", "internal/process/runtimes/native",
		"internal/compile/record", "internal/kernel", "golang.org/x/sys",
	},

	"internal/recipe": {
		"internal/script/...", "internal/binary/...", "internal/process/match", "internal/process/probe",
		"internal/process/target",
		"internal/compile/record", "result",
	},

	"internal/demo":      {},
	"internal/near":      {},
	"internal/order":     {},
	"internal/stackroom": {},
	"internal/need":      {},
	"internal/ui/output": {"result"},
	"internal/ui/flame":  {"result"},
	"internal/ui/cli": {
		".", "result", "internal/ui/...", "internal/demo", "internal/near",
		"github.com/kballard/go-shellquote", "github.com/spf13/cobra", "github.com/spf13/pflag",
		"golang.org/x/term",
	},

	"docs":    {},
	"e2e":     {},
	"e2e/...": {},
	"bench":   {"golang.org/x/sys"},
}

// banned are names that tell nothing about what a package owns.
var banned = []string{"util", "utils", "common", "misc", "helper", "helpers", "base", "shared"}

// tests says what the tests of a package may import besides what the package itself may and everyTest.
var tests = map[string][]string{
	"docs": {"internal/compile/builtin", "internal/ui/cli"},
	"e2e": {
		"internal/process/target", "internal/process/tracefs", "internal/binary/abi", "internal/binary/code",
		"internal/kernel", // which tells what this machine can do
		"github.com/rogpeppe/go-internal",
	},
	"e2e/kernels":         {"golang.org/x/sys"},
	"internal/binary/btf": {"github.com/cilium/ebpf"}, // its btf: a second reader to compare with
	"internal/compile/codegen": {
		"internal/kernel", "golang.org/x/sys", // which load what was made
		"internal/binary/unwind", // whose numbers programs have in their code
	},

	"internal/process/stacktables": {"internal/process/runtimes/golang/pclntab"}, // the tables of its own program

	"internal/binary/debuginfod": {"internal/binary/debuginfo"}, // which asks for the files
	"internal/binary/image":      {"internal/binary/types"},     // what outlives an image
}

// everywhere is what all packages may import, but result, which others see.
var everywhere = []string{"internal/order", "internal/stackroom"}

// everyTest is what all tests may import.
var everyTest = []string{"internal/need"}

// mostLines is how many lines a package may have, without its tests, before its comment has to say why it is one
// package:
// "It is more than 4,000 lines because …".
const mostLines = 4000

type listed struct {
	ImportPath, Dir, Doc      string
	GoFiles, IgnoredGoFiles   []string
	TestGoFiles, XTestGoFiles []string
	Imports                   []string
	TestImports, XTestImports []string
}

// testFiles are all files of a package's tests.
func (p *listed) testFiles() []string { return slices.Concat(p.TestGoFiles, p.XTestGoFiles) }

// TestLayering holds the design's import rules, and some of its manners, against the packages that there are.
func TestLayering(t *testing.T) {
	packages := list(t)
	for _, fault := range faults(packages, layers, tests) {
		t.Error(fault)
	}
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		name := relative(p.ImportPath)
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("%s has no package comment", name)
		}
		for element := range strings.SplitSeq(name, "/") {
			if slices.Contains(banned, element) {
				t.Errorf("%s: %q says nothing about what a package owns", name, element)
			}
		}
		if name != "." && !regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).Match(text) {
			t.Errorf("%s is not in ARCHITECTURE.md", name)
		}
		for _, file := range slices.Concat(p.GoFiles, p.testFiles()) {
			noInit(t, filepath.Join(p.Dir, file))
		}
		lines, comment := size(t, p)
		if lines > mostLines && !strings.Contains(comment, "more than 4,000 lines because") {
			t.Errorf(`%s has %d lines: its package comment must say why it is one ("It is more than 4,000 lines because …")`,
				name, lines)
		}
	}
}

// faults are the differences between packages and the table, in both directions.
func faults(packages []listed, layers, tests map[string][]string) (out []string) {
	fault := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	groups := map[string]bool{}
	for pattern := range layers {
		for dir := path.Dir(pattern); strings.HasPrefix(dir, "internal"); dir = path.Dir(dir) {
			if _, isPackage := layers[dir]; !isPackage {
				groups[dir] = true
			}
		}
	}
	used := map[string]map[string]bool{} // rows, and what of them was needed
	use := func(row, pattern string) {
		if used[row] == nil {
			used[row] = map[string]bool{}
		}
		used[row][pattern] = true
	}
	for _, p := range packages {
		name := relative(p.ImportPath)
		row, ok := lookup(layers, name)
		if !ok {
			fault("%s: not in the table of layering_test.go", name)
			continue
		}
		use(row, "")
		for _, imported := range p.Imports {
			if isStandard(imported) {
				continue
			}
			if _, ok := permits(everywhere, relative(imported)); ok && row != "result" {
				continue
			}
			if pattern, ok := permits(layers[row], relative(imported)); ok {
				use(row, pattern)
			} else {
				fault("%s imports %s, which the table of layering_test.go does not allow", name, relative(imported))
			}
		}
		testRow, _ := lookup(tests, name)
		if testRow != "" {
			use("tests of "+testRow, "")
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if isStandard(imported) || imported == p.ImportPath {
				continue
			}
			if _, ok := permits(layers[row], relative(imported)); ok {
				continue
			}
			if _, ok := permits(slices.Concat(everyTest, everywhere), relative(imported)); ok {
				continue
			}
			if pattern, ok := permits(tests[testRow], relative(imported)); ok {
				use("tests of "+testRow, pattern)
			} else {
				fault("the tests of %s import %s, which the table of layering_test.go does not allow", name, relative(imported))
			}
		}
		if groups[name] {
			fault("%s is a group of packages and holds no Go files of its own", name)
		}
	}
	unused := func(prefix string, table map[string][]string) {
		for row, allowed := range table {
			if used[prefix+row] == nil {
				fault("the table of layering_test.go has a row for %s%s, and there is no such package", prefix, row)
				continue
			}
			for _, pattern := range allowed {
				if !used[prefix+row][pattern] {
					fault("the table of layering_test.go allows %s%s to import %s, which it does not", prefix, row, pattern)
				}
			}
		}
	}
	unused("", layers)
	unused("tests of ", tests)
	slices.Sort(out)
	return out
}

// size counts a package's lines, for every CPU, and gives its comment, which go list shortens to a sentence.
func size(t *testing.T, p listed) (lines int, comment string) {
	t.Helper()
	for _, file := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(p.Dir, file))
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		comment += strings.Join(strings.Fields(parsed.Doc.Text()), " ")
	}
	return lines, comment
}

// TestLayeringFaults: the check finds what it is there for.
func TestLayeringFaults(t *testing.T) {
	packages := []listed{
		{
			ImportPath: module + "/internal/a", Imports: []string{"fmt", module + "/internal/b"},
			TestImports: []string{module + "/internal/c"},
		},
		{ImportPath: module + "/internal/b", Imports: []string{"example.org/m/sub", module + "/internal/a"}},
		{ImportPath: module + "/internal/c", TestImports: []string{module + "/internal/need", module + "/internal/b"}},
		{ImportPath: module + "/internal/d"},
	}
	got := faults(packages, map[string][]string{
		"internal/a":     {"internal/b", "internal/c"},
		"internal/b":     {"example.org/m", "internal/x/..."},
		"internal/c":     {},
		"internal/gone":  {},
		"internal/x/...": {},
	}, map[string][]string{
		"internal/c": {"internal/b", "internal/a"},
		"internal/e": {"internal/a"},
	})
	want := []string{
		"internal/b imports internal/a, which the table of layering_test.go does not allow",
		"internal/d: not in the table of layering_test.go",
		"the table of layering_test.go allows internal/a to import internal/c, which it does not",
		"the table of layering_test.go allows internal/b to import internal/x/..., which it does not",
		"the table of layering_test.go allows tests of internal/c to import internal/a, which it does not",
		"the table of layering_test.go has a row for internal/gone, and there is no such package",
		"the table of layering_test.go has a row for internal/x/..., and there is no such package",
		"the table of layering_test.go has a row for tests of internal/e, and there is no such package",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestModulesTidy: requirements are those that are imported, and marked as what they are.
func TestModulesTidy(t *testing.T) {
	for _, dir := range []string{".", "tools"} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("go", "mod", "tidy", "-diff")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("run `go mod tidy` in %s (%v):\n%s", dir, err, out)
			}
		})
	}
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,"+
		"Imports,TestImports,XTestImports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// relative turns an import path of this module into one from its root; others stay.
func relative(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

// isStandard: only the standard library has no dot in the first element, besides this module.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".") && first != module
}

// lookup finds the row of a package: its own, or that of a pattern above it; "" if there is none.
func lookup(table map[string][]string, name string) (row string, ok bool) {
	if _, ok = table[name]; ok {
		return name, true
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok = table[dir+"/..."]; ok {
			return dir + "/...", true
		}
	}
	return "", false
}

// permits finds the pattern that allows an import.
func permits(allowed []string, imported string) (pattern string, ok bool) {
	i := slices.IndexFunc(allowed, func(pattern string) bool {
		if below, ok := strings.CutSuffix(pattern, "/..."); ok {
			return imported == below || strings.HasPrefix(imported, below+"/")
		}
		isModule := strings.Contains(strings.Split(pattern, "/")[0], ".") && pattern != "."
		return imported == pattern || isModule && strings.HasPrefix(imported, pattern+"/")
	})
	if i < 0 {
		return "", false
	}
	return allowed[i], true
}

// noInit: what a package does when it is loaded is paid at every start and hides the order of things.
func noInit(t *testing.T, file string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(parsed) {
		return
	}
	for _, declaration := range parsed.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Name.Name == "init" && f.Recv == nil {
			t.Errorf("%s has an init function", file)
		}
	}
}
