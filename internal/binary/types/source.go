package types

// Qualifiers are the words that go before a type in C and C++.
type Qualifiers uint8

// Qualifiers.
const (
	Const Qualifiers = 1 << iota
	Volatile
	Restrict
	Atomic
)

// RefKind tells a pointer from the references of C++, which are pointers that are written without a star.
type RefKind uint8

// Kinds of pointers.
const (
	PlainPointer RefKind = iota
	LValueRef            // T&
	RValueRef            // T&&
)

// Form tells what a language means by a layout, where Kind is only how it is laid out.
type Form uint8

// Forms.
const (
	NoForm             Form = iota
	CharForm                // Int: a character of 8 bits (char, signed char, unsigned char)
	UnicodeForm             // Int: a character of UTF-8, UTF-16 or UTF-32 by its size (char16_t, Rust's char)
	ComplexForm             // Struct of two floats
	VectorForm              // Array that is one SIMD value
	MethodPointerForm       // Struct of two words: C++'s pointer to a member function
	RustEnumForm            // Struct with Variants
	StringForm              // Struct str, len
	SliceForm               // Struct array, len, cap; of Source.Item
	MapForm                 // Pointer to the map's header; of Source.Key and Source.Item
	InterfaceForm           // Struct tab, data: an interface with methods
	AnyForm                 // Struct _type, data: an interface without
	ChannelForm             // Pointer to the channel's header; of Source.Item
	ClosureForm             // Pointer to the closure
	UnsafeForm              // Pointer
	DotNetStringForm        // Struct of a pointer to the object: its length and UTF-16 characters
	DotNetArrayForm         // Struct of a pointer to the object: the number of elements, and these; of Source.Item
	DotNetSpanForm          // Struct of a pointer and a number of elements; of Source.Item
	DotNetDateTimeForm      // Struct of 64 bits: 100 ns since year 1, the kind of time in the two highest bits
	DotNetTimeSpanForm      // Struct of 64 bits: 100 ns
	DotNetDateForm          // Struct of 32 bits: days since year 1
	DotNetTimeForm          // Struct of 64 bits: 100 ns since midnight
	DotNetGuidForm          // Struct of 16 bytes
	DotNetDecimalForm       // Struct of 16 bytes: sign and scale, the highest 32 bits, the others
	DotNetNullableForm      // Struct hasValue, value
	DotNetListForm          // Struct of a List<T>: _items and _size; of Source.Item
	DotNetObjectForm        // Struct that begins with the address of its type's description
	PythonForm              // Pointer to an object; see PythonObject
	JavaForm                // Pointer to an object; see JavaObject
	HexForm                 // Enum: what has no name is in hexadecimal
	OctalForm               // Enum: what has no name is in octal
	GivenForm               // Record: the registers of a call, see record.GivenOf
)

// Variants are the alternatives of a Rust enum: the discriminant tells which one a value is.
type Variants struct {
	// Discr is the discriminant's place in the value; its Type is nil if there is only one variant.
	Discr Field
	List  []Variant
}

// Variant is one alternative. Its Type is a struct that begins at Offset of the enum.
type Variant struct {
	Name    string
	Type    *Type
	Offset  int
	Default bool           // holds for every discriminant that no other variant names (a niche)
	Discrs  []VariantRange // the discriminants it holds for
}

// VariantRange is the discriminants Low to High, both included; to be read as the discriminant's type says.
type VariantRange struct{ Low, High uint64 }

