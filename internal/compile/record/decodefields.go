package record

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"trocar/internal/binary/types"
	"trocar/result"
)

// Structures, with the alternatives of which they have one.

// duration decodes std::chrono::duration in the unit that it has.
func (d *Decoder) duration(v *result.Value, t *types.Type, b []byte) bool {
	if t.Kind != types.Struct {
		return false
	}
	count, num, den, ok := t.Duration()
	if !ok || !number(count.Type.Size) || count.Offset+count.Type.Size > len(b) {
		return false
	}
	n := int64(extend(uint(b[count.Offset:], count.Type.Size), count.Type))
	unit := fmt.Sprintf("[%d/%d]s", num, den)
	for _, u := range []struct {
		num, den int64
		name     string
	}{{1, 1e9, "ns"}, {1, 1e6, "us"}, {1, 1000, "ms"}, {1, 1, "s"}, {60, 1, "min"}, {3600, 1, "h"}, {86400, 1, "d"}} {
		if num == u.num && den == u.den {
			unit = u.name
		}
	}
	v.Kind, v.Num, v.Signed, v.Type, v.Text = result.Enum, uint64(n), true, t.Name, strconv.FormatInt(n, 10)+unit
	return true
}

func (d *Decoder) fields(v *result.Value, t *types.Type, b []byte) {
	switch t.Kind {
	case types.Tuple: // those of scripts have no name
		v.Kind, v.Type = result.Tuple, t.Name
	case types.Record:
		v.Kind, v.Type = result.Record, t.Name
	default:
		v.Kind, v.Type = result.Struct, t.Name
	}
	v.Elems = make([]result.Value, 0, len(t.Fields))
	if t.Kind != types.Tuple {
		v.Names = make([]string, 0, len(t.Fields))
	}
	d.members(v, t, b)
}

// variantName is the type of a value that is only a name: it is no text.
const variantName = "variant"

// variant decodes the content that a value's discriminant tells: a name alone, else the name with what it
// holds.
func (d *Decoder) variant(v *result.Value, vs *types.Variants, b []byte) {
	if len(vs.List) == 0 {
		v.Kind, v.Text = result.Unavailable, "there is no value of this type"
		return
	}
	one := &vs.List[0]
	if t := vs.Discr.Type; t != nil {
		wide := t.Size == 16 && vs.Discr.Offset >= 0 && vs.Discr.Offset+16 <= len(b)
		if !number(t.Size) && !wide || vs.Discr.Offset < 0 || vs.Discr.Offset+t.Size > len(b) {
			v.Kind, v.Text = result.Unavailable, "its discriminant can't be read"
			return
		}
		if one = vs.Of(uint(b[vs.Discr.Offset:], t.Size), wide && uint(b[vs.Discr.Offset+8:], 8) != 0); one == nil {
			v.Kind, v.Text = result.Unavailable, "its discriminant selects no variant"
			return
		}
	}
	t := one.Type
	if t != nil {
		t = t.Complete()
	}
	switch {
	case t == nil && one.Name == types.NoOptional:
		v.Kind, v.Text = result.None, one.Name
		return
	case t == nil, t.Kind == types.Struct && len(t.Fields) == 0 && t.Source != nil && t.Source.Variants == nil:
		v.Kind, v.Text, v.Type = result.String, one.Name, variantName
		return
	case one.Offset < 0 || one.Offset > len(b) || t.Size < 0 || t.Size > len(b)-one.Offset:
		v.Kind, v.Text = result.Unavailable, "its variant is larger than the value"
		return
	}
	held := b[one.Offset : one.Offset+t.Size]
	if one.Name == "" {
		d.value(v, t, held)
		return
	}
	v.Kind, v.Names, v.Elems = result.Struct, []string{one.Name}, make([]result.Value, 1)
	in := &v.Elems[0]
	if len(t.Fields) == 1 && t.Fields[0].Name == "__0" {
		if f := t.Fields[0]; f.Type != nil && f.Offset >= 0 && f.Offset <= len(held) && f.Type.Size <= len(held)-f.Offset {
			d.value(in, f.Type, held[f.Offset:])
			return
		}
	}
	d.value(in, t, held)
	if in.Kind == result.Struct && len(t.Fields) > 0 && t.Fields[0].Name == "__0" {
		in.Kind, in.Names = result.Tuple, nil
	}
}

