package debuginfo

import (
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// maxRuntimeDepth bounds how deep the types of a value's parts are nested.
const maxRuntimeDepth = 12

// RuntimeType makes a type of what a Go program itself tells of it, which needs no debug information. What pointers point to
// is known by name and size only.
func RuntimeType(f *objfile.File, addr uint64) (*types.Type, bool) {
	r := runtimeTypes{f: f, left: 2048}
	t := r.of(addr, 0)
	return t, t != nil
}

type runtimeTypes struct {
	f    *objfile.File
	left int // types that may still be read
}

func (r *runtimeTypes) of(addr uint64, depth int) *types.Type {
	d, ok := r.f.GoType(addr)
	if r.left--; !ok || r.left < 0 || depth > maxRuntimeDepth {
		return nil
	}
	t := &types.Type{Name: d.Name, Size: d.Size, Align: 1, Source: &types.Source{Lang: types.Go, RuntimeType: addr}}
	switch d.Kind {
	case objfile.GoBool:
		t.Kind = types.Bool
	case objfile.GoFloat32, objfile.GoFloat64:
		t.Kind = types.Float
	case objfile.GoComplex64, objfile.GoComplex128:
		part := &types.Type{Kind: types.Float, Name: "float", Size: d.Size / 2, Align: 1}
		t.Kind, t.Source.Form = types.Struct, types.ComplexForm
		t.Fields = []types.Field{{Name: "real", Type: part}, {Name: "imag", Type: part, Offset: d.Size / 2}}
	case objfile.GoArray:
		elem := r.of(d.Elem, depth+1)
		if elem == nil || elem.Size > 0 && d.Len > d.Size/elem.Size {
			return nil
		}
		t.Kind, t.Elem, t.Len = types.Array, elem, d.Len
	case objfile.GoStruct:
		t.Kind = types.Struct
		for _, f := range d.Fields {
			typ := r.of(f.Type, depth+1)
			if typ == nil || typ.Size > d.Size-f.Offset {
				return nil
			}
			t.Fields = append(t.Fields, types.Field{Name: f.Name, Type: typ, Offset: f.Offset, Embedded: f.Embedded})
		}
	case objfile.GoString:
		t.Kind, t.Source.Form = types.Struct, types.GoStringForm
	case objfile.GoSlice:
		t.Kind, t.Source.Form = types.Struct, types.GoSliceForm
		if elem, ok := r.f.GoType(d.Elem); ok && elem.Kind == objfile.GoUint8 {
			t.Source.Item = types.TUint8 // its bytes are captured as a string's
		}
	case objfile.GoInterface:
		t.Kind, t.Source.Form = types.Struct, types.GoIfaceForm
		if d.Methods == 0 {
			t.Source.Form = types.GoEfaceForm
		}
	case objfile.GoMap:
		t.Kind, t.Elem, t.Source.Form = types.Pointer, types.TVoid, types.GoMapForm
	case objfile.GoChan:
		t.Kind, t.Elem, t.Source.Form = types.Pointer, types.TVoid, types.GoChanForm
	case objfile.GoFuncKind:
		t.Kind, t.Elem, t.Source.Form = types.Pointer, types.TVoid, types.GoFuncForm
	case objfile.GoUnsafePointer:
		t.Kind, t.Elem, t.Source.Form = types.Pointer, types.TVoid, types.GoUnsafePointer
	case objfile.GoPointer:
		t.Kind, t.Elem = types.Pointer, types.TVoid
		if depth == 0 { // what it points to was captured
			if elem := r.of(d.Elem, 1); elem != nil {
				t.Elem = elem
			}
		}
	default:
		if d.Kind < objfile.GoInt || d.Kind > objfile.GoUintptr {
			return nil
		}
		t.Kind, t.Signed = types.Int, d.Kind < objfile.GoUint
	}
	return t
}
