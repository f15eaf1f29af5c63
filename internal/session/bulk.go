package session

import (
	"encoding/binary"
	"slices"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/order"
	"trocar/result"
)

// Maps may have a million entries, of which each takes a kilobyte once it is decoded. So they are kept as the bytes
// that the kernel gives, sorted by numbers that tell most of their order, and decoded in parts as they are shown.

// partEntries is how many entries are shown at once.
const partEntries = 1 << 12

// slabBytes is about how much of a map's bytes is allocated at once.
const slabBytes = 1 << 20

// bulk is a map as bytes.
type bulk struct {
	s  *Session
	st *record.Storage

	keySize, size int // of an entry's key, and of all of it
	perSlab       int
	n             int // entries
	slabs         [][]byte
	order         []place
	scratch       [2]result.Value
	folded        []byte
}

// place is where an entry is, with the beginning of its order.
type place struct {
	value uint64
	entry uint32
}

// plain tells whether a map can be kept as bytes: its keys and values mean the same whenever they are decoded, without
// anybody being asked, and no two of its keys are shown as one. A table of it needs all entries at once.
func (s *Session) plain(st *record.Storage) bool {
	if st.Scalar || s.in.Config.MapTables || !plainType(st.Map.Key) {
		return false
	}
	switch st.Map.Value.Kind {
	case types.Count, types.Sum, types.Min, types.Max, types.Avg, types.Stats, types.Hist, types.LHist:
		return true
	}
	return plainType(st.Map.Value)
}

func plainType(t *types.Type) bool {
	switch t.Kind {
	case types.Int, types.Bool, types.Enum, types.Pointer, types.String, types.Buffer, types.Inet, types.MAC:
		return true
	case types.Tuple, types.Record:
		return !slices.ContainsFunc(t.Fields, func(f types.Field) bool { return !plainType(f.Type) })
	}
	return false
}

// readBulk reads a map, and takes what it reads out of it.
func (s *Session) readBulk(st *record.Storage, take bool) (*bulk, error) {
	read := s.kernel.Maps.Each
	if take {
		read = s.kernel.Maps.Take
	}
	b := &bulk{s: s, st: st}
	err := read(st.Name, func(key, value []byte) error {
		b.folded = st.Fold(b.folded[:0], value)
		b.add(key, b.folded)
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.sort()
	return b, nil
}

// add keeps an entry.
func (b *bulk) add(key, value []byte) {
	if b.size == 0 {
		b.keySize, b.size = len(key), len(key)+len(value)
		b.perSlab = max(1, slabBytes/b.size)
	}
	if b.n%b.perSlab == 0 {
		b.slabs = append(b.slabs, make([]byte, 0, min(b.perSlab, max(64, b.n))*b.size))
	}
	last := &b.slabs[len(b.slabs)-1]
	*last = append(append(*last, key...), value...)
	b.n++
}

// entry is the bytes of an entry.
func (b *bulk) entry(n uint32) (key, value []byte) {
	at := int(n) % b.perSlab * b.size
	e := b.slabs[int(n)/b.perSlab][at : at+b.size]
	return e[:b.keySize:b.keySize], e[b.keySize:]
}

func (b *bulk) value(v *result.Value, bytes []byte) { b.s.decoder.MapValue(v, b.st, [][]byte{bytes}) }

func (b *bulk) key(v *result.Value, bytes []byte) { b.s.decoder.Value(v, b.st.Map.Key, bytes) }

// keyOrder is the beginning of a key's order: all of it for numbers, eight bytes of a text. Keys that it does not tell
// apart are compared whole.
func keyOrder(t *types.Type, key []byte) uint64 {
	switch t.Kind {
	case types.Int, types.Enum, types.Pointer:
		var n [8]byte
		if t.Size > len(n) || t.Size > len(key) {
			return 0
		}
		copy(n[:], key[:t.Size])
		u := binary.LittleEndian.Uint64(n[:])
		if t.Signed && t.Kind != types.Pointer {
			shift := 64 - 8*t.Size
			return uint64(int64(u<<shift)>>shift) ^ 1<<63
		}
		return u
	case types.String:
		var n [8]byte
		text, _, _ := strings.Cut(string(key[:min(len(key), 8)]), "\x00")
		copy(n[:], text)
		return binary.BigEndian.Uint64(n[:])
	case types.Tuple, types.Record:
		if len(t.Fields) > 0 && t.Fields[0].Offset == 0 {
			return keyOrder(t.Fields[0].Type, key)
		}
	}
	return 0
}

// sort puts the entries in order: by value, then by key.
func (b *bulk) sort() {
	b.order = make([]place, b.n)
	for i := range b.order {
		_, value := b.entry(uint32(i))
		v := &b.scratch[0]
		b.value(v, value)
		b.order[i] = place{v.Order(), uint32(i)}
	}
	order.ByKey(b.order, func(p *place) uint64 { return p.value }, nil)
	for rest := b.order; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].value == rest[0].value {
			n++
		}
		if n > 1 {
			order.ByKey(rest[:n], b.keyOrder, b.compareKeys)
		}
		rest = rest[n:]
	}
}

func (b *bulk) keyOrder(p *place) uint64 {
	key, _ := b.entry(p.entry)
	return keyOrder(b.st.Map.Key, key)
}

func (b *bulk) compareKeys(x, y *place) int {
	for i, p := range [...]*place{x, y} {
		key, _ := b.entry(p.entry)
		b.key(&b.scratch[i], key)
	}
	return b.scratch[0].Compare(&b.scratch[1])
}

// show gives the map in parts: the last top entries (0: all), with values divided by div.
func (b *bulk) show(head result.Head, top int, div uint64) error {
	order := b.order
	if top > 0 && top < len(order) {
		order = order[len(order)-top:]
	}
	m := &result.Map{Name: b.st.Map.Name, Keyed: true, Kind: mapKind(b.st.Map.Value)}
	for first := true; first || len(order) > 0; first = false {
		n := min(len(order), partEntries)
		part := *m
		part.Entries = make([]result.Entry, n)
		keys := make([]result.Value, n)
		for i, p := range order[:n] {
			key, value := b.entry(p.entry)
			b.key(&keys[i], key)
			part.Entries[i].Key = &keys[i]
			b.value(&part.Entries[i].Value, value)
		}
		order = order[n:]
		part.Divide(div)
		if err := b.s.emit(&result.PrintMap{Head: head, Map: &part, Continued: !first, More: len(order) > 0}); err != nil {
			return err
		}
	}
	return nil
}
