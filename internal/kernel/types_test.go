package kernel

import (
	"testing"

	"trocar/internal/process/probe"
)

// TestProgramTypes: each type of program can be loaded and attached; what is none is refused with a reason.
func TestProgramTypes(t *testing.T) {
	for _, typ := range probe.ProgramTypes() {
		if _, _, err := bpfType(typ); err != nil {
			t.Error(err)
		}
		if w, err := attachWay(typ); err != nil || (w.all == nil) == (w.one == nil) {
			t.Errorf("%s: %v, %v", typ, w, err)
		}
	}
	for _, typ := range []probe.ProgramType{probe.NoProgram, 200} {
		if _, _, err := bpfType(typ); err == nil {
			t.Errorf("%s is loaded", typ)
		}
		if _, err := attachWay(typ); err == nil {
			t.Errorf("%s is attached", typ)
		}
	}
}

// TestPerfKinds: each kind whose programs are of perf events describes its event.
func TestPerfKinds(t *testing.T) {
	for _, k := range probe.Kinds() {
		if k.Traits().Program != probe.PerfProgram {
			continue
		}
		p := &probe.Point{Kind: k, Period: 1e9, WatchLen: 8, WatchMode: "w", Addr: 0x1000}
		if _, err := perfAttr(p); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
	if _, err := perfAttr(&probe.Point{Kind: probe.Uprobe}); err == nil {
		t.Error("a uprobe is a perf event")
	}
}
