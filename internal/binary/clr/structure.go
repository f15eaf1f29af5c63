package clr

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// Struct is a type as it is declared.
type Struct struct {
	Space, Name string
	Fields      []Field // of the values
	Explicit    bool    // each field has an offset that is told, or the size is
	Auto        bool    // the order of the fields is the runtime's
	Enum        bool
	Values      []EnumValue
}

// Field is a field of values.
type Field struct {
	Row  uint32 // its number
	Name string
	Type Type
}

// EnumValue is a named value of an enum.
type EnumValue struct {
	Name  string
	Value int64
}

const maxFields = 4096

// base is the namespace and name of the type that a type is derived from.
func (m *metadata) base(typ uint32) (space, name string) {
	t, row := decode(m.cell(tTypeDef, typ, typeBase), typeDefOrRef)
	if t != tTypeDef && t != tTypeRef {
		return "", ""
	}
	return m.text(m.cell(t, row, typeSpace)), m.text(m.cell(t, row, typeName))
}

// IsValueType tells whether a type's values are passed themselves.
func (im *Image) IsValueType(typ uint32) bool {
	space, name := im.meta.base(typ)
	return space == "System" && (name == "ValueType" || name == "Enum") && im.TypeName(typ) != "System.Enum"
}

// TypeName is the full name of a type, with the names of its type parameters.
func (im *Image) TypeName(typ uint32) string {
	names := im.meta.generics(tTypeDef, typ)
	return im.TypeNameOf(typ, func(i int) string { return names[i] })
}

// TypeNameOf is the full name of an instance of a type, with what its type parameters stand for.
func (im *Image) TypeNameOf(typ uint32, arg func(i int) string) string {
	var b bytes.Buffer
	n := len(im.meta.generics(tTypeDef, typ))
	im.meta.named(&b, tTypeDef, typ, n, func(i int) { b.WriteString(arg(i)) }, true)
	return b.String()
}

// IsInterface tells whether a type is one.
func (im *Image) IsInterface(typ uint32) bool {
	return im.meta.cell(tTypeDef, typ, typeFlags)&0x20 != 0
}

// Struct is the declaration of a type with its fields; ok is false if it is not in this file, or cannot be read.
func (im *Image) Struct(t *Type) (s Struct, ok bool) {
	m := &im.meta
	if t.Foreign || t.Table != tTypeDef || t.Row == 0 || t.Row > m.tables[tTypeDef].count {
		return s, false
	}
	s.Space, s.Name = m.text(m.cell(tTypeDef, t.Row, typeSpace)), m.text(m.cell(tTypeDef, t.Row, typeName))
	const layout, explicit, auto = 0x18, 0x10, 0
	flags := m.cell(tTypeDef, t.Row, typeFlags)
	s.Explicit, s.Auto = flags&layout == explicit || m.sized(t.Row), flags&layout == auto
	s.Explicit = s.Explicit || m.inlineArray(t.Row)
	_, base := m.base(t.Row)
	s.Enum = base == "Enum"
	from, to := m.cell(tTypeDef, t.Row, typeFields), m.tables[tField].count+1
	if t.Row < m.tables[tTypeDef].count {
		to = min(to, m.cell(tTypeDef, t.Row+1, typeFields))
	}
	for row := from; row > 0 && row < to; row++ {
		const static, literal = 0x10, 0x40
		flags, name := m.cell(tField, row, fieldFlags), m.text(m.cell(tField, row, fieldName))
		switch {
		case flags&literal != 0 && s.Enum && len(s.Values) < maxFields:
			if v, ok := m.constant(row); ok {
				s.Values = append(s.Values, EnumValue{name, v})
			}
		case flags&static != 0:
		case len(s.Fields) == maxFields:
			return s, false
		default:
			r := reader{data: m.bytes(m.cell(tField, row, fieldSig))}
			const field = 6
			if r.byte() != field {
				return s, false
			}
			f := Field{row, name, r.typ(0)}
			if r.bad {
				return s, false
			}
			s.Fields = append(s.Fields, f)
		}
	}
	return s, !s.Enum || len(s.Fields) == 1
}

