package types

// Values of .NET. An object begins with the address of its type's description; behind it a string has the number of its
// characters, in 32 bits, and these, and an array the number of its elements and, aligned to 8 bytes, these.
const (
	objectLength = 8
	stringData   = 12
	arrayData    = 16
)

// DotNetString is the type of a string of .NET.
func DotNetString() *Type { return dotNetObject("string", DotNetStringForm, nil) }

// DotNetArray is the type of an array of .NET of one dimension.
func DotNetArray(name string, elem *Type) *Type { return dotNetObject(name, DotNetArrayForm, elem) }

func dotNetObject(name string, form Form, item *Type) *Type {
	object := &Type{Kind: Pointer, Size: 8, Align: 8, Elem: TVoid, Source: &Source{Lang: DotNet}}
	return &Type{
		Kind: Struct, Name: name, Size: 8, Align: 8, Fields: []Field{{Name: "object", Type: object}},
		Source: &Source{Lang: DotNet, Form: form, Item: item},
	}
}

// DotNetSpan is the type of what refers to a part of an array or a string: Span and ReadOnlySpan.
func DotNetSpan(name string, elem *Type) *Type {
	data := &Type{Kind: Pointer, Size: 8, Align: 8, Elem: elem, Source: &Source{Lang: DotNet}}
	return &Type{
		Kind: Struct, Name: name, Size: 16, Align: 8,
		Fields: []Field{{Name: "_reference", Type: data}, {Name: "_length", Type: TInt32, Offset: 8}},
		Source: &Source{Lang: DotNet, Form: DotNetSpanForm, Item: elem},
	}
}

// IsChar tells characters of .NET and Java, of UTF-16.
func (t *Type) IsChar() bool {
	return t != nil && t.Kind == Int && t.Size == 2 && t.Name == "char" && t.Form() == UnicodeForm
}

func (t *Type) dotNetText() (View, bool) {
	switch {
	case t.Form() == DotNetStringForm:
		return View{Len: -objectLength, LenSize: 4, Before: true, Skip: stringData, Unit: 2, Null: true}, true
	case t.Form() == DotNetSpanForm && t.Source.Item.IsChar():
		return View{Len: 8, LenSize: 4, Unit: 2}, true
	}
	return View{}, false
}

func (t *Type) dotNetList() (View, bool) {
	if t.Source == nil || t.Source.Item == nil {
		return View{}, false
	}
	item := t.Source.Item.Complete()
	if item.Size == 0 || item.Incomplete || item.IsChar() && t.Form() == DotNetSpanForm {
		return View{}, false
	}
	switch t.Form() {
	case DotNetArrayForm:
		return View{Len: -objectLength, LenSize: 4, Before: true, Skip: arrayData, Elem: item, Null: true}, true
	case DotNetSpanForm:
		return View{Len: 8, LenSize: 4, Elem: item}, true
	case DotNetListForm:
		items, ok := t.Field("_items")
		size, ok2 := t.Field("_size")
		return View{Data: items.Offset, Len: size.Offset, LenSize: 4, Skip: arrayData, Elem: item}, ok && ok2
	}
	return View{}, false
}
