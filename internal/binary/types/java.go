package types

// JavaLayout is how a virtual machine of Java lays out objects: offsets in bytes. References in objects may be narrow:
// numbers of 32 bits, which are shifted and added to a base.
type JavaLayout struct {
	Narrow, NarrowClass bool
	Base, ClassBase     uint64
	Shift, ClassShift   int

	Class        int    // where an object has the reference to its class
	Length, Data int    // in an array; elements of 8 bytes begin at the next multiple of that
	Text         uint64 // the address of the class of texts
	Value, Coder int    // in a text: the array of its bytes, and whether they are UTF-16 and not Latin-1
}

// DataOf is where an array has its elements.
func (l *JavaLayout) DataOf(elem *Type) int {
	n := l.SizeOf(elem)
	return (l.Data + n - 1) &^ (n - 1)
}

// SizeOf is how many bytes an element of an array takes.
func (l *JavaLayout) SizeOf(elem *Type) int {
	if elem.Kind == Pointer && l.Narrow {
		return 4
	}
	return elem.Size
}

// JavaObject is a reference to an object of Java, which tells its type itself. Elem is the type of the elements of an
// array; nil: it is none.
func JavaObject(name string, elem *Type, layout *JavaLayout) *Type {
	t := &Type{
		Kind: Pointer, Name: name, Size: 8, Align: 8, Elem: TVoid,
		Source: &Source{Form: JavaForm, Item: elem, Key: elem, Java: layout},
	}
	if elem != nil && elem.Kind == Pointer {
		t.Source.Item = TVoid // they are not followed
	}
	return t
}

// JavaElement is the type of the elements of an array of Java.
func (t *Type) JavaElement() (elem *Type, ok bool) {
	if t == nil || t.Form() != JavaForm || t.Kind != Pointer {
		return nil, false
	}
	return t.Source.Key, t.Source.Key != nil
}

// JavaChar is a character of UTF-16.
func JavaChar() *Type {
	return &Type{Kind: Int, Name: "char", Size: 2, Align: 2, Source: &Source{Form: UnicodeForm}}
}

// ObjectText tells references to objects of a runtime that may be texts: the object itself tells whether it is one, and
// in which form.
func (t *Type) ObjectText() bool {
	return (t.Form() == PythonForm || t.Form() == JavaForm) && t.Kind == Pointer
}

// NoText tells references to objects that are not declared to be texts, and are told apart by their places.
func (t *Type) NoText() bool { return t.Form() == JavaForm && t.Name != "java.lang.String" }

// NarrowIn tells whether a value is a reference that an object has, which may be narrow.
func (t *Type) NarrowIn(object *Type) (*JavaLayout, bool) {
	if t == nil || t.Form() != JavaForm || t.Kind != Pointer {
		return nil, false
	}
	if _, array := object.JavaElement(); array {
		return t.Source.Java, true
	}
	if object.Kind == Pointer {
		object = object.Elem.Complete()
	}
	return t.Source.Java, object != nil && object.Kind == Struct && object.Form() == JavaForm
}
