package types

import "testing"

// cppStruct makes a structure of C++ of fields that lie one behind the other.
func cppStruct(name string, size int, fields ...Field) *Type {
	return &Type{Kind: Struct, Name: name, Size: size, Align: 8, Fields: fields, Source: &Source{Lang: CPlusPlus}}
}

func TestLibcxxString(t *testing.T) {
	word := &Type{Kind: Int, Name: "unsigned long", Size: 8, Align: 8}
	pointer := PointerTo(TChar, User)
	long := cppStruct("__long", 24, Field{Name: "__cap_", Type: word}, Field{Name: "__size_", Type: word, Offset: 8},
		Field{Name: "__data_", Type: pointer, Offset: 16})
	short := cppStruct("__short", 24, Field{Name: "__size_", Type: TUint8},
		Field{Name: "__data_", Type: ArrayOf(TChar, 23), Offset: 1})
	both := cppStruct("__rep", 24, Field{Type: &Type{
		Kind: Union, Size: 24,
		Fields: []Field{{Name: "__l", Type: long}, {Name: "__s", Type: short}},
	}})
	str := cppStruct("std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >", 24,
		Field{Name: "__r_", Type: cppStruct("pair", 24,
			Field{Type: cppStruct("elem", 24, Field{Name: "__value_", Type: both}), Base: true})})
	if v, ok := str.Text(); !ok || !v.Short || v.ShortData != 1 || v.Data != 16 || v.Len != 8 || v.Unit != 1 {
		t.Errorf("%+v, %v", v, ok)
	}
	// The alternative layout has the size elsewhere: it is not read as this one.
	long.Fields[0], long.Fields[2] = Field{Name: "__data_", Type: pointer}, Field{Name: "__cap_", Type: word, Offset: 16}
	long.Fields[1].Offset = 0
	if v, ok := str.Text(); ok {
		t.Errorf("alternative layout: %+v", v)
	}
}

// clang leaves the class of the pointer out where its constructor is in the library.
func TestHiddenPointer(t *testing.T) {
	word := &Type{Kind: Int, Name: "unsigned long", Size: 8, Align: 8}
	hider := &Type{
		Kind: Struct, Name: "std::basic_string<char>::_Alloc_hider", Incomplete: true, Source: &Source{Lang: CPlusPlus},
	}
	str := cppStruct("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", 32,
		Field{Name: "_M_dataplus", Type: hider}, Field{Name: "_M_string_length", Type: word, Offset: 8},
		Field{Type: &Type{
			Kind: Union, Size: 16, Fields: []Field{{Name: "_M_local_buf", Type: ArrayOf(TChar, 16)}},
		}, Offset: 16})
	if v, ok := str.Text(); !ok || v.Data != 0 || v.Len != 8 || v.LenSize != 8 || v.Unit != 1 {
		t.Errorf("%+v, %v", v, ok)
	}
	// Where there is room for more than the pointer, nothing shows what is there.
	str.Fields[1].Offset, str.Fields[2].Offset, str.Size = 16, 24, 40
	if v, ok := str.Text(); ok {
		t.Errorf("another layout: %+v", v)
	}
}

func TestDuration(t *testing.T) {
	long := &Type{Kind: Int, Name: "long", Size: 8, Align: 8, Signed: true}
	for _, c := range []struct {
		name     string
		num, den int64
		ok       bool
	}{
		{"std::chrono::duration<long int, std::ratio<1, 1000> >", 1, 1000, true},
		{"std::__1::chrono::duration<long long, std::__1::ratio<60, 1>>", 60, 1, true},
		{"std::chrono::duration<long int, std::ratio<1l, 1000000000l> >", 1, 1e9, true},
		{"std::chrono::duration<long int, std::ratio<0, 1> >", 0, 0, false},
		{"std::chrono::duration<long int, std::ratio<1, 2, 3> >", 0, 0, false},
		{"std::chrono::duration<long int, Mine>", 0, 0, false},
		{"std::duration<long int, std::ratio<1, 1> >", 0, 0, false},
	} {
		_, num, den, ok := cppStruct(c.name, 8, Field{Name: "__r", Type: long}).Duration()
		if ok != c.ok || ok && (num != c.num || den != c.den) {
			t.Errorf("%s: %d/%d, %v", c.name, num, den, ok)
		}
	}
}
