package trocar_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trocar/internal/need"
)

// addition is a new thing as a developer would add it: rows in files that are there, and files of its own.
type addition struct {
	what string
	rows []line
	// files are new ones, by path, with their content.
	files map[string]string
	// args run what was built, which has to print want and end with the status. PROGRAM is a program made of source, in C.
	args   []string
	source string
	status int
	want   string
	traces bool // it loads programs, or maps
}

// line is one that is put behind another one.
type line struct{ file, behind, text string }

// additions has an example of each row of ARCHITECTURE.md's table "Where to put a new thing", which names the same
// files.
var additions = []addition{
	{
		what: "builtin",
		rows: []line{
			{"internal/compile/builtin/ids.go", "\tRand\n", "\tCoreID\n"},
			{"internal/compile/builtin/system.go", "var system = []Func{\n", `	{
		ID: CoreID, Names: []string{"core_id"}, Variable: true, Group: GroupSystem, Result: types.TUint64,
		Variants: []string{"uint64 core_id"},
		Doc:      "The number of the CPU that the probe runs on.",
	},
`},
			{
				"internal/compile/check/callsystem.go", "func (m *meanings) system() {\n",
				"\tm[builtin.CoreID] = meaning{plain: true}\n",
			},
			{"internal/compile/codegen/callsystem.go", "func (c *codes) system() {\n", "\tc[builtin.CoreID].helper = " +
				"asm.FnGetSmpProcessorId\n"},
		},
		args: []string{"--mode", "codegen", "-d", "types", "-e", "begin { print(core_id) }"},
		want: "core_id",
	},
	{
		what: "output format",
		rows: []line{
			{
				"internal/ui/output/output.go", "func(o Options) result.Sink { return NewText(o) }},\n",
				"\t\t{Name: \"count\", Help: \"the number of events\", make: newCounter},\n",
			},
		},
		files: map[string]string{"internal/ui/output/count.go": `package output

import (
	"fmt"

	"trocar/result"
)

func newCounter(o Options) result.Sink { return &counter{o: o} }

// counter counts.
type counter struct {
	o Options
	n int
}

func (c *counter) Event(result.Event) error {
	c.n++
	return nil
}

func (c *counter) Flush() error {
	_, err := fmt.Fprintln(c.o.Out, c.n, "events")
	return err
}
`},
		args: []string{"-f", "count", "--dry-run", "-e", "begin { }"}, traces: true,
		want: "events\n",
	},
	{
		what: "probe kind",
		rows: []line{
			{"internal/process/probe/kinds.go", "\tIter\n)", ""},
			{"internal/process/probe/kinds.go", "\tFexit\n", "\tPulse\n"},
			{
				"internal/process/probe/kinds.go", "var table = [...]Traits{\n",
				`	Pulse: {Name: "pulse", Form: "pulse:MS", Group: "interval", Program: PerfProgram, Space: types.AnySpace},
`,
			},
			{"internal/process/match/kinds.go", "\tall := []kind{\n", "\t\t{kind: probe.Pulse, parse: parsePulse, match: " +
				"matchPulse},\n"},
			{"internal/kernel/perfevent.go", "\tcase probe.Interval,", " probe.Pulse,"},
		},
		files: map[string]string{"internal/process/match/pulse.go": `package match

import (
	"time"

	"trocar/internal/process/probe"
)

func parsePulse(m *matcher, s *spec) bool {
	if len(s.parts) != 1 {
		return m.argCount(s, 1, 1)
	}
	n, err := parseUint(s.parts[0])
	if err != nil {
		m.diags.Errorf(s.ap.Span, "%s", err)
		return false
	}
	s.addr = n
	return true
}

func matchPulse(_ *matcher, s *spec) []*probe.Point {
	return []*probe.Point{{Kind: probe.Pulse, Name: s.ap.Text, Period: s.addr * uint64(time.Millisecond)}}
}
`},
		args: []string{"-q", "-e", "pulse:1 { print(\"beat\"); exit() }"}, traces: true,
		want: "beat\n",
	},
	{
		what: "language runtime",
		rows: []line{
			{"internal/process/match/runtimes.go", "import (\n", "\t\"trocar/internal/process/runtimes/toy\"\n"},
			{"internal/process/match/runtimes.go", "return []runtimes.Runtime{", "toy.Runtime(), "},
		},
		files: map[string]string{"internal/process/runtimes/toy/toy.go": `// Package toy is a runtime that walks the stacks of
// programs which have a function called toy_main.
package toy

import (
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
)

// Runtime is the toy's.
func Runtime() runtimes.Runtime { return runtimes.Runtime{Name: "toy", Open: open} }

type code struct{}

func open(f runtimes.File) runtimes.Code {
	if _, ok := f.Object.SymbolAddr("toy_main"); !ok {
		return nil
	}
	return code{}
}

func (code) At(uint64) bool                                       { return true }
func (code) Owns(uint64) bool                                     { return true }
func (code) Site([]byte) int                                      { return 0 }
func (code) Numbered() bool                                       { return false }
func (code) Dynamic(uint64) (*types.Type, bool)                   { return nil, false }
func (code) Assembly(uint64) *probe.Scope                         { return nil }
func (code) Call(uint64, bool) *probe.Call                        { return nil }
func (code) Result(*objfile.Func) *probe.Scope                    { return nil }
func (code) Entry(uint64, *probe.Point)                           {}
func (code) Ruled(*debuginfo.Function) bool                       { return false }
func (code) Arguments(*debuginfo.Function, *probe.Point)          {}
func (code) Declaration(uint64) (runtimes.Declaration, bool)      { return runtimes.Declaration{}, false }
func (code) TypeNamed(string) (*types.Type, bool)                 { return nil, false }
func (code) Copies(string) []runtimes.Copy                        { return nil }
func (code) Inside(uint64, uint64) *probe.Refusal { return nil }
func (code) Exits(*objfile.Func) ([]runtimes.Exit, *probe.Refusal) { return nil, nil }
func (code) NoReturn(*objfile.Func) *probe.Refusal {
	return &probe.Refusal{Reason: "the toy walks its stack", Way: "probe the entry with uprobe"}
}
`},
		source: "int toy_main(void) { return 1; } int main(void) { return toy_main(); }",
		args:   []string{"--dry-run", "-e", "uretprobe:PROGRAM:toy_main { }"},
		status: 3,
		want:   "the toy walks its stack",
	},
	{
		what: "command",
		rows: []line{
			{"internal/ui/cli/cli.go", "func commands() []named {\n\treturn []named{\n", "\t\t{\"hello\", newHello},\n"},
		},
		files: map[string]string{"internal/ui/cli/hello.go": `package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newHello(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "hello", Short: "Say hello", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.out, "hello")
			return err
		},
	}
}
`},
		args: []string{"hello"},
		want: "hello\n",
	},
}

