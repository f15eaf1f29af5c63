package types

// MapLayout is where a map of Go keeps its entries, by the debug information's description of its header. From Go 1.24
// on it is a table of groups of eight (internal/runtime/maps of the Go source), before that of buckets of eight
// (runtime/map.go).
type MapLayout struct {
	Key, Value *Type
	// IndirectKey and IndirectValue tell that there is a pointer instead, as there is for what is larger than 128 bytes.
	IndirectKey, IndirectValue bool

	Used  int // offset of the number of entries
	Swiss bool
	// Dir and DirLen are those of the pointer to the tables and of their number; if that is 0 the pointer is to the only
	// group.
	Dir, DirLen int
	// In a table: its own index in the directory, which may have it several times, and its groups: pointer, number - 1.
	Index, Groups, Mask int

	// Log is that of the logarithm of the number of buckets, Buckets and Old those of pointers to them; before a map has
	// grown wholly there are old ones, half as many, or as many with the bit SameSize in Flags.
	Log, Flags, Buckets, Old int

	// In a group or bucket: its size, eight bytes of which each tells whether an entry is there, the first key and the
	// first value, the distance from each to the next, and the pointer to a further bucket.
	Size, Control, Keys, Values, KeyStep, ValueStep, Next int
}

// Of a byte of an older map's bucket: those below are of places without an entry.
const MapMinTop = 5

// MapSameSize is the bit of an older map's flags that is set while it is replaced by one that is no larger.
const MapSameSize = 8

// MapLayout tells how to reach the entries of a map of Go.
func (t *Type) MapLayout() (m MapLayout, ok bool) {
	if t.Form() != MapForm || t.Kind != Pointer || t.Elem == nil || t.Source.Key == nil || t.Source.Item == nil {
		return m, false
	}
	m.Key, m.Value = t.Source.Key.Complete(), t.Source.Item.Complete()
	f := finder{ok: m.Key.Size >= 0 && m.Value.Size >= 0 && !m.Key.Incomplete && !m.Value.Incomplete}
	h := t.Elem.Complete()
	if _, swiss := h.Field("dirPtr"); swiss {
		m.Swiss = true
		m.Used, m.Dir, m.DirLen = f.at(h, "used"), f.at(h, "dirPtr"), f.at(h, "dirLen")
		table := f.target(f.target(f.typ(h, "dirPtr")))
		m.Index, m.Groups, m.Mask = f.at(table, "index"), f.at(table, "groups", "data"), f.at(table, "groups", "lengthMask")
		group := f.target(f.typ(table, "groups", "data"))
		slots := f.typ(group, "slots")
		if !f.ok || slots.Kind != Array || slots.Len != 8 {
			return m, false
		}
		slot := slots.Elem.Complete()
		m.Size, m.Control = group.Size, f.at(group, "ctrl")
		first := f.at(group, "slots")
		m.Keys, m.Values = first+f.at(slot, "key"), first+f.at(slot, "elem")
		m.KeyStep, m.ValueStep = slot.Size, slot.Size
		m.IndirectKey, m.IndirectValue = f.indirect(f.typ(slot, "key"), m.Key), f.indirect(f.typ(slot, "elem"), m.Value)
		return m, f.ok && m.Size > 0
	}
	m.Used, m.Log, m.Flags, m.Buckets, m.Old = f.at(h, "count"), f.at(h, "B"), f.at(h, "flags"), f.at(h, "buckets"),
		f.at(h, "oldbuckets")
	bucket := f.target(f.typ(h, "buckets"))
	keys, values := f.typ(bucket, "keys"), f.typ(bucket, "values")
	if !f.ok || keys.Kind != Array || values.Kind != Array || keys.Len != 8 || values.Len != 8 {
		return m, false
	}
	m.Size, m.Control, m.Next = bucket.Size, f.at(bucket, "tophash"), f.at(bucket, "overflow")
	m.Keys, m.Values = f.at(bucket, "keys"), f.at(bucket, "values")
	m.KeyStep, m.ValueStep = keys.Elem.Complete().Size, values.Elem.Complete().Size
	m.IndirectKey, m.IndirectValue = f.indirect(keys.Elem, m.Key), f.indirect(values.Elem, m.Value)
	return m, f.ok && m.Size > 0
}

// finder follows names; ok is false once one is not there.
type finder struct{ ok bool }

func (f *finder) field(t *Type, names ...string) Field {
	if !f.ok || t == nil {
		f.ok = false
		return Field{Type: TVoid}
	}
	m, ok := t.member(names...)
	if !ok || m.Type == nil {
		f.ok = false
		return Field{Type: TVoid}
	}
	return m
}

func (f *finder) at(t *Type, names ...string) int { return f.field(t, names...).Offset }

func (f *finder) typ(t *Type, names ...string) *Type { return f.field(t, names...).Type.Complete() }

func (f *finder) target(t *Type) *Type {
	if !f.ok || t.Kind != Pointer || t.Elem == nil {
		f.ok = false
		return TVoid
	}
	return t.Elem.Complete()
}

// indirect tells whether a table has pointers in place of values.
func (f *finder) indirect(has, means *Type) bool {
	has = has.Complete()
	if has.Size == means.Size {
		return false
	}
	if has.Kind != Pointer {
		f.ok = false
	}
	return true
}

// ChannelLayout gives the offsets of length, capacity and whether it is closed in a channel's header.
func (t *Type) ChannelLayout() (at [3]int, ok bool) {
	if t.Elem == nil {
		return at, false
	}
	h := t.Elem.Complete()
	for i, name := range []string{"qcount", "dataqsiz", "closed"} {
		f, found := h.Field(name)
		if !found {
			return at, false
		}
		at[i] = f.Offset
	}
	return at, true
}
