package types

import "strings"

// What values of Rust's library mean. Their members are the library's own business and change from version to version:
// so they are not shown as they are laid out, but by rules that follow the layout which the debug information tells. A
// type of the library with one member that has a size stands for that member (Cell, UnsafeCell, NonNull, ManuallyDrop,
// atomics); members without a size (markers, the global allocator) tell nothing. Types of programs are shown as they
// are declared.

// RustKind says in which way a value of Rust is shown.
type RustKind uint8

// Ways of showing values of Rust.
const (
	RustPlain   RustKind = iota // as laid out
	RustInner                   // its only part, Parts[0]
	RustParts                   // Parts, by their names
	RustCounted                 // what the pointer Parts[0] points to: a value with its counts of references
	RustDyn                     // Parts: the data's pointer and the virtual table's
)

// RustShape is what is shown for a value.
type RustShape struct {
	Kind  RustKind
	Parts []Field // offsets are from the value's beginning
	Tuple bool    // RustParts: without names
	// Implied is 1 + the number of the part that counts one more than the program says: the weak references of Rc and Arc,
	// of which all strong ones together hold one.
	Implied int
}

// Rust tells how a value of Rust is shown; false for types of other languages.
func (t *Type) Rust() (s RustShape, ok bool) {
	if t == nil || t.Kind != Struct || t.Lang() != Rust {
		return s, false
	}
	if t.Source.Variants != nil {
		return s, true
	}
	if p, v, ok := t.dyn(); ok {
		return RustShape{Kind: RustDyn, Parts: []Field{p, v}}, true
	}
	if !rustLibrary(t.Name) {
		if t.Name != "" && !t.tupled() {
			return s, true
		}
		return RustShape{Kind: RustParts, Parts: t.Fields, Tuple: t.tupled()}, true
	}
	base, _, _ := strings.Cut(t.Name, "<")
	switch base {
	case "alloc::rc::Rc", "alloc::sync::Arc":
		if p, ok := t.pointer(0); ok && p.Type.Elem != nil && t.Size == 8 {
			if _, ok := p.Type.Elem.Complete().counted(); ok {
				return RustShape{Kind: RustCounted, Parts: []Field{p}}, true
			}
		}
	case "alloc::rc::RcInner", "alloc::rc::RcBox", "alloc::sync::ArcInner":
		if parts, ok := t.counted(); ok {
			return RustShape{Kind: RustParts, Parts: parts, Implied: 3}, true
		}
	case "std::collections::hash::map::HashMap", "hashbrown::map::HashMap":
		if n, ok := t.named("items", 0); ok {
			return lengthOnly(n), true
		}
	case "alloc::collections::btree::map::BTreeMap":
		if n, ok := t.Field("length"); ok {
			return lengthOnly(n), true
		}
	case "alloc::collections::linked_list::LinkedList":
		if n, ok := t.Field("len"); ok {
			return lengthOnly(n), true
		}
	}
	parts := t.sized()
	if len(parts) == 1 {
		return RustShape{Kind: RustInner, Parts: parts}, true
	}
	return RustShape{Kind: RustParts, Parts: parts, Tuple: t.tupled()}, true
}

func lengthOnly(n Field) RustShape {
	n.Name = "len"
	return RustShape{Kind: RustParts, Parts: []Field{n}}
}

// rustLibrary tells whether a name is of Rust's standard library.
func rustLibrary(name string) bool {
	for _, crate := range []string{"core::", "alloc::", "std::", "hashbrown::"} {
		if strings.HasPrefix(name, crate) {
			return true
		}
	}
	return false
}

// RustUnit is the type that has one value, and no size.
func RustUnit() *Type {
	return &Type{Kind: Struct, Name: "()", Align: 1, Source: &Source{Lang: Rust}}
}

// sized are the members with a size.
func (t *Type) sized() (parts []Field) {
	for _, f := range t.Fields {
		if f.Type.Size > 0 {
			parts = append(parts, f)
		}
	}
	return parts
}

