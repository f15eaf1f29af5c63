package record

import (
	"trocar/internal/binary/types"
	"trocar/result"
)

// object shows an object of C++ by the class that it is of: see ObjectOf.
func (d *Decoder) object(v *result.Value, t *types.Type, b []byte) {
	if t.Elem == nil || t.Len < 0 || ObjectHeader+t.Len+t.Elem.Size > len(b) {
		unavailable(v, "its type and its size disagree")
		return
	}
	d.value(v, t.Elem, b[ObjectHeader+t.Len:])
	if t.Lang() == types.DotNet {
		d.dotNetObject(v, b, t.Len)
		return
	}
	point := int(uint(b[8:], 4)) - 1
	if point < 0 {
		return
	}
	class, ok := d.Resolver.DynamicType(point, uint(b, 8))
	if !ok || class == nil || class.Name == "" || class.Name == t.Name {
		return
	}
	part := *v
	*v = result.Value{Kind: result.Dynamic, Type: class.Name, Elems: []result.Value{part}}
	if class.Kind != types.Struct || part.Kind != result.Struct {
		return
	}
	kept := min(int(uint(b[12:], 4)), t.Len)
	o := object{
		addr: uint(b[24:], 8),
		d:    d, base: t.Name, at: -int(int64(uint(b[16:], 8))), part: &part, raw: b[ObjectHeader : ObjectHeader+kept],
	}
	whole := result.Value{Kind: result.Struct, Type: class.Name}
	// Where the part is not among the bases as the virtual table says, the class is another one of that name.
	if o.members(&whole, class, 0, 0); o.found {
		v.Elems[0] = whole
	}
}

// object is what is known of an object.
type object struct {
	d     *Decoder
	base  string        // the class of the part that was captured,
	at    int           // where that is,
	part  *result.Value // and its members
	found bool
	raw   []byte // the object's first bytes,
	addr  uint64 // and where they were
}

// members adds the members of a class that is at an offset of the object, with those of its bases.
func (o *object) members(v *result.Value, t *types.Type, off, depth int) {
	if depth > maxNesting {
		return
	}
	for _, f := range t.Fields {
		at := off + f.Offset
		if f.Type != nil {
			f.Type = f.Type.Complete()
		}
		switch {
		case f.Artificial || f.Type == nil || o.d.made >= maxValues:
		case f.Base && at == o.at && f.Type.Name == o.base:
			o.found = true
			v.Names = append(v.Names, o.part.Names...)
			v.Elems = append(v.Elems, o.part.Elems...)
		case f.Base:
			o.members(v, f.Type, at, depth+1)
		case f.Type.Incomplete:
			v.Names = append(v.Names, f.Name)
			v.Elems = append(v.Elems, result.Value{Kind: result.Unavailable, Text: "its type is not complete"})
		case at < 0 || f.BitSize == 0 && f.Type.Size > len(o.raw)-at || at >= len(o.raw):
			v.Names = append(v.Names, f.Name)
			v.Elems = append(v.Elems, result.Value{Kind: result.Unavailable, Text: notRead})
		case f.BitSize > 0:
			v.Names = append(v.Names, f.Name)
			v.Elems = append(v.Elems, result.Value{Size: f.Type.Size})
			o.d.bits(&v.Elems[len(v.Elems)-1], f, o.raw[at:])
		case f.Name == "" && f.Type.Kind == types.Struct:
			o.members(v, f.Type, at, depth+1)
		default:
			v.Names = append(v.Names, f.Name)
			v.Elems = append(v.Elems, result.Value{Size: f.Type.Size})
			o.value(&v.Elems[len(v.Elems)-1], f.Type, at, depth+1)
		}
	}
}

// value decodes a member. What lies elsewhere than in the object has not been read.
func (o *object) value(v *result.Value, t *types.Type, at, depth int) {
	raw := o.raw[at : at+t.Size]
	o.d.made++
	word := func(off, size int) (n uint64) {
		if off >= 0 && size > 0 && size <= 8 && off+size <= len(raw) {
			n = uint(raw[off:], size)
		}
		return n
	}
	view, isText := t.Text()
	list, isList := t.List()
	held, isHeld := t.Held()
	switch {
	case isText && !view.Short && !view.Before:
		p, n := word(view.Data, 8)-o.addr, word(view.Len, view.LenSize)
		if view.Unit > 1 || p > uint64(len(o.raw)) || n > uint64(len(o.raw))-p {
			unavailable(v, notRead)
			return
		}
		o.d.string(v, o.raw[p:p+n], false)
	case isText:
		unavailable(v, notRead)
	case isList && list.End && !list.Bits && list.Elem.Size > 0:
		n := (word(list.Len, 8) - word(list.Data, 8)) / uint64(list.Elem.Size)
		v.Kind, v.Num, v.Cut = result.Array, n, n > 0
	case isHeld && held.Offset >= 0 && held.Offset+held.Type.Size <= len(raw):
		if held.Name != "" {
			v.Kind, v.Names = result.Struct, []string{held.Name}
			v.Elems = []result.Value{{Kind: result.Uint, Size: 8, Num: word(held.Offset, held.Type.Size)}}
			return
		}
		o.value(v, held.Type.Complete(), at+held.Offset, depth+1)
	case t.Kind == types.Struct && t.Alternatives() == nil && depth < maxNesting && !t.Empty():
		if _, _, _, is := t.Duration(); is {
			o.d.value(v, t, raw)
			return
		}
		v.Kind, v.Type = result.Struct, t.Name
		o.members(v, t, at, depth+1)
	default:
		o.d.value(v, Freeze(t), raw)
	}
}
