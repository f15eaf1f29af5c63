package result

import (
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the value as JSON, in bpftrace's form.
//
// Numbers that a double can't hold exactly are strings. Text that isn't UTF-8 has U+FFFD in place of each bad byte
// (bpftrace 0.27 writes invalid JSON there); buffers are arrays of bytes, 0 to 255 (to which bpftrace gives a sign).
// Enums and pointers are numbers, stacks their text.
func (v *Value) AppendJSON(dst []byte) []byte {
	switch v.Kind {
	case None:
		return append(dst, "null"...)
	case Int:
		return appendIntJSON(dst, int64(v.Num))
	case Enum:
		if v.Signed {
			return appendIntJSON(dst, int64(v.Num))
		}
		return appendUintJSON(dst, v.Num)
	case Pointer:
		if len(v.Elems) > 0 {
			dst = appendUintJSON(append(dst, `{"address": `...), v.Num)
			return append(v.Elems[0].AppendJSON(append(dst, `, "value": `...)), '}')
		}
		return appendUintJSON(dst, v.Num)
	case Uint:
		return appendUintJSON(dst, v.Num)
	case Bool:
		return strconv.AppendBool(dst, v.Num != 0)
	case Float:
		if f := math.Float64frombits(v.Num); math.IsNaN(f) || math.IsInf(f, 0) {
			return AppendJSONString(dst, v.String())
		}
		return v.AppendText(dst)
	case Buffer:
		dst = append(dst, '[')
		for i := range len(v.Text) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendUint(dst, uint64(v.Text[i]), 10)
		}
		if v.Cut {
			dst = AppendJSONString(append(dst, ','), string(v.AppendMore(nil)))
		}
		return append(dst, ']')
	case Array, Tuple:
		dst = append(dst, '[')
		for i := range v.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = v.Elems[i].AppendJSON(dst)
		}
		if v.Cut && v.Kind == Array {
			if len(v.Elems) > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSONString(dst, string(v.AppendMore(nil)))
		}
		return append(dst, ']')
	case Mapping:
		return v.appendMappingJSON(dst)
	case Dynamic:
		dst = AppendJSONString(append(dst, `{"type": `...), v.Type)
		dst = append(dst, `, "value": `...)
		if len(v.Elems) == 0 {
			return append(dst, "null}"...)
		}
		return append(v.Elems[0].AppendJSON(dst), '}')
	case Struct, Record, Stats, Times:
		if v.Type == ArgumentsType && len(v.Elems) == 1 && v.Elems[0].Kind == Unavailable && v.Names[0] == "" {
			return v.Elems[0].AppendJSON(dst) // none of them is known
		}
		return v.appendFieldsJSON(dst)
	case Unavailable:
		dst = append(dst, `{"unavailable": `...)
		return append(AppendJSONString(dst, v.Text), '}')
	case Histogram:
		return v.Hist.appendJSON(dst)
	case Series:
		return v.Series.appendJSON(dst)
	case String, Address, Timestamp:
		return AppendJSONString(dst, v.Text)
	case Symbol, Stack:
		return AppendJSONString(dst, v.String())
	}
	u := v.unknown()
	return u.AppendJSON(dst)
}

// appendMappingJSON writes the entries of a map of the traced program by the text of their keys.
func (v *Value) appendMappingJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		key := v.Elems[i].Text
		if v.Elems[i].Kind != String {
			key = string(v.Elems[i].AppendCompactKey(nil))
		}
		dst = append(AppendJSONString(dst, key), ": "...)
		dst = v.Elems[i+1].AppendJSON(dst)
	}
	if v.Cut {
		if len(v.Elems) > 1 {
			dst = append(dst, ", "...)
		}
		dst = append(AppendJSONString(dst, "…"), ": "...)
		dst = AppendJSONString(dst, string(v.AppendMore(nil)))
	}
	return append(dst, '}')
}

func (v *Value) appendFieldsJSON(dst []byte) []byte {
	names := v.FieldNames()
	dst = append(dst, '{')
	for i := range v.Elems {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		name := ""
		if i < len(names) {
			name = names[i]
		}
		dst = append(AppendJSONString(dst, name), ": "...)
		dst = v.Elems[i].AppendJSON(dst)
	}
	if v.Cut {
		if len(v.Elems) > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, `"…": null`...)
	}
	return append(dst, '}')
}

// appendJSON appends the buckets with their least and largest value; the infinite ends have none.
func (h *Hist) appendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	if h != nil {
		for i := range h.Buckets {
			b := &h.Buckets[i]
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, '{')
			if !b.LoInf {
				dst = append(appendIntJSON(append(dst, `"min": `...), b.Lo), ", "...)
			}
			if !b.HiInf {
				dst = append(appendIntJSON(append(dst, `"max": `...), b.Hi-1), ", "...)
			}
			dst = strconv.AppendUint(append(dst, `"count": `...), b.Count, 10)
			dst = append(dst, '}')
		}
	}
	return append(dst, ']')
}

// appendJSON appends the intervals that have a value, with the time of day in UTC.
func (s *SeriesData) appendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	if s != nil {
		first := true
		for i := range s.Points {
			p := &s.Points[i]
			if !p.Set {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(dst, `{"interval_start":"`...)
			dst = p.Start.UTC().AppendFormat(dst, "2006-01-02 15:04:05.000000000")
			dst = append(dst, `","value":`...)
			if s.Unsigned {
				dst = appendUintJSON(dst, uint64(p.Value))
			} else {
				dst = appendIntJSON(dst, p.Value)
			}
			dst = append(dst, '}')
		}
	}
	return append(dst, ']')
}

// appendIntJSON and appendUintJSON quote numbers that a double can't hold: readers would change them in silence.
func appendIntJSON(dst []byte, n int64) []byte {
	u := uint64(n)
	if n < 0 {
		u = -u
	}
	if exact(u) {
		return strconv.AppendInt(dst, n, 10)
	}
	dst = append(dst, '"')
	return append(strconv.AppendInt(dst, n, 10), '"')
}

func appendUintJSON(dst []byte, u uint64) []byte {
	if exact(u) {
		return strconv.AppendUint(dst, u, 10)
	}
	dst = append(dst, '"')
	return append(strconv.AppendUint(dst, u, 10), '"')
}

// exact tells whether a double has enough bits for the number.
func exact(u uint64) bool { return bits.Len64(u)-bits.TrailingZeros64(u) <= 53 || u == 0 }

// AppendJSONString appends s as a JSON string (RFC 8259 section 7). A byte b that is no UTF-8 becomes the
// character U+EF00+b of the private use area, and so does each byte of a character from U+EF80 to U+EFFF, so that two
// texts stay two and each can be read back.
func AppendJSONString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < 0x7f {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			n := sequence(s[i:])
			if n > 0 && keeps(s[i:], false) > 0 {
				i += n
				continue
			}
			if n > 0 { // what a terminal would obey; these have 16 bits at most
				r, _ := decodeRune(s[i:])
				dst = append(dst, s[start:i]...)
				dst = append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
				i += n
				start = i
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\uef`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
			i++
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		if short := shortEscape(c); short != 0 {
			dst = append(dst, '\\', short)
		} else {
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// sequence is the length of the valid UTF-8 sequence at the start of s, 0 if there is none, or if it is a character
// that stands for a byte.
func sequence[T string | []byte](s T) int {
	r, size := decodeRune(s)
	if r == utf8.RuneError && size <= 1 || r >= 0xef80 && r <= 0xefff {
		return 0
	}
	return size
}
