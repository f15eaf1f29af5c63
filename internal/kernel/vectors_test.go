package kernel

import (
	"os"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/btf"
	"trocar/internal/binary/code"
	"trocar/internal/compile/feature"
	"trocar/internal/need"
)

// TestVectorTrial runs programs like the trial's with probes on instructions that every kernel steps over.
func TestVectorTrial(t *testing.T) {
	need.Root(t)
	if host, err := abi.Host(); err != nil || code.VectorTrial(host) == nil {
		t.Skip("this CPU has no such instructions")
	}
	plain := code.NewTrial(code.Undumpable, "*660fefff", "*c5f858c1", "*39c0"+code.Sure, "*"+code.Leave)
	if !stepsRight(plain) {
		t.Error("instructions that every kernel steps over are not stepped over")
	}
	wrong := code.NewTrial(code.Undumpable, "*4839e0"+code.Sure, code.Leave)
	if stepsRight(wrong) {
		t.Error("a wrong result is taken for a right one")
	}
	missed := code.NewTrial(code.Undumpable, "*"+code.Leave, "*90")
	if stepsRight(missed) {
		t.Error("a probe that is not hit is taken for a right one")
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil && strings.Contains(string(info), " avx2 ") &&
		strings.Contains(string(info), " fma ") {
		host, _ := abi.Host()
		path, done, err := inMemory(code.VectorTrial(host).File)
		if err != nil || !endsWell(path) {
			t.Errorf("the trial does not end well without probes: %v", err)
		}
		done()
	}
	t.Logf("vectors are stepped rightly: %v", NewFeatures().VectorsStepped())
	if AssumedFeatures(btf.Kernel(), feature.All).VectorsStepped() {
		t.Error("of another kernel it is not known")
	}
}
