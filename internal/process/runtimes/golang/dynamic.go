package golang

import (
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

const (
	// maxDynamicDepth bounds how deep the types of a value's parts are nested.
	maxDynamicDepth = 12
	// maxDynamicTypes bounds how many types one value's type has in it.
	maxDynamicTypes = 2048
)

// Dynamic is the type that is described at an address of the file, for a value of which only a copy of its own bytes is
// at hand, as in an interface: its name is short, as %T prints it, and what pointers point to is known for the
// outermost pointer only, whose target is copied too.
func (p *Program) Dynamic(addr uint64) (t *types.Type, ok bool) {
	var err error
	defer objfile.Guard(&err)()
	p.mu.Lock()
	defer p.mu.Unlock()
	d := dynamic{p: p, left: maxDynamicTypes}
	t = d.of(addr, 0)
	return t, t != nil
}

type dynamic struct {
	p    *Program
	left int // types that may still be read
}

func (r *dynamic) of(addr uint64, depth int) *types.Type {
	d := r.p.desc(addr)
	if r.left--; d == nil || r.left < 0 || depth > maxDynamicDepth {
		return nil
	}
	t := &types.Type{Name: d.str, Size: d.size, Align: 1, Source: source(d)}
	word := func(form types.Form) {
		t.Kind, t.Elem, t.Source.Form = types.Pointer, types.TVoid, form
	}
	switch d.kind {
	case kindBool:
		t.Kind = types.Bool
	case kindFloat32, kindFloat64:
		t.Kind = types.Float
	case kindComplex, kindComplex + 1:
		part := &types.Type{Kind: types.Float, Name: "float", Size: d.size / 2, Align: 1}
		t.Kind, t.Source.Form = types.Struct, types.ComplexForm
		t.Fields = []types.Field{{Name: "real", Type: part}, {Name: "imag", Type: part, Offset: d.size / 2}}
	case kindArray:
		elem := r.of(d.elem, depth+1)
		if elem == nil || elem.Size > 0 && d.length > d.size/elem.Size {
			return nil
		}
		t.Kind, t.Elem, t.Len = types.Array, elem, d.length
	case kindStruct:
		t.Kind = types.Struct
		for _, f := range d.fields {
			typ := r.of(f.typ, depth+1)
			if typ == nil || typ.Size > d.size-f.offset {
				return nil
			}
			t.Fields = append(t.Fields, types.Field{Name: f.name, Type: typ, Offset: f.offset, Embedded: f.embedded})
		}
	case kindString:
		t.Kind, t.Source.Form = types.Struct, types.StringForm
	case kindSlice:
		t.Kind, t.Source.Form = types.Struct, types.SliceForm
		if elem := r.p.desc(d.elem); elem != nil && elem.kind == kindUint8 {
			t.Source.Item = types.TUint8 // its bytes are captured as a string's
		}
	case kindIface:
		t.Kind, t.Source.Form = types.Struct, types.InterfaceForm
		if d.nmethods == 0 {
			t.Source.Form = types.AnyForm
		}
	case kindMap:
		word(types.MapForm)
	case kindChan:
		word(types.ChannelForm)
	case kindFunc:
		word(types.ClosureForm)
	case kindUnsafe:
		word(types.UnsafeForm)
	case kindPointer:
		word(types.NoForm)
		if depth == 0 {
			if elem := r.of(d.elem, 1); elem != nil {
				t.Elem = elem
			}
		}
	default:
		if d.kind < kindInt || d.kind > kindUintptr {
			return nil
		}
		t.Kind, t.Signed = types.Int, d.kind < kindUint
	}
	return t
}
