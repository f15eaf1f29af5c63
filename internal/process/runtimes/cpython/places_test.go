package cpython

import (
	"testing"

	"trocar/internal/binary/types"
)

// Where results are: behind the variables in the frame, or among the constants, as far as one instruction tells which.
func TestResults(t *testing.T) {
	in := &Interpreter{lay: version(12), Frame: 3}
	f := &Function{Variables: 4, Constants: 256}
	if p := in.Returned(f); p.Kind != types.InMemory || p.Reg != 3 || p.Offset != 72+8*4 {
		t.Errorf("%+v", p)
	}
	if p := in.Constant(f); p.Kind != types.InMemory || len(p.Ops) == 0 {
		t.Errorf("%+v", p)
	}
	f.Constants++
	if p := in.Constant(f); p.Kind != types.Unavailable {
		t.Errorf("%+v", p)
	}
	for minor, want := range map[int]bool{11: true, 12: false} { // which has instructions that return constants
		if got := (&Interpreter{lay: version(minor), Returns: []uint64{1}}).Ends(); got != want {
			t.Errorf("3.%d: %t", minor, got)
		}
	}
}
