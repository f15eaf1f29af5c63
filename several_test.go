package trocar

import (
	"errors"
	"testing"

	"trocar/internal/process/probe"
)

// TestSeveral: what goes by addresses stays with its process, and is refused where several are named.
func TestSeveral(t *testing.T) {
	for _, kind := range probe.Kinds() {
		own := kind == probe.Watchpoint || kind == probe.Method || kind == probe.MethodReturn
		p := &probe.Point{Kind: kind, PID: 7}
		if err := clearPIDs([]*probe.Point{p}, false); err != nil || (p.PID == 7) != own {
			t.Errorf("%s: process %d, %v", kind, p.PID, err)
		}
		p.PID = 7
		if err := clearPIDs([]*probe.Point{p}, true); errors.Is(err, ErrRequest) != own {
			t.Errorf("%s of several processes: %v", kind, err)
		}
	}
}
