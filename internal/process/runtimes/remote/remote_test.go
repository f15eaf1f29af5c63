package remote

import (
	"bytes"
	"testing"
)

// TestRead: words within, across and at the end of what can be read, and none behind it.
func TestRead(t *testing.T) {
	data := make([]byte, 2*page+100)
	for i := range data {
		data[i] = byte(i>>8) | 1
	}
	copy(data[2*page+60:], "a text of some length\x00")
	m := New(bytes.NewReader(data), Seconds)
	for _, at := range []uint64{0, 13, page - 3, 2*page - 1, 2*page + 92} {
		var b [8]byte
		if !m.Read(b[:], at) || !bytes.Equal(b[:], data[at:at+8]) {
			t.Errorf("%#x: %x", at, b)
		}
	}
	for _, at := range []uint64{2*page + 93, 1 << 30, 1 << 60, 1<<64 - 4} {
		if n := m.Word(at); n != 0 {
			t.Errorf("%#x: %#x", at, n)
		}
	}
	if s := m.Text(2*page + 60); s != "a text of some length" {
		t.Errorf("%q", s)
	}
}

// TestBounds: what is read is bounded, and what is kept as well.
func TestBounds(t *testing.T) {
	m := New(endless{}, 1000)
	n := 0
	for n = 0; !m.Cut() && n < 1<<20; n++ {
		m.Word(uint64(n) * page)
	}
	if n > 1000 || m.Word(0) != 0 {
		t.Errorf("%d reads", n)
	}
	if m.Forget(); m.Cut() || m.Word(8) != 0x0101010101010101 {
		t.Error("nothing is read any more")
	}
	m = New(endless{}, Seconds)
	for n := range uint64(2 * maxPages) {
		m.Word(n * page)
	}
	if len(m.pages) > maxPages {
		t.Errorf("%d pages are kept", len(m.pages))
	}
}

type endless struct{}

func (endless) ReadAt(b []byte, _ int64) (int, error) {
	for i := range b {
		b[i] = 1
	}
	return len(b), nil
}
