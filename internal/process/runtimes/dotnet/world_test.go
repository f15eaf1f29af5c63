package dotnet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"trocar/internal/binary/clr"
)

// ram is the memory of a process: some bytes from address 0 on.
type ram struct{ *bytes.Reader }

func (ram) Close() error { return nil }

// description is that of .NET 9.0, cut to what is used, with one member as later versions may write it.
const description = `{"version":0,"baseline":"empty","types":{"Object":{"m_pMethTab":0},"Module":{"Base":288,"Path":[272,"pointer"],
"TypeDefToMethodTableMap":624},"ModuleLookupMap":{"TableData":8},"MethodTable":{"MTFlags":0,"BaseSize":4,"MTFlags2":8,
"EEClassOrCanonMT":40,"Module":24,"ParentMethodTable":16,"PerInstInfo":48}}}`

// worldOf is a process with that memory, which has loaded one assembly.
func worldOf(t testing.TB, memory []byte, im *clr.Image) *world {
	t.Helper()
	w := &world{mem: ram{bytes.NewReader(memory)}, modules: map[uint64]*module{}, names: map[uint64]string{}}
	if _, err := w.structures([]byte(description)); err != nil {
		t.Fatal(err)
	}
	w.modules[moduleAt] = &module{addr: moduleAt, types: typesAt, image: im}
	return w
}

const tableAt, moduleAt, typesAt, classAt, listAt = 0x1000, 0x2000, 0x3000, 0x4000, 0x5000

// loaded is a memory in which a type is loaded that has one field.
func loaded(typ, field uint32, kind clr.Element) []byte {
	b := make([]byte, 0x6000)
	word := binary.LittleEndian.PutUint64
	word(b[tableAt:], 24<<32)               // size of its objects
	word(b[tableAt+8:], uint64(typ)<<8)     // number
	word(b[tableAt+24:], moduleAt)          //
	word(b[tableAt+40:], classAt)           //
	word(b[typesAt+8*typ:], tableAt|1)      // with a mark
	word(b[classAt+24:], listAt)            //
	word(b[listAt:], tableAt)               // whose field it is
	word(b[listAt+8:], uint64(field)|3<<27) // number, and flags
	binary.LittleEndian.PutUint32(b[listAt+12:], uint32(kind)<<27|4)
	return b
}

// TestPlaced: what the runtime has laid out is taken if it is what the assembly declares, and nothing else is.
func TestPlaced(t *testing.T) {
	im := assembly(t, "../../../binary/clr/testdata/shapes.dll").image
	typ, _, ok := im.Find(clr.Name{Space: "Depot", Path: []string{"Store"}})
	own := im.TypeOf(typ)
	s, ok2 := im.Struct(&own)
	if !ok || !ok2 || len(s.Fields) != 1 || property(s.Fields[0].Name) != "Room" {
		t.Fatalf("%d, %+v", typ, s)
	}
	row := s.Fields[0].Row
	w := worldOf(t, loaded(typ, row, clr.Int32), im)
	table, ok := w.described(w.modules[moduleAt], typ)
	if !ok || table != tableAt {
		t.Fatalf("%#x, %v", table, ok)
	}
	places, err := w.placed(table, im, typ)
	if err != nil || len(places) != 1 || places[0].offset != 4 {
		t.Errorf("%+v, %v", places, err)
	}
	if name, ok := w.Name(tableAt); !ok || name != "Depot.Store" {
		t.Errorf("%q, %v", name, ok)
	}
	for what, change := range map[string]func(b []byte){
		"another field": func(b []byte) { b[listAt+8]++ },
		"another type":  func(b []byte) { b[listAt+1] = 0x20 },
		"a static one":  func(b []byte) { b[listAt+11] |= 1 },
		"another kind":  func(b []byte) { b[listAt+15] = byte(clr.Int64) << 3 },
		"too far":       func(b []byte) { b[listAt+12] = 24 },
		"no list":       func(b []byte) { b[classAt+25] = 0xff },
	} {
		memory := loaded(typ, row, clr.Int32)
		change(memory)
		w := worldOf(t, memory, im)
		if places, err := w.placed(tableAt, im, typ); err == nil {
			t.Errorf("%s: %+v", what, places)
		}
	}
	// One that is not in the table of its module is none.
	memory := loaded(typ, row, clr.Int32)
	memory[typesAt+8*typ] = 0xff
	if name, ok := worldOf(t, memory, im).Name(tableAt); ok {
		t.Error(name)
	}
}

