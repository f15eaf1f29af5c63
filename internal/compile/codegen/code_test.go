package codegen

import (
	"testing"

	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/builtin"
)

// TestCodes: each builtin has code, or the reason why no call of it comes here.
func TestCodes(t *testing.T) {
	for id, c := range newCodes() {
		f := builtin.Get(builtin.ID(id))
		if f == nil {
			continue
		}
		made := c.helper != asm.FnUnspec || c.scalar != nil || c.memory != nil || c.effect != nil
		switch {
		case made && c.none != "" && !f.CompileTime:
			t.Errorf("%v has code, and a reason why there is none: %s", f.ID, c.none)
		case !made && c.none == "":
			t.Errorf("%v has no code", f.ID)
		}
	}
}
