package dotnet

import (
	"fmt"

	"trocar/internal/binary/clr"
	"trocar/internal/binary/types"
)

// loader makes types of those in signatures.
type loader struct {
	code        *Code
	image       *clr.Image
	own, method []clr.Type // what type parameters stand for
	any         bool       // it is one instance or another
	made        int
}

// Bounds of one type.
const (
	maxDepth = 6
	maxMade  = 512
	maxSize  = 1 << 16
)

// value is a type; nil if even its size is not known. why says why values of it are not shown.
type value struct {
	t   *types.Type
	why string
	// refs: its values hold references to objects, so that the order of fields around is the runtime's.
	refs bool
}

func word() *types.Type { return number("nuint", 8, false) }

func number(name string, size int, signed bool) *types.Type {
	return &types.Type{
		Kind: types.Int, Name: name, Size: size, Align: size, Signed: signed, Source: &types.Source{Lang: types.DotNet},
	}
}

// opaque is a type of which only the name is known.
func opaque(name string) *types.Type {
	return &types.Type{Kind: types.Struct, Name: name, Incomplete: true, Source: &types.Source{Lang: types.DotNet}}
}

// reference is the address of an object, or of a value.
func reference(to *types.Type) *types.Type {
	return &types.Type{Kind: types.Pointer, Size: 8, Align: 8, Elem: to, Source: &types.Source{Lang: types.DotNet}}
}

// text is a type's name.
func (l *loader) text(t *clr.Type) string { return l.image.Text(t, l.own, l.method) }

// this is the type of the object of a method.
func (l *loader) this(owner uint32) value {
	t := l.image.TypeOf(owner)
	for i := range t.Args {
		if i < len(l.own) {
			t.Args[i] = l.own[i]
		}
	}
	if !l.image.IsValueType(owner) {
		o := l.object(&t, l.image.TypeName(owner))
		o.Source.Class = true
		return value{t: o}
	}
	if t.Element = clr.ValueType; len(t.Args) > 0 {
		t.Element, t.Value = clr.Instance, true
	}
	if v := l.typ(&t, 1); v.t != nil && v.why == "" {
		return value{t: reference(v.t)}
	}
	return value{t: reference(opaque(l.image.TypeName(owner)))}
}

// in makes types of another assembly.
func (l *loader) in(im *clr.Image) *loader { return &loader{code: l.code, image: im, made: l.made} }

// typ is the type of a value of a signature.
func (l *loader) typ(t *clr.Type, depth int) value {
	if l.made++; depth > maxDepth || l.made > maxMade {
		return value{why: "its type is too deeply nested"}
	}
	if t.In != nil && t.In != l.image {
		return l.in(t.In).typ(t, depth)
	}
	switch t.Element {
	case clr.Void:
		return value{t: types.TVoid}
	case clr.Boolean:
		return value{t: &types.Type{
			Kind: types.Bool, Name: "bool", Size: 1, Align: 1,
			Source: &types.Source{Lang: types.DotNet},
		}}
	case clr.Char:
		c := number("char", 2, false)
		c.Source.Form = types.UnicodeForm
		return value{t: c}
	case clr.Int8:
		return value{t: number("sbyte", 1, true)}
	case clr.UInt8:
		return value{t: number("byte", 1, false)}
	case clr.Int16:
		return value{t: number("short", 2, true)}
	case clr.UInt16:
		return value{t: number("ushort", 2, false)}
	case clr.Int32:
		return value{t: number("int", 4, true)}
	case clr.UInt32:
		return value{t: number("uint", 4, false)}
	case clr.Int64:
		return value{t: number("long", 8, true)}
	case clr.UInt64:
		return value{t: number("ulong", 8, false)}
	case clr.IntPtr:
		return value{t: number("nint", 8, true)}
	case clr.UIntPtr:
		return value{t: number("nuint", 8, false)}
	case clr.Float32:
		return float("float", 4)
	case clr.Float64:
		return float("double", 8)
	case clr.String:
		return value{t: types.DotNetString()}
	case clr.Object, clr.Canonical:
		return value{t: l.object(t, "object")}
	case clr.Class:
		return value{t: l.object(t, l.text(t))}
	case clr.Array, clr.Function:
		return value{t: reference(opaque(l.text(t)))}
	case clr.Vector:
		if elem := l.typ(&t.Args[0], depth+1); elem.t != nil && elem.why == "" && elem.t.Size > 0 {
			return value{t: types.DotNetArray(l.text(t), elem.t)}
		}
		return value{t: reference(opaque(l.text(t)))}
	case clr.Pointer, clr.ByRef:
		elem := l.typ(&t.Args[0], depth+1)
		if elem.t == nil || elem.why != "" || elem.t.Kind == types.Void {
			return value{t: reference(opaque(l.text(&t.Args[0])))}
		}
		return value{t: reference(elem.t)}
	case clr.TypeParam:
		return l.param(t.Number, l.own, depth)
	case clr.MethodParam:
		return l.param(t.Number, l.method, depth)
	case clr.ValueType:
		return l.structure(t, depth)
	case clr.Instance:
		if !t.Value {
			return value{t: l.object(t, l.text(t))}
		}
		return l.structure(t, depth)
	case clr.TypedRef:
		return value{why: "a TypedReference is not looked at"}
	}
	return value{why: "its type is not known"}
}

func float(name string, size int) value {
	return value{t: &types.Type{
		Kind: types.Float, Name: name, Size: size, Align: size, Source: &types.Source{Lang: types.DotNet},
	}}
}

