package types

import "strings"

// View is what a value means to a programmer where its layout alone doesn't show it: text, or a list of elements that
// lies elsewhere. It is found by the names of a library's types and their members, so that it follows changes of layout
// as the debug information tells them.
type View struct {
	Data int // offset of the pointer to the first byte or element
	// Len is the offset of the number of bytes or elements. If End is set it is instead the offset of a pointer behind the
	// last element. If Before is set the length lies Len bytes in front of the data (libstdc++'s string before C++11).
	Len         int
	LenSize     int // bytes of the length
	End, Before bool
	Unit        int   // text: bytes of a character: 1, 2 or 4
	Elem        *Type // list: the elements' type
	Skip        int   // bytes of something else in front of the first byte or element
	Less        int   // how many at the end do not count
	// Ring: the elements begin with the one whose number is at Head, and go on at the first behind the last of as many as
	// the number at Room says.
	Ring       bool
	Head, Room int
	Fixed      int // list: the number of elements where no member has it, 0 else
	// Short, text: a text that is in the value itself, if the lowest bit of the value's first byte is 0; the bits above
	// are its length (libc++). Data is where it is then, from the value's start.
	Short     bool
	ShortData int
	// Bits, list: elements are single bits of 64-bit words from Data on. Their number is at Len or, with End, behind whole
	// words up to the pointer at Len as many as the 32-bit number at Tail says.
	Bits bool
	Tail int
	// Null: the pointer may be null, and then there is no value.
	Null bool
}

// Text tells how to reach the text of a string type of C++, Rust or Go.
func (t *Type) Text() (View, bool) {
	if t == nil || t.Kind != Struct {
		return View{}, false
	}
	if t.Form() == StringForm {
		return t.view("str", "len", 1)
	}
	switch t.Lang() {
	case Rust:
		return t.rustText()
	case CPlusPlus:
		return t.cppText()
	case DotNet:
		return t.dotNetText()
	}
	return View{}, false
}

// List tells how to reach the elements of a vector or slice.
func (t *Type) List() (View, bool) {
	if t == nil || t.Kind != Struct {
		return View{}, false
	}
	if t.Form() == SliceForm && t.Source.Item != nil {
		v, ok := t.view("array", "len", 0)
		v.Elem, v.Unit = t.Source.Item.Complete(), 0
		return v, ok && !v.Elem.Incomplete // of no size: an empty struct
	}
	switch t.Lang() {
	case Rust:
		return t.rustList()
	case CPlusPlus:
		return t.cppList()
	case DotNet:
		return t.dotNetList()
	}
	return View{}, false
}

// IsCString tells a pointer to C's char, which is taken for text.
func (t *Type) IsCString() bool {
	return t != nil && t.Kind == Pointer && (t.Source == nil || t.Source.Ref == PlainPointer) && t.Elem != nil &&
		t.Elem.Kind == Int && t.Elem.Size == 1 && t.Elem.Name == "char" && t.Lang() != Rust
}

// Elements tells how to reach what an index counts: the elements of a List, or the characters of a Text.
func (t *Type) Elements() (View, bool) {
	if v, ok := t.List(); ok {
		return v, true
	}
	v, ok := t.Text()
	v.Elem = IntOf(max(v.Unit, 1), false)
	return v, ok
}

// View is what a value means: a List or a Text.
func (t *Type) View() (View, bool) {
	if v, ok := t.List(); ok {
		return v, true
	}
	return t.Text()
}

// view is one by the names of a pointer and a length; unit 0: what the pointer points to.
func (t *Type) view(data, length string, unit int) (View, bool) {
	p, ok := t.Field(data)
	n, ok2 := t.Field(length)
	if !ok || !ok2 || p.Type.Kind != Pointer {
		return View{}, false
	}
	if unit == 0 {
		unit = 1
		if p.Type.Elem != nil {
			unit = max(1, p.Type.Elem.Size)
		}
	}
	return View{Data: p.Offset, Len: n.Offset, LenSize: n.Type.Size, Unit: unit}, true
}

// member follows names through nested members; the offset is from t.
func (t *Type) member(names ...string) (Field, bool) {
	at, f := 0, Field{Type: t}
	for _, name := range names {
		next, ok := f.Type.Complete().Field(name)
		if !ok {
			return Field{}, false
		}
		at += next.Offset
		f = next
	}
	f.Offset = at
	return f, true
}

// pointer finds the first pointer in a value, in nested members.
func (t *Type) pointer(depth int) (Field, bool) {
	t = t.Complete()
	if t.Kind == Pointer {
		return Field{Type: t}, true
	}
	if depth > 8 || t.Kind != Struct {
		return Field{}, false
	}
	for _, f := range t.Fields {
		if p, ok := f.Type.pointer(depth + 1); ok {
			p.Offset += f.Offset
			return p, true
		}
	}
	return Field{}, false
}

// Referenced is the type behind a reference of C++ or Rust's &T and Box<T>; ok is false for others.
func (t *Type) Referenced() (*Type, bool) {
	if t == nil || t.Kind != Pointer || t.Source == nil || t.Elem == nil {
		return nil, false
	}
	box := strings.HasPrefix(t.Name, "&") || strings.HasPrefix(t.Name, "alloc::boxed::Box<")
	if t.Source.Ref == PlainPointer && !(t.Lang() == Rust && box) {
		return nil, false
	}
	return t.Elem.Complete(), true
}

// Alternatives tells which of several contents a value has: the variants of a Rust enum, and std::optional, whose
// content is the variant without a name.
func (t *Type) Alternatives() *Variants {
	if t == nil || t.Kind != Struct && t.Kind != Record || t.Source == nil {
		return nil
	}
	if t.Source.Variants != nil {
		return t.Source.Variants
	}
	return t.cppAlternatives()
}

// Of finds the variant that a discriminant stands for; wide tells that it has more than 64 bits and is too large for
// any of those that are named.
func (v *Variants) Of(discr uint64, wide bool) *Variant {
	if i := discr; !wide && i < uint64(len(v.List)) && v.List[i].numbered(i) {
		return &v.List[i]
	}
	var other *Variant
	for i := range v.List {
		one := &v.List[i]
		if one.Default {
			other = one
		}
		for _, r := range one.Discrs {
			// By the discriminant's size: ranges of signed ones may be sign-extended, and wrap.
			if low := v.Cut(r.Low); !wide && v.Cut(discr-low) <= v.Cut(r.High-low) {
				return one
			}
		}
	}
	return other
}

// numbered tells whether a variant is that of one discriminant, i.
func (v *Variant) numbered(i uint64) bool {
	return len(v.Discrs) == 1 && v.Discrs[0] == VariantRange{Low: i, High: i}
}

// Cut is a number as a discriminant has it, by its size.
func (v *Variants) Cut(n uint64) uint64 {
	if v.Discr.Type == nil || v.Discr.Type.Size >= 8 {
		return n
	}
	return n & (1<<(8*v.Discr.Type.Size) - 1)
}
