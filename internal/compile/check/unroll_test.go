package check

import "testing"

// TestUnrolledTogether: loops in loops share the limit of what they make together.
func TestUnrolledTogether(t *testing.T) {
	const want = "unroll makes more than 200000 statements"
	expectError(t, `begin { unroll(100) { unroll(100) { unroll(100) { print(1) } } } }`, want)
	expectError(t, `begin { unroll(100) { unroll(100) { unroll(100) { unroll(100) { unroll(100) { } } } } } }`, want)
	expectError(t, `begin { unroll(100) { unroll(100) { if (pid) { unroll(100) { print(1); print(2) } } } } }`, want)
	expectTypes(t, `begin { unroll(100) { unroll(100) { @a = 1 } } }`, map[string]string{"@a": "int8"})
}
