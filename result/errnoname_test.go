package result

import "testing"

func TestErrnoName(t *testing.T) {
	for n, want := range map[int]string{
		2: "ENOENT", 11: "EAGAIN", 35: "EDEADLK", 133: "EHWPOISON", 0: "", 41: "", -1: "",
		4095: "",
	} {
		if got := ErrnoName(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
