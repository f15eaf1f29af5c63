package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/need"
)

// TestLocks compares the waits for locks with what programs measure themselves.
func TestLocks(t *testing.T) {
	need.Root(t)
	dir := t.TempDir()
	trocar := filepath.Join(dir, "trocar")
	if err := tracer(trocar); err != nil {
		t.Fatal(err)
	}
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
			var own, records bytes.Buffer
			cmd := exec.Command(trocar, "locks", "-q", "-f", "json", "--", program)
			cmd.Stdout, cmd.Stderr = &records, &own
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, own.String())
			}
			waits := locksOf(t, records.Bytes())
			lines := 0
			for line := range strings.Lines(own.String()) {
				var name string
				var measured float64
				if n, _ := fmt.Sscan(line, &name, &measured); n != 2 {
					continue // a message of the tracer
				}
				lines++
				if seen := waits[name]; seen < 0.98*measured || seen > 1.02*measured {
					t.Errorf("%s: %.0f ns, the program says %.0f", name, seen, measured)
				}
			}
			if lines != 2 {
				t.Errorf("the program says %q", own.String())
			}
			for kind := range waits {
				if kind != "mutex" && kind != "rwlock" && kind != "internal lock" {
					t.Errorf("%s is shown", kind)
				}
			}
		})
	}
}

// locksOf are the nanoseconds of waits by kind of lock.
func locksOf(t *testing.T, records []byte) map[string]float64 {
	waits := map[string]float64{}
	for line := range bytes.Lines(records) {
		var r struct {
			Name    string
			Entries []struct {
				Key   []struct{ Kind string }
				Value struct{ Sum float64 }
			}
		}
		if err := json.Unmarshal(line, &r); err != nil || r.Name != "@locks" {
			continue
		}
		for _, e := range r.Entries {
			for _, part := range e.Key {
				waits[part.Kind] += e.Value.Sum
			}
		}
	}
	return waits
}
