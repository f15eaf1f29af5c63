package clr

import (
	"bytes"
	"strings"
)

// Element is the kind of a type in a signature (ECMA-335, II.23.1.16).
type Element uint8

// Elements.
const (
	Void        Element = 0x01
	Boolean     Element = 0x02
	Char        Element = 0x03
	Int8        Element = 0x04
	UInt8       Element = 0x05
	Int16       Element = 0x06
	UInt16      Element = 0x07
	Int32       Element = 0x08
	UInt32      Element = 0x09
	Int64       Element = 0x0a
	UInt64      Element = 0x0b
	Float32     Element = 0x0c
	Float64     Element = 0x0d
	String      Element = 0x0e
	Pointer     Element = 0x0f
	ByRef       Element = 0x10
	ValueType   Element = 0x11
	Class       Element = 0x12
	TypeParam   Element = 0x13 // of the type
	Array       Element = 0x14
	Instance    Element = 0x15 // of a generic type
	TypedRef    Element = 0x16
	IntPtr      Element = 0x18
	UIntPtr     Element = 0x19
	Function    Element = 0x1b
	Object      Element = 0x1c
	Vector      Element = 0x1d // an array of one dimension, from 0
	MethodParam Element = 0x1e // a type parameter of the method
	required    Element = 0x1f
	optional    Element = 0x20
	sentinel    Element = 0x41
	pinned      Element = 0x45
	// Of ReadyToRun's own signatures.
	Canonical Element = 0x3e // stands for any reference type: the code is shared
	foreign   Element = 0x3f // a type of another module follows
)

// keywords are C#'s names of types.
var keywords = [...]string{
	Void: "void", Boolean: "bool", Char: "char", Int8: "sbyte", UInt8: "byte", Int16: "short", UInt16: "ushort",
	Int32: "int", UInt32: "uint", Int64: "long", UInt64: "ulong", Float32: "float", Float64: "double",
	String: "string", Object: "object", IntPtr: "nint", UIntPtr: "nuint", TypedRef: "TypedReference",
	Canonical: "__Canon", Function: "delegate*",
}

// Type is a type as a signature has it.
type Type struct {
	Element Element
	Table   table  // ValueType, Class and Instance: where it is declared
	Row     uint32 // there
	Value   bool   // Instance: of a value type
	Number  int    // TypeParam, MethodParam; Array: dimensions
	Args    []Type // Instance: arguments; Pointer, ByRef, Vector and Array: what of
	Foreign bool   // it is declared in another file that is not named
	In      *Image // where it is named, if that is another file than the one that the type around it is of
}

// Signature is that of a method.
type Signature struct {
	Instance bool // it has a this
	Generic  int  // type parameters
	Result   Type
	Params   []Type
	Vararg   bool
}

// Bounds of one signature.
const (
	maxDepth  = 24
	maxParams = 1024
	maxNodes  = 1024
)

// reader reads a signature.
type reader struct {
	data  []byte
	bad   bool
	nodes int
}

func (r *reader) byte() byte {
	if len(r.data) == 0 {
		r.bad = true
		return 0
	}
	c := r.data[0]
	r.data = r.data[1:]
	return c
}

// number is a compressed unsigned number (ECMA-335, II.23.2).
func (r *reader) number() uint32 {
	c := uint32(r.byte())
	switch {
	case c&0x80 == 0:
		return c
	case c&0xc0 == 0x80:
		return c&0x3f<<8 | uint32(r.byte())
	case c&0xe0 == 0xc0:
		c = c&0x1f<<24 | uint32(r.byte())<<16
		c |= uint32(r.byte()) << 8
		return c | uint32(r.byte())
	}
	r.bad = true
	return 0
}

