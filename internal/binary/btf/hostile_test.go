package btf

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/binary/types"
)

// maker writes BTF by hand, also such as no compiler writes.
type maker struct {
	types, strings []byte
	count          uint32
}

func (m *maker) text(s string) uint32 {
	if len(m.strings) == 0 {
		m.strings = []byte{0}
	}
	if s == "" {
		return 0
	}
	off := uint32(len(m.strings))
	m.strings = append(append(m.strings, s...), 0)
	return off
}

// add appends a type and returns its id; info's vlen and flag are given, words follow.
func (m *maker) add(name string, kind uint32, vlen int, flag bool, sizeOrType uint32, words ...uint32) uint32 {
	info := kind<<24 | uint32(vlen)
	if flag {
		info |= 1 << 31
	}
	for _, w := range append([]uint32{m.text(name), info, sizeOrType}, words...) {
		m.types = binary.LittleEndian.AppendUint32(m.types, w)
	}
	m.count++
	return m.count
}

func (m *maker) structure(name string, size uint32, members ...uint32) uint32 {
	return m.add(name, kindStruct, len(members)/3, false, size, members...)
}

func (m *maker) bytes() []byte {
	m.text("")
	out := binary.LittleEndian.AppendUint32(nil, 0x1eb9f) // magic, version 1, no flags
	for _, w := range []uint32{24, 0, uint32(len(m.types)), uint32(len(m.types)), uint32(len(m.strings))} {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	return append(append(out, m.types...), m.strings...)
}

func (m *maker) open(t testing.TB) *Types {
	t.Helper()
	b := New(Source{Data: m.bytes()})
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

// everyKind has one type of each kind, and what the kernel writes rarely.
func everyKind() *maker {
	m := &maker{}
	i := m.add("int", kindInt, 0, false, 4, 1<<24|32)
	narrow := m.add("unsigned int", kindInt, 0, false, 4, 3) // an integer of 3 bits: bit-fields before kind_flag
	boolean := m.add("_Bool", kindInt, 0, false, 1, 4<<24|8)
	wide := m.add("__int128", kindInt, 0, false, 16, 1<<24|128)
	char := m.add("char", kindInt, 0, false, 1, 1<<24|8)
	text := m.add("", kindArray, 0, false, 0, char, i, 8)
	open := m.add("", kindArray, 0, false, 0, i, i, 0)
	ptr := m.add("", kindPtr, 0, false, m.count+2)
	node := m.structure("node", 32, m.text("next"), ptr, 0,
		m.text("low"), narrow, 64, m.text("mid"), narrow, 67, m.text("name"), text, 128)
	flags := m.add("flags", kindStruct, 4, true, 24, m.text("a"), i, 3<<24, m.text("b"), i, 5<<24|3,
		m.text("on"), boolean, 1<<24|8, m.text("wide"), wide, 64)
	m.structure("packed", 7, m.text("c"), char, 0, m.text("i"), i, 8)
	union := m.add("", kindUnion, 2, false, 24, m.text("x"), i, 0, m.text("f"), flags, 0)
	m.structure("holder", 56, 0, union, 0, m.text("n"), node, 192, m.text("rest"), open, 448)
	m.add("small", kindEnum, 2, true, 1, m.text("MINUS"), ^uint32(0), m.text("PLUS"), 1)
	m.add("big", kindEnum64, 2, false, 8, m.text("HUGE"), 1, 1<<31, m.text("ONE"), 1, 0)
	m.add("fwd", kindFwd, 0, true, 0)
	vol := m.add("", kindVolatile, 0, false, node)
	con := m.add("", kindConst, 0, false, vol)
	tag := m.add("user", kindTypeTag, 0, false, con)
	res := m.add("", kindRestrict, 0, false, m.add("", kindPtr, 0, false, tag))
	m.add("node_p", kindTypedef, 0, false, res)
	proto := m.add("", kindFuncProto, 3, false, i, m.text("p"), res, 0, i, 0, 0)
	fn := m.add("work", kindFunc, 0, false, proto)
	m.add("bpf_kfunc", kindDeclTag, 0, false, fn, ^uint32(0))
	m.add("__probestub_event", kindFunc, 0, false, proto)
	m.add("btf_trace_other", kindTypedef, 0, false, m.add("", kindPtr, 0, false, proto))
	m.add("counter", kindVar, 0, false, i, 1)
	m.add(".data", kindDatasec, 1, false, 4, i, 0, 4)
	m.add("double", kindFloat, 0, false, 8)
	return m
}

func TestKinds(t *testing.T) {
	t.Parallel()
	b := everyKind().open(t)
	field := func(typ, name string) types.Field {
		t.Helper()
		f, ok := b.Type(typ).Field(name)
		if !ok {
			t.Fatalf("%s has no %s", typ, name)
		}
		return f
	}
	for _, tt := range []struct {
		typ, name                  string
		offset, bitOffset, bitSize int
		kind                       types.Kind
	}{
		{"struct node", "low", 8, 0, 3, types.Int},
		{"struct node", "mid", 8, 3, 3, types.Int},
		{"struct node", "name", 16, 0, 0, types.Array},
		{"struct flags", "a", 0, 0, 3, types.Int},
		{"struct flags", "b", 0, 3, 5, types.Int},
		{"struct flags", "on", 1, 0, 1, types.Bool},
		{"struct holder", "x", 0, 0, 0, types.Int},
		{"struct holder", "n", 24, 0, 0, types.Struct},
		{"struct holder", "rest", 56, 0, 0, types.Array},
	} {
		f := field(tt.typ, tt.name)
		if f.Offset != tt.offset || f.BitOffset != tt.bitOffset || f.BitSize != tt.bitSize || f.Type.Kind != tt.kind {
			t.Errorf("%s.%s: %+v", tt.typ, tt.name, f)
		}
	}
	if wide := field("struct flags", "wide"); !wide.Type.Incomplete || wide.Type.Size != 16 {
		t.Errorf("an integer of 16 bytes: %+v", wide.Type)
	}
	if a := b.Type("struct packed").Align; a != 1 {
		t.Errorf("struct packed: aligned to %d", a)
	}
	if a := b.Type("struct node").Align; a != 8 {
		t.Errorf("struct node: aligned to %d", a)
	}
	for name, want := range map[string]int64{"MINUS": -1, "PLUS": 1, "HUGE": -1<<63 + 1, "ONE": 1} {
		if _, v, ok := b.Enumerator(name); !ok || v != want {
			t.Errorf("%s: %d %v", name, v, ok)
		}
	}
	if got := types.Declare(b.Type("node_p"), "p"); got != "node_p p" {
		t.Error(got)
	}
	if b.Type("union fwd") != nil {
		t.Error("union fwd is only declared")
	}
	next := field("struct node", "next").Type.Elem
	if !next.Incomplete || next.Complete() != b.Type("struct node") {
		t.Errorf("next: %+v", next)
	}
	p, ok := b.Func("work")
	if !ok || len(p.Params) != 2 || !p.Vararg || p.Params[1].Name != "arg1" {
		t.Fatalf("work: %+v", p)
	}
	if q := p.Params[0].Type.Elem.Quals(); q != types.Const|types.Volatile {
		t.Errorf("work's p: %v", q)
	}
	for _, name := range []string{"event", "other"} {
		if p, ok := b.RawTracepoint(name); !ok || len(p.Params) != 1 {
			t.Errorf("%s: %+v %v", name, p, ok)
		}
	}
	if _, ok := b.PerCPU("work"); ok {
		t.Error("a function is a variable")
	}
	if !b.HasKfunc("work") || b.HasKfunc("__probestub_event") || b.HasKfunc("nonsense") {
		t.Error("only work may be called")
	}
}

// TestDamaged gives what no compiler writes: nothing of it may be taken for sound, nor harm.
func TestDamaged(t *testing.T) {
	t.Parallel()
	m := &maker{}
	i := m.add("int", kindInt, 0, false, 4, 1<<24|32)
	m.structure("self", 8, m.text("me"), m.count+1, 0)
	m.structure("outside", 8, m.text("far"), i, 64, m.text("near"), i, 0)
	m.structure("nowhere", 8, m.text("x"), 1000, 0)
	loop := m.count + 1
	m.add("loop", kindTypedef, 0, false, loop)
	ptr := m.count + 1
	m.add("", kindPtr, 0, false, ptr)
	m.structure("ptr", 8, m.text("p"), ptr, 0)
	huge := m.add("", kindArray, 0, false, 0, i, i, 1<<31)
	for range 4 {
		huge = m.add("", kindArray, 0, false, 0, huge, i, 1<<31)
	}
	m.structure("huge", 8, m.text("h"), huge, 0)
	m.structure("name", 8, 1<<30, i, 0)
	m.add("wide", kindEnum, 0, false, 100)
	// Each doubles what the one before holds.
	prev := i
	for range 60 {
		prev = m.structure("", 1<<31, m.text("a"), prev, 0, m.text("b"), prev, 0)
	}
	m.structure("doubling", 1<<31, m.text("d"), prev, 0)
	b := m.open(t)
	if s := b.Type("struct self"); s == nil || len(s.Fields) != 1 || !s.Fields[0].Type.Incomplete {
		t.Errorf("self: %+v", s)
	}
	if s := b.Type("struct outside"); !s.Fields[0].Type.Incomplete || s.Fields[1].Type.Incomplete {
		t.Errorf("outside: %+v", s)
	}
	for _, name := range []string{"struct nowhere", "struct huge"} {
		if s := b.Type(name); s == nil || !s.Fields[0].Type.Incomplete {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for _, name := range []string{"loop", "enum wide"} {
		if b.Type(name) != nil {
			t.Errorf("%s is a type", name)
		}
	}
	b.Type("struct ptr")
	b.Type("struct doubling")
	b.Type("struct name")
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(data []byte) string {
		path := filepath.Join(dir, "types")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := everyKind().bytes()
	if b := New(Source{Path: write(good)}); !b.Available() || b.Type("struct node") == nil {
		t.Fatal(b.Err())
	}
	for _, data := range [][]byte{nil, good[:20], good[:30], good[:len(good)-1], append([]byte{1}, good...)} {
		if err := New(Source{Path: write(data)}).Err(); !errors.Is(err, errMalformed) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%d bytes: %v", len(data), err)
		}
	}
	// Without types nothing is found, and the reason stays.
	missing := filepath.Join(dir, "missing")
	for _, tt := range []struct {
		source Source
		want   error
	}{
		{Source{}, ErrNone},
		{Source{Path: missing}, os.ErrNotExist},
		{Source{Data: []byte{}}, errMalformed},
	} {
		b := New(tt.source)
		_, isFunc := b.FuncID("work")
		_, _, isEnum := b.Enumerator("PLUS")
		_, isTracepoint := b.RawTracepoint("event")
		found := isFunc || isEnum || isTracepoint || b.Type("int") != nil || len(b.Tags()) > 0
		if found || b.HasKfunc("work") || b.Available() {
			t.Errorf("%+v: something is found", tt.source)
		}
		if err := b.Err(); !errors.Is(err, tt.want) || tt.want == os.ErrNotExist && strings.Count(err.Error(), missing) != 1 {
			t.Errorf("%+v: %v", tt.source, err)
		}
	}
	// Types that end within one are there as far as they go.
	cut := append([]byte(nil), good...)
	binary.LittleEndian.PutUint32(cut[12:], binary.LittleEndian.Uint32(cut[12:])-30)
	if b := New(Source{Data: cut}); b.Type("struct node") == nil {
		t.Error(b.Err())
	}
}

// FuzzTypes asks for everything in damaged files.
func FuzzTypes(f *testing.F) {
	f.Add(everyKind().bytes())
	f.Add((&maker{}).bytes())
	// A header, two types (a struct of one member and an integer) and their names.
	f.Add([]byte("\x9f\xeb\x01\x00\x18\x00\x00\x00\x00\x00\x00\x00\x28\x00\x00\x00\x28\x00\x00\x00\x05\x00\x00\x00" +
		"\x01\x00\x00\x00\x01\x00\x00\x04\x04\x00\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x01\x04\x00\x00\x00\x20\x00\x00\x01" + "\x00s\x00m\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := New(Source{Data: data})
		if b.Err() != nil {
			return
		}
		for _, name := range b.Tags() {
			b.Type(name).Complete()
		}
		for _, structure := range []string{"s", "work"} {
			New(Source{Data: data}).Structs(structure, "m")
			b.Field(structure, "m", "m")
		}
		for id := range b.starts {
			typ := b.conv.of(uint32(id), true, 0)
			types.Declare(typ, "x")
			for _, field := range typ.Fields {
				if field.Type.Kind == types.Pointer {
					field.Type.Elem.Complete()
				}
				if end := field.Offset + field.Type.Size; field.BitSize == 0 && (field.Offset < 0 || end > typ.Size) {
					t.Fatalf("%v: %s ends at %d", typ, field.Name, end)
				}
			}
		}
		b.Enumerator("ONE")
		b.Func("work")
		b.RawTracepoint("event")
		b.RawTracepoint("other")
		b.HasKfunc("work")
		for _, name := range []string{"s", "m", "work"} {
			if id, ok := b.FuncID(name); ok && b.at(id).kind != kindFunc {
				t.Fatalf("%s: %d is no function", name, id)
			}
		}
	})
}
