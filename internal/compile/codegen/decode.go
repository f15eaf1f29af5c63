package codegen

import (
	"encoding/binary"
	"math/big"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"trocar/internal/binary/types"
	"trocar/result"
)

// Resolver gives names to what a record only has as numbers. The run implements it.
type Resolver interface {
	UserStack(tgid uint32, point int, caller uint64, frames []uint64, mode types.StackMode) []result.Frame // point -1: not known
	KernelStack(frames []uint64) []result.Frame
	UserSymbol(tgid uint32, addr uint64, point int) string // point -1: the address decides
	KernelSymbol(addr uint64) string
	Username(uid uint64) string
	CgroupPath(id uint64, filter int) string
	Time(ns uint64, clock types.Clock, format int) string
	StackMode(types.StackMode) result.StackMode
}

// Decoder turns bytes of records and maps into values.
type Decoder struct {
	Resolver Resolver
	Trailer  string // put behind strings that were longer in memory
}

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
			d.Value(v, s.Type, rec[s.Offset:s.Offset+s.Type.Size])
			continue
		}
		n := int(binary.LittleEndian.Uint32(rec[s.Offset:]))
		if uint32(n) == ^uint32(0) { // join: no such element
			v.Kind = result.None
			continue
		}
		if n < 0 || tail+n > len(rec) {
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

// Value decodes one value of type t.
func (d *Decoder) Value(v *result.Value, t *types.Type, b []byte) {
	*v = result.Value{Size: t.Size}
	if (t.Kind == types.Int || t.Kind == types.Enum) && t.Size > 8 {
		d.wideInt(v, t, b)
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
	case types.Pointer:
		v.Kind, v.Num = result.Pointer, uint(b, 8)
	case types.String:
		if n := strings.IndexByte(text(b), 0); n >= 0 {
			d.string(v, b[:n], false)
		} else {
			d.string(v, b, true)
		}
	case types.Buffer:
		n := min(int(binary.LittleEndian.Uint32(b)), len(b)-4)
		v.Kind, v.Text = result.Buffer, text(b[4:4+n])
	case types.Array:
		d.array(v, t, b)
	case types.List:
		d.list(v, t, b)
	case types.Text:
		n := uint(b, 8)
		kept := b[8 : 8+min(n, uint64(t.Size-8))]
		if t.Len > 1 {
			kept = []byte(wide(kept, t.Len, false))
		}
		d.string(v, kept, n > uint64(t.Size-8))
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
		total, n := uint(b, 8), uint(b[8:], 8)
		d.stats(v, t, total, n)
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
	for i := min(t.Size, len(b)) - 1; i >= 0; i-- {
		n.Lsh(n, 8)
		n.Or(n, big.NewInt(int64(b[i])))
	}
	if t.Signed && n.Bit(8*t.Size-1) == 1 {
		n.Sub(n, new(big.Int).SetBit(new(big.Int), 8*t.Size, 1))
	}
	v.Kind, v.Text = result.String, n.String()
}

func (d *Decoder) string(v *result.Value, b []byte, cut bool) {
	v.Kind, v.Text, v.Cut = result.String, text(b), cut
	if cut {
		v.Text += d.Trailer
	}
}

func (d *Decoder) array(v *result.Value, t *types.Type, b []byte) {
	if t.IsText() {
		n := strings.IndexByte(text(b), 0)
		if n < 0 {
			n = len(b)
		}
		v.Kind, v.Text = result.String, text(b[:n])
		return
	}
	v.Kind = result.Array
	v.Elems = make([]result.Value, max(t.Len, 0))
	for i := range v.Elems {
		d.Value(&v.Elems[i], t.Elem, b[i*t.Elem.Size:(i+1)*t.Elem.Size])
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
	for ; len(b) >= unit; b = b[unit:] {
		if uint(b, unit) == 0 {
			return true
		}
	}
	return false
}

// list decodes the elements that were captured, and marks that there are more.
func (d *Decoder) list(v *result.Value, t *types.Type, b []byte) {
	n := uint(b, 8)
	v.Kind, v.Cut, v.Num = result.Array, n > uint64(t.Len), n
	v.Elems = make([]result.Value, min(n, uint64(t.Len)))
	for i := range v.Elems {
		d.Value(&v.Elems[i], t.Elem, b[8+i*t.Elem.Size:8+(i+1)*t.Elem.Size])
	}
}

func (d *Decoder) fields(v *result.Value, t *types.Type, b []byte) {
	switch t.Kind {
	case types.Tuple:
		v.Kind = result.Tuple
	case types.Record:
		v.Kind = result.Record
	default:
		v.Kind, v.Type = result.Struct, t.Name
	}
	v.Elems = make([]result.Value, 0, len(t.Fields))
	if t.Kind != types.Tuple {
		v.Names = make([]string, 0, len(t.Fields))
	}
	d.members(v, t, b)
}

// variant decodes the content that a value's discriminant tells: a name alone as an enumerator is, else the name with what it
// holds.
func (d *Decoder) variant(v *result.Value, vs *types.Variants, b []byte) {
	one := &vs.List[0]
	if t := vs.Discr.Type; t != nil {
		if t.Size > 8 || vs.Discr.Offset+t.Size > len(b) {
			v.Kind, v.Text = result.Unavailable, "its discriminant can't be read"
			return
		}
		if one = vs.Of(uint(b[vs.Discr.Offset:], t.Size)); one == nil {
			v.Kind, v.Text = result.Unavailable, "its discriminant stands for no variant"
			return
		}
	}
	t := one.Type
	if t != nil {
		t = t.Complete()
	}
	switch {
	case t == nil, t.Kind == types.Struct && len(t.Fields) == 0 && t.Source != nil && t.Source.Variants == nil:
		v.Kind, v.Text = result.Enum, one.Name
		return
	case one.Offset < 0 || one.Offset+t.Size > len(b):
		v.Kind, v.Text = result.Unavailable, "its variant is larger than the value"
		return
	}
	held := b[one.Offset : one.Offset+t.Size]
	if one.Name == "" {
		d.Value(v, t, held)
		return
	}
	v.Kind, v.Names, v.Elems = result.Struct, []string{one.Name}, make([]result.Value, 1)
	in := &v.Elems[0]
	if len(t.Fields) == 1 && t.Fields[0].Name == "__0" {
		if f := t.Fields[0]; f.Type.Size+f.Offset <= len(held) {
			d.Value(in, f.Type, held[f.Offset:f.Offset+f.Type.Size])
			return
		}
	}
	d.Value(in, t, held)
	if in.Kind == result.Struct && len(t.Fields) > 0 && t.Fields[0].Name == "__0" {
		in.Kind, in.Names = result.Tuple, nil
	}
}

// members adds the fields of t, those of unnamed structures and base classes as its own.
func (d *Decoder) members(v *result.Value, t *types.Type, b []byte) {
	for _, f := range t.Fields {
		fits := f.BitSize > 0 || f.Offset+f.Type.Size <= len(b) && !f.Type.Incomplete
		if fits && f.Name == "" && (f.Type.Kind == types.Struct || f.Type.Kind == types.Union) && t.Kind != types.Tuple {
			d.members(v, f.Type, b[f.Offset:f.Offset+f.Type.Size])
			continue
		}
		if t.Kind != types.Tuple {
			v.Names = append(v.Names, f.Name)
		}
		v.Elems = append(v.Elems, result.Value{})
		e := &v.Elems[len(v.Elems)-1]
		switch {
		case f.BitSize > 0:
			d.bits(e, f, b)
		case !fits:
			*e = result.Value{Kind: result.Unavailable, Text: "its type is not complete"}
		default:
			d.Value(e, f.Type, b[f.Offset:f.Offset+f.Type.Size])
		}
	}
}

func (d *Decoder) bits(v *result.Value, f types.Field, b []byte) {
	var word [16]byte
	copy(word[:], b[min(f.Offset, len(b)):])
	n := binary.LittleEndian.Uint64(word[:]) >> f.BitOffset
	if f.BitOffset+f.BitSize > 64 {
		n |= uint64(word[8]) << (64 - f.BitOffset)
	}
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
	d.Value(v, f.Type, full[:min(f.Type.Size, len(full))])
}

func (d *Decoder) stack(v *result.Value, t *types.Type, b []byte) {
	count := uint(b[4:], 4)
	n := min(int(count&(1<<types.StackPointShift-1)), t.Depth)
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
	if len(v.Frames) > t.Depth {
		v.Frames = v.Frames[:t.Depth]
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
