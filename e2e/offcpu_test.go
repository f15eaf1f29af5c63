package e2e

import (
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
	trocar, program := tracerFor(t), filepath.Join(t.TempDir(), "waits")
	build := exec.Command("gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", program, "testdata/waits.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	measured, entries, missing := waited(t, trocar, "offcpu", program)
	for try := 1; missing && try < 5; try++ {
		measured, entries, missing = waited(t, trocar, "offcpu", program)
	}
	waits := callsOf(entries)
	for name, ns := range measured {
		seen := waits[name]
		if name == "futex" {
			seen -= waits["joined"]
		}
		if least := 0.98*ns - waits["[CPU]"]; seen < least || seen > 1.02*ns {
			t.Errorf("%s: %.0f ns, the program says %.0f", name, seen, ns)
		}
	}
	if len(measured) != 3 {
		t.Errorf("the program says %v", measured)
	}
}

// callsOf are the nanoseconds of waits by system call. A wait for a thread's end is a futex, too: "joined".
func callsOf(entries []wait) map[string]float64 {
	waits := map[string]float64{}
	for _, e := range entries {
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
	return waits
}
