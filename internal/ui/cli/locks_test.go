package cli

import (
	"testing"

	"trocar"
	"trocar/internal/ui/flame"
)

// TestWaits: what runtimes say is waited for is told from what is no lock.
func TestWaits(t *testing.T) {
	waits := trocar.Waits()
	if len(waits) < 8 {
		t.Errorf("%d functions", len(waits))
	}
	for _, w := range waits {
		if !flame.Kind(w.Kind) {
			t.Errorf("%s waits for %q, which is not known", w.Function, w.Kind)
		}
	}
}
