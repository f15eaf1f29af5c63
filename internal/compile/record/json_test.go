package record_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/result"
)

// scriptOf is a script with a record of one value.
func scriptOf(t *types.Type) *record.Script {
	l := &record.Layout{Kind: record.Print}
	l.Arrange(record.Header, t)
	l.Size = max(l.Size, record.Header) // types of hostile files have any size
	return &record.Script{Layouts: []*record.Layout{l}}
}

// throughJSON writes a script and reads it again.
func throughJSON(t testing.TB, s *record.Script) *record.Script {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back := new(record.Script)
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !reflect.DeepEqual(s, back) {
		t.Errorf("%s comes back as something else", text)
	}
	return back
}

// forms are the ways in which a type comes to a decoder: as it was found, frozen, and read back.
func forms(t testing.TB, typ *types.Type) map[string]*types.Type {
	s := scriptOf(typ)
	s.Freeze()
	back := throughJSON(t, s).Layouts[0].Args[0].Type
	return map[string]*types.Type{"": typ, "frozen": s.Layouts[0].Args[0].Type, "read back": back}
}

// stub is a type that is completed from a file, which may be closed.
func stub(name string, size int, closed *bool, fields func() []types.Field) *types.Type {
	var full *types.Type
	declared := &types.Type{Kind: types.Struct, Name: name, Size: size, Source: &types.Source{Lang: types.CPlusPlus}}
	return types.Stub(declared, func() *types.Type {
		if *closed {
			panic("the file is closed")
		}
		if full == nil {
			full = &types.Type{
				Kind: types.Struct, Name: name, Size: size, Align: 8,
				Source: &types.Source{Lang: types.CPlusPlus},
			}
			full.Fields = fields()
		}
		return full
	})
}

// TestFreeze: frozen types need no file, also those that refer to themselves.
func TestFreeze(t *testing.T) {
	closed := false
	var list, optional *types.Type
	list = stub("node", 24, &closed, func() []types.Field {
		return []types.Field{
			{Name: "next", Type: types.PointerTo(list, types.User)},
			{Name: "value", Type: optional, Offset: 8},
		}
	})
	optional = stub("std::optional<int>", 8, &closed, func() []types.Field {
		payload := stub("std::_Optional_payload<int>", 8, &closed, func() []types.Field {
			union := &types.Type{
				Kind: types.Union, Name: "_Storage<int>", Size: 4,
				Fields: []types.Field{{Name: "_M_value", Type: types.TInt32}},
			}
			return []types.Field{{Name: "_M_payload", Type: union}, {Name: "_M_engaged", Type: types.TBool, Offset: 4}}
		})
		return []types.Field{{Name: "_M_payload", Type: payload.Complete()}}
	})
	record := le(0x1000, int32(7), uint8(1), uint8(0), int16(0), 0)
	const want = "{next:0x1000 value:7}"
	all := forms(t, list)
	closed = true
	for name, typ := range all {
		if name == "" {
			continue
		}
		var v result.Value
		decoder.Value(&v, typ, record)
		if got := show(&v); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if u := all["frozen"].Fields[0].Type.Elem; u.Name != "node" || !u.Incomplete || u.Fields != nil {
		t.Errorf("behind the pointer there is more than a name: %+v", u)
	}
}

// TestFreezeBroken: a value cannot hold itself.
func TestFreezeBroken(t *testing.T) {
	self := &types.Type{Kind: types.Struct, Name: "struct self", Size: 8}
	self.Fields = []types.Field{{Name: "self", Type: self}, {Name: "none"}}
	if _, err := json.Marshal(scriptOf(self)); err == nil || !strings.Contains(err.Error(), "holds itself") {
		t.Errorf("written without being frozen: %v", err)
	}
	for name, typ := range forms(t, self) {
		if name == "" {
			continue
		}
		var v result.Value
		decoder.Value(&v, typ, le(1))
		const want = "{self:unavailable: its type is not complete none:unavailable: its type is not complete}"
		if got := show(&v); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestTypesAreData: every member of a type survives, also those that are added one day.
func TestTypesAreData(t *testing.T) {
	inner := fill(reflect.TypeFor[types.Type](), 0, nil).Interface().(types.Type)
	outer := fill(reflect.TypeFor[types.Type](), 0, &inner).Interface().(types.Type)
	inner.Kind, outer.Kind = types.Tuple, types.Tuple
	s := scriptOf(&outer)
	s.Storage = []record.Storage{fill(reflect.TypeFor[record.Storage](), 0, nil).Interface().(record.Storage)}
	s.Storage[0].Map.Key, s.Storage[0].Map.Value = &inner, types.TInt64
	s.Storage[0].Scalar, s.Storage[0].ValueSize = false, 8
	s.Losses = []record.Loss{{Kind: record.LostCalls, Action: 3, Helper: "helper"}}
	s.StackSize, s.FramePointers = 80, "old"
	s.Formats = []string{"%H"}
	throughJSON(t, s)
}

// fill gives a value in which nothing is zero that a frozen type has.
func fill(t reflect.Type, n int, inner *types.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Int16, reflect.Int8:
		v.SetInt(int64(n + 1))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(n + 1))
	case reflect.Pointer:
		switch {
		case t == reflect.TypeFor[*types.Type]():
			if inner != nil {
				v.Set(reflect.ValueOf(inner))
			}
		default:
			v.Set(reflect.New(t.Elem()))
			v.Elem().Set(fill(t.Elem(), n, inner))
		}
	case reflect.Slice:
		v.Set(reflect.Append(v, fill(t.Elem(), n, inner), fill(t.Elem(), n+1, inner)))
	case reflect.Struct:
		if t == reflect.TypeFor[types.Source]() {
			s := types.Source{Lang: types.Rust, Form: types.RustEnumForm}
			if inner != nil {
				s.Variants = &types.Variants{Discr: types.Field{Name: "d", Type: inner}, List: []types.Variant{{
					Name: "A", Type: inner, Offset: 3, Default: true, Discrs: []types.VariantRange{{Low: 1, High: 2}},
				}}}
			}
			return reflect.ValueOf(s)
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				continue
			}
			if f.Type == reflect.TypeFor[*types.Type]() && inner == nil && t == reflect.TypeFor[types.Field]() {
				v.Field(i).Set(reflect.ValueOf(types.TInt8))
				continue
			}
			v.Field(i).Set(fill(f.Type, n+i, inner))
		}
	}
	return v
}

