package record

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"trocar/internal/binary/types"
	"trocar/result"
)

// Values of several elements, and texts of wide characters.

func (d *Decoder) array(v *result.Value, t *types.Type, b []byte) {
	if t.Elem != nil && t.IsText() {
		n := strings.IndexByte(text(b), 0)
		if n < 0 {
			n = len(b)
		}
		v.Kind, v.Text = result.String, text(b[:n])
		return
	}
	if t.Form() == types.VectorForm && unknownFloat(b) {
		v.Kind, v.Text = result.None, "?"
		return
	}
	v.Kind = result.Array
	d.elements(v, t, max(t.Len, 0), b)
	v.Cut = v.Cut || t.Len < 0 && v.Kind == result.Array // how many there are behind a structure is not known
}

// elements decodes n values that lie one behind the other.
func (d *Decoder) elements(v *result.Value, t *types.Type, n int, b []byte) {
	if t.Elem == nil || t.Elem.Size < 0 || n > maxValues-d.made || n > 0 && t.Elem.Size > len(b)/n {
		unavailable(v, "its type and its size disagree")
		return
	}
	v.Elems = make([]result.Value, n)
	for i := range v.Elems {
		d.value(&v.Elems[i], t.Elem, b[i*t.Elem.Size:])
	}
}

// wide decodes UTF-16 or UTF-32, up to a character 0 if it ends with one.
func wide(b []byte, unit int, ends bool) string {
	if unit == 2 {
		var units []uint16
		for ; len(b) >= 2; b = b[2:] {
			u := binary.LittleEndian.Uint16(b)
			if u == 0 && ends {
				break
			}
			units = append(units, u)
		}
		return string(utf16.Decode(units))
	}
	var runes []rune
	for ; len(b) >= 4; b = b[4:] {
		u := binary.LittleEndian.Uint32(b)
		if u == 0 && ends {
			break
		}
		runes = append(runes, rune(min(u, utf8.MaxRune+1)))
	}
	return string(runes)
}

// endsWide tells whether there is a character 0.
func endsWide(b []byte, unit int) bool {
	if unit != 2 {
		unit = 4
	}
	for ; len(b) >= unit; b = b[unit:] {
		if uint(b, unit) == 0 {
			return true
		}
	}
	return false
}

// list decodes the elements that were captured, and marks that there are more.
func (d *Decoder) list(v *result.Value, t *types.Type, b []byte) {
	n, most := uint(b, 8), uint64(max(t.Len, 0))
	if d.missing(v, t, n) {
		return
	}
	if t.Bits == 1 {
		v.Kind, v.Cut, v.Num = result.Array, n > most, n
		d.bitList(v, b[8:], int(min(n, most, uint64(8*(len(b)-8)))))
		return
	}
	more := n&Uncounted != 0
	n &^= Uncounted
	d.elements(v, t, int(min(n, most)), b[8:])
	if more && v.Kind != result.Unavailable {
		v.Kind, v.Cut = result.Array, true
		return
	}
	if v.Kind != result.Unavailable {
		v.Kind, v.Cut, v.Num = result.Array, n > most, n
	}
}

// bitList decodes n elements of one bit each.
func (d *Decoder) bitList(v *result.Value, b []byte, n int) {
	v.Elems = make([]result.Value, n)
	for i := range v.Elems {
		v.Elems[i] = result.Value{Kind: result.Bool, Size: 1, Num: uint64(b[i/8] >> (i % 8) & 1)}
	}
	d.made += n
}
