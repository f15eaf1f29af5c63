package record

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"trocar/internal/binary/types"
	"trocar/result"
)

// Resolver gives names to what a record only has as numbers. The run implements it.
type Resolver interface {
	// UserStack names frames; point -1: not known.
	UserStack(tgid uint32, point int, caller uint64, frames []uint64, mode types.StackMode) []result.Frame
	KernelStack(frames []uint64) []result.Frame
	UserSymbol(tgid uint32, addr uint64, point int) string // point -1: the address decides
	KernelSymbol(addr uint64) string
	Username(uid uint64) string
	// DynamicType gives the type that a value has at run time. What the language's runtime tells it by, a description or a
	// table of methods, is delta beyond the point's address. Of some there is the name only.
	DynamicType(point int, delta uint64) (*types.Type, bool)
	// Function names the function whose code is delta beyond the point's address.
	Function(point int, delta uint64) string
	CgroupPath(id uint64, filter int) string
	Time(ns uint64, clock types.Clock, format int) string
	StackMode(types.StackMode) result.StackMode
}

// Decoder turns bytes of records and maps into values. Layouts come from debug info, which may be broken or hostile:
// what does not fit its bytes is unavailable, and nothing takes more than a bounded time.
type Decoder struct {
	Resolver Resolver
	Trailer  string // put behind strings that were longer in memory
	// Quad tells that long double is IEEE 754's format of 128 bits, not the 80 bits of x87.
	Quad bool

	made, depth int // values made so far of the one being decoded; how deep it is nested
}

// Bounds of one value, the parts of its parts included. More elements than bytes are only possible where structures
// overlap or have no size.
const (
	maxValues  = 1 << 17
	maxNesting = 64
)

// text is a string without a copy; it lives as long as the record.
func text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

// Record decodes the arguments of a record, reusing into. It reports false for a record shorter than its layout.
func (d *Decoder) Record(l *Layout, rec []byte, into []result.Value) ([]result.Value, bool) {
	if len(rec) < l.Size {
		return into[:0], false
	}
	into = into[:0]
	tail := l.Size
	for i := range l.Args {
		s := &l.Args[i]
		into = append(into, result.Value{})
		v := &into[len(into)-1]
		if !s.Dynamic {
			d.Value(v, s.Type, rec[s.Offset:l.Size])
			continue
		}
		n := int(binary.LittleEndian.Uint32(rec[s.Offset:]))
		if uint32(n) == ^uint32(0) { // join: no such element
			v.Kind = result.None
			continue
		}
		if n > len(rec)-tail {
			return into, false
		}
		d.string(v, rec[tail:tail+n], n >= s.Type.Size)
		tail += n
	}
	return into, true
}

