package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"trocar/internal/need"
	"trocar/internal/process/tracefs"
)

func TestScripts(t *testing.T) {
	need.Root(t)
	bin := t.TempDir()
	if err := tracer(filepath.Join(bin, "trocar")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("trocar", filepath.Join(bin, "bpftrace")); err != nil {
		t.Fatal(err)
	}
	fixtures, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{source: fixtures, out: t.TempDir()}
	testscript.Run(t, testscript.Params{
		Dir: "script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("BPFTRACE_COLOR", "never")
			r := &running{processes: map[string]*process{}}
			env.Values[runningKey{}] = r
			env.Defer(r.end)
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fixture": b.fixture,
			"status":  status,
			"start":   start,
			"attach":  attach,
			"go":      goOn,
			"await":   await,
			"finish":  finish,
			"tracefs": traceFile,
		},
		RequireUniqueNames: true,
	})
}

// tracer puts the tracer to be tested at a path: TROCAR_E2E_TRACER, or one that is built now. Other tracers show whether a
// case asks for something that is only ours.
func tracer(path string) error {
	if other := os.Getenv("TROCAR_E2E_TRACER"); other != "" {
		return os.Symlink(other, path)
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "../cmd/trocar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building trocar: %w\n%s", err, out)
	}
	return nil
}

func traceFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tracefs FILE")
	}
	files, err := tracefs.Open()
	ts.Check(err)
	defer files.Close()
	text, err := files.ReadFile(args[0])
	ts.Check(err)
	_, err = ts.Stdout().Write(text)
	ts.Check(err)
}

func condition(cond string) (bool, error) {
	if tool, ok := strings.CutPrefix(cond, "tool:"); ok {
		return need.HasTool(tool)
	}
	if path, ok := strings.CutPrefix(cond, "file:"); ok {
		_, err := os.Stat(path)
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}
