package session

import (
	"bytes"
	"testing"
)

// TestPacked: entries come back as they were put in, also such as end in zeros or are nothing else.
func TestPacked(t *testing.T) {
	t.Parallel()
	var p packed
	keys := [][]byte{make([]byte, 3000), bytes.Repeat([]byte{7}, 3000), append([]byte{1, 0, 2}, make([]byte, 2997)...)}
	const rounds = 100 // more than a slab
	for i := range rounds * len(keys) {
		p.add(keys[i%len(keys)], []byte{byte(i), 0})
	}
	if len(p.slabs) < 2 || p.n != rounds*len(keys) {
		t.Errorf("%d entries in %d slabs", p.n, len(p.slabs))
	}
	i := 0
	err := p.each(func(key, value []byte) error {
		if !bytes.Equal(key, keys[i%len(keys)]) || !bytes.Equal(value, []byte{byte(i), 0}) {
			t.Fatalf("entry %d is not what it was", i)
		}
		i++
		return nil
	})
	if err != nil || i != p.n {
		t.Errorf("%d entries came: %v", i, err)
	}
}
