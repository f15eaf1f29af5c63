package trocar

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cpuNames are the names of CPUs, and that of the constant that tells on which one the tracer runs.
var cpuNames = regexp.MustCompile(`(?i)amd64|arm64|aarch64|x86|i386|i686|GOARCH`)

// TestCPUNames: what differs between CPUs is asked of abi.Arch, so that another CPU is another table. No package but
// abi and code, which decodes instructions, names one in its program text; comments may.
func TestCPUNames(t *testing.T) {
	whole := []string{"internal/binary/abi", "internal/binary/code", ".git", "tools", "testdata"}
	prints := map[string]string{ // and nothing else
		"bench/main.go":              "what the figures were measured on",
		"internal/ui/cli/version.go": "what the program was built for",
		// A generator that nothing is built with.
		"internal/process/runtimes/golang/genstd.go": "whose lists of the library it reads",
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, dir := range whole {
			if d.IsDir() && (path == dir || d.Name() == dir) {
				return filepath.SkipDir
			}
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		if _, ok := prints[path]; ok {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text := ""
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Ident:
				text = n.Name
			case *ast.BasicLit:
				text = n.Value
			}
			if name := cpuNames.FindString(text); name != "" {
				t.Errorf("%s names a CPU, %s: ask its abi.Arch for what differs", fset.Position(n.Pos()), name)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
