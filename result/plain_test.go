package result

import (
	"bytes"
	"testing"
)

// TestPlain: what is passed over is printable ASCII, and no more than seven bytes of it are left.
func TestPlain(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			b := bytes.Repeat([]byte{'~'}, 20)
			b[at] = byte(c)
			want := len(b)
			if c < ' ' || c > '~' {
				want = at
			}
			if got := plain(b); got != want/8*8 {
				t.Errorf("%#x at %d: %d, want %d", c, at, got, want/8*8)
			}
		}
	}
	if got := plain([]byte(" !\x7f\x80\x1f~~~")); got != 0 {
		t.Error(got)
	}
}
