package codegen_test

import (
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/codegen"
	"trocar/internal/compile/feature"
	"trocar/internal/process/probe"
)

// TestKinds compiles an action for points of each kind, which gives programs of the kind's type, and refuses what is
// none.
func TestKinds(t *testing.T) {
	opts := codegen.Options{Features: feature.All, Arch: abi.AMD64, CPUs: 2}
	count := &check.Map{Name: "@", Value: types.AggOf(types.Count, false), Max: 1}
	body := &check.Aggregate{Map: count}
	for _, k := range probe.Kinds() {
		out, err := compile(tree{}.program(points(k, 2), []*check.Map{count}, nil, body), opts)
		if err != nil {
			t.Errorf("%s: %v", k, err)
			continue
		}
		for _, p := range out.Programs {
			if p.Type != k.Traits().Program {
				t.Errorf("%s has a program of type %s", k, p.Type)
			}
		}
	}
	_, err := compile(tree{}.program(points(probe.Kind(200), 1), []*check.Map{count}, nil, body), opts)
	if err == nil || !strings.Contains(err.Error(), "kind 200") {
		t.Errorf("what is no kind of probe: %v", err)
	}
}

// TestFramePointers: that user stacks are walked by frame pointers is noted with the reason, of whatever name they are.
func TestFramePointers(t *testing.T) {
	for _, c := range []struct {
		features feature.Fixed
		name     string
		kind     types.Kind
		want     string
	}{
		{feature.None, "ustack", types.UStack, "this kernel has no walks of user stacks by tables (Linux 6.1)"},
		{feature.None, "dw_ustack", types.UStack, "this kernel has no walks of user stacks by tables (Linux 6.1)"},
		{feature.None, "kstack", types.KStack, ""},
		{feature.All, "ustack", types.UStack, "with what this kernel tells of its structures"},
	} {
		opts := codegen.Options{Features: c.features, Arch: abi.AMD64, CPUs: 2}
		stack := tree{}.call(c.name, types.StackType(c.kind, 3, types.StackDefault))
		out, err := compile(tree{}.program(points(probe.Uprobe, 1), nil, nil, tree{}.print(stack)), opts)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := out.FramePointers; !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestPointTold: a program that asks which of its points was hit is made once for each of them, unless the kernel tells
// it.
func TestPointTold(t *testing.T) {
	opts := codegen.Options{Features: feature.All, Arch: abi.AMD64, CPUs: 2}
	for _, k := range probe.Kinds() {
		name := tree{}.call("probe", types.StringOf(64))
		out, err := compile(tree{}.program(points(k, 3), nil, nil, tree{}.print(name)), opts)
		if err != nil {
			t.Errorf("%s: %v", k, err)
			continue
		}
		programs := 0
		for _, p := range out.Programs {
			if len(p.Points) > 1 {
				programs += len(p.Points)
			} else {
				programs++
			}
			if len(p.Points) > 1 && (!p.Cookied || !p.Type.HasCookie()) {
				t.Errorf("%s: a program of %d points does not know which was hit", k, len(p.Points))
			}
		}
		if programs != 3 {
			t.Errorf("%s: programs for %d points of 3", k, programs)
		}
	}
}
