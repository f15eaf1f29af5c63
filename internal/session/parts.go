package session

import (
	"bytes"
	"fmt"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/result"
)

// A key with stacks takes kilobytes once its frames have names, and a profile of a machine has thousands. Who only adds
// up what he is given takes them one by one: then their bytes are kept, without the zeros that end them, and the frames
// of one.

// inParts tells whether a map is given so.
func (s *Session) inParts(st *record.Storage) bool {
	if !s.in.InParts || st.Scalar || s.in.Config.MapTables {
		return false
	}
	switch st.Map.Value.Kind {
	case types.Count, types.Sum, types.Stats:
		return holds(st.Map.Key, types.UStack) || holds(st.Map.Key, types.KStack)
	}
	return false
}

// packed are entries as bytes.
type packed struct {
	slabs    [][]byte // entries, none parted: how long a key is without zeros (2 bytes), the key, the value
	key, val int      // sizes
	n        int
}

// add keeps an entry.
func (p *packed) add(key, value []byte) {
	p.key, p.val = len(key), len(value)
	p.n++
	key = bytes.TrimRight(key, "\x00")
	last := len(p.slabs) - 1
	if n := 2 + len(key) + len(value); last < 0 || cap(p.slabs[last])-len(p.slabs[last]) < n {
		p.slabs = append(p.slabs, make([]byte, 0, max(n, slabBytes/8)))
		last++
	}
	slab := append(p.slabs[last], byte(len(key)), byte(len(key)>>8))
	p.slabs[last] = append(append(slab, key...), value...)
}

// each gives the entries until yield has an error; each is good for the call.
func (p *packed) each(yield func(key, value []byte) error) error {
	key := make([]byte, p.key)
	for _, slab := range p.slabs {
		for len(slab) > 0 {
			n := int(slab[0]) | int(slab[1])<<8
			clear(key[copy(key, slab[2:2+n]):])
			slab = slab[2+n:]
			if err := yield(key, slab[:p.val]); err != nil {
				return err
			}
			slab = slab[p.val:]
		}
	}
	return nil
}

// showParts gives a map, and takes what it gives out of it.
func (s *Session) showParts(st *record.Storage, head result.Head, take bool) error {
	read := s.kernel.Maps.Each
	if take {
		read = s.kernel.Maps.Take
	}
	var p packed
	var folded []byte
	err := read(st.Name, func(key, value []byte) error {
		folded = st.Fold(folded[:0], value)
		p.add(key, folded)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the map %s: %w", st.Map.Name, err)
	}
	n := s.names
	n.asking = true
	_ = p.each(func(key, _ []byte) error {
		s.decoder.Value(&result.Value{}, st.Map.Key, key)
		return nil
	})
	n.asking = false
	n.symbols.Answer()
	n.reuses = true
	defer func() { n.reuses, n.room = false, nil }()
	var key result.Value
	m := &result.Map{Name: st.Map.Name, Keyed: true, Kind: mapKind(st.Map.Value), Entries: make([]result.Entry, 1)}
	e := &result.PrintMap{Head: head, Map: m}
	left := p.n
	return p.each(func(k, v []byte) error {
		key, n.room = result.Value{}, n.room[:0]
		s.decoder.Value(&key, st.Map.Key, k)
		m.Entries[0] = result.Entry{Key: &key}
		s.decoder.MapValue(&m.Entries[0].Value, st, [][]byte{v})
		left--
		e.More = left > 0
		err := s.emit(e)
		e.Continued = true
		return err
	})
}
