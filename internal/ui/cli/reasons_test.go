package cli

import (
	"fmt"
	"strings"
	"testing"

	"trocar"
	"trocar/result"
)

// TestReasons: of many warnings that say the same of different functions one is shown, with their number.
func TestReasons(t *testing.T) {
	var all []trocar.Diagnostic
	add := func(format string, args ...any) {
		all = append(all, trocar.Diagnostic{Severity: result.Warning, Text: fmt.Sprintf(format, args...)})
	}
	add("something else")
	if got := byReason(all); len(got) != 1 || got[0].Text != "something else" {
		t.Errorf("%v", got)
	}
	for i := range 20 {
		add("the %d inlined instances of f%d do not return: only out-of-line calls are seen", i, i)
	}
	add("the returns of 9 of the functions are left out, like that of g: it never returns")
	got := byReason(all)
	if len(got) != 3 || !strings.HasSuffix(got[1].Text, "seen (19 more like this; -v prints each)") ||
		strings.Contains(got[2].Text, "more") {
		t.Errorf("%v", got)
	}
}