// MayBeEmpty tells of Rust's MaybeUninit: the memory for a value that need not be there.
func (t *Type) MayBeEmpty() bool {
	return t.Kind == Union && t.Lang() == Rust && strings.HasPrefix(t.Name, "core::mem::maybe_uninit::MaybeUninit<")
}

// tupled tells whether the members are those of a tuple: counted, not named.
func (t *Type) tupled() bool {
	if t.Name == "()" {
		return true
	}
	for _, f := range t.Fields {
		if !strings.HasPrefix(f.Name, "__") || len(f.Name) < 3 || f.Name[2] < '0' || f.Name[2] > '9' {
			return false
		}
	}
	return len(t.Fields) > 0
}

// counted are the parts of what Rc and Arc point to: the value and the two counts.
func (t *Type) counted() (parts []Field, ok bool) {
	strong, ok1 := t.Field("strong")
	weak, ok2 := t.Field("weak")
	value, ok3 := t.Field("value")
	if !ok3 {
		value, ok3 = t.Field("data")
	}
	if !ok1 || !ok2 || !ok3 || strong.Type.Size != 8 || weak.Type.Size != 8 {
		return nil, false
	}
	value.Name = "value"
	return []Field{value, strong, weak}, true
}

// named finds the member of a name in nested members.
func (t *Type) named(name string, depth int) (Field, bool) {
	t = t.Complete()
	if depth > 8 || t.Kind != Struct {
		return Field{}, false
	}
	if f, ok := t.Field(name); ok {
		return f, true
	}
	for _, f := range t.Fields {
		if n, ok := f.Type.named(name, depth+1); ok {
			n.Offset += f.Offset
			return n, true
		}
	}
	return Field{}, false
}

// wide finds the two words of a reference or smart pointer to what has no size of its own (a slice, text, dyn Trait).
func (t *Type) wide(meta string) (data, more Field, ok bool) {
	at := 0
	for range 8 {
		t = t.Complete()
		if t.Kind != Struct || t.Size < 16 {
			return Field{}, Field{}, false
		}
		for _, name := range []string{"data_ptr", "pointer"} {
			d, ok1 := t.Field(name)
			m, ok2 := t.Field(meta)
			if ok1 && ok2 && d.Type.Kind == Pointer {
				d.Offset += at
				m.Offset += at
				return d, m, true
			}
		}
		parts := t.sized()
		if len(parts) != 1 || !rustLibrary(t.Name) {
			return Field{}, Field{}, false
		}
		at += parts[0].Offset
		t = parts[0].Type
	}
	return Field{}, Field{}, false
}

// dyn finds the two words of a trait object.
func (t *Type) dyn() (data, vtable Field, ok bool) {
	if !strings.Contains(t.Name, "dyn ") {
		return Field{}, Field{}, false
	}
	data, vtable, ok = t.wide("vtable")
	return data, vtable, ok && vtable.Type.Size == 8
}

// inCounted is how far what Rc or Arc point to lies behind the counts.
func (t *Type) inCounted(align int) int {
	if strings.HasPrefix(t.Name, "alloc::rc::Rc<") || strings.HasPrefix(t.Name, "alloc::sync::Arc<") {
		return (16 + align - 1) / align * align
	}
	return 0
}

