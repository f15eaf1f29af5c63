// Package types is the one model of value types: those of C, C++, Rust and Go (read from debug info), those that
// scripts define, and those that only scripts have (strings, tuples, aggregations).
//
// A *Type is never changed once it is handed out; a derived type is a new one. Sizes and offsets are in bytes unless a
// name says bits.
package types

import (
	"fmt"
	"strings"
)

// Kind is what a type is made of.
type Kind uint8

// Kinds. The first group exists in traced programs and scripts, the second in scripts only, the third stands for
// values of programs that refer to others. What bytes the second and third have is told in package record.
const (
	Void Kind = iota
	Bool
	Int
	Float
	Pointer
	Array
	Struct // also classes
	Union
	Enum
	Func // a function type: only behind pointers

	String     // text of at most Size bytes
	Buffer     // bytes, at most Size-4
	Tuple      // Fields without names
	Record     // Fields with names
	UStack     // a user stack of at most Depth frames
	KStack     // a kernel stack of at most Depth frames
	USym       // a user address, shown by its name
	KSym       // a kernel address, shown by its name
	Inet       // an IPv4 or IPv6 address
	MAC        // a hardware address
	Timestamp  // a time of Clock, shown by a format
	CgroupPath // a cgroup, shown by its path
	Username   // a user id, shown by the user's name

	Text    // a text of known length; Len: bytes of a character, Max: bytes that are kept
	Wide    // a text of characters of Len bytes that ends with one that is 0
	List    // at most Len elements of a list, each of Elem
	Iface   // an interface of Go, as much as Nodes says
	Dyn     // a trait object of Rust
	Entries // at most Len entries of a map of Go, each of Elem
	Channel // the state of a channel of Go
	Closure // a func of Go
	Pointed // a pointer of Go with what it points to, of Elem
	None    // the "type" of a statement-like call (printf …)

	Count // aggregations: per-CPU values of a map, see AggOf
	Sum
	Min
	Max
	Avg
	Stats
	Hist
	LHist
	TSeries
	Times

	Object   // an object of C++ with what tells its class: Elem, and Len bytes of it
	SockAddr // an address of a socket, at most Size-8 bytes
	Python   // an object of Python: see package record
	Java     // an object of Java: see package record
)

// IfaceNodes is how much is kept of the value in an interface of Go (package record says in which form): so many
// dynamic values, of each so many bytes, Texts strings of FirstText and MoreText bytes, and more of the first string
// of all.
type IfaceNodes struct{ Len, Raw, FirstText, MoreText, Texts, Long int }

// Space says in which memory a pointer points.
type Space uint8

// Address spaces.
const (
	User     Space = iota // the traced process
	Kernel                // kernel memory
	BPF                   // our own: address of a variable or map value
	AnySpace              // not known when compiling: the address itself tells (kernel addresses have the highest bit set)
)

// Type describes a type. Which fields have a meaning depends on Kind.
type Type struct {
	Kind   Kind
	Name   string // as shown: "int32", "struct foo", "std::string"; for derived types see String
	Size   int
	Align  int
	Signed bool // Int, Enum, Count, Sum, Min, Max, Avg, Stats
	Elem   *Type
	Len    int // Array: elements (-1: unknown, a flexible array); UStack, KStack: 1 if the frames are kept apart
	Fields []Field
	Enums  []Enumerator
	Space  Space // Pointer

	Mode           StackMode   // UStack, KStack: how it is shown
	Depth          int         // UStack, KStack: frames at most
	Bits           int         // Hist: k, the bits per power of two
	Min, Max, Step int64       // LHist; Max also Text
	Series         *SeriesSpec // TSeries
	Clock          Clock       // Timestamp
	Nodes          *IfaceNodes // Iface

	// Incomplete marks a type of which only the name is known (struct foo; without a definition), or only the name as
	// long as nobody asks for more: see Complete.
	Incomplete bool

	Source *Source // what debug info tells besides the layout; nil for types of scripts
}

