package record

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"trocar/internal/binary/types"
	"trocar/result"
)

// Ticks of .NET are 100 ns.
const ticksPerSecond = 10_000_000

// dotNet decodes the values of .NET that mean something that their fields do not say, as .NET writes them; false for
// others.
func (d *Decoder) dotNet(v *result.Value, t *types.Type, b []byte) bool {
	if t.Kind == types.Pointer && t.Lang() == types.DotNet && uint(b, 8) == 0 {
		v.Kind, v.Text = result.None, "NULL"
		return true
	}
	text := ""
	switch size := len(b); t.Form() {
	case types.DotNetDateTimeForm:
		if size < 8 {
			return false
		}
		text = dotNetDateTime(uint(b, 8))
	case types.DotNetTimeSpanForm:
		if size < 8 {
			return false
		}
		text = dotNetTimeSpan(int64(uint(b, 8)))
	case types.DotNetDateForm:
		if size < 4 {
			return false
		}
		text = year1().AddDate(0, 0, int(int32(uint(b, 4)))).Format(time.DateOnly)
	case types.DotNetTimeForm:
		if size < 8 {
			return false
		}
		text = dotNetTimeSpan(int64(uint(b, 8)))
	case types.DotNetGuidForm:
		if size < 16 {
			return false
		}
		text = fmt.Sprintf("%08x-%04x-%04x-%x-%x", uint(b, 4), uint(b[4:], 2), uint(b[6:], 2), b[8:10], b[10:16])
	case types.DotNetDecimalForm:
		if size < 16 {
			return false
		}
		var ok bool
		if text, ok = dotNetDecimal(uint(b, 4), uint(b[4:], 4), uint(b[8:], 8)); !ok {
			unavailable(v, "it is no decimal")
			return true
		}
	case types.DotNetNullableForm:
		if size < 1 || len(t.Fields) != 2 {
			return false
		}
		if b[0] == 0 {
			v.Kind, v.Text = result.None, "NULL"
		} else {
			d.member(v, t.Fields[1], b)
		}
		return true
	default:
		return false
	}
	v.Kind, v.Type, v.Text = result.String, t.Name, text
	return true
}

func year1() time.Time { return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC) }

// dotNetDateTime is a DateTime: of an unspecified time zone, in UTC or, without saying which, in the local one.
func dotNetDateTime(data uint64) string {
	const ticks, utc, local = 1<<62 - 1, 1, 2
	n := data & ticks
	// A Duration has not enough bits for all of it.
	at := time.Unix(year1().Unix()+int64(n/ticksPerSecond), int64(n%ticksPerSecond)*100).UTC()
	zone := ""
	switch kind := data >> 62; {
	case kind == utc:
		zone = "Z"
	case kind >= local:
		zone = " local time"
	}
	return at.Format("2006-01-02T15:04:05.9999999") + zone
}

// dotNetTimeSpan is "[-][days.]hours:minutes:seconds[.fraction]".
func dotNetTimeSpan(ticks int64) string {
	sign, n := "", uint64(ticks)
	if ticks < 0 {
		sign, n = "-", -n
	}
	seconds, fraction := n/ticksPerSecond, n%ticksPerSecond
	text := fmt.Sprintf("%02d:%02d:%02d", seconds/3600%24, seconds/60%60, seconds%60)
	if days := seconds / 86400; days > 0 {
		text = fmt.Sprintf("%d.%s", days, text)
	}
	if fraction > 0 {
		text += fmt.Sprintf(".%07d", fraction)
	}
	return sign + text
}

// dotNetDecimal is a number of 96 bits with a sign and a scale, the number of digits behind the point.
func dotNetDecimal(flags, high, low uint64) (string, bool) {
	const negative, mostDigits = 1 << 31, 28
	scale := flags >> 16 & 0xff
	if scale > mostDigits || flags&^uint64(negative|0xff0000) != 0 {
		return "", false
	}
	n := new(big.Int).SetUint64(high)
	n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(low))
	text := n.String()
	if scale > 0 {
		if missing := int(scale) + 1 - len(text); missing > 0 {
			text = strings.Repeat("0", missing) + text
		}
		text = text[:len(text)-int(scale)] + "." + text[len(text)-int(scale):]
	}
	if flags&negative != 0 {
		text = "-" + text
	}
	return text, true
}

// dotNetObject shows an object, of which fields were decoded, by the type that it is of.
func (d *Decoder) dotNetObject(v *result.Value, b []byte, raw int) {
	const marks = 7 // of the garbage collector
	name, ok := d.Resolver.ObjectType(uint32(uint(b[8:], 4)), uint(b, 8)&^marks)
	if !ok {
		if len(v.Elems) == 0 {
			unavailable(v, "its type could not be read in the process")
		}
		return
	}
	part := *v
	*v = result.Value{Kind: result.Dynamic, Type: name}
	n := min(uint(b[12:], 4), uint64(raw))
	if sum(&part); n >= FirstOfAny && d.boxed(&part, name, b[ObjectHeader:ObjectHeader+n]) || len(part.Elems) > 0 {
		v.Elems = []result.Value{part}
	}
}

// boxes are the types of which objects of any type may be, and are shown by their values, at header.
var boxes = map[string]*types.Type{
	"bool": types.TCBool, "sbyte": types.IntOf(1, true), "byte": types.IntOf(1, false), "short": types.IntOf(2, true),
	"ushort": types.IntOf(2, false), "int": types.IntOf(4, true), "uint": types.IntOf(4, false),
	"long": types.IntOf(8, true), "ulong": types.IntOf(8, false),
	"double": {Kind: types.Float, Size: 8}, "float": {Kind: types.Float, Size: 4},
}

// boxed shows an object by its first bytes if it is a text, or a number.
func (d *Decoder) boxed(v *result.Value, name string, b []byte) bool {
	const header, chars = 8, 12
	if name == "string" {
		*v = result.Value{}
		n := 2 * uint(b[header:], 4)
		kept := b[chars : chars+min(n, uint64(len(b)-chars)&^1)]
		d.string(v, []byte(wide(kept, 2, false)), n > uint64(len(kept)))
		return true
	}
	t, ok := boxes[name]
	if ok {
		d.value(v, t, b[header:])
	}
	return ok
}

// sum has of a table how many elements it has, instead of what this is made of: those that were used, and those of
// them that are free again.
func sum(v *result.Value) {
	if v.Kind == result.Struct && len(v.Names) == 2 && v.Names[0] == "_count" && v.Names[1] == "_freeCount" {
		n := v.Elems[0]
		n.Num -= v.Elems[1].Num
		v.Names, v.Elems = []string{"Count"}, []result.Value{n}
	}
}
