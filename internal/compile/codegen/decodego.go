package codegen

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"trocar/internal/binary/types"
	"trocar/result"
)

// goValue decodes the values that Go's own types have; false for others.
func (d *Decoder) goValue(v *result.Value, t *types.Type, b []byte) bool {
	switch {
	case t.Kind == types.Iface:
		d.iface(v, t, b)
	case t.Kind == types.Entries:
		v.Kind, v.Text = result.String, "nil"
		if uint(b, 8) != 0 {
			v.Text = fmt.Sprintf("%s(len %d)", t.Name, uint(b[8:], 8))
		}
	case t.Lang() != types.Go:
		return false
	case t.Kind == types.Int && t.Name == "time.Duration" && t.Size == 8:
		n := uint(b, 8)
		v.Kind, v.Num, v.Signed, v.Type, v.Text = result.Enum, n, true, t.Name, time.Duration(n).String()
	case t.Kind == types.Struct && t.Name == "time.Time" && len(b) >= 16:
		v.Kind, v.Text = result.String, goTime(binary.LittleEndian.Uint64(b), int64(binary.LittleEndian.Uint64(b[8:])))
	default:
		return false
	}
	return true
}

// goTime is a time.Time, in UTC (package time: wall has the nanoseconds in 30 bits; with the highest bit set also the
// seconds since 1885 in the 33 above, else ext has those since year 1).
func goTime(wall uint64, ext int64) string {
	const nsecs, monotonic = 1<<30 - 1, 1 << 63
	year1 := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	sec := ext + year1
	if wall&monotonic != 0 {
		sec = int64(wall<<1>>31) + time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return time.Unix(sec, int64(wall&nsecs)).UTC().Format(time.RFC3339Nano)
}

// iface shows an interface by its dynamic type, with the string that its value is or begins with.
func (d *Decoder) iface(v *result.Value, t *types.Type, b []byte) {
	v.Kind, v.Text = result.String, "nil"
	point := int(uint(b[8:], 4)) - 1
	if point < 0 {
		return
	}
	data := uint(b[16:], 8)
	name, ok := d.Resolver.GoType(point, uint(b, 8))
	if !ok {
		name = "a type that is not known"
	}
	n := uint(b[24:], 8)
	if n == 0 {
		v.Text = fmt.Sprintf("%s(%#x)", name, data)
		return
	}
	n--
	room := uint64(len(b) - 32)
	s := strconv.Quote(string(b[32 : 32+min(n, room)]))
	if n > room {
		s += d.Trailer
	}
	switch name {
	case "string", "*errors.errorString", "*fmt.wrapError", "*fmt.wrapErrors", "runtime.plainError", "runtime.errorString":
		v.Text = name + "(" + s + ")"
	default:
		v.Text = name + "{" + s + ", …}" // only its first field
	}
}