// Field is a member of a struct, union, tuple or record.
type Field struct {
	Name   string // empty: unnamed struct or union (its members are promoted), or a tuple's
	Type   *Type
	Offset int
	// BitSize is the width of a bit-field (0: none), BitOffset its lowest bit, counted from the lowest bit of the
	// byte at Offset.
	BitSize, BitOffset int
	// DataLoc marks a field of a tracepoint record (__data_loc): at Offset are 32 bits, the lower 16 of which say where
	// in the record the value lies. The field's value is the address of that, and Type a pointer.
	DataLoc bool

	Base       bool // a base class: unnamed, its members are promoted
	Artificial bool // made by the compiler: a virtual table's pointer
	Embedded   bool // Go: an embedded field, whose members are promoted

	When *When `json:",omitempty"` // it is there only then
}

// When tells when a field is there: by a number of Size bytes at Offset, of which the bits of Mask count. It is not 0,
// or, if there are Values, one of them (Not: none of them).
type When struct {
	Offset, Size int
	Mask         uint64
	Values       []uint64 `json:",omitempty"`
	Not          bool
}

// Enumerator is a named value of an enum.
type Enumerator struct {
	Name  string
	Value int64 // the bits, to be read as Signed says
	// Mask are the bits of a number that the enumerator tells of, of those that are made of several: it holds where they
	// are Value. 0: the enum is as a language has it, and all bits count.
	Mask int64
}

// StackMode is how a stack is shown.
type StackMode uint8

// Stack modes.
const (
	StackDefault StackMode = iota // taken from the config
	StackBpftrace
	StackPerf
	StackRaw
	StackBuildID
)

// Clock names a kernel clock.
type Clock uint8

// Clocks.
const (
	ClockBoot Clock = iota
	ClockMonotonic
	ClockTAI
	ClockSwTAI
)

// SeriesSpec is what a time series keeps.
type SeriesSpec struct {
	IntervalNS uint64
	Count      int
	Agg        Kind // Sum, Min, Max, Avg, or None: the last value
	Signed     bool
}

// Basic types shared by all.
var (
	TVoid   = &Type{Kind: Void, Name: "void"}
	TNone   = &Type{Kind: None, Name: "none"}
	TBool   = &Type{Kind: Bool, Name: "bool", Size: 1, Align: 1}
	TInt8   = intType("int8", 1, true)
	TInt16  = intType("int16", 2, true)
	TInt32  = intType("int32", 4, true)
	TInt64  = intType("int64", 8, true)
	TUint8  = intType("uint8", 1, false)
	TUint16 = intType("uint16", 2, false)
	TUint32 = intType("uint32", 4, false)
	TUint64 = intType("uint64", 8, false)
)

// TCBool is a bool in the traced program's memory, as C declares it: unlike TBool, which is what a script's conditions
// give, it goes where scripts have numbers.
var TCBool = &Type{Kind: Bool, Name: "bool", Size: 1, Align: 1}

// TChar is C's char. An array of it is text: see IsText.
var TChar = intType("char", 1, true)

func intType(name string, size int, signed bool) *Type {
	return &Type{Kind: Int, Name: name, Size: size, Align: size, Signed: signed}
}

// IntOf returns the script's integer type of a size (1, 2, 4, 8) and sign.
func IntOf(size int, signed bool) *Type {
	switch {
	case size == 1 && signed:
		return TInt8
	case size == 1:
		return TUint8
	case size == 2 && signed:
		return TInt16
	case size == 2:
		return TUint16
	case size == 4 && signed:
		return TInt32
	case size == 4:
		return TUint32
	case signed:
		return TInt64
	}
	return TUint64
}

// PointerTo makes a pointer type.
func PointerTo(elem *Type, space Space) *Type {
	return &Type{Kind: Pointer, Size: 8, Align: 8, Elem: elem, Space: space}
}

