package record

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unsafe"

	"trocar/internal/binary/types"
	"trocar/result"
)

// Resolver gives names to what a record only has as numbers. The run implements it.
type Resolver interface {
	// UserStack names frames of a time on the kernel's monotonic clock, 0: just now; point -1: not known.
	UserStack(tgid uint32, point int, caller, time uint64, frames []uint64, mode types.StackMode) []result.Frame
	KernelStack(frames []uint64) []result.Frame
	// Stack gives the frames of a stored stack by its identity, and when and in which process it was first seen; nil: they
	// are not known.
	Stack(id [16]byte) (frames []uint64, time uint64, tgid uint32)
	UserSymbol(tgid uint32, addr uint64, point int) string // point -1: the address decides
	KernelSymbol(addr uint64) string
	Username(uid uint64) string
	// DynamicType gives the type that a value has at run time. What the language's runtime tells it by, a description or a
	// table of methods, is delta beyond the point's address. Of some there is the name only.
	DynamicType(point int, delta uint64) (*types.Type, bool)
	// ObjectType names the type of an object of a runtime, by the address of the type's description in its process.
	ObjectType(tgid uint32, table uint64) (string, bool)
	// Given is what the function of a point is given, or gives back; false: that is not known.
	Given(point int) ([]Given, bool)
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
	case types.KSym, types.Username, types.Text, types.List, types.SockAddr:
		return 8
	case types.Timestamp, types.CgroupPath:
		return 12
	case types.USym, types.Stats, types.Closure:
		return 16
	case types.Dyn:
		return 24
	case types.Object:
		return ObjectHeader
	case types.Python:
		return PythonText
	case types.Java:
		return JavaContent
	case types.Entries:
		return EntriesHeader
	case types.Channel:
		return 32
	case types.UStack, types.KStack:
		if t.Stored() {
			return 32
		}
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
	case t.Incomplete && t.Kind == types.Struct && t.Size > 0:
		unavailable(v, "values of type "+t.Name+" cannot be shown")
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
	if d.managed(v, t, b) || d.dotNet(v, t, b) || d.rustValue(v, t, b) || d.duration(v, t, b) {
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
			if e.Mask == 0 && uint64(e.Value) == n {
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
		if t.Form() == types.GivenForm {
			d.givenValue(v, t, b)
			return
		}
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
	case types.SockAddr:
		n := uint(b, 8)
		if !d.missing(v, t, n) {
			d.socketAddress(v, b[8:8+min(n, uint64(t.Size-8))], n)
		}
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
	case word&NotRead != 0 && word&(Missing|Uncounted) == 0:
		v.Kind, v.Num = result.Pointer, word&^NotRead
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

func (d *Decoder) stack(v *result.Value, t *types.Type, b []byte) {
	count := uint(b[4:], 4)
	depth := max(t.Depth, 0)
	n := min(int(count&(types.StackTimed-1)), depth)
	var frames []uint64
	var time uint64
	caller := uint(b[8:], 8)
	tgid := uint32(uint(b, 4))
	if t.Stored() {
		if n > 0 {
			kept, at, first := d.Resolver.Stack([16]byte(b[16:32]))
			if time = at; tgid == 0 {
				tgid = first
			}
			if frames = slices.Clone(kept[:min(n, len(kept))]); frames == nil {
				unavailable(v, "its frames are not known any more")
				return
			}
		}
	} else {
		if count&types.StackTimed != 0 {
			time, caller = caller, 0
		}
		frames = make([]uint64, n)
		for i := range frames {
			frames[i] = uint(b[16+8*i:], 8)
		}
	}
	v.Kind, v.Mode = result.Stack, d.Resolver.StackMode(t.Mode)
	if t.Kind == types.KStack {
		v.Frames = d.Resolver.KernelStack(frames)
		return
	}
	point := int(count>>types.StackPointShift) - 1
	v.Frames = d.Resolver.UserStack(tgid, point, caller, time, frames, t.Mode)
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
