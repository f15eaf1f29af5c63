package record_test

import (
	"testing"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/result"
)

// classes gives the classes of objects by the distance of their virtual table.
type classes struct {
	resolver
	at map[uint64]*types.Type
}

func (c classes) DynamicType(point int, delta uint64) (*types.Type, bool) {
	t := c.at[delta]
	return t, point == 0 && t != nil
}

func TestObject(t *testing.T) {
	cpp := &types.Source{Lang: types.CPlusPlus}
	class := func(name string, size int, fields ...types.Field) *types.Type {
		return &types.Type{Kind: types.Struct, Name: name, Size: size, Align: 8, Fields: fields, Source: cpp}
	}
	table := types.Field{Name: "_vptr.Base", Type: types.PointerTo(types.TVoid, types.User), Artificial: true}
	base := class("Base", 16, table, types.Field{Name: "id", Type: types.TInt64, Offset: 8})
	other := class("Other", 8, table)
	derived := class("Derived", 48, types.Field{Type: base, Base: true}, types.Field{Type: other, Base: true, Offset: 16},
		types.Field{Name: "n", Type: types.TInt64, Offset: 24}, types.Field{Name: "far", Type: types.TInt64, Offset: 32},
		types.Field{Name: "high", Type: types.TInt64, Offset: 40})
	shown := class("Base", 8, types.Field{Name: "id", Type: types.TInt64})
	none := class("Other", 8)
	d := record.Decoder{Trailer: "..", Resolver: classes{at: map[uint64]*types.Type{
		1: derived, 2: base, 3: {Name: "Stranger"}, 4: class("Alike", 32, types.Field{Name: "x", Type: types.TInt64}),
	}}}
	object := record.ObjectOf(base, shown, 64)
	second := record.ObjectOf(other, none, 64)
	head := func(delta, kept, top int) []byte { return words(delta, kept<<32|1, top, 0x1000) }
	raw := words(0, -1, 0, 5, 6, 7, 0, 0)
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	for _, c := range []struct {
		t    *types.Type
		b    []byte
		want string
	}{
		{object, join(head(1, 64, 0), raw, words(11)), "Derived{ .id = 11, .n = 5, .far = 6, .high = 7 }"},
		{object, join(head(1, 40, 0), raw, words(11)), "Derived{ .id = 11, .n = 5, .far = 6, .high = <not read> }"},
		{object, join(head(2, 64, 0), raw, words(11)), "{ .id = 11 }"},
		{object, join(head(3, 64, 0), raw, words(11)), "Stranger{ .id = 11 }"},
		{object, join(head(4, 64, 0), raw, words(11)), "Alike{ .id = 11 }"}, // which has no such base
		{object, join(head(9, 64, 0), raw, words(11)), "{ .id = 11 }"},
		{object, join(words(1, 0, 0, 0), raw, words(11)), "{ .id = 11 }"},
		{second, join(head(1, 64, -16), raw), "Derived{ .id = -1, .n = 5, .far = 6, .high = 7 }"},
		{second, join(head(1, 64, 0), raw), "Derived{}"}, // it is not there
	} {
		var v result.Value
		b := make([]byte, c.t.Size)
		copy(b, c.b)
		d.Value(&v, c.t, b)
		if v.String() != c.want {
			t.Errorf("%s, want %s", v.String(), c.want)
		}
	}
	if !base.Polymorphic() || !derived.Polymorphic() || shown.Polymorphic() {
		t.Error("classes with virtual functions are not told")
	}
}