// ArrayOf makes an array type; n is -1 for a flexible array.
func ArrayOf(elem *Type, n int) *Type {
	return &Type{Kind: Array, Size: elem.Size * max(n, 0), Align: elem.Align, Elem: elem, Len: n}
}

// WideUnit is the size of the characters that a pointer to char16_t, char32_t or wchar_t points to; 0 for other types.
func (t *Type) WideUnit() int {
	if t == nil || t.Kind != Pointer || t.Elem == nil || t.Elem.Kind != Int || t.Elem.Size != 2 && t.Elem.Size != 4 {
		return 0
	}
	if l := t.Elem.Lang(); l != C && l != CPlusPlus {
		return 0
	}
	if t.Elem.Form() != UnicodeForm {
		switch t.Elem.Alias() {
		case "wchar_t", "char16_t", "char32_t":
		default:
			if t.Elem.Name != "wchar_t" {
				return 0
			}
		}
	}
	return t.Elem.Size
}

// StringOf makes a string type that holds size bytes, the final NUL included.
func StringOf(size int) *Type { return &Type{Kind: String, Name: "string", Size: size, Align: 1} }

// BufferOf makes a buffer type of at most n bytes of data.
func BufferOf(n int) *Type { return &Type{Kind: Buffer, Name: "buffer", Size: n + 4, Align: 4} }

// TupleOf lays out a tuple; fields are aligned to at most 8.
func TupleOf(elems ...*Type) *Type {
	t := &Type{Kind: Tuple, Align: 1}
	for _, e := range elems {
		t.Fields = append(t.Fields, Field{Type: e})
	}
	t.layOut()
	return t
}

// RecordOf lays out a record.
func RecordOf(names []string, elems []*Type) *Type {
	t := &Type{Kind: Record, Align: 1}
	for i, e := range elems {
		t.Fields = append(t.Fields, Field{Name: names[i], Type: e})
	}
	t.layOut()
	return t
}

func (t *Type) layOut() {
	off := 0
	for i := range t.Fields {
		f := &t.Fields[i]
		a := max(1, min(f.Type.Align, 8))
		off = (off + a - 1) / a * a
		f.Offset = off
		off += f.Type.Size
		t.Align = max(t.Align, a)
	}
	t.Size = (off + t.Align - 1) / t.Align * t.Align
}

// StackPointShift parts the word behind the tgid in a stack's value: the number of frames is in the bits below it,
// the number of the probe point + 1 (0: not known) in those above.
const StackPointShift = 12

// StackTimed is the bit below the number of the point that says that what is in place of the caller is when the stack
// was taken, on the kernel's monotonic clock. There are less frames than that.
const StackTimed = 1 << (StackPointShift - 1)

// StackType makes a stack type of at most depth frames. Its value is: u32 tgid, u32 number of frames and point, u64
// caller (the return address on top of the stack at a function's entry, which the walk by frame pointers misses; 0:
// none), then depth u64 addresses (unused ones zero).
func StackType(kind Kind, depth int, mode StackMode) *Type {
	name := "ustack_t"
	if kind == KStack {
		name = "kstack_t"
	}
	return &Type{Kind: kind, Name: name, Size: 16 + 8*depth, Align: 8, Depth: depth, Mode: mode}
}

// StoredStack makes the type of a stack whose frames are kept apart, once for all stacks that are the same. Its value
// is: u32 tgid, u32 number of frames and point, u64 caller as in StackType, then the 16 bytes of its identity. The tgid
// is 0 if other processes may have the same stack.
func StoredStack(kind Kind, depth int, mode StackMode) *Type {
	t := StackType(kind, depth, mode)
	t.Size, t.Len = 32, 1
	return t
}

// Stored tells whether the frames of a stack are kept apart.
func (t *Type) Stored() bool { return (t.Kind == UStack || t.Kind == KStack) && t.Len == 1 }

