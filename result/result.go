// Package result is what a run yields: events with decoded values, maps, stacks, notices and losses. It imports nothing
// of trocar, so that library users can consume it alone.
//
// A Sink takes the Events of a run; each type of event is a struct of its own, and EventTypes lists them all.
//
// It is more than 4,000 lines because whoever shows, orders, copies or records values must know all of their kinds, and
// users of the library import one package for what they get.
package result

import "time"

// Kind is the kind of a Value.
type Kind uint8

// Kinds of values.
const (
	None    Kind = iota // Text: "nil" for Go's, else "": null
	Int                 // Num as int64; Elems: an average's count, itself and total
	Uint                // Num; Elems as of an Int
	Bool                // Num 0 or 1
	Pointer             // Num; Elems: what it points to, if that was read
	Float               // Num: float64 bits; Text: the number, if they have no place for it
	Enum                // Num; Text is the enumerator's name ("" unknown), Signed
	// Text; Cut if it was longer in memory: then Text ends with the script's trailer (".."). Type: see CharType
	String
	Buffer      // Text: bytes; Cut if there are more, Num in all
	Array       // Elems; Cut if there are more, Num in all
	Struct      // Elems with Names
	Tuple       // Elems; Type: the traced program's, "": the script's
	Record      // Elems with Names; Type as of a Tuple
	Stack       // Frames
	Symbol      // Text (already resolved), Num the address
	Address     // Text: an inet or MAC address, as shown
	Timestamp   // Text: formatted
	Unavailable // Text: the reason
	Stats       // Elems: count, average, total
	Histogram   // Hist
	Series      // Series
	Mapping     // Elems: key, value, key, value …; Cut if there are more entries, Num in all
	Dynamic     // a value whose type was only known at run time: Type, Elems[0]
	Times       // durations in nanoseconds: Elems: count, total, mean, p50, p90, p99, max; Hist
)

// Value is a decoded value. It owns nothing: Text and Elems may be reused by the decoder after the Sink has returned.
type Value struct {
	Kind   Kind
	Size   int    // bytes of an Int, Uint, Enum in memory
	Num    uint64 // bits
	Signed bool
	Cut    bool
	Text   string
	Type   string // source name of a struct, enum or pointer target ("" if of no interest)
	Names  []string
	Elems  []Value
	Frames []Frame
	Mode   StackMode
	Hist   *Hist
	Series *SeriesData
}

// StackMode says how a stack is shown.
type StackMode uint8

// Stack modes.
const (
	ModeBpftrace StackMode = iota
	ModePerf
	ModeRaw
	ModeBuildID
)

// Frame is one entry of a stack, innermost first.
type Frame struct {
	Addr   uint64
	Symbol string // "" if unknown
	// from the symbol's start; without one, the address as the module's symbols would have it, 0: not known
	Offset       uint64
	Module       string // file
	ModuleOffset uint64 // file offset of the address
	BuildID      string
	File         string // source
	Line         int
	Inlined      bool
}

// Bucket is one bar of a histogram: [Lo, Hi), with the infinite ends marked.
type Bucket struct {
	Lo, Hi       int64
	LoInf, HiInf bool
	Count        uint64
}

// Hist is a histogram; Buckets begin with the first and end with the last that is not empty (linear ones: all in
// between).
type Hist struct {
	Linear bool
	Bits   int   // not linear: 2^Bits buckets for each power of two
	Step   int64 // linear: width of a bucket
	// Linear: what is less than Min, or Max and more, is in the infinite ends. Both 0: not known.
	Min, Max int64
	Buckets  []Bucket
}

// SeriesData is a time series.
type SeriesData struct {
	Interval time.Duration
	Points   []SeriesPoint
	Unsigned bool // the points' values are uint64 bits
}

// SeriesPoint is one interval; Set is false if nothing was recorded in it.
type SeriesPoint struct {
	Start time.Time
	Value int64
	Set   bool
}

// Entry is one key and value of a map. Key is nil for a scalar map.
type Entry struct {
	Key   *Value
	Value Value
}

// MapKind tells a sink how a map is shown.
type MapKind uint8

// Kinds of maps.
const (
	PlainMap MapKind = iota
	HistMap
	LHistMap
	StatsMap
	SeriesMap
	TimesMap
)

// Map is a map's content at one moment, sorted as it is to be shown.
type Map struct {
	Name    string
	Kind    MapKind
	Keyed   bool
	Entries []Entry
	Table   *Table // nil: it is not shown as a table
}
