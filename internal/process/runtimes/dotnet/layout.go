package dotnet

import (
	"encoding/binary"
	"errors"
	"maps"
	"strings"
	"time"

	"trocar/internal/binary/clr"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
)

// place is where a field is, from the begin of the fields of its object or value.
type place struct {
	clr.Field
	offset int
}

const (
	fieldSize = 16 // FieldDesc: the type's description; number and flags; offset and kind
	// header is what an object has in front of its fields: the address of its type's description.
	header = 8
	// maxClass is where the address of a class's fields is looked for in what the runtime knows of it.
	maxClass = 128
)

// placed are the fields of a type's values, without those of its base, as the runtime has laid them out.
func (w *world) placed(table uint64, im *clr.Image, typ uint32) ([]place, error) {
	t := im.TypeOf(typ)
	s, ok := im.Struct(&t)
	if !ok {
		return nil, errors.New("its declaration cannot be read")
	}
	if len(s.Fields) == 0 {
		return nil, nil
	}
	size := uint64(uint32(w.at(table, w.of.MethodTable.BaseSize)))
	class := w.at(table, w.of.MethodTable.EEClassOrCanonMT)
	if class&1 != 0 { // what it shares its code with
		table = class &^ 1
		class = w.at(table, w.of.MethodTable.EEClassOrCanonMT)
	}
	known := w.bytes(class, maxClass)
	for ; len(known) >= 8; known = known[8:] {
		list := w.bytes(binary.LittleEndian.Uint64(known), uint64(fieldSize*len(s.Fields)))
		if places := matched(list, table, size, s.Fields); places != nil {
			return places, nil
		}
	}
	return nil, errors.New("the runtime has not laid it out yet, or not in a way that is known here")
}

// matched compares what may be the runtime's list of the fields of a type with the type's declaration: each entry must
// be of the type, and the numbers and kinds the same. nil: it is another list.
func matched(list []byte, table, size uint64, fields []clr.Field) []place {
	if list == nil {
		return nil
	}
	places := make([]place, 0, len(fields))
	for i := range fields {
		d := list[fieldSize*i:]
		id, at := binary.LittleEndian.Uint32(d[8:]), binary.LittleEndian.Uint32(d[12:])
		const number, static, offset = 1<<24 - 1, 1 << 24, 1<<27 - 1
		f := &fields[i]
		if binary.LittleEndian.Uint64(d) != table || id&number != f.Row || id&static != 0 || at&offset >= 1<<20 ||
			uint64(at&offset) >= size || !alike(clr.Element(at>>27), f.Type.Element) {
			return nil
		}
		places = append(places, place{*f, int(at & offset)})
	}
	return places
}

// alike tells whether the runtime's kind of a field is one that its declaration may have. All references are of one
// kind, and enums of that of their numbers.
func alike(kind, declared clr.Element) bool {
	switch declared {
	case clr.Boolean, clr.Char, clr.Int8, clr.UInt8, clr.Int16, clr.UInt16, clr.Int32, clr.UInt32, clr.Int64, clr.UInt64,
		clr.Float32, clr.Float64, clr.IntPtr, clr.UIntPtr:
		return kind == declared
	case clr.String, clr.Object, clr.Class, clr.Array, clr.Vector:
		return kind == clr.Class
	}
	return true
}

// loaded is what the runtime knows of a type of an assembly.
func (w *world) loaded(file *objfile.File, typ uint32) (table uint64, err error) {
	m, err := w.moduleOf(file)
	if err != nil {
		return 0, err
	}
	table, ok := w.described(m, typ)
	if !ok {
		return 0, errors.New("the runtime has not loaded the type yet: trace the running process with -p when the program " +
			"has used it")
	}
	return table, nil
}

// openTypes names types of a process, for as long as it lives.
func openTypes(pid int) runtimes.Types {
	w, err := openWorld(target.PID(pid))
	if err != nil {
		return nil
	}
	return w
}

// Name is that of the type of an object, by the address of its description.
func (w *world) Name(table uint64) (name string, ok bool) {
	var err error
	defer objfile.Guard(&err)()
	w.steps = 0
	if name, ok = w.name(table, 0); ok || time.Since(w.looked) < lookEvery {
		return name, ok
	}
	// It may be of an assembly that was loaded since.
	mapped, err := w.pid.Maps()
	if err != nil {
		return "", false
	}
	w.maps, w.looked, w.steps = mapped, time.Now(), 0
	maps.DeleteFunc(w.modules, func(_ uint64, m *module) bool { return m == nil })
	maps.DeleteFunc(w.names, func(_ uint64, name string) bool { return name == "" })
	return w.name(table, 0)
}

// lookEvery is how often at most it is looked which assemblies were loaded since.
const lookEvery = time.Second

// name is that of the type of an object, by the address of its description.
func (w *world) name(table uint64, depth int) (string, bool) {
	w.steps++
	if name, ok := w.names[table]; ok || depth > maxDepth || w.steps > maxMade {
		return name, ok && name != ""
	}
	if len(w.names) > mostNames { // of a hostile process
		clear(w.names)
	}
	name, ok := w.nameOf(table, depth)
	if own, isPlain := plain[name]; isPlain {
		name = own
	}
	if ok = ok && len(name) <= longestName; !ok {
		name = ""
	}
	w.names[table] = name
	return name, ok
}

const (
	mostNames = 1 << 14
	mostRank  = 32 // of an array
	// longestName bounds what names are made of that have others in them several times.
	longestName = 1 << 12
)

func (w *world) nameOf(table uint64, depth int) (name string, ok bool) {
	if table&3 != 0 || table == 0 { // a pointer, or a type parameter
		return "", false
	}
	// What kind of type it is (methodtable.h, of .NET 5 to 10).
	const category, array, vector, generic, counted = 0xc0000, 0x80000, 0x20000, 0x30, 1 << 31
	flags := uint32(w.at(table, w.of.MethodTable.MTFlags))
	if flags&category == array {
		elem, ok := w.name(w.at(table, w.of.MethodTable.PerInstInfo), depth+1)
		if flags&vector != 0 {
			return elem + "[]", ok
		}
		// Each dimension adds 8 bytes to its size, for how many there are and from where on.
		rank := (int(uint32(w.at(table, w.of.MethodTable.BaseSize))) - 24) / 8
		if !ok || rank < 1 || rank > mostRank {
			return "", false
		}
		return elem + "[" + strings.Repeat(",", rank-1) + "]", true
	}
	at, typ := w.declared(table)
	m := w.module(at, nil)
	if m == nil || typ == 0 || typ > m.image.Types() {
		return "", false
	}
	if flags&counted != 0 || flags&generic == 0 {
		own, ok := w.described(m, typ)
		return m.image.TypeName(typ), ok && own == table // else it is not what it was taken for
	}
	// The last of the dictionaries that PerInstInfo leads to begins with the arguments. In front are their numbers.
	all := w.at(table, w.of.MethodTable.PerInstInfo)
	count := w.word(all-8) >> 32 & 0xffff
	if count == 0 || count > maxDepth*maxDepth {
		return "", false
	}
	args := w.word(all + 8*(count-1))
	return m.image.TypeNameOf(typ, func(i int) string {
		if arg, ok := w.name(w.word(args+8*uint64(i)), depth+1); ok {
			return typeText(arg, false)
		}
		return "?"
	}), true
}
