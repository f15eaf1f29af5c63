package feature

import "testing"

// TestInfo: each feature is described, and its name stands for it alone.
func TestInfo(t *testing.T) {
	for _, f := range List() {
		info := f.Info()
		if info.Name == "" || info.Use == "" || info.Without == "" {
			t.Errorf("feature %d is not described: %+v", f, info)
		}
		if _, _, err := parse(info.Since); err != nil {
			t.Errorf("%s: %v", info.Name, err)
		}
		if fs, ok := Named(info.Name); !ok || len(fs) != 1 || fs[0] != f {
			t.Errorf("%q stands for %v", info.Name, fs)
		}
	}
	if _, ok := Named("flight"); ok {
		t.Error("there is a feature called flight")
	}
	if fs, ok := Named("uprobe_multi"); !ok || len(fs) != 3 {
		t.Errorf("uprobe_multi stands for %v", fs)
	}
}

func TestOf(t *testing.T) {
	for version, want := range map[string]map[Feature]bool{
		"5.10":       {RingBuf: true, KernelBTF: true, AtomicFetch: false, Loop: false, UprobeMulti: false},
		"5.15.0-91":  {AttachCookie: true, ForEachMapElem: true, Loop: false},
		"6.6.30-rc1": {UprobeMulti: true, UprobeMultiPID: false, SleepableUprobe: true},
		"6.18":       {UprobeSession: true, UprobeMultiPID: true, KtimeTAI: true},
		"7.0":        {UprobeSession: true},
	} {
		set, err := Of(version)
		if err != nil {
			t.Errorf("%s: %v", version, err)
		}
		for f, has := range want {
			if set.Has(f) != has {
				t.Errorf("Linux %s: %v is %v", version, f, set.Has(f))
			}
		}
	}
	for _, version := range []string{"", "6", "six", "6.x", "-1.2"} {
		if _, err := Of(version); err == nil {
			t.Errorf("%q is taken for a version", version)
		}
	}
	if All.Without(Loop).Has(Loop) || !None.With(Loop).Has(Loop) || None.Has(RingBuf) || !All.Has(KernelBTF) {
		t.Error("fixed sets are not what they say")
	}
}
