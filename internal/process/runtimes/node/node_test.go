package node

import (
	"strings"
	"testing"
)

func TestNamed(t *testing.T) {
	for line, want := range map[string]bool{
		"node app.js":                                  false,
		"node --perf-basic-prof app.js":                true,
		"node --perf_basic_prof app.js":                true,
		"node --perf-basic-prof-only-functions app.js": true,
		"node --no-perf-basic-prof app.js":             false,
	} {
		if got := named(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestProgram(t *testing.T) {
	for name, want := range map[string]bool{
		"node": true, "nodejs": true, "node20": true, "libnode.so.115": true, "nodeagent": false, "libnodes.so": false,
	} {
		if got := program().MatchString(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
