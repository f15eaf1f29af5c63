package record

import "trocar/internal/binary/types"

// The bytes of values in records and maps, by their kind. All that types of programs hold directly (integers,
// structures …) is as in their memory. Numbers are little-endian.
//
//	String      text, padded with NULs to Size, one of which is at its end if it is whole
//	Buffer      u32 length, then Size-4 bytes
//	Tuple       Fields at their offsets; so is Record
//	UStack      u32 process, u32 number of frames and point (see types.StackPointShift), u64 caller or time, Depth
//	            addresses; so is KStack. Stored ones (types.StoredStack) have 16 bytes of identity in place of the
//	            addresses
//	USym        u64 address, u32 process, u32 number of the probe point + 1 whose function is meant
//	            (0: the address decides)
//	KSym        u64 address
//	Inet        u32 family (2 or 10), 16 bytes of address
//	MAC         6 bytes, padded to 8
//	Timestamp   u64 nanoseconds of its Clock, u32 number of the format, u32 unused
//	CgroupPath  u64 id, u32 number of the filter + 1 (0: none), u32 unused
//	Username    u64 user id
//	SockAddr    u64 length in bytes, then the first bytes of a struct sockaddr; or Missing or NotRead, see below
//
// What lies elsewhere than in a value is captured in a form of its own (see Capture):
//
//	Text     u64 length in bytes, then the first bytes of a text that may hold NULs. Len: bytes of a character; Max:
//	         bytes that are shown. With the bit Missing there is none, see below
//	Wide     characters of Len bytes up to one that is 0
//	List     u64 number of elements, then the first Len of them (fewer if there are not so many), each of Elem; or
//	         Missing
//	Iface    an interface of Go: see IfaceOf
//	Entries  a map of Go: see EntriesOf
//	Channel  a channel of Go: u64 address, u64 length, u64 capacity, u64 1 if it is closed
//	Closure  a func of Go: u64 address of its code minus that of the probed instruction, u32 number of the probe point
//	         + 1 (0: nil), u32 unused
//	Pointed  a pointer with what it points to: u64 address, then Elem (zero for nil); or Missing. Bits 1: a reference,
//	         of which the address is not shown
//	Dyn      a trait object of Rust: see DynOf
//	Object   an object of C++: see ObjectOf
//	Python   an object of Python: see PythonOf
//	Java     an object of Java: see JavaOf
//
// Missing in the first word says that there is nothing: with no other bit because the pointer to it is null, else
// because the program's memory could not be read at the address in the other bits. NotRead says that what is at the
// address in the other bits has not been looked at.
//
// Those of aggregations stand with their types (types.AggOf, HistOf, LHistOf, SeriesOf).

// Missing is the bit of a first word that says that there is no value.
const Missing = 1 << 63

// NotRead is the bit of a first word that says that only the address is known, which is in the others.
const NotRead = 1 << 61

// Uncounted is the bit in the number of a list's elements that says that there are more, nobody knows how many.
const Uncounted = 1 << 62

// CStringOf makes the captured form of a pointer to a text that ends with a NUL, of which at most n bytes are kept: a
// Text with room for the NUL and a byte that tells that there is more.
func CStringOf(n int) *types.Type {
	t := TextOf(n+2, 1)
	t.Max = int64(n)
	return t
}

// TextOf makes a text with characters of unit bytes, of which at most n bytes are kept.
func TextOf(n, unit int) *types.Type {
	return &types.Type{Kind: types.Text, Name: "string", Size: 8 + roundUp(n), Align: 8, Len: unit, Max: int64(n)}
}

// WideOf makes a text that ends with a character 0, of at most n bytes.
func WideOf(n, unit int) *types.Type {
	return &types.Type{Kind: types.Wide, Name: "string", Size: roundUp(n), Align: 8, Len: unit}
}

// DynOf makes the captured form of a trait object of Rust: u64 address of the value, u64 address of the virtual table
// minus that of the probed instruction, u32 number of the probe point + 1, u32 unused.
func DynOf(t *types.Type) *types.Type {
	return &types.Type{Kind: types.Dyn, Name: t.Name, Size: 24, Align: 8}
}

// ObjectOf makes the captured form of an object of C++ of a class t or one derived from it: u64 address of its
// virtual table minus that of the probed instruction, u32 number of the probe point + 1 (0: its class is not told),
// u32 number of bytes that were read, i64 where the whole object begins from the part that is a t, u64 its address,
// then up to n of its first bytes, and the part captured as elem.
func ObjectOf(t, elem *types.Type, n int) *types.Type {
	return &types.Type{
		Kind: types.Object, Name: t.Name, Size: ObjectHeader + n + roundUp(elem.Size), Align: 8, Elem: elem, Len: n,
		Source: &types.Source{Lang: types.CPlusPlus},
	}
}

// ObjectHeader is the part of a captured object in front of its bytes.
const ObjectHeader = 32

// ObjectChunk is how many of an object's bytes are read at once.
const ObjectChunk = 64

