package session

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/process/target"
)

// canceler cancels when something is written to it.
type canceler func()

func (c canceler) Write(p []byte) (int, error) { c(); return len(p), nil }

// TestInterruptedCommand: with a command all that it has started ends, also what a shell has put in the background,
// where an interrupt is ignored.
func TestInterruptedCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, err := shell(ctx, `sleep 1000 & echo $!; (sleep 1000 & echo $!; echo ready >&2; wait)`, canceler(cancel))
	if err != nil {
		t.Fatal(err)
	}
	pids := strings.Fields(out)
	if len(pids) != 2 {
		t.Fatalf("the command said %q", out)
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		h := target.Hold(target.PID(pid))
		h.Wait(t.Context()) // for ever, if it goes on
		h.Close()
	}
}