// Types with one fixed form.
var (
	TUSym       = &Type{Kind: USym, Name: "usym_t", Size: 16, Align: 8}
	TKSym       = &Type{Kind: KSym, Name: "ksym_t", Size: 8, Align: 8}
	TInet       = &Type{Kind: Inet, Name: "inet", Size: 20, Align: 4}
	TMAC        = &Type{Kind: MAC, Name: "mac_address", Size: 8, Align: 1}
	TUsername   = &Type{Kind: Username, Name: "username_t", Size: 8, Align: 8}
	TCgroupPath = &Type{Kind: CgroupPath, Name: "cgroup_path_t", Size: 16, Align: 8}
)

// TimestampOf makes the type of strftime's value.
func TimestampOf(clock Clock) *Type {
	return &Type{Kind: Timestamp, Name: "timestamp", Size: 16, Align: 8, Clock: clock}
}

// AggOf makes an aggregation type without parameters (Count, Sum, Min, Max, Avg, Stats). The value per CPU is: Count,
// Sum: i64; Min, Max: u64 that only grows, u64 1 if set; Avg, Stats: i64 total, u64 count. The number of Max is the
// value, of Min its complement, both with the highest bit inverted if Signed: so 0 is less than all.
func AggOf(kind Kind, signed bool) *Type {
	t := &Type{Kind: kind, Size: 16, Align: 8, Signed: signed}
	switch kind {
	case Count:
		t.Name, t.Size = "count_t", 8
	case Sum:
		t.Name, t.Size = "sum_t", 8
	case Min:
		t.Name = "min_t"
	case Max:
		t.Name = "max_t"
	case Avg:
		t.Name = "avg_t"
	case Stats:
		t.Name = "stats_t"
	}
	return t
}

// HistOf makes a log2 histogram with 2^bits buckets per power of two (bits 0 to 5). Its value is an array of u64
// counters: index 0 negative values, then the buckets of HistBucket.
func HistOf(bits int) *Type {
	return &Type{Kind: Hist, Name: "hist_t", Size: 8 * HistBuckets(bits), Align: 8, Bits: bits}
}

// HistBuckets is the number of counters of a histogram: one for negative values, one for each value below 2^bits, and
// 2^bits for each of the 64-bits powers of two above.
func HistBuckets(bits int) int { return 1 + 1<<bits + (64-bits)<<bits }

// TimesBits and TimesPowers say how fine the histogram of Times is: 2^TimesBits buckets for each power of two, up to
// 2^TimesPowers nanoseconds, which are 18 minutes; the last bucket has all that is longer.
const (
	TimesBits   = 2
	TimesPowers = 40
	TimesHead   = 24 // in front of the buckets: u64 total, u64 longest, u64 1 if set
)

// TimesBuckets is the number of counters of Times: one for each value below 2^TimesBits, 2^TimesBits for each power of
// two from there to TimesPowers, and the last.
const TimesBuckets = 1<<TimesBits + (TimesPowers-TimesBits)<<TimesBits + 1

// TimesOf makes the aggregation of durations in nanoseconds.
func TimesOf() *Type {
	return &Type{Kind: Times, Name: "times_t", Size: TimesHead + 8*TimesBuckets, Align: 8}
}

// LHistOf makes a linear histogram: u64 counters for (-inf,min), the steps, [max, inf).
func LHistOf(lo, hi, step int64) *Type {
	return &Type{Kind: LHist, Name: "lhist_t", Size: 8 * (int((hi-lo)/step) + 2), Align: 8, Min: lo, Max: hi, Step: step}
}

// SeriesOf makes a time series: for each of Count intervals {u64 epoch (interval number + 1, 0: unused), i64 value,
// u64 count (Avg) or nanoseconds of the last update (last value)}.
func SeriesOf(s SeriesSpec) *Type {
	return &Type{Kind: TSeries, Name: "tseries_t", Size: 24 * s.Count, Align: 8, Signed: s.Signed, Series: &s}
}

// Missing is the type of a value that can't be had: it takes no memory, and its name says why.
func Missing(why string) *Type { return &Type{Kind: Void, Name: why} }