// TestKindsKeepNumbers: what was written is read by another build. Who adds a kind in between raises scriptVersion.
func TestKindsKeepNumbers(t *testing.T) {
	if types.TSeries != 41 || types.String != 10 || types.Iface != 26 || record.Unwatch != 13 || record.OpenCalls != 10 {
		t.Errorf("the numbers of kinds have changed: %d %d %d %d %d", types.TSeries, types.String, types.Iface,
			record.Unwatch,
			record.OpenCalls)
	}
}

// TestScriptRefused: what does not fit together is not read.
func TestScriptRefused(t *testing.T) {
	text, err := json.Marshal(&record.Script{
		Layouts: []*record.Layout{{Kind: record.Clear, Size: 8}},
		Storage: []record.Storage{{
			Map: record.Map{Name: "@", Value: types.HistOf(0)}, Name: "m0", Scalar: true, ValueSize: types.HistOf(0).Size,
		}},
		Losses: []record.Loss{{Kind: record.LostUpdates}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var s record.Script
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{`"Version":1`, `"Version":2`},
		{`"Kind":5`, `"Kind":99`},
		{`"Kind":5`, `"Kind":3`}, // print() without a value
		{`"ID":0`, `"ID":1`},
		{`"Map":0`, `"Map":1`},
		{`"Size":8,"Map"`, `"Size":4,"Map"`},
		{`"Key":0,"Value":1`, `"Key":0,"Value":2`},
		{`"Key":0,"Value":1`, `"Key":1,"Value":1`},
		{`"Key":0,"Value":1`, `"Key":0,"Value":-1`},
		{`"Bits":0`, `"Bits":60`},
		{`"Kind":2`, `"Kind":99`},
	} {
		bad := strings.Replace(string(text), c[0], c[1], 1)
		if bad == string(text) {
			t.Errorf("%s is not in %s", c[0], text)
			continue
		}
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("with %s in place of %s it is read", c[1], c[0])
		}
	}
}

// TestKindsAreData: records of all kinds are read back, also of those that are added one day.
func TestKindsAreData(t *testing.T) {
	for _, k := range record.Kinds() {
		s := scriptOf(types.TUint64)
		s.Layouts[0].Kind = k
		s.Storage = []record.Storage{{
			Map: record.Map{Name: "@", Value: types.TInt64}, Name: "m0", Scalar: true, ValueSize: 8,
		}}
		throughJSON(t, s)
	}
	text, err := json.Marshal(&record.Script{StackSize: -8})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, new(record.Script)); err == nil {
		t.Error("stacks of less than no bytes are read")
	}
}

// FuzzScript reads scripts of other origin, and what they might tell.
func FuzzScript(f *testing.F) {
	for _, t := range []*types.Type{
		types.TupleOf(types.TInt8, types.StringOf(64)), types.HistOf(1), types.StackType(types.UStack, 3, types.StackPerf),
		record.IfaceOf(&types.Type{Name: "error"}, record.Nodes{Len: 2, Raw: 40, FirstText: 8, Texts: 1}),
		record.ListOf(types.TInt32, 3),
	} {
		s := scriptOf(t)
		s.Storage = []record.Storage{{Map: record.Map{Name: "@", Value: types.TInt32}, Scalar: true, ValueSize: 4}}
		text, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, []byte("what a record or a value of a map may hold"))
	}
	f.Fuzz(func(t *testing.T, text, rec []byte) {
		var s record.Script
		if json.Unmarshal(text, &s) != nil {
			return
		}
		for _, l := range s.Layouts {
			values, _ := decoder.Record(l, rec, nil)
			for i := range values {
				if n := valuesIn(&values[i]); n > 1<<18 {
					t.Errorf("%d values", n)
				}
			}
		}
		for i := range s.Storage {
			var v result.Value
			decoder.MapValue(&v, &s.Storage[i], [][]byte{rec, rec})
			if st := &s.Storage[i]; st.Map.Value.Kind == types.TSeries {
				record.SeriesCells(st.Map.Value, [][]byte{rec}, st.Scalar)
			}
		}
	})
}
