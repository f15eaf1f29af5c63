package match

import "testing"

// Instructions begin at any address; data is watched where its length allows.
func TestWatchedAlignment(t *testing.T) {
	for script, fine := range map[string]bool{
		"watchpoint:0x10000001:8:x {}": true, "watchpoint:0x10000001:1:x {}": true, "watchpoint:0x10000001:8:w {}": false,
	} {
		points, r := find(t, script, Options{})
		if got := r.Diags.Errors() == 0 && len(points) == 1; got != fine {
			t.Errorf("%s: %t\n%s", script, got, messages(r))
		}
	}
}