// members adds the fields of t, those of unnamed structures and base classes as its own.
func (d *Decoder) members(v *result.Value, t *types.Type, b []byte) {
	if d.depth >= maxNesting {
		return
	}
	d.depth++
	defer func() { d.depth-- }()
	for _, f := range t.Fields {
		if d.made >= maxValues {
			return
		}
		if t.Lang().Blank(f.Name) || f.When != nil && !holds(f.When, b) {
			continue // padding, or what is not given
		}
		fits := f.Type != nil && f.Offset >= 0 && f.Offset <= len(b)
		if fits && f.BitSize == 0 {
			fits = f.Type.Size >= 0 && f.Type.Size <= len(b)-f.Offset
		}
		known := fits && !f.Type.Incomplete
		if known && f.BitSize == 0 && f.Name == "" && (f.Type.Kind == types.Struct || f.Type.Kind == types.Union) &&
			t.Kind != types.Tuple {
			d.members(v, f.Type, b[f.Offset:f.Offset+f.Type.Size])
			continue
		}
		if t.Kind != types.Tuple {
			v.Names = append(v.Names, f.Name)
		}
		v.Elems = append(v.Elems, result.Value{})
		e := &v.Elems[len(v.Elems)-1]
		switch {
		case !fits:
			unavailable(e, "its type is not complete")
			d.made++
		case !known && f.Type.Source != nil: // not a type of which the members were not kept
			unavailable(e, "values of type "+f.Type.Name+" cannot be shown")
			d.made++
		case !known:
			unavailable(e, "its type is not complete")
			d.made++
		case f.BitSize > 0:
			d.bits(e, f, b[f.Offset:])
		default:
			d.value(e, f.Type, b[f.Offset:])
			if e.Kind == result.Unavailable && f.When != nil {
				// What it may be otherwise, which is a number.
				i := slices.IndexFunc(t.Fields, func(o types.Field) bool { return o.Name == f.Name })
				if o := &t.Fields[i]; o.Type != nil && o.Offset >= 0 && o.Type.Size <= len(b)-o.Offset {
					*e = result.Value{}
					d.value(e, o.Type, b[o.Offset:])
				}
			}
		}
	}
}

// holds tells whether a field is there.
func holds(w *types.When, b []byte) bool {
	if w.Offset < 0 || !number(w.Size) || w.Offset > len(b)-w.Size {
		return true
	}
	n := uint(b[w.Offset:], w.Size) & w.Mask
	if w.Values == nil {
		return n != 0
	}
	return slices.Contains(w.Values, n) != w.Not
}

// bits decodes a bit-field that begins in the first byte of b.
func (d *Decoder) bits(v *result.Value, f types.Field, b []byte) {
	if f.BitOffset < 0 || f.BitOffset > 63 || f.BitSize > 64 || f.BitOffset+f.BitSize > 8*len(b) || f.Type.Size > 16 {
		unavailable(v, "its location is invalid")
		d.made++
		return
	}
	var word [16]byte
	copy(word[:], b)
	n := binary.LittleEndian.Uint64(word[:]) >> f.BitOffset
	n |= binary.LittleEndian.Uint64(word[8:]) << (64 - f.BitOffset)
	n <<= 64 - f.BitSize
	if f.Type.Signed {
		n = uint64(int64(n) >> (64 - f.BitSize))
	} else {
		n >>= 64 - f.BitSize
	}
	var full [16]byte
	binary.LittleEndian.PutUint64(full[:], n)
	if f.Type.Signed {
		binary.LittleEndian.PutUint64(full[8:], uint64(int64(n)>>63))
	}
	d.value(v, f.Type, full[:])
}
