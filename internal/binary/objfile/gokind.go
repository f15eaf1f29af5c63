package objfile

import "encoding/binary"

// GoKind is a reflect.Kind.
type GoKind uint8

// Kinds of which something is made; the others are numbers, or as pointers.
const (
	GoBool          GoKind = 1
	GoInt           GoKind = 2
	GoUint          GoKind = 7
	GoUint8         GoKind = 8
	GoUintptr       GoKind = 12
	GoFloat32       GoKind = 13
	GoFloat64       GoKind = 14
	GoComplex64     GoKind = 15
	GoComplex128    GoKind = 16
	GoArray         GoKind = 17
	GoChan          GoKind = 18
	GoFuncKind      GoKind = 19
	GoInterface     GoKind = 20
	GoMap           GoKind = 21
	GoPointer       GoKind = 22
	GoSlice         GoKind = 23
	GoString        GoKind = 24
	GoStruct        GoKind = 25
	GoUnsafePointer GoKind = 26
)

// GoType is what a Go program itself tells of a type, with or without debug information.
type GoType struct {
	Name    string // as Go writes it, with the last part of the package's path
	Kind    GoKind
	Size    int
	Elem    uint64 // address of the description of the element's type: GoArray, GoChan, GoPointer, GoSlice, and a map's value
	Key     uint64 // GoMap
	Len     int    // GoArray
	Fields  []GoField
	Methods int // GoInterface
}

// GoField is a field of a struct.
type GoField struct {
	Name     string
	Type     uint64 // address of its description
	Offset   int
	Embedded bool
}

// Offsets in abi.Type and in what follows it by kind (internal/abi/type.go of the Go source, 1.21 to 1.26).
const (
	abiKind       = 23 // the lower five bits
	abiElem       = 48 // Array, Chan, Ptr, Slice; of a map the key
	abiMapElem    = 56
	abiArrayLen   = 64
	abiFields     = 56 // Struct: slice
	abiMethods    = 56 // Interface: slice
	abiFieldSize  = 24 // name, type, offset
	fieldEmbedded = 1 << 3
	maxGoFields   = 4096
	maxGoSize     = 1 << 40
)

// GoType reads the description of a type at an address of the file.
func (f *File) GoType(addr uint64) (t GoType, ok bool) {
	var err error
	defer Guard(&err)()
	if t.Name, ok = f.GoTypeName(addr); !ok {
		return t, false
	}
	d := f.Bytes(addr, abiTypeSize)
	size := binary.LittleEndian.Uint64(d)
	if size > maxGoSize {
		return t, false
	}
	t.Size, t.Kind = int(size), GoKind(d[abiKind]&31)
	word := func(at uint64) uint64 {
		if b := f.Bytes(addr+at, 8); len(b) == 8 {
			return binary.LittleEndian.Uint64(b)
		}
		return 0
	}
	switch t.Kind {
	case GoPointer, GoSlice, GoChan:
		t.Elem = f.PointerAt(addr + abiElem)
	case GoArray:
		t.Elem = f.PointerAt(addr + abiElem)
		n := word(abiArrayLen)
		if n > maxGoSize {
			return t, false
		}
		t.Len = int(n)
	case GoMap:
		t.Key, t.Elem = f.PointerAt(addr+abiElem), f.PointerAt(addr+abiMapElem)
	case GoInterface:
		n := word(abiMethods + 8)
		t.Methods = int(min(n, maxGoFields))
	case GoStruct:
		at, n := f.PointerAt(addr+abiFields), word(abiFields+8)
		if n > maxGoFields {
			return t, false
		}
		for i := range n {
			p := at + i*abiFieldSize
			b := f.Bytes(p, abiFieldSize)
			if len(b) < abiFieldSize {
				return t, false
			}
			name, flags, ok := f.goName(f.PointerAt(p))
			off := binary.LittleEndian.Uint64(b[16:])
			if !ok || off > size {
				return t, false
			}
			t.Fields = append(t.Fields, GoField{Name: name, Type: f.PointerAt(p + 8), Offset: int(off), Embedded: flags&fieldEmbedded != 0})
		}
	}
	return t, true
}
