package jvm

import (
	"encoding/binary"
	"slices"
	"strings"

	"trocar/internal/binary/types"
)

// Fields of objects are in the same places in all objects of a class, and of those that extend it, as long as the class
// is loaded. HotSpot has them in what a class file's fields become.

// fieldLists are where classes have their fields: until JDK 20 in an array with six numbers of 16 bits for each, since
// then in a stream of numbers (fieldInfo.hpp).
type fieldLists struct {
	array, count, stream, super uint64
	streamed, known             bool
}

func (v *machine) describeFields(d *described) {
	l := &v.lists
	l.stream, l.streamed = d.fields["InstanceKlass::_fieldinfo_stream"]
	l.array, l.known = d.fields["InstanceKlass::_fields"]
	l.count = d.fields["InstanceKlass::_java_fields_count"]
	l.known = l.streamed || l.known && l.count != 0
	l.super = d.fields["Klass::_super"]
}

// field is one that each object has.
type field struct {
	name, descriptor string
	offset           int
}

// fieldsOf are those that a class declares.
func (v *machine) fieldsOf(klass uint64) (list []field) {
	switch l := &v.lists; {
	case klass == 0 || !l.known:
		return nil
	case l.streamed:
		return v.streamed(klass)
	}
	at, n := v.m.Word(klass+v.lists.array), v.m.Number(klass+v.lists.count, 2)
	const each, static, internal = 6, 8, 0x400
	for i := range min(v.m.Number(at, 4)/each, n) {
		var b [2 * each]byte
		if !v.m.Read(b[:], at+4+2*each*i) {
			return nil
		}
		word := func(i int) uint64 { return uint64(binary.LittleEndian.Uint16(b[2*i:])) }
		if pool := v.m.Word(klass + v.off[constantPool]); word(0)&(static|internal) == 0 {
			list = append(list, field{
				v.constant(pool, word(1)), v.constant(pool, word(2)), int((word(4) | word(5)<<16) >> 2),
			})
		}
	}
	return list
}

func (v *machine) streamed(klass uint64) (list []field) {
	at := v.m.Word(klass + v.lists.stream)
	text := make([]byte, min(v.m.Number(at, 4), 4*maxEntries))
	if !v.m.Read(text, at+4) {
		return nil
	}
	next := func() uint64 { return unsigned5(&text, 1) }
	pool := v.m.Word(klass + v.off[constantPool])
	declared, injected := next(), next()
	for range min(declared+injected, maxEntries) {
		nameAt, typeAt, offset, access, marks := next(), next(), next(), next(), next()
		const initialized, inVM, generic, contended, static = 1, 2, 4, 16, 8
		for _, bit := range []uint64{initialized, generic, contended} {
			if marks&bit != 0 {
				next()
			}
		}
		if marks&inVM == 0 && access&static == 0 {
			list = append(list, field{v.constant(pool, nameAt), v.constant(pool, typeAt), int(offset)})
		}
	}
	return list
}

// fieldOf finds a field that a class declares.
func (v *machine) fieldOf(klass uint64, name, descriptor string) (offset int, ok bool) {
	for _, f := range v.fieldsOf(klass) {
		if f.name == name && f.descriptor == descriptor {
			return f.offset, true
		}
	}
	return 0, false
}

// Bounds of the classes that one extends, and of the fields that they have together.
const (
	mostSupers = 64
	mostFields = 1 << 12
)

// allFields are those of a class and of those that it extends.
func (v *machine) allFields(klass uint64) (list []field) {
	for range mostSupers {
		if klass == 0 {
			break
		}
		if list = append(list, v.fieldsOf(klass)...); len(list) > mostFields {
			return nil
		}
		klass = v.m.Word(klass + v.lists.super)
	}
	return list
}

// classType is what objects of a class are, as far as that is certain: several classes may have a name.
func (v *machine) classType(name string) *types.Type {
	shown := strings.ReplaceAll(name, "/", ".")
	none := &types.Type{Kind: types.Struct, Name: shown, Incomplete: true}
	return types.Stub(none, func() *types.Type {
		if t := v.typed["struct "+name]; t != nil {
			return t
		}
		if v.named == nil {
			v.named = map[string][]uint64{}
			v.classes(func(uint64) bool { return true }, func(k uint64) bool {
				name := v.name(k)
				v.named[name] = append(v.named[name], k)
				return true
			})
		}
		var fields []field
		for i, k := range v.named[name] {
			list := v.allFields(k)
			if i > 0 && !slices.Equal(list, fields) {
				return nil
			}
			fields = list
		}
		t := &types.Type{
			Kind: types.Struct, Name: shown, Size: 8, Align: 8, Source: &types.Source{Form: types.JavaForm, Java: &v.layout},
		}
		v.typed["struct "+name] = t
		for _, f := range fields {
			if _, hidden := t.Field(f.name); hidden || f.offset <= 0 || f.offset > 1<<20 || f.name == "" || f.descriptor == "" {
				continue
			}
			of := v.typeOf(f.descriptor)
			t.Fields = append(t.Fields, types.Field{Name: f.name, Type: of, Offset: f.offset})
			t.Size = max(t.Size, f.offset+of.Size)
		}
		return t
	})
}