// Source is what a type from debug info tells besides its layout.
type Source struct {
	Lang  Language
	Form  Form
	Alias string // the typedef's name that the type is used by; Name stays that of the type itself
	Quals Qualifiers
	Ref   RefKind // Pointer

	// Class says of a Struct that it is declared by the word class, and of a reference of .NET that it is that to the
	// object whose method is called.
	Class bool
	// Struct: values are passed and returned by address, because they are not trivial to copy or destroy
	InMemory bool
	VBases   []*Type   // Struct: virtual base classes; where they lie only the object itself knows
	Variants *Variants // Struct: a Rust enum
	Params   []*Type   // Func: parameters; Elem is the result
	Results  []*Type   // Func: results, of languages where there are several
	Vararg   bool      // Func: more arguments may follow

	Key  *Type // MapForm; JavaForm: of an array's elements; of containers of C++ the first type argument, see OfNodes
	Item *Type // MapForm, ChannelForm, SliceForm; of containers of C++ the second type argument
	// RuntimeType is the address of the type's description in a Go program, 0 if unknown.
	RuntimeType uint64
	// DictIndex is 1 + the index in the dictionary for a type parameter in the body of a generic Go function.
	DictIndex int

	// Java is how objects are laid out in the virtual machine; JavaForm.
	Java *JavaLayout

	// Unknown is why nothing but its name is known of the type.
	Unknown string

	// complete gives the type with its members, where this one has only the name and size.
	complete func() *Type
}

// Lang is the language that the type was written in.
func (t *Type) Lang() Language {
	if t == nil || t.Source == nil {
		return UnknownLanguage
	}
	return t.Source.Lang
}

// Form is what the language means by the type's layout.
func (t *Type) Form() Form {
	if t == nil || t.Source == nil {
		return NoForm
	}
	return t.Source.Form
}

// Alias is the name of the typedef that the type is used by, or "".
func (t *Type) Alias() string {
	if t == nil || t.Source == nil {
		return ""
	}
	return t.Source.Alias
}

// Quals are the type's qualifiers.
func (t *Type) Quals() Qualifiers {
	if t == nil || t.Source == nil {
		return 0
	}
	return t.Source.Quals
}

// Derive copies a type and changes the copy, for a typedef of it or a qualified form. The copy's Source is its own.
func (t *Type) Derive(change func(*Type)) *Type {
	d, s := *t, Source{}
	if t.Source != nil {
		s = *t.Source
	}
	d.Source = &s
	if s.complete != nil {
		s.complete = func() *Type {
			full := t.Complete()
			if full.Incomplete {
				return nil
			}
			return full.Derive(change)
		}
	}
	change(&d)
	return &d
}

// Stub makes t, which has no members yet, a type that is completed on demand.
func Stub(t *Type, complete func() *Type) *Type {
	if t.Source == nil {
		t.Source = new(Source)
	}
	t.Incomplete = true
	t.Source.complete = complete
	return t
}

// Complete returns the type with its members. Types behind pointers are read from debug info only when they are asked
// for: until then they have a name and a size and are Incomplete. It returns t itself if nothing more is known.
func (t *Type) Complete() *Type {
	if t == nil || t.Source == nil || t.Source.complete == nil {
		return t
	}
	if full := t.Source.complete(); full != nil {
		return full
	}
	return t
}

// ByAddress tells whether values of a class of C++ are passed and returned by address, as it is not trivial to copy or
// destroy them (Itanium C++ ABI, 3.1.1).
func (t *Type) ByAddress() bool {
	t = t.Complete()
	return t != nil && t.Source != nil && (t.Source.InMemory || len(t.Source.VBases) > 0)
}

// IsQuad tells a floating-point number of IEEE 754's 128-bit format from x87's, which takes as many bytes.
func (t *Type) IsQuad() bool {
	return t.Name == "__float128" || t.Name == "_Float128" || t.Name == "f128"
}

// Empty tells whether a structure has no member. Such values are not passed at all.
func (t *Type) Empty() bool {
	t = t.Complete()
	if t == nil || t.Kind != Struct && t.Kind != Union || t.Incomplete || t.Alternatives() != nil {
		return false
	}
	for _, f := range t.Fields {
		if f.BitSize > 0 || f.Artificial || f.Type == nil || !f.Type.Empty() {
			return false
		}
	}
	return len(t.sourceVBases()) == 0
}

func (t *Type) sourceVBases() []*Type {
	if t.Source == nil {
		return nil
	}
	return t.Source.VBases
}