// TestAdditions builds trocar with a new thing of each kind, from exactly the files that ARCHITECTURE.md names, and
// uses them.
func TestAdditions(t *testing.T) {
	need.Tool(t, "go")
	need.Tool(t, "gcc")
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	architecture := string(text)
	dir := t.TempDir()
	content := map[string]string{} // of files with rows put in
	overlay := map[string]string{}
	place := func(path, text string) {
		written := filepath.Join(dir, strings.ReplaceAll(path, "/", "+"))
		if err := os.WriteFile(written, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		full, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		overlay[full] = written
	}
	for _, a := range additions {
		touched := map[string]bool{}
		for _, r := range a.rows {
			if content[r.file] == "" {
				old, err := os.ReadFile(r.file)
				if err != nil {
					t.Fatalf("%s: %v", a.what, err)
				}
				content[r.file] = string(old)
			}
			before, after, ok := strings.Cut(content[r.file], r.behind)
			if !ok {
				t.Fatalf("%s: %s has no %q", a.what, r.file, r.behind)
			}
			content[r.file] = before + r.behind + r.text + after
			touched[r.file] = true
		}
		for path, text := range a.files {
			place(path, text)
			touched[path] = true
		}
		row := tableRow(architecture, a.what)
		if row == "" {
			t.Errorf("ARCHITECTURE.md has no row for a %s", a.what)
		}
		for path := range touched {
			if !strings.Contains(row, strings.Replace(filepath.Dir(path), "/toy", "/NAME", 1)) {
				t.Errorf("a %s goes to %s, which its row in ARCHITECTURE.md does not name", a.what, path)
			}
		}
		if count := fmt.Sprintf("| %d |", len(touched)); !strings.Contains(row, count) {
			t.Errorf("a %s takes %d files, which its row in ARCHITECTURE.md does not say: %s", a.what, len(touched), row)
		}
	}
	for path, text := range content {
		place(path, text)
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "trocar")
	if err := os.WriteFile(overlayFile, list, 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", overlayFile, "-o", program, "./cmd/trocar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, a := range additions {
		args := slices.Clone(a.args)
		t.Run(a.what, func(t *testing.T) {
			if a.traces {
				need.Root(t)
			}
			if a.source != "" {
				traced := filepath.Join(dir, "traced")
				compile := exec.Command("gcc", "-x", "c", "-", "-o", traced)
				compile.Stdin = strings.NewReader(a.source)
				if out, err := compile.CombinedOutput(); err != nil {
					t.Fatalf("gcc: %v\n%s", err, out)
				}
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "PROGRAM", traced)
				}
			}
			cmd := exec.Command(program, args...)
			out, _ := cmd.CombinedOutput()
			if status := cmd.ProcessState.ExitCode(); status != a.status || !strings.Contains(string(out), a.want) {
				t.Errorf("%s: %s: exit status %d\n%s", a.what, strings.Join(args, " "), status, out)
			}
		})
	}
}

// tableRow is the row of a thing in the table of where to put new ones.
func tableRow(text, what string) string {
	i := slices.IndexFunc(strings.Split(text, "\n"),
		func(line string) bool { return strings.HasPrefix(line, "| "+what+" |") })
	if i < 0 {
		return ""
	}
	return strings.Split(text, "\n")[i]
}
