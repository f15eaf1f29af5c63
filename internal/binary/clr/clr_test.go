package clr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

func shapes(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/shapes.dll")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// compiled adds tables of compiled code to an assembly that has none, in its last section: a body of 16 bytes for
// each of the methods, by number, and one for each instance, by signature.
func compiled(t testing.TB, data []byte, methods []uint32, instances [][]byte) []byte {
	t.Helper()
	data = slices.Clone(data)
	pe := int(u32(data, 0x3c))
	sections, optional := int(u16(data, pe+6)), int(u16(data, pe+20))
	last := data[pe+24+optional+40*(sections-1):]
	if int(u32(last, 16)+u32(last, 20)) != len(data) {
		t.Fatal("something is behind the last section")
	}
	addr := u32(last, 12) + u32(last, 16)

	var s []byte
	at := func() uint32 { return addr + uint32(len(s)) }
	put := func(v uint32) { s = binary.LittleEndian.AppendUint32(s, v) }
	number := func(v uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{15}, v) } // of five bytes
	code := at()
	for i := range len(methods) + len(instances) {
		s = append(s, bytes.Repeat([]byte{0xc3}, 15)...)
		s = append(s, byte(i))
	}
	functions := at()
	for i := range uint32(len(methods) + len(instances)) {
		put(code + 16*i)
		put(code + 16*i + 16)
		put(0)
	}
	// The array of methods: one tree for each block of 16, of which each has only one method in this test.
	entries := at()
	most := slices.Max(methods)
	s = append(s, number(most<<2|2)...)
	base := len(s)
	blocks := int(most+15) / 16
	s = append(s, make([]byte, 4*blocks)...)
	for i, m := range methods {
		block := (m - 1) / 16
		binary.LittleEndian.PutUint32(s[base+4*int(block):], uint32(len(s)-base))
		s = append(s, number((m-1)%16<<2)...)
		s = append(s, number(uint32(i)<<1)...)
	}
	// The table of instances: one bucket.
	table := at()
	s = append(s, 2) // offsets of 4 bytes
	base = len(s)
	put(8)
	put(0)
	here := len(s)
	s = append(s, make([]byte, 6*len(instances))...)
	binary.LittleEndian.PutUint32(s[base+4:], uint32(len(s)-base))
	for i, sig := range instances {
		e := here + 6*i
		s[e+1] = 15
		binary.LittleEndian.PutUint32(s[e+2:], uint32(len(s)-(e+1)))
		s = append(append(s, sig...), number(uint32(len(methods)+i)<<1)...)
	}
	header := at()
	put(readyToRun)
	s = append(s, 10, 0, 1, 0)
	put(0)
	put(3)
	for _, row := range [][3]uint32{
		{sectionFunctions, functions, uint32(12 * (len(methods) + len(instances)))},
		{sectionEntries, entries, 4},
		{sectionInstances, table, 4},
	} {
		put(row[0])
		put(row[1])
		put(row[2])
	}
	size := uint32(len(s))
	for len(s)%512 != 0 {
		s = append(s, 0)
	}
	data = append(data, s...)
	h := data[pe+24+optional+40*(sections-1):]
	stored := u32(h, 16) + uint32(len(s))
	binary.LittleEndian.PutUint32(h[8:], stored)
	binary.LittleEndian.PutUint32(h[16:], stored)
	binary.LittleEndian.PutUint32(h[36:], 0x60000020)
	binary.LittleEndian.PutUint16(data[pe+4:], uint16(withEnds))
	im := &Image{data: data}
	for i := range sections {
		h := data[pe+24+optional+40*i:]
		im.sections = append(im.sections, Section{Size: u32(h, 8), Addr: u32(h, 12), Stored: u32(h, 16), Offset: u32(h, 20)})
	}
	directories := 96
	if u16(data, pe+24) == 0x20b {
		directories = 112
	}
	cor := im.at(u32(data, pe+24+directories+8*14), 72)
	binary.LittleEndian.PutUint32(cor[64:], header)
	binary.LittleEndian.PutUint32(cor[68:], size)
	return data
}