// param is what a type parameter stands for.
func (l *loader) param(n int, args []clr.Type, depth int) value {
	if n < len(args) {
		in := &loader{code: l.code, image: l.image, made: l.made} // of the instance, not of what it is used in
		v := in.typ(&args[n], depth+1)
		l.made = in.made
		return v
	}
	return value{why: "what its type parameter stands for is not known"}
}

// structure is a value type.
func (l *loader) structure(t *clr.Type, depth int) value {
	name := l.text(t)
	if t.Foreign {
		return value{why: "its type is declared in another assembly"}
	}
	if v, ok := l.known(t, name, depth); ok {
		return v
	}
	if _, here := l.image.TypeDef(t); !here {
		file, typ, ok := l.code.declared(l.image, t)
		if !ok {
			return value{why: name + " is declared in another assembly, which is not there"}
		}
		there := l.substituted(t)
		there.In, there.Row = file.Managed(), typ
		there.Table = there.In.TypeOf(typ).Table
		v := l.in(there.In).structure(&there, depth)
		return v
	}
	s, ok := l.image.Struct(t)
	if !ok {
		return value{why: "the declaration of " + name + " cannot be read"}
	}
	if s.Enum {
		under := l.typ(&s.Fields[0].Type, depth+1)
		if under.t == nil || under.t.Kind != types.Int {
			return value{why: name + " has values of a kind that is not known"}
		}
		e := &types.Type{
			Kind: types.Enum, Name: name, Size: under.t.Size, Align: under.t.Size, Signed: under.t.Signed,
			Source: &types.Source{Lang: types.DotNet},
		}
		for _, v := range s.Values {
			e.Enums = append(e.Enums, types.Enumerator{Name: v.Name, Value: v.Value})
		}
		return value{t: e}
	}
	switch {
	case s.Space == "System.Runtime.Intrinsics", s.Space == "System.Numerics", s.Name == "Int128", s.Name == "UInt128":
		return value{why: name + " is passed in vector registers, or aligned, by rules of its own"}
	}
	in := l.in(l.image)
	for i := range t.Args {
		in.own = append(in.own, l.substituted(&t.Args[i]))
	}
	defer func() { l.made = in.made }()
	return in.layOut(t, &s, name, depth)
}

// substituted is a type argument with what type parameters stand for in it.
func (l *loader) substituted(t *clr.Type) clr.Type {
	switch {
	case t.Element == clr.TypeParam && t.Number < len(l.own):
		return l.own[t.Number]
	case t.Element == clr.MethodParam && t.Number < len(l.method):
		return l.method[t.Number]
	}
	out := *t
	if out.In == nil {
		out.In = l.image
	}
	out.Args = nil
	for i := range t.Args {
		out.Args = append(out.Args, l.substituted(&t.Args[i]))
	}
	return out
}

// layOut places the fields of a value type, one behind the other as they are aligned. The runtime puts those of types
// with references in an order of its own: of these only the size is certain.
func (l *loader) layOut(of *clr.Type, s *clr.Struct, name string, depth int) value {
	if s.Explicit || len(s.Fields) == 0 {
		return value{why: name + " has a layout of its own"}
	}
	t := &types.Type{Kind: types.Struct, Name: name, Align: 1, Source: &types.Source{Lang: types.DotNet}}
	why, references, size := "", 0, 0
	for i := range s.Fields {
		f := l.typ(&s.Fields[i].Type, depth+1)
		if f.t == nil || f.t.Size == 0 || f.t.Size > maxSize {
			return value{why: fmt.Sprintf("%s has a field %s, and %s", name, s.Fields[i].Name, orSize(f.why))}
		}
		if f.why != "" {
			why = f.why
		}
		if f.refs || f.t.Kind == types.Pointer || f.t.Form() == types.DotNetStringForm ||
			f.t.Form() == types.DotNetArrayForm {
			references++
		}
		align := min(max(f.t.Align, 1), 8)
		size = (size + align - 1) / align * align
		t.Fields = append(t.Fields, types.Field{Name: s.Fields[i].Name, Type: f.t, Offset: size})
		t.Align = max(t.Align, align)
		size += f.t.Size
	}
	t.Size = max(1, (size+t.Align-1)/t.Align*t.Align)
	if t.Size > maxSize {
		return value{why: name + " is too large"}
	}
	if s.Auto || references > 0 && len(t.Fields) > 1 {
		if l.place(of, t) {
			return value{t, why, references > 0}
		}
		if t.Size > 16 || t.Size%8 != 0 {
			// The order decides about the padding, and so the size.
			return value{why: "in which order the runtime has the fields of " + name + " is not known"}
		}
		why = "in which order the runtime has the fields of " + name + " is not known"
	}
	return value{t, why, references > 0}
}

func orSize(why string) string {
	if why == "" {
		return "its size is not known"
	}
	return why
}

// sharedContext tells whether a method has an argument that says which instance of shared code runs. Methods of objects
// find it in the object.
func (l *loader) sharedContext(instance, ofValueType bool) bool {
	return shared(l.method) || shared(l.own) && (!instance || ofValueType)
}

// open tells whether a method may have such an argument, or not: one of which the instance is not known.
func (l *loader) open(method uint32, ofObject bool) bool {
	if !l.any {
		return false
	}
	ofType, ofMethod := l.image.Generic(method)
	return ofMethod || ofType && !ofObject
}

// shared tells whether one of the arguments stands for any reference type.
func shared(args []clr.Type) bool {
	for i := range args {
		if args[i].Element == clr.Canonical || shared(args[i].Args) {
			return true
		}
	}
	return false
}
