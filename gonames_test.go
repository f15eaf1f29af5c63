package trocar

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goIdentifier and goLiteral are how program text asks for Go: by an identifier that has the language's name as a word,
// or by a literal that is a name out of Go's programs.
var (
	goIdentifier = regexp.MustCompile(`(^|[a-z0-9])Go([A-Z]|$)|^go[A-Z]|(?i)golang|pclntab|moduledata|goroutine`)
	goLiteral    = regexp.MustCompile(`^.Go.$|pclntab|moduledata|buildinfo|go\.shape|^.go:|^.runtime\.[a-z]`)
)

// goRooms are where Go is known by its name.
var goRooms = []string{
	"internal/process/runtimes/golang/*.go",
	"internal/process/runtimes/golang/*/*.go",
	"internal/process/match/runtimes.go", // the list of runtimes
	"internal/binary/types/language.go",  // the table of languages
	"internal/binary/abi/golang.go",      // the convention of its calls
	"internal/binary/debuginfo/*.go",     // what is special in the DWARF of its compiler
}

// TestGoNames: what differs between languages is asked of the runtime whose code it is (runtimes.Code), or of the
// traits of a language (types.Language) or CPU (abi.Arch), so that another runtime is another package.
func TestGoNames(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"e2e", "bench", ".git", "tools", "testdata", "docs"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		room := slices.IndexFunc(goRooms, func(pattern string) bool {
			ok, _ := filepath.Match(pattern, name)
			return ok
		})
		for _, at := range goNames(file) {
			if room < 0 {
				t.Errorf("%s asks for Go by name: ask the runtime or a trait of the language", fset.Position(at))
			} else {
				used[goRooms[room]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range goRooms {
		if !used[room] {
			t.Errorf("%s does not name Go: it need not be among those that may", room)
		}
	}
}

// goNames are the places where a file asks for Go. The method Go of sync.WaitGroup, which takes a function, is none,
// and neither are imports.
func goNames(file *ast.File) (at []token.Pos) {
	waits := map[*ast.Ident]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 1 {
				waits[method.Sel] = method.Sel.Name == "Go"
			}
		case *ast.Ident:
			if goIdentifier.MatchString(n.Name) && !waits[n] {
				at = append(at, n.Pos())
			}
		case *ast.BasicLit:
			if goLiteral.MatchString(n.Value) {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

// TestGoNamesFound: the check finds what it is there for.
func TestGoNamesFound(t *testing.T) {
	for text, want := range map[string]int{
		"f.Lang == types.Go": 1, "obj.IsGo()": 1, `name == "runtime.main"`: 1, `section(".gopclntab")`: 1, "a.Go() != nil": 1,
		"isGo && goKind(x)": 2, "f.Lang.OwnABI()": 0, "wg.Go(f)": 0, "Good + golden + ergo": 0, `"Go to the next"`: 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; var _ = "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(goNames(file)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