// sized tells whether a size or an alignment is told of a type.
func (m *metadata) sized(typ uint32) bool {
	const classLayout table = 0x0f
	t := &m.tables[classLayout]
	low, high := uint32(1), t.count+1
	for low < high {
		mid := low + (high-low)/2
		if m.cell(classLayout, mid, 2) < typ {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low <= t.count && m.cell(classLayout, low, 2) == typ
}

// inlineArray tells whether a type's values are several of its only field ([InlineArray]).
func (m *metadata) inlineArray(typ uint32) bool {
	const attributes, ofType table = 0x0c, 3
	t, want := &m.tables[attributes], typ<<5|uint32(ofType)
	low, high := uint32(1), t.count+1
	for low < high {
		mid := low + (high-low)/2
		if m.cell(attributes, mid, 0) < want {
			low = mid + 1
		} else {
			high = mid
		}
	}
	for ; low <= t.count && m.cell(attributes, low, 0) == want; low++ {
		of, row := decode(m.cell(attributes, low, 1), customAttributeType)
		switch of {
		case tMethodDef:
			of, row = tTypeDef, m.owner(row, typeMethods)
		case tMemberRef:
			of, row = decode(m.cell(tMemberRef, row, 0), memberRefParent)
		default:
			continue
		}
		if (of == tTypeDef || of == tTypeRef) && m.text(m.cell(of, row, typeName)) == "InlineArrayAttribute" {
			return true
		}
	}
	return false
}

// constant is the value of a field that is one.
func (m *metadata) constant(field uint32) (v int64, ok bool) {
	t, want := &m.tables[tConstant], field<<2
	low, high := uint32(1), t.count+1
	for low < high { // it is sorted by what has the values (II.22.9)
		mid := low + (high-low)/2
		if m.cell(tConstant, mid, 1) < want {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low > t.count || m.cell(tConstant, low, 1) != want {
		return 0, false
	}
	b := m.bytes(m.cell(tConstant, low, 2))
	if len(b) == 0 || len(b) > 8 {
		return 0, false
	}
	var word [8]byte
	copy(word[:], b)
	v = int64(binary.LittleEndian.Uint64(word[:]))
	switch e := Element(m.cell(tConstant, low, 0)); e {
	case Int8, Int16, Int32:
		shift := 64 - 8*len(b)
		v = v << shift >> shift
	case Boolean, Char, UInt8, UInt16, UInt32, Int64, UInt64:
	default:
		return 0, false
	}
	return v, true
}

// coreLibrary is the assembly that has .NET's own types.
const coreLibrary = "System.Private.CoreLib"

// Library is the namespace and name of a type of .NET's own library; ok is false for others, and types within others.
func (im *Image) Library(t *Type) (space, name string, ok bool) {
	m := &im.meta
	if t.Foreign || t.Row == 0 {
		return "", "", false
	}
	switch t.Table {
	case tTypeDef:
		ok = t.Row <= m.tables[tTypeDef].count && len(m.chain(nil, tTypeDef, t.Row)) == 1 &&
			m.text(m.cell(tAssembly, 1, assemblyName)) == coreLibrary
	case tTypeRef:
		// Others refer to the library by names that stand for it.
		of, row := decode(m.cell(tTypeRef, t.Row, 0), resolutionScope)
		if ok = of == tAssemblyRef; ok {
			from := m.text(m.cell(tAssemblyRef, row, assemblyRefName))
			ok = from == "mscorlib" || from == "netstandard" || from == coreLibrary || from == "System" ||
				strings.HasPrefix(from, "System.")
		}
	default:
	}
	if !ok {
		return "", "", false
	}
	return m.text(m.cell(t.Table, t.Row, typeSpace)), m.text(m.cell(t.Table, t.Row, typeName)), true
}

// Columns of Assembly and AssemblyRef.
const assemblyName, assemblyRefName = 7, 6
