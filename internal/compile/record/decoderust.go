package record

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"trocar/internal/binary/types"
	"trocar/result"
)

// rustValue decodes the values that Rust's own types have; false for others.
func (d *Decoder) rustValue(v *result.Value, t *types.Type, b []byte) bool {
	if t.Kind == types.Dyn {
		d.dyn(v, b)
		return true
	}
	if t.IsChar() && !utf16.IsSurrogate(rune(uint(b, 2))) {
		n := uint(b, 2)
		v.Kind, v.Num, v.Text, v.Type = result.String, n, string(rune(n)), result.CharType
		return true
	}
	if t.Lang() != types.Rust {
		return false
	}
	switch {
	case t.Kind == types.Int && t.Form() == types.UnicodeForm && t.Size == 4:
		n := uint(b, 4)
		if n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
			unavailable(v, fmt.Sprintf("%#x is not a character", n))
			return true
		}
		v.Kind, v.Num, v.Text, v.Type = result.String, n, string(rune(n)), result.CharType
		return true
	case t.MayBeEmpty():
		unavailable(v, "memory that may not hold a value")
		return true
	}
	s, ok := t.Rust()
	if !ok {
		return false
	}
	switch s.Kind {
	case types.RustInner, types.RustCounted:
		f := s.Parts[0]
		if f.Offset < 0 || f.Offset > len(b) {
			return false
		}
		d.made--
		d.value(v, f.Type, b[f.Offset:])
	case types.RustParts:
		parts := types.Type{Kind: types.Struct, Name: t.Name, Size: t.Size, Fields: s.Parts}
		if s.Tuple {
			parts.Kind = types.Tuple
		}
		d.fields(v, &parts, b)
		if n := s.Implied; n > 0 && n <= len(v.Elems) && v.Elems[n-1].Kind == result.Uint {
			v.Elems[n-1].Num--
		}
	default:
		return false
	}
	return true
}

// dyn shows a trait object by its concrete type and the value's address.
func (d *Decoder) dyn(v *result.Value, b []byte) {
	name := "an unknown type"
	if t, ok := d.Resolver.DynamicType(int(uint(b[16:], 4))-1, uint(b[8:], 8)); ok && t != nil {
		name = t.Name
	}
	v.Kind, v.Type, v.Text = result.String, name, fmt.Sprintf("%s(%#x)", name, uint(b, 8))
}