func (r *reader) typ(depth int) (t Type) {
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		r.bad = true
	}
	if r.bad {
		return t
	}
	t.Element = Element(r.byte())
	switch t.Element {
	case Void, Boolean, Char, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Float32, Float64, String, TypedRef,
		IntPtr, UIntPtr, Object, Canonical:
	case Pointer, ByRef, Vector:
		t.Args = []Type{r.typ(depth + 1)}
	case ValueType, Class:
		t.Table, t.Row = decode(r.number(), typeDefOrRef)
	case TypeParam, MethodParam:
		t.Number = int(r.number())
	case Array:
		t.Args = []Type{r.typ(depth + 1)}
		t.Number = int(r.number())
		for range 2 { // sizes, and lower bounds
			for range min(r.number(), maxParams) {
				r.number()
			}
		}
	case Instance:
		t.Value = Element(r.byte()) == ValueType
		t.Table, t.Row = decode(r.number(), typeDefOrRef)
		n := min(r.number(), maxGenerics)
		t.Args = make([]Type, 0, min(int(n), len(r.data)))
		for range n {
			t.Args = append(t.Args, r.typ(depth+1))
			if r.bad {
				return t
			}
		}
	case Function:
		r.method(depth + 1)
	case required, optional:
		r.number()
		return r.typ(depth + 1)
	case sentinel, pinned:
		return r.typ(depth + 1)
	case foreign:
		r.number()
		t = r.typ(depth + 1)
		t.disown()
	default:
		r.bad = true
	}
	return t
}

// disown marks a type as declared elsewhere.
func (t *Type) disown() {
	t.Foreign = true
	for i := range t.Args {
		t.Args[i].disown()
	}
}

// method reads a method's signature (ECMA-335, II.23.2.1).
func (r *reader) method(depth int) (s Signature) {
	const hasThis, generic, kinds, vararg = 0x20, 0x10, 0x0f, 0x05
	head := r.byte()
	s.Instance, s.Vararg = head&hasThis != 0, head&kinds == vararg
	if head&generic != 0 {
		s.Generic = int(min(r.number(), maxGenerics))
	}
	n := r.number()
	if n > maxParams {
		r.bad = true
		return s
	}
	s.Result = r.typ(depth)
	if fit := min(int(n), len(r.data)); fit > 0 {
		s.Params = make([]Type, 0, fit)
	}
	for range n {
		s.Params = append(s.Params, r.typ(depth))
		if r.bad {
			return s
		}
	}
	return s
}

// Signature is a method's; ok is false if it cannot be read.
func (im *Image) Signature(method uint32) (s Signature, ok bool) {
	r := reader{data: im.meta.bytes(im.meta.cell(tMethodDef, method, methodSig))}
	s = r.method(0)
	return s, !r.bad
}

// typeText writes a type as C# has it, without namespaces. own and method are what type parameters stand for.
func (m *metadata) typeText(b *bytes.Buffer, t *Type, own, method []string) {
	if b.Len() > maxText {
		return
	}
	if t.In != nil {
		m = &t.In.meta
	}
	switch t.Element {
	case Pointer, ByRef, Vector, Array:
		m.typeText(b, &t.Args[0], own, method)
		switch t.Element {
		case Pointer:
			b.WriteByte('*')
		case ByRef:
			b.WriteByte('&')
		case Vector:
			b.WriteString("[]")
		default:
			b.WriteString("[" + strings.Repeat(",", min(max(t.Number-1, 0), 31)) + "]")
		}
	case ValueType, Class, Instance:
		if t.Foreign {
			b.WriteByte('?') // of a file that is not looked at
			break
		}
		before := b.Len()
		m.named(b, t.Table, t.Row, len(t.Args), func(i int) { m.typeText(b, &t.Args[i], own, method) }, false)
		if b.Len() == before {
			b.WriteByte('?')
		}
	case TypeParam:
		param(b, own, t.Number, "!")
	case MethodParam:
		param(b, method, t.Number, "!!")
	default:
		if int(t.Element) < len(keywords) {
			b.WriteString(keywords[t.Element])
		}
	}
}

// maxText bounds what a type is written as.
const maxText = 2048

func param(b *bytes.Buffer, names []string, n int, mark string) {
	if n < len(names) {
		b.WriteString(names[n])
		return
	}
	b.WriteString(mark + "?")
}

// TypeText is a type as C# has it, without namespaces.
func (im *Image) TypeText(t *Type, method uint32) string {
	var b bytes.Buffer
	im.meta.typeText(&b, t, im.meta.generics(tTypeDef, im.Owner(method)), im.meta.generics(tMethodDef, method))
	return b.String()
}

// Text is a type as C# has it, without namespaces, with what type parameters stand for.
func (im *Image) Text(t *Type, own, method []Type) string {
	var b bytes.Buffer
	im.meta.typeText(&b, t, im.texts(own, nil), im.texts(method, nil))
	return b.String()
}
