package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// wait is an entry of a map of waits: in nanoseconds, by what they are for and the stack that waits.
type wait struct {
	Key []struct {
		Kind, Why string
		Stack     []struct{ Function string }
	}
	Value struct{ Sum float64 }
}

// waited asks a command how long a program waits, which writes what it measures itself, in lines of a name and
// nanoseconds; missing tells that the kernel has passed over waits.
func waited(t *testing.T, trocar, command, program string) (measured map[string]float64, waits []wait, missing bool) {
	t.Helper()
	var own, records bytes.Buffer
	cmd := exec.Command(trocar, command, "-q", "-f", "json", "--", program)
	cmd.Stdout, cmd.Stderr = &records, &own
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, own.String())
	}
	measured = map[string]float64{}
	for line := range strings.Lines(own.String()) {
		var name string
		var ns float64
		if n, _ := fmt.Sscan(line, &name, &ns); n == 2 { // else it is a message of the tracer
			measured[name] = ns
		}
	}
	for line := range bytes.Lines(records.Bytes()) {
		var r struct {
			Name    string
			Entries []wait
		}
		if err := json.Unmarshal(line, &r); err == nil && r.Name == "@"+command {
			waits = append(waits, r.Entries...)
		}
	}
	if len(waits) == 0 {
		t.Fatalf("no waits in %s", records.String())
	}
	return measured, waits, bytes.Contains(records.Bytes(), []byte("missing"))
}
