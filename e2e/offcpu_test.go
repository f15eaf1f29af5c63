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

// TestOffCPU: how long threads wait is what the program measures by its own clock, within 2 per cent. What that counts
// beside the wait itself is the way there, on which a thread may have to wait for a CPU; that is told apart.
func TestOffCPU(t *testing.T) {
	need.Root(t)
	need.Tool(t, "gcc")
	dir := t.TempDir()
	trocar, program := filepath.Join(dir, "trocar"), filepath.Join(dir, "waits")
	if err := tracer(trocar); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", program, "testdata/waits.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var own, records bytes.Buffer
	for try := 0; try == 0 || try < 5 && bytes.Contains(records.Bytes(), []byte("missing")); try++ {
		own.Reset()
		records.Reset()
		cmd := exec.Command(trocar, "offcpu", "-q", "-f", "json", "--", program)
		cmd.Stdout, cmd.Stderr = &records, &own
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, own.String())
		}
	}
	waits := waitsOf(t, records.Bytes())
	for line := range strings.Lines(own.String()) {
		var name string
		var measured float64
		if n, err := fmt.Sscan(line, &name, &measured); n != 2 {
			t.Fatalf("%q: %v", line, err)
		}
		seen := waits[name]
		if name == "futex" {
			seen -= waits["joined"]
		}
		if least := 0.98*measured - waits["[CPU]"]; seen < least || seen > 1.02*measured {
			t.Errorf("%s: %.0f ns, the program says %.0f", name, seen, measured)
		}
	}
}

// waitsOf are the nanoseconds of waits by system call. A wait for a thread's end is a futex, too: "joined".
func waitsOf(t *testing.T, records []byte) map[string]float64 {
	waits := map[string]float64{}
	for line := range bytes.Lines(records) {
		var r struct {
			Name    string
			Entries []struct {
				Key []struct {
					Why   string
					Stack []struct{ Function string }
				}
				Value struct{ Sum float64 }
			}
		}
		if err := json.Unmarshal(line, &r); err != nil || r.Name != "@offcpu" {
			continue
		}
		for _, e := range r.Entries {
			why, joined := "", false
			for _, part := range e.Key {
				why += part.Why
				for _, f := range part.Stack {
					joined = joined || strings.Contains(f.Function, "join") || strings.Contains(f.Function, "futex_abstimed")
				}
			}
			waits[why] += e.Value.Sum
			if joined {
				waits["joined"] += e.Value.Sum
			}
		}
	}
	if len(waits) == 0 {
		t.Fatalf("no waits in %s", records)
	}
	return waits
}
