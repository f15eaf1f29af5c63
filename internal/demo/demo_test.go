package demo

import (
	"context"
	"testing"
	"time"
)

// TestWorkloadEnds: with its context, and not before.
func TestWorkloadEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		Workload(ctx, time.Millisecond)
		ended <- ctx.Err()
	}()
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ended by itself")
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// TestOrderCooks: the functions come back whatever the amount of work, and leave the stack as it was.
func TestOrderCooks(t *testing.T) {
	for _, work := range []int64{0, 1, 2, 100_000} {
		for _, d := range menu() {
			if d.name[len(d.name)-1] != 0 {
				t.Errorf("%q is no C string", d.name)
			}
			name := []byte(d.name)
			order(1, &name[0], d.cents, work)
			if string(name) != d.name {
				t.Errorf("the name of %q was changed to %q", d.name, name)
			}
		}
	}
}
