package trocar

import (
	"encoding/json"
	"errors"
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

// layers says which packages there are and what each may import besides the standard library. A pattern ending in "/..."
// stands for everything below. Modules are named by their path; a package of a module is meant with it.
//
// Change it together with ARCHITECTURE.md, with a reason in the commit.
var layers = map[string][]string{
	".": {
		"result", "internal/script/...", "internal/binary/...", "internal/process/...", "internal/compile/...",
		"internal/kernel", "internal/recipe", "golang.org/x/sys", "github.com/cilium/ebpf",
	},
	"result":     {},
	"cmd/trocar": {"internal/ui/cli"},

	"internal/script/diag":   {"result"},
	"internal/script/syntax": {"internal/script/diag"},

	"internal/binary/types":   {},
	"internal/binary/code":    {},
	"internal/binary/btf":     {"internal/binary/types", "golang.org/x/sys"},
	"internal/binary/objfile": {"internal/binary/code", "github.com/ianlancetaylor/demangle", "github.com/ulikunitz/xz", "golang.org/x/sys"},
	"internal/binary/debuginfo": {
		"internal/binary/types", "internal/binary/code", "internal/binary/objfile", "golang.org/x/sys",
	},

	"internal/binary/golang": {"internal/binary/types", "internal/binary/code", "internal/binary/objfile"},

	"internal/process/target":   {"golang.org/x/sys"},
	"internal/process/tracefs":  {"golang.org/x/sys"},
	"internal/process/runtimes": {"internal/binary/...", "internal/process/target"},
	"internal/process/runtimes/...": {
		"internal/binary/...", "internal/process/target", "internal/process/runtimes",
	},
	"internal/process/probe": {"internal/script/diag", "internal/script/syntax", "internal/binary/types"},
	"internal/process/match": {
		"internal/script/...", "internal/binary/...", "internal/process/probe", "internal/process/target",
		"internal/process/tracefs",
		"internal/process/runtimes/...",
	},
	"internal/process/symbolize": {
		"result", "internal/binary/...", "internal/process/target", "internal/process/runtimes/...", "golang.org/x/sys",
	},

	"internal/compile/ir":      {"github.com/cilium/ebpf"},
	"internal/compile/builtin": {"internal/binary/types", "internal/compile/ir"},
	"internal/compile/check": {
		"internal/script/...", "internal/binary/types", "internal/process/probe", "internal/compile/builtin",
	},
	"internal/compile/record": {"internal/binary/types", "internal/script/diag", "result"},
	"internal/compile/codegen": {
		"internal/compile/...", "internal/process/probe", "internal/binary/types", "internal/script/diag",
		"github.com/cilium/ebpf",
	},

	"internal/kernel": {
		"internal/binary/btf", "internal/process/probe", "internal/process/tracefs", "result", "github.com/cilium/ebpf",
		"golang.org/x/sys",
	},

	"internal/recipe": {
		"internal/script/...", "internal/binary/...", "internal/process/match", "internal/process/probe", "internal/process/target",
		"internal/compile/record",
	},

	"internal/demo":      {"golang.org/x/sys"},
	"internal/ui/output": {"result", "github.com/google/pprof"},
	"internal/ui/cli": {
		".", "result", "internal/ui/...", "internal/demo", "github.com/spf13/cobra", "github.com/spf13/pflag",
		"golang.org/x/sys", "golang.org/x/term",
	},

	"docs":      {},
	"e2e":       {},
	"e2e/...":   {},
	"bench":     {},
	"bench/...": {},
}

// banned are names that tell nothing about what a package owns.
var banned = []string{"util", "utils", "common", "misc", "helper", "helpers", "base", "shared"}

type listed struct {
	ImportPath, Dir, Doc string
	GoFiles, TestGoFiles []string
	XTestGoFiles         []string
	Imports              []string
}

// TestLayering holds the design's import rules, and some of its manners, against the packages that there are.
func TestLayering(t *testing.T) {
	packages := list(t)
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	architecture := string(text)
	groups := map[string]bool{}
	for pattern := range layers {
		for dir := path.Dir(pattern); strings.HasPrefix(dir, "internal"); dir = path.Dir(dir) {
			if _, isPackage := layers[dir]; !isPackage {
				groups[dir] = true
			}
		}
	}
	for _, p := range packages {
		name := relative(p.ImportPath)
		allowed, ok := lookup(name)
		if !ok {
			t.Errorf("%s: not in the table of layering_test.go", name)
			continue
		}
		for _, imported := range p.Imports {
			if !isStandard(imported) && !permits(allowed, relative(imported)) {
				t.Errorf("%s imports %s, which the table of layering_test.go does not allow", name, relative(imported))
			}
		}
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("%s has no package comment", name)
		}
		if groups[name] {
			t.Errorf("%s is a group of packages and holds no Go files of its own", name)
		}
		for element := range strings.SplitSeq(name, "/") {
			if slices.Contains(banned, element) {
				t.Errorf("%s: %q says nothing about what a package owns", name, element)
			}
		}
		if name != "." && !regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).MatchString(architecture) {
			t.Errorf("%s is not in ARCHITECTURE.md", name)
		}
		for _, file := range p.GoFiles {
			noInit(t, filepath.Join(p.Dir, file))
		}
	}
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,GoFiles,TestGoFiles,XTestGoFiles,Imports", "./...")
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

func lookup(name string) (allowed []string, ok bool) {
	if allowed, ok = layers[name]; ok {
		return allowed, true
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if allowed, ok = layers[dir+"/..."]; ok {
			return allowed, true
		}
	}
	return nil, false
}

func permits(allowed []string, imported string) bool {
	return slices.ContainsFunc(allowed, func(pattern string) bool {
		if below, ok := strings.CutSuffix(pattern, "/..."); ok {
			return imported == below || strings.HasPrefix(imported, below+"/")
		}
		isModule := strings.Contains(strings.Split(pattern, "/")[0], ".") && pattern != "."
		return imported == pattern || isModule && strings.HasPrefix(imported, pattern+"/")
	})
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