func uint(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// extend cuts a number to its type's size and extends it by its sign.
func extend(n uint64, t *types.Type) uint64 {
	shift := 64 - 8*t.Size
	if t.Signed {
		return uint64(int64(n<<shift) >> shift)
	}
	return n << shift >> shift
}

// Value decodes one value of type t from the beginning of b.
func (d *Decoder) Value(v *result.Value, t *types.Type, b []byte) {
	d.made, d.depth = 0, 0
	d.value(v, t, b)
}

func unavailable(v *result.Value, why string) { v.Kind, v.Text = result.Unavailable, why }

// number tells whether integers of the size can be shown.
func number(size int) bool { return size == 1 || size == 2 || size == 4 || size == 8 }

// least is how many bytes a value of the type must have for its kind.
func least(t *types.Type) int {
	switch t.Kind {
	case types.Bool:
		return 1
	case types.Buffer:
		return 4
	case types.MAC:
		return 6
	case types.KSym, types.Username, types.Text, types.List:
		return 8
	case types.Timestamp, types.CgroupPath:
		return 12
	case types.USym, types.Stats, types.Closure:
		return 16
	case types.Dyn:
		return 24
	case types.Entries:
		return EntriesHeader
	case types.Channel:
		return 32
	case types.UStack, types.KStack:
		return 16 + 8*min(max(t.Depth, 0), 1<<20)
	case types.Inet:
		return 20
	}
	return 0
}

func (d *Decoder) value(v *result.Value, t *types.Type, b []byte) {
	if t == nil {
		*v = result.Value{Kind: result.Unavailable, Text: "its type is not known"}
		return
	}
	*v = result.Value{Size: t.Size}
	switch {
	case d.depth >= maxNesting, d.made >= maxValues:
		unavailable(v, "it contains too many values")
		return
	case t.Size < least(t) || t.Size > len(b):
		unavailable(v, "its type and its size disagree")
		return
	case (t.Kind == types.Int || t.Kind == types.Enum) && t.Size == 16:
		d.wideInt(v, t, b)
		return
	case (t.Kind == types.Int || t.Kind == types.Enum || t.Kind == types.Pointer) && !number(t.Size):
		unavailable(v, fmt.Sprintf("a number of %d bytes can't be shown", t.Size))
		return
	}
	b = b[:t.Size]
	d.made++
	d.depth++
	defer func() { d.depth-- }()
	if d.managed(v, t, b) || d.rustValue(v, t, b) || d.duration(v, t, b) {
		return
	}
	switch t.Kind {
	case types.Int:
		n := uint(b, t.Size)
		v.Kind = result.Uint
		if t.Signed {
			v.Kind, v.Signed, n = result.Int, true, extend(n, t)
		}
		v.Num = n
	case types.Bool:
		v.Kind = result.Bool
		if b[0] != 0 {
			v.Num = 1
		}
	case types.Enum:
		n := uint(b, t.Size)
		n = extend(n, t)
		v.Kind, v.Num, v.Signed, v.Type = result.Enum, n, t.Signed, t.Name
		for _, e := range t.Enums {
			if uint64(e.Value) == n {
				v.Text = e.Name
				break
			}
		}
		if v.Text == "" {
			v.Text = flags(t, n)
		}
	case types.Pointer:
		v.Kind, v.Num = result.Pointer, uint(b, t.Size)
	case types.String:
		if n := strings.IndexByte(text(b), 0); n >= 0 {
			d.string(v, b[:n], false)
		} else {
			d.string(v, b, true)
		}
	case types.Buffer:
		n := min(uint64(binary.LittleEndian.Uint32(b)), uint64(len(b)-4))
		v.Kind, v.Text = result.Buffer, text(b[4:4+n])
	case types.Array:
		d.array(v, t, b)
	case types.List:
		d.list(v, t, b)
	case types.Text:
		n, room := uint(b, 8), uint64(t.Size-8)
		if d.missing(v, t, n) {
			return
		}
		if t.Max > 0 {
			room = min(room, uint64(t.Max))
		}
		kept := b[8 : 8+min(n, room)]
		if t.Len > 1 {
			kept = []byte(wide(kept, t.Len, false))
		}
		d.string(v, kept, n > room)
		if t.Form() == types.SliceForm {
			byteSlice(v, t, kept, n)
		}
	case types.Wide:
		s := wide(b, t.Len, true)
		d.string(v, []byte(s), !endsWide(b, t.Len))
	case types.Struct, types.Union, types.Tuple, types.Record:
		if vs := t.Alternatives(); vs != nil {
			d.variant(v, vs, b)
			return
		}
		d.fields(v, t, b)
	case types.UStack, types.KStack:
		d.stack(v, t, b)
	case types.USym:
		v.Kind, v.Num = result.Symbol, uint(b, 8)
		v.Text = d.Resolver.UserSymbol(uint32(uint(b[8:], 4)), v.Num, int(uint(b[12:], 4))-1)
	case types.KSym:
		v.Kind, v.Num = result.Symbol, uint(b, 8)
		v.Text = d.Resolver.KernelSymbol(v.Num)
	case types.Username:
		v.Kind, v.Num = result.String, uint(b, 8)
		v.Text = d.Resolver.Username(v.Num)
	case types.Inet:
		v.Kind, v.Text = result.Address, inet(b)
	case types.MAC:
		v.Kind, v.Text = result.Address, mac(b)
	case types.Timestamp:
		v.Kind, v.Num = result.Timestamp, uint(b, 8)
		v.Text = d.Resolver.Time(v.Num, t.Clock, int(uint(b[8:], 4)))
	case types.CgroupPath:
		v.Kind, v.Num = result.String, uint(b, 8)
		v.Text = d.Resolver.CgroupPath(v.Num, int(uint(b[8:], 4))-1)
	case types.Stats:
		d.stats(v, t, uint(b, 8), uint(b[8:], 8))
	case types.Float:
		d.float(v, t, b)
	case types.Void:
		v.Kind, v.Text = result.Unavailable, t.Name
	default:
		v.Kind, v.Text = result.Unavailable, "a value of type "+t.String()+" can't be shown"
	}
}

// wideInt decodes an integer of more than 64 bits: as text, since no number of the results holds it.
func (d *Decoder) wideInt(v *result.Value, t *types.Type, b []byte) {
	n := new(big.Int)
	for i := t.Size - 1; i >= 0; i-- {
		n.Lsh(n, 8)
		n.Or(n, big.NewInt(int64(b[i])))
	}
	if t.Signed && n.Bit(8*t.Size-1) == 1 {
		n.Sub(n, new(big.Int).SetBit(new(big.Int), 8*t.Size, 1))
	}
	v.Kind, v.Text, v.Type = result.String, n.String(), t.Name
}

// missing decodes a first word that says that there is no value.
func (d *Decoder) missing(v *result.Value, t *types.Type, word uint64) bool {
	addr := word &^ Missing
	switch {
	case word&Missing == 0:
		return false
	case addr != 0:
		if addr>>62 != 0 {
			addr |= Missing // which it had
		}
		unavailable(v, fmt.Sprintf("unreadable %#x", addr))
	case t.Lang().Managed():
		null(v)
	default:
		v.Kind, v.Text = result.None, "NULL"
	}
	return true
}

func (d *Decoder) string(v *result.Value, b []byte, cut bool) {
	v.Kind, v.Text, v.Cut = result.String, text(b), cut
	if cut {
		v.Text += d.Trailer
	}
}

func (d *Decoder) array(v *result.Value, t *types.Type, b []byte) {
	if t.Elem != nil && t.IsText() {
		n := strings.IndexByte(text(b), 0)
		if n < 0 {
			n = len(b)
		}
		v.Kind, v.Text = result.String, text(b[:n])
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
		if t.Lang().Blank(f.Name) {
			continue // padding
		}
		fits := f.Type != nil && f.Offset >= 0 && f.Offset <= len(b)
		if fits && f.BitSize == 0 {
			fits = f.Type.Size >= 0 && f.Type.Size <= len(b)-f.Offset && !f.Type.Incomplete
		}
		if fits && f.BitSize == 0 && f.Name == "" && (f.Type.Kind == types.Struct || f.Type.Kind == types.Union) &&
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
		case f.BitSize > 0:
			d.bits(e, f, b[f.Offset:])
		default:
			d.value(e, f.Type, b[f.Offset:])
		}
	}
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

func (d *Decoder) stack(v *result.Value, t *types.Type, b []byte) {
	count := uint(b[4:], 4)
	depth := max(t.Depth, 0)
	n := min(int(count&(1<<types.StackPointShift-1)), depth)
	frames := make([]uint64, n)
	for i := range frames {
		frames[i] = uint(b[16+8*i:], 8)
	}
	v.Kind, v.Mode = result.Stack, d.Resolver.StackMode(t.Mode)
	if t.Kind == types.KStack {
		v.Frames = d.Resolver.KernelStack(frames)
		return
	}
	caller := uint(b[8:], 8)
	v.Frames = d.Resolver.UserStack(uint32(uint(b, 4)), int(count>>types.StackPointShift)-1, caller, frames, t.Mode)
	for i := range v.Frames { // the caller may be one too many; inlined frames do not count
		if depth == 0 {
			v.Frames = v.Frames[:i]
			break
		}
		if !v.Frames[i].Inlined {
			depth--
		}
	}
}

func (d *Decoder) stats(v *result.Value, t *types.Type, total, n uint64) {
	avg := uint64(0)
	if n > 0 {
		if t.Signed {
			avg = uint64(int64(total) / int64(n))
		} else {
			avg = total / n
		}
	}
	kind := result.Uint
	if t.Signed {
		kind = result.Int
	}
	v.Kind = result.Stats
	v.Elems = []result.Value{
		{Kind: result.Uint, Size: 8, Num: n},
		{Kind: kind, Size: 8, Num: avg, Signed: t.Signed},
		{Kind: kind, Size: 8, Num: total, Signed: t.Signed},
	}
}