// TestRanks: an array is named with as many dimensions as it has.
func TestRanks(t *testing.T) {
	im := assembly(t, "../../../binary/clr/testdata/shapes.dll").image
	typ, _, _ := im.Find(clr.Name{Space: "Depot", Path: []string{"Store"}})
	const arrayAt = 0x1800
	for size, want := range map[uint64]string{
		40: "Depot.Store[,]", 48: "Depot.Store[,,]", 0: "", 24: "", 1 << 31: "", 24 + 8*33: "",
	} {
		memory := loaded(typ, 1, clr.Int32)
		binary.LittleEndian.PutUint64(memory[arrayAt:], 0x80000|size<<32)
		binary.LittleEndian.PutUint64(memory[arrayAt+48:], tableAt)
		if name, _ := worldOf(t, memory, im).Name(arrayAt); name != want {
			t.Errorf("%d: %q, want %q", size, name, want)
		}
	}
}

// TestLongNames: of a process that has names which grow with each level nothing is taken but a bounded text.
func TestLongNames(t *testing.T) {
	im := assembly(t, "../../../binary/clr/testdata/shapes.dll").image
	typ, _, _ := im.Find(clr.Name{Space: "Depot", Path: []string{"Store"}})
	memory := make([]byte, 0x100000)
	copy(memory, loaded(typ, 1, clr.Int32))
	w := worldOf(t, memory, im)
	elem, longest := uint64(tableAt), 0
	for at := uint64(0x6000); at < uint64(len(memory))-64; at += 64 {
		binary.LittleEndian.PutUint64(memory[at:], 0x80000|(24+8*32)<<32)
		binary.LittleEndian.PutUint64(memory[at+48:], elem)
		name, _ := w.Name(at)
		longest, elem = max(longest, len(name)), at
	}
	if longest < 1000 || longest > longestName {
		t.Error(longest)
	}
}

func TestStructures(t *testing.T) {
	var w world
	for _, bad := range []string{"", "{", `{"types":{}}`, `{"types":{"Module":{"Base":-1}}}`, `{"types":{"Module":[]}}`} {
		if _, err := w.structures([]byte(bad)); err == nil {
			t.Errorf("%q: %v", bad, w.of)
		}
	}
}

// FuzzWorld reads types in a memory that may have anything in it.
func FuzzWorld(f *testing.F) {
	im := assembly(f, "../../../binary/clr/testdata/shapes.dll").image
	typ, _, _ := im.Find(clr.Name{Space: "Depot", Path: []string{"Store"}})
	f.Add(loaded(typ, 1, clr.Int32), uint64(tableAt))
	f.Fuzz(func(t *testing.T, memory []byte, table uint64) {
		w := worldOf(t, memory, im)
		_, _ = w.Name(table)
		for typ := range im.Types() + 2 {
			if table, ok := w.described(w.modules[moduleAt], typ); ok {
				_, _ = w.placed(table, im, typ)
			}
		}
	})
}

// TestFindList: the list of assemblies is found by the library, which is first in it, in the form of .NET 9 and in that
// of .NET 10, and has the module of a file.
func TestFindList(t *testing.T) {
	im := assembly(t, "../../../binary/clr/testdata/shapes.dll").image
	const domain, object, core, other, blocks, list = 0x100, 0x900, 0xa00, 0x2000, 0xb00, 0x200
	for _, later := range []bool{false, true} {
		b := make([]byte, 0x6000)
		word := func(at, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
		module := func(one, is uint64) {
			if later {
				word(one+24, one+32)
				one += 32
			}
			word(one+24, is)
		}
		word(object+24, core)
		word(list-8, 6)
		word(list, blocks)
		word(list+8, firstBlock)
		for i := range uint64(firstBlock) {
			word(list+16+8*i, 0xc00+0x80*i)
		}
		module(0xc00, core)
		word(blocks+8, 10)
		word(blocks+16, 0xf00)
		module(0xf00, other)
		w := worldOf(t, b, im)
		if later {
			w.of.Assembly.Module = 24 + 1
		}
		if !w.findList(domain, object) || w.list != list || w.listed != 24 {
			t.Fatalf("%#x, %d", w.list, w.listed)
		}
		var found []uint64
		w.each(func(module uint64) bool { found = append(found, module); return true })
		if want := []uint64{core, other}; !slices.Equal(found, want) {
			t.Errorf("%#x, want %#x", found, want)
		}
		if w.findList(domain, 0) || w.findList(0, object) || w.findList(list+16, object) {
			t.Error("a list that there is not")
		}
	}
}
