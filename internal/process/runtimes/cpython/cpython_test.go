package cpython

import (
	"strings"
	"testing"
)

func TestAsked(t *testing.T) {
	for line, want := range map[string]bool{
		"python3 x.py": false, "python3 -X perf x.py": true, "python3 -Xperf x.py": true, "python3 -X dev x.py": false,
		"python3 -X dev -X perf x.py": true, "python3 -X": false,
	} {
		if got := asked(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestAbout(t *testing.T) {
	for _, c := range []struct {
		p    process
		want string // of what stacks lack
	}{
		{process{minor: 11}, "3.12"},
		{process{minor: 11, names: true}, "3.12"},
		{process{minor: 12}, "-X perf"},
		{process{minor: 12, names: true}, ""},
		{process{minor: 11, found: true}, ""},
	} {
		if got := c.p.About().Stacks; (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c.p, got)
		}
	}
}

func TestProgram(t *testing.T) {
	for name, want := range map[string]bool{
		"python3.11": true, "libpython3.12.so.1.0": true, "python3": false, "python3.11-config": false, "xpython3.11": false,
	} {
		if got := program().MatchString(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