// IsAgg tells whether the kind is an aggregation (a per-CPU map value).
func (t *Type) IsAgg() bool { return t.Kind >= Count && t.Kind != Python && t.Kind != Java }

// IsCastableAgg tells whether an aggregation has an integer value (count, sum, min, max, avg).
func (t *Type) IsCastableAgg() bool { return t.Kind >= Count && t.Kind <= Stats && t.Kind != Stats }

// IsInteger tells whether the type computes like an integer (integers, enums, bool). Those of 128 bits don't: they
// are only shown.
func (t *Type) IsInteger() bool {
	return (t.Kind == Int || t.Kind == Enum || t.Kind == Bool) && t.Size <= 8
}

// IsText tells whether the type is an array of C's char (not of signed or unsigned char): shown as a string, which
// need not end with a NUL.
func (t *Type) IsText() bool {
	return t.Kind == Array && t.Len >= 0 && t.Elem.Kind == Int && t.Elem.Size == 1 && t.Elem.Name == "char"
}

// IsScalar tells whether a value fits a register: integers, enums, bool and pointers.
func (t *Type) IsScalar() bool { return t.IsInteger() || t.Kind == Pointer }

// Field finds a member by name, also in unnamed members (offset added up) and base classes.
func (t *Type) Field(name string) (Field, bool) {
	if t.Incomplete {
		t = t.Complete()
	}
	for _, f := range t.Fields {
		if f.Name == name {
			return f, true
		}
	}
	for _, f := range t.Fields {
		if f.Name == "" && (f.Type.Kind == Struct || f.Type.Kind == Union) {
			if g, ok := f.Type.Field(name); ok {
				g.Offset += f.Offset
				return g, true
			}
		}
	}
	return Field{}, false
}

// String is the type in the script's syntax (postfix pointers and arrays).
func (t *Type) String() string {
	if t == nil {
		return "none"
	}
	switch t.Kind {
	case Pointer:
		return t.Elem.String() + " *"
	case Array:
		if t.Len < 0 {
			return t.Elem.String() + "[]"
		}
		return fmt.Sprintf("%s[%d]", t.Elem, t.Len)
	case String:
		return fmt.Sprintf("string[%d]", t.Size)
	case Buffer:
		return fmt.Sprintf("buffer[%d]", t.Size-4)
	case Tuple, Record:
		var b strings.Builder
		b.WriteByte('(')
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteByte(',')
			}
			if t.Kind == Record {
				b.WriteString(f.Name + "=")
			}
			b.WriteString(f.Type.String())
		}
		b.WriteByte(')')
		return b.String()
	}
	return t.Name
}

// Equal compares by structure; named structs by name and size.
func (t *Type) Equal(u *Type) bool {
	if t == u {
		return true
	}
	if t == nil || u == nil || t.Kind != u.Kind || t.Size != u.Size || t.Signed != u.Signed {
		return false
	}
	switch t.Kind {
	case Pointer:
		return t.Space == u.Space && t.Elem.Equal(u.Elem)
	case Array:
		return t.Len == u.Len && t.Elem.Equal(u.Elem)
	case Struct, Union, Enum, Func:
		return t.Name == u.Name
	case Tuple, Record:
		if len(t.Fields) != len(u.Fields) || t.Alternatives() != u.Alternatives() {
			return false
		}
		for i := range t.Fields {
			if t.Fields[i].Name != u.Fields[i].Name || !t.Fields[i].Type.Equal(u.Fields[i].Type) {
				return false
			}
		}
	case Text:
		return t.Len == u.Len && t.Name == u.Name
	case List, Entries, Pointed:
		return t.Len == u.Len && t.Elem.Equal(u.Elem)
	case Iface:
		return *t.Nodes == *u.Nodes
	case UStack, KStack:
		return t.Mode == u.Mode
	case Hist:
		return t.Bits == u.Bits
	case LHist:
		return t.Min == u.Min && t.Max == u.Max && t.Step == u.Step
	case TSeries:
		return *t.Series == *u.Series
	}
	return true
}