// rustText is where the text of a string of Rust is.
func (t *Type) rustText() (View, bool) {
	base, args, _ := strings.Cut(t.Name, "<")
	less := 0
	switch base {
	case "alloc::string::String", "std::ffi::os_str::OsString", "std::path::PathBuf":
		parts, at := []Field{{Type: t}}, 0
		for range 8 {
			inner := parts[0].Type.Complete()
			if strings.HasPrefix(inner.Name, "alloc::vec::Vec<") {
				v, ok := inner.List()
				return View{Data: v.Data + at, Len: v.Len + at, LenSize: v.LenSize, Unit: 1}, ok && v.Elem.Size == 1
			}
			if parts = inner.sized(); len(parts) != 1 {
				return View{}, false
			}
			at += parts[0].Offset
		}
		return View{}, false
	case "alloc::ffi::c_str::CString":
		less = 1 // its length counts the NUL
	case "alloc::boxed::Box", "alloc::rc::Rc", "alloc::sync::Arc":
		args, _, _ = strings.Cut(args, ">")
		args, _, _ = strings.Cut(args, ",")
		less = textual(args)
	default:
		name, ok := strings.CutPrefix(t.Name, "&mut ")
		if !ok {
			name, ok = strings.CutPrefix(t.Name, "&")
		}
		if !ok {
			return View{}, false
		}
		less = textual(name)
	}
	data, n, ok := t.wide("length")
	if less < 0 || !ok {
		return View{}, false
	}
	return View{Data: data.Offset, Len: n.Offset, LenSize: n.Type.Size, Unit: 1, Less: less, Skip: t.inCounted(1)}, true
}

// textual tells of a type without a size of its own whether it is text (0 or more: how many bytes at its end are not),
// or that it is not (-1).
func textual(name string) int {
	switch name {
	case "str", "std::path::Path", "std::ffi::os_str::OsStr":
		return 0
	case "core::ffi::c_str::CStr":
		return 1
	}
	return -1
}

// rustList is where the elements of a slice or vector of Rust are.
func (t *Type) rustList() (View, bool) {
	if strings.HasPrefix(t.Name, "alloc::vec::Vec<") ||
		strings.HasPrefix(t.Name, "alloc::collections::vec_deque::VecDeque<") {
		return t.rustVec()
	}
	var elem *Type
	slice := strings.HasPrefix(t.Name, "&[") || strings.HasPrefix(t.Name, "&mut [")
	for _, smart := range []string{"alloc::boxed::Box<[", "alloc::rc::Rc<[", "alloc::sync::Arc<["} {
		slice = slice || strings.HasPrefix(t.Name, smart)
	}
	data, n, ok := t.wide("length")
	if !slice || !ok {
		return View{}, false
	}
	if elem = data.Type.Elem.Complete(); elem != nil && t.inCounted(1) > 0 {
		// What is pointed to has the first element as its last member.
		f, ok := elem.Field("value")
		if !ok {
			f, ok = elem.Field("data")
		}
		if !ok {
			return View{}, false
		}
		if elem = f.Type.Complete(); elem.Kind == Array && elem.Len < 0 {
			elem = elem.Elem.Complete()
		}
	}
	if elem == nil || elem.Size <= 0 {
		return View{}, false
	}
	return View{Data: data.Offset, Len: n.Offset, LenSize: n.Type.Size, Elem: elem, Skip: t.inCounted(max(elem.Align, 1))},
		true
}

// rustVec is where a vector's elements are. Its pointer is to bytes in newer libraries; the element is the vector's
// first type argument.
func (t *Type) rustVec() (View, bool) {
	n, ok := t.Field("len")
	buf, found := t.Field("buf")
	if !ok || !found {
		return View{}, false
	}
	p, ok := buf.Type.pointer(0)
	if !ok {
		return View{}, false
	}
	elem := t.Elem.Complete()
	if elem == nil && p.Type.Elem != nil && p.Type.Elem.Name != "u8" {
		elem = p.Type.Elem.Complete()
	}
	v := View{Data: buf.Offset + p.Offset, Len: n.Offset, LenSize: n.Type.Size, Elem: elem}
	if elem == nil && strings.Contains(t.Name, "<u8") {
		v.Elem = p.Type.Elem
	}
	if head, ok := t.Field("head"); ok {
		room, ok := buf.Type.named("cap", 0)
		if !ok || head.Type.Size != 8 || room.Type.Size != 8 {
			return View{}, false
		}
		v.Ring, v.Head, v.Room = true, head.Offset, buf.Offset+room.Offset
	}
	return v, v.Elem != nil && v.Elem.Size > 0
}