// ListOf makes a list that holds at most n elements.
func ListOf(elem *types.Type, n int) *types.Type {
	size := 8 + roundUp(elem.Size*n)
	return &types.Type{Kind: types.List, Name: elem.String() + "[]", Size: size, Align: 8, Elem: elem, Len: n}
}

// SliceOf makes the captured form of a slice of Go, of which at most n elements are kept: it may be nil.
func SliceOf(t, elem *types.Type, n int) *types.Type {
	list := ListOf(elem, n)
	list.Source = &types.Source{Lang: t.Lang()}
	return list
}

// IfaceOf makes the captured form of a Go interface: u32 number of the probe point + 1 (0: the interface is nil), u32
// unused, then the nodes, first the interface's own value, then those of interfaces in it, and Long bytes: the
// beginning of the first string in the first node, in place of what the node has of it.
func IfaceOf(t *types.Type, nodes Nodes) *types.Type {
	kept := types.IfaceNodes(nodes)
	return &types.Type{Kind: types.Iface, Name: t.Name, Size: 8 + nodes.Size(), Align: 8, Nodes: &kept}
}

// Nodes is how much of an interface's value is captured. A node is what is captured of one dynamic value: u64 address
// of its type minus that of the probed instruction (0: there is no value), u64 the data word, u64 its place (1 +
// offset in the node that holds it, whose number is in the upper 32 bits; no matter for the first), u64 number of
// bytes of the value that follow, Raw bytes, then Texts times: u64 1 + offset of a string in the value (0: none), u64
// its length, and its first bytes: FirstText, then MoreText of them.
type Nodes types.IfaceNodes

// IfaceHeader is the part of a node in front of the value's bytes.
const IfaceHeader = 32

// Text gives the place of the i-th string in a node, and how many bytes of it there are at most.
func (n *Nodes) Text(i int) (at, most int) {
	at = IfaceHeader + n.Raw
	if i == 0 {
		return at, n.FirstText
	}
	return at + 16 + n.FirstText + (i-1)*(16+n.MoreText), n.MoreText
}

// Node is the size of a node.
func (n *Nodes) Node() int {
	at, _ := n.Text(n.Texts)
	return at
}

// Valid tells whether there are nodes, of a sensible size.
func (n *Nodes) Valid() bool {
	if n == nil || n.Len < 1 {
		return false
	}
	for _, size := range []int{n.Len, n.Raw, n.FirstText, n.MoreText, n.Texts, n.Long} {
		if size < 0 || size > 1<<16 {
			return false
		}
	}
	return true
}

// Size is the size of all nodes and of the long text.
func (n *Nodes) Size() int { return n.Len*n.Node() + n.Long }

// BytesOf makes the captured form of a Go slice of bytes: a Text that is shown as bytes.
func BytesOf(t *types.Type, n int) *types.Type {
	b := TextOf(n, 1)
	b.Name, b.Source = t.Name, &types.Source{Lang: t.Lang(), Form: types.SliceForm}
	return b
}

// EntriesOf makes the captured form of a Go map: u64 address (0: nil), u64 number of entries, u64 number of those that
// follow, then at most n times a key and a value.
func EntriesOf(t, key, value *types.Type, n int) *types.Type {
	entry := &types.Type{
		Kind: types.Struct, Align: 8, Size: roundUp(key.Size) + roundUp(value.Size),
		Fields: []types.Field{
			{Name: "key", Type: key}, {Name: "value", Type: value, Offset: roundUp(key.Size)},
		},
	}
	size := EntriesHeader + n*entry.Size
	return &types.Type{Kind: types.Entries, Name: t.Name, Size: size, Align: 8, Elem: entry, Len: n}
}

// SockAddrOf makes the captured form of a pointer to the address of a socket, of which at most n bytes are kept.
func SockAddrOf(n int) *types.Type {
	return &types.Type{Kind: types.SockAddr, Name: "struct sockaddr", Size: 8 + roundUp(n), Align: 8}
}

// InPlaceOf makes the captured form of a pointer to a value, which is shown without the address.
func InPlaceOf(target *types.Type) *types.Type {
	return &types.Type{
		Kind: types.Pointed, Name: target.Name, Size: 8 + roundUp(target.Size), Align: 8, Elem: target, Bits: 1,
	}
}

// EntriesHeader is the part of a captured map in front of its entries.
const EntriesHeader = 24

// ChannelOf makes the captured form of a Go channel.
func ChannelOf(t *types.Type) *types.Type {
	return &types.Type{Kind: types.Channel, Name: t.Name, Size: 32, Align: 8}
}

// TClosure is the captured form of Go's funcs.
var TClosure = &types.Type{Kind: types.Closure, Name: "func", Size: 16, Align: 8}

// PointedOf makes the captured form of a Go pointer with its target.
func PointedOf(t, target *types.Type) *types.Type {
	return &types.Type{Kind: types.Pointed, Name: t.Name, Size: 8 + roundUp(target.Size), Align: 8, Elem: target}
}

func roundUp(n int) int { return (n + 7) &^ 7 }
