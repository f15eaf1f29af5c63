package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"trocar/internal/need"
)

// TestSoak: a program that checks its results stays right while probes come and go; `make soak` does it for longer.
func TestSoak(t *testing.T) {
	need.Root(t)
	need.Tool(t, "gcc")
	path := tracerFor(t)
	out, err := exec.Command("go", "run", "./soak", "-trocar", path, "-cycles", "6").CombinedOutput()
	if err != nil || !strings.Contains(string(out), " 0 wrong") {
		t.Errorf("%v\n%s", err, out)
	}
}