func open(t testing.TB, data []byte) *Image {
	t.Helper()
	im, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// methodNamed gives the number of a method.
func methodNamed(t testing.TB, im *Image, name string) uint32 {
	t.Helper()
	m, ok := im.MethodNamed(name)
	if !ok {
		t.Fatalf("no method %s", name)
	}
	return m
}

func TestNames(t *testing.T) {
	im := open(t, shapes(t))
	var names []string
	for m := uint32(1); m <= im.meta.tables[tMethodDef].count; m++ {
		names = append(names, im.Name(&Body{Method: m}))
	}
	want := []string{
		"Depot.Shelf<T>+Slot::.ctor()", "Depot.Shelf<T>+Slot::Take(int)",
		"Depot.Shelf<T>::.ctor()", "Depot.Shelf<T>::Put(T,string)", "Depot.Shelf<T>::All<U>(U[],int&)",
		"Depot.ICount::Count()", "Depot.Store::.ctor(int)", "Depot.Store::get_Room()", "Depot.Store::set_Room(int)",
		"Depot.Store::Depot.ICount.Count()", "Depot.Store::Has(string,Unit,Size,char)", "Depot.Store::Move(int,int)",
		"Depot.Store::Move(int,int,Dictionary<string,int[,]>)",
	}
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	if ok, why := im.Compiled(); ok || !strings.Contains(why, "ahead of time") {
		t.Errorf("%v, %q", ok, why)
	}
	if bodies, err := im.Bodies(); len(bodies) > 0 || err != nil {
		t.Errorf("%v, %v", bodies, err)
	}
	has := methodNamed(t, im, "Depot.Store::Has(string,Unit,Size,char)")
	if got := im.ParamNames(has, 4); !slices.Equal(got, []string{"name", "unit", "size", "mark"}) || !im.Static(has) {
		t.Errorf("%q", got)
	}
}

func TestStruct(t *testing.T) {
	im := open(t, shapes(t))
	sig, ok := im.Signature(methodNamed(t, im, "Depot.Store::Has(string,Unit,Size,char)"))
	if !ok || sig.Instance || len(sig.Params) != 4 || sig.Result.Element != Boolean || sig.Params[0].Element != String {
		t.Fatalf("%+v", sig)
	}
	unit, ok := im.Struct(&sig.Params[1])
	if !ok || !unit.Enum || unit.Fields[0].Type.Element != Int16 ||
		!slices.Equal(unit.Values, []EnumValue{{"Piece", 1}, {"Pallet", 40}, {"None", -1}}) {
		t.Errorf("%+v", unit)
	}
	size, ok := im.Struct(&sig.Params[2])
	if !ok || size.Enum || size.Auto || size.Explicit || len(size.Fields) != 2 || size.Fields[1].Name != "Height" {
		t.Errorf("%+v", size)
	}
	if s, ok := im.Struct(&Type{Element: ValueType, Table: tTypeRef, Row: 1}); ok {
		t.Errorf("of another assembly: %+v", s)
	}
}

func TestBodies(t *testing.T) {
	plain := open(t, shapes(t))
	move := methodNamed(t, plain, "Depot.Store::Move(int,int)")
	put := methodNamed(t, plain, "Depot.Shelf<T>::Put(T,string)")
	all := methodNamed(t, plain, "Depot.Shelf<T>::All<U>(U[],int&)")
	shelf := plain.Owner(put)
	of := func(arg Element) []byte { return []byte{byte(Instance), byte(Class), byte(shelf << 2), 1, byte(arg)} }
	data := compiled(t, shapes(t), []uint32{move}, [][]byte{
		append(append([]byte{0x40}, of(Canonical)...), byte(put)),
		append(append([]byte{0x44}, of(Int32)...), byte(all), 1, byte(UInt8)),
	})
	im := open(t, data)
	if ok, why := im.Compiled(); !ok {
		t.Fatal(why)
	}
	bodies, err := im.Bodies()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range bodies {
		names = append(names, im.Name(&bodies[i]))
		if b, ok := im.BodyAt(bodies[i].Addr); !ok || b != bodies[i] || b.Size != 16 || im.Code(b.Addr, 16)[15] != byte(i) {
			t.Errorf("%+v", b)
		}
	}
	want := []string{
		"Depot.Store::Move(int,int)", "Depot.Shelf<__Canon>::Put(T,string)", "Depot.Shelf<int>::All<byte>(U[],int&)",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	own, args, ok := im.InstanceOf(&bodies[2])
	if !ok || len(own) != 1 || own[0].Element != Int32 || len(args) != 1 || args[0].Element != UInt8 {
		t.Errorf("%+v, %+v", own, args)
	}
}

func TestNotManaged(t *testing.T) {
	for _, data := range [][]byte{nil, []byte("MZ"), []byte("\x7fELF"), append([]byte("MZ"), make([]byte, 512)...)} {
		if _, err := Open(data); !errors.Is(err, ErrNotManaged) {
			t.Errorf("%q: %v", data[:min(len(data), 4)], err)
		}
	}
}

// TestCut: a file that ends early is an error, or has less.
func TestCut(t *testing.T) {
	data := shapes(t)
	for n := range len(data) {
		if im, err := Open(data[:n:n]); err == nil {
			use(im)
		}
	}
}

// use asks for all that there is.
func use(im *Image) {
	for row := range min(im.Types(), 100) {
		own, base := im.TypeOf(row+1), Type{}
		base, _ = im.Base(row + 1)
		_, name, _ := im.Refers(&base)
		_, _, _ = im.Find(name)
		_, _ = im.Struct(&own)
	}
	bodies, _ := im.Bodies()
	for i := range min(len(bodies), 1000) {
		b := &bodies[i]
		_ = im.Name(b)
		_, _, _ = im.InstanceOf(b)
		_ = im.Code(b.Addr, int(b.Size))
		if sig, ok := im.Signature(b.Method); ok {
			_ = im.ParamNames(b.Method, len(sig.Params))
			for j := range sig.Params {
				_, _ = im.Struct(&sig.Params[j])
			}
		}
	}
	for m := uint32(1); m <= min(im.meta.tables[tMethodDef].count, 1000); m++ {
		_ = im.Name(&Body{Method: m})
		plain := im.Plain(m)
		_, _ = im.Generic(m)
		_, _ = im.Overloads(m), im.Inlined(m)
		im.Methods(plain[strings.LastIndexByte(plain, ':')+1:], func(uint32, []byte) {})
	}
	_ = im.Assembly()
}

func FuzzOpen(f *testing.F) {
	data := shapes(f)
	f.Add(data)
	f.Add(compiled(f, data, []uint32{1}, [][]byte{{0x40, byte(Instance), byte(Class), 8, 1, byte(Canonical), 3}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if im, err := Open(data); err == nil {
			use(im)
		}
	})
}

// FuzzCode damages only what is behind the metadata: the tables of compiled code.
func FuzzCode(f *testing.F) {
	plain := shapes(f)
	data := compiled(f, plain, []uint32{1, 2}, [][]byte{{0x40, byte(Instance), byte(Class), 8, 1, byte(Canonical), 3}})
	f.Add(data[len(plain):])
	f.Fuzz(func(t *testing.T, tail []byte) {
		if im, err := Open(append(slices.Clone(data[:len(plain)]), tail...)); err == nil {
			use(im)
		}
	})
}
