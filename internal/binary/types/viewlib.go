package types

import "strings"

// LibraryClass gives a class of a library by its full name, where its layout is fixed and programs need not define it:
// clang leaves libstdc++'s strings out, as the library instantiates them itself (extern template, basic_string.h), and
// the library's own debug information is seldom there. nil: any other class. A string of libstdc++ has 32 bytes
// (__cxx11, since GCC 5) or 8 (the one with a counter, before); libc++'s differ by version and are none.
func LibraryClass(name string) *Type {
	rest, ok := strings.CutPrefix(name, "std::")
	if !ok {
		return nil
	}
	rest, short := strings.CutPrefix(rest, "__cxx11::")
	unit := map[string]*Type{"char": TChar, "wchar_t": {
		Kind: Int, Name: "wchar_t", Size: 4, Align: 4, Signed: true, Source: &Source{Lang: CPlusPlus},
	}}
	for of, char := range unit {
		args := "basic_string<" + of + ", std::char_traits<" + of + ">, std::allocator<" + of + ">"
		if strings.TrimSuffix(strings.TrimSuffix(rest, ">"), " ") != args {
			continue
		}
		class := func(name string, size int, fields ...Field) *Type {
			return &Type{
				Kind: Struct, Name: name, Size: size, Align: 8, Fields: fields,
				Source: &Source{Lang: CPlusPlus, Class: true, InMemory: true},
			}
		}
		hider := class(name+"::_Alloc_hider", 8, Field{Name: "_M_p", Type: PointerTo(char, User)})
		data := Field{Name: "_M_dataplus", Type: hider}
		if !short {
			return class(name, 8, data)
		}
		size := TUint64.Derive(func(t *Type) { t.Name, t.Source.Lang = "unsigned long", CPlusPlus })
		local := &Type{
			Kind: Union, Size: 16, Align: 8, Source: &Source{Lang: CPlusPlus}, Fields: []Field{
				{Name: "_M_local_buf", Type: ArrayOf(char, 16/char.Size)}, {Name: "_M_allocated_capacity", Type: size},
			},
		}
		return class(name, 32, data, Field{Name: "_M_string_length", Type: size, Offset: 8}, Field{Type: local, Offset: 16})
	}
	return nil
}
