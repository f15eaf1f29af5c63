package trocar

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// opens are the files that use files other than by internal/binary/opener, each with the reason. A path that another
// file or a process names does not belong here, nor one in the root of a process.
var opens = map[string]string{
	"info.go":                       "looks at a name that the user gave",
	"internal/binary/debuginfod":    "its cache: a folder of the user's",
	"internal/binary/btf/source.go": "looks whether a file that the user named is there",
	"internal/binary/image/set.go":  "looks at an archive that is open already",
	"internal/kernel": "/proc/sys, /sys and the like; looks at files of probes for the reason of " +
		"an error",
	"internal/binary/objfile/openfile.go":   "/proc/self/map_files",
	"internal/need":                         "tests",
	"internal/process/match/mappedfiles.go": "looks for the name of a mapping under a path that the user gave",
	"internal/process/match/kernel.go":      "looks at /sys/module",
	"internal/process/match/list.go":        "looks at a name that the user gave",
	"internal/process/runtimes/jvm": "/proc; what HotSpot's protocol needs in the /tmp of a process, held open, " +
		"and never through a link",
	"internal/process/runtimes/dotnet": "/proc; the perf map in the /tmp of a process, held open, " +
		"and never through a link",
	"internal/process/symbolize/kaddr.go":   "/proc/kallsyms",
	"internal/process/symbolize/kernel.go":  "/proc/kallsyms",
	"internal/process/symbolize/special.go": "our own memory",
	"internal/process/stacktables":          "our own memory",
	"internal/process/target":               "/proc, /sys, /etc/passwd",
	"internal/process/tracefs":              "tracefs",
	"internal/script/syntax": "imports and headers that the script names; a regular file is looked " +
		"for first",
	"internal/session/blind.go":      "looks at the paths of probes, which have no links left",
	"internal/session/holders.go":    "/proc",
	"internal/session/idleprobes.go": "looks at the paths of probes, which have no links left",
	"mapped.go":                      "looks at the paths of probes, which have no links left",
	"target.go":                      "/proc/PID/exe",
	"internal/ui":                    "scripts and results that the user names",
}

// opening are the functions that are meant.
var opening = map[string][]string{
	"os": {
		"Open", "OpenFile", "ReadFile", "Stat", "Lstat", "ReadDir", "Create", "DirFS", "OpenRoot", "OpenInRoot", "Truncate",
		"WriteFile",
	},
	"syscall":  {"Open", "Openat", "Stat", "Lstat", "Creat"},
	"unix":     {"Open", "Openat", "Openat2", "Creat", "Stat", "Lstat", "OpenByHandleAt"},
	"filepath": {"EvalSymlinks", "Walk", "WalkDir", "Glob"},
	"elf":      {"Open"},
	"zip":      {"OpenReader"},
	"ioutil":   {"ReadFile", "ReadDir"},
}

// TestOpens: whoever opens a file does it by internal/binary/opener, but for a short list.
func TestOpens(t *testing.T) {
	used := map[string]bool{}
	for _, p := range list(t) {
		name := relative(p.ImportPath)
		if name == "internal/binary/opener" || strings.HasPrefix(name, "e2e") || name == "bench" {
			continue
		}
		for _, file := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, filepath.Join(p.Dir, file), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(parsed.Comments, func(c *ast.CommentGroup) bool {
				return c.Pos() < parsed.Package && strings.Contains(c.List[0].Text, "go:build ignore")
			}) {
				continue // a generator
			}
			path := filepath.Join(name, file)
			ast.Inspect(parsed, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				pkg, ok := sel.X.(*ast.Ident)
				if !ok || !slices.Contains(opening[pkg.Name], sel.Sel.Name) {
					return true
				}
				for dir := path; dir != "."; dir = filepath.Dir(dir) {
					if opens[dir] != "" {
						used[dir] = true
						return true
					}
				}
				t.Errorf("%s: %s.%s: open files by internal/binary/opener, or give a reason in opens_test.go",
					set.Position(n.Pos()), pkg.Name, sel.Sel.Name)
				return true
			})
		}
	}
	for path := range opens {
		if !used[path] {
			t.Errorf("opens_test.go has a reason for %s, which opens nothing", path)
		}
	}
}
