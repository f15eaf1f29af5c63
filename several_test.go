package trocar

import (
	"errors"
	"testing"

	"trocar/internal/process/probe"
)

// TestSeveral: what goes by addresses stays with its process, and is refused where several are named.
func TestSeveral(t *testing.T) {
	function := &probe.Point{Kind: probe.Python, PID: 7, Interpreted: &probe.Interpreted{}}
	if err := clearPIDs([]*probe.Point{function}, true); !errors.Is(err, ErrRequest) {
		t.Errorf("a function of Python, of several processes: %v", err)
	}
	if err := clearPIDs([]*probe.Point{function}, false); err != nil || function.PID != 0 {
		t.Errorf("a function of Python, and of forks: process %d, %v", function.PID, err)
	}
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
