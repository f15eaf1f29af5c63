package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/need"
)

// TestLocks compares the waits for locks with what programs measure themselves.
func TestLocks(t *testing.T) {
	need.Root(t)
	dir, trocar := t.TempDir(), tracerFor(t)
	for _, c := range []struct{ name, tool, build string }{
		{"C", "gcc", "gcc -O2 -g -pthread -o OUT testdata/locks.c"},
		{"Go", "go", "go build -o OUT testdata/golocks.go"},
		{"Go stripped", "go", "go build -ldflags=-s -o OUT testdata/golocks.go"},
		{"Rust", "rustc", "rustc -O -g --edition 2021 -o OUT testdata/locks.rs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			need.Tool(t, c.tool)
			program := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-"))
			argv := strings.Fields(strings.ReplaceAll(c.build, "OUT", program))
			if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			measured, entries, _ := waited(t, trocar, "locks", program)
			waits := map[string]float64{}
			for _, e := range entries {
				for _, part := range e.Key {
					waits[part.Kind] += e.Value.Sum
				}
			}
			for name, ns := range measured {
				if seen := waits[name]; seen < 0.98*ns || seen > 1.02*ns {
					t.Errorf("%s: %.0f ns, the program says %.0f", name, seen, ns)
				}
			}
			if len(measured) != 2 {
				t.Errorf("the program says %v", measured)
			}
			for kind := range waits {
				if kind != "mutex" && kind != "rwlock" && kind != "internal lock" {
					t.Errorf("%s is shown", kind)
				}
			}
		})
	}
}
