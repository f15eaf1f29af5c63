package record

import (
	"net/netip"
	"time"

	"trocar/internal/binary/types"
	"trocar/result"
)

// managed decodes the values that only types of languages with a runtime have; false for others.
func (d *Decoder) managed(v *result.Value, t *types.Type, b []byte) bool {
	switch t.Kind {
	case types.Iface:
		d.iface(v, t, b)
		return true
	case types.Entries:
		d.entries(v, t, b)
		return true
	case types.Channel:
		d.channel(v, b)
		return true
	case types.Closure:
		d.closure(v, int(uint(b[8:], 4))-1, uint(b, 8))
		return true
	case types.Pointed:
		d.pointed(v, t, b)
		return true
	case types.Object:
		d.object(v, t, b)
		return true
	case types.Python:
		d.python(v, t, b)
		return true
	case types.Java:
		d.java(v, t, b)
		return true
	}
	if !t.Lang().Managed() {
		return false
	}
	switch {
	case t.Kind == types.Pointer && t.Size == 8 && uint(b, 8) == 0 && t.Form() != types.UnsafeForm:
		null(v)
	case t.Kind == types.Int && t.Name == "time.Duration" && t.Size == 8:
		n := uint(b, 8)
		v.Kind, v.Num, v.Signed, v.Type, v.Text = result.Enum, n, true, t.Name, time.Duration(n).String()
	case t.Kind == types.Int && t.Name == "syscall.Errno" && t.Size == 8:
		n := uint(b, 8)
		v.Kind, v.Num, v.Type, v.Text = result.Enum, n, t.Name, result.Strerror(int64(n))
	case t.Kind == types.Struct && t.Name == "time.Time" && len(b) >= 16:
		v.Kind, v.Type, v.Text = result.String, t.Name, instant(uint(b, 8), int64(uint(b[8:], 8)))
	case t.Form() == types.ComplexForm && len(t.Fields) == 2:
		var re, im result.Value
		d.value(&re, t.Fields[0].Type, b)
		d.value(&im, t.Fields[1].Type, b[min(t.Fields[1].Offset, len(b)):])
		if re.Kind != result.Float || im.Kind != result.Float {
			return false
		}
		text, sign := im.String(), "+"
		if text[0] == '-' {
			sign = ""
		}
		v.Kind, v.Type, v.Text = result.String, t.Name, "("+re.String()+sign+text+"i)"
	default:
		return false
	}
	return true
}

// null is Go's nil.
func null(v *result.Value) { v.Kind, v.Text = result.None, "nil" }

// byteSlice is a slice of n bytes, of which some were kept.
func byteSlice(v *result.Value, t *types.Type, kept []byte, n uint64) {
	v.Kind, v.Type, v.Num, v.Cut, v.Text = result.Buffer, t.Name, n, n > uint64(len(kept)), text(kept)
	if t.Name != "net.IP" || v.Cut {
		return
	}
	if a, ok := netip.AddrFromSlice(kept); ok {
		v.Kind, v.Text = result.Address, a.Unmap().String()
	}
}

// instant is a time.Time, in UTC (package time: wall has the nanoseconds in 30 bits; with the highest bit set also the
// seconds since 1885 in the 33 above, else ext has those since year 1).
func instant(wall uint64, ext int64) string {
	const nsecs, monotonic = 1<<30 - 1, 1 << 63
	year1 := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	sec := ext + year1
	if wall&monotonic != 0 {
		sec = int64(wall<<1>>31) + time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return time.Unix(sec, int64(wall&nsecs)).UTC().Format(time.RFC3339Nano)
}

// entries decodes a map.
func (d *Decoder) entries(v *result.Value, t *types.Type, b []byte) {
	switch {
	case uint(b, 8) == 0:
		null(v)
		return
	case d.missing(v, t, uint(b, 8)):
		return
	}
	n, kept := uint(b[8:], 8), min(uint(b[16:], 8), uint64(max(t.Len, 0)))
	v.Kind, v.Type, v.Num, v.Cut = result.Mapping, t.Name, n, n > kept
	if t.Elem == nil || len(t.Elem.Fields) != 2 {
		return
	}
	b = b[EntriesHeader:]
	for range kept {
		if t.Elem.Size < 0 || len(b) < t.Elem.Size || d.made >= maxValues {
			unavailable(v, "its type and its size disagree")
			return
		}
		at := len(v.Elems)
		v.Elems = append(v.Elems, result.Value{}, result.Value{})
		d.member(&v.Elems[at], t.Elem.Fields[0], b[:t.Elem.Size])
		d.member(&v.Elems[at+1], t.Elem.Fields[1], b[:t.Elem.Size])
		b = b[t.Elem.Size:]
	}
}

// member decodes a field that may not fit.
func (d *Decoder) member(v *result.Value, f types.Field, b []byte) {
	if f.Type == nil || f.Offset < 0 || f.Offset > len(b) {
		unavailable(v, "its type and its size disagree")
		return
	}
	d.value(v, f.Type, b[f.Offset:])
}

func (d *Decoder) channel(v *result.Value, b []byte) {
	if uint(b, 8) == 0 {
		null(v)
		return
	}
	closed := result.Value{Kind: result.Bool}
	if uint(b[24:], 8) != 0 {
		closed.Num = 1
	}
	v.Kind, v.Names = result.Struct, []string{"len", "cap", "closed"}
	v.Elems = []result.Value{
		{Kind: result.Uint, Size: 8, Num: uint(b[8:], 8)},
		{Kind: result.Uint, Size: 8, Num: uint(b[16:], 8)},
		closed,
	}
}

func (d *Decoder) closure(v *result.Value, point int, delta uint64) {
	if point < 0 {
		null(v)
		return
	}
	v.Kind, v.Text = result.Symbol, d.Resolver.Function(point, delta)
}

func (d *Decoder) pointed(v *result.Value, t *types.Type, b []byte) {
	if len(b) < 8 || t.Elem == nil {
		unavailable(v, "its type and its size disagree")
		return
	}
	if d.missing(v, t, uint(b, 8)) {
		return
	}
	switch v.Num = uint(b, 8); {
	case v.Num == 0 && t.Lang() == types.CPlusPlus:
		v.Kind = result.Pointer
		return
	case v.Num == 0 && t.Lang() == types.DotNet:
		v.Kind, v.Text = result.None, "NULL"
		return
	case v.Num == 0:
		null(v)
		return
	}
	if t.Bits == 1 {
		d.value(v, t.Elem, b[8:])
		return
	}
	v.Kind, v.Elems = result.Pointer, make([]result.Value, 1)
	d.value(&v.Elems[0], t.Elem, b[8:])
}
