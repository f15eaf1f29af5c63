// Package record is what programs and user space say to each other: the layouts of the records that programs send,
// how a script's maps are kept, the words by which a run is controlled, the counters of what is lost, and the Decoder
// that turns bytes of them into values.
//
// codegen writes programs by it and a run reads what they send by it; neither knows the other.
//
// It is more than 4,000 lines because the form in which a value is captured and what decodes it belong together, and
// each language and runtime has values of its own.
package record

import (
	"encoding/binary"
	"slices"

	"trocar/internal/binary/types"
	"trocar/result"
)

// Kind is what user space does with a record.
type Kind uint8

// Kinds of records.
const (
	Printf Kind = iota
	Errorf
	Warnf
	Print
	PrintMap // arguments: top, div
	Clear
	Zero
	Time
	Join
	Cat
	System
	Exit
	HelperError
	Unwatch
	Mapped // a process has files mapped of which programs that walk its stacks know no tables; argument: the process
	kinds
)

// Script is all that user space must know to read what the programs of a script send and keep. It is data: it goes
// through JSON and back.
type Script struct {
	Heads   bool      // records have heads
	Layouts []*Layout // by record id
	Storage []Storage // by Layout.Map and Loss.Map
	Losses  []Loss    // by index of a counter
	// StackSize is the size of a stored stack: of its frames, and of what stands behind them (StackTail).
	StackSize int
	// Pythons tells that stacks may have frames of Python functions (PythonFrame).
	Pythons bool
	// FramePointers is why call stacks of user space are walked by frame pointers only, "" if none are.
	FramePointers string
	Formats       []string // of times, and filters of cgroup paths, by the number in their values
}

// Kinds are all that there are.
func Kinds() (all []Kind) {
	for k := range kinds {
		all = append(all, k)
	}
	return all
}

// Formatted tells whether records of the kind have a format for their arguments.
func (k Kind) Formatted() bool {
	switch k {
	case Printf, Errorf, Warnf, Cat, System:
		return true
	}
	return false
}

// Placed tells whether user space says where in the script records of the kind come from.
func (k Kind) Placed() bool { return k == Errorf || k == Warnf || k == HelperError }

// Layout describes the records of one place in the script. A record is: u32 id, u32 0, the head if the script's
// records have one, the fixed parts of the arguments at their offsets, then the texts of the dynamic ones, one after
// another. The fixed part of a dynamic string is u32: its length in bytes; one that reaches the type's size was
// longer in memory.
type Layout struct {
	ID     int
	Kind   Kind
	Format string
	Args   []Slot
	Size   int             // of the fixed part
	Map    int             // PrintMap, Clear, Zero: index of its Storage
	At     result.Position // Errorf, Warnf, HelperError: of the call
	Action int
	Helper string
	Sep    string // join
}

// Slot is an argument of a record.
type Slot struct {
	Type    *types.Type
	Offset  int
	Dynamic bool
}

// Header is the length of what a record begins with: its id. If the script's records have heads they begin with that,
// then u64 time of the boot clock in nanoseconds, u32 process, u32 thread, u32 number of the probe point, u32 0.
const (
	Header     = 8
	HeadedSize = 32 // with the head
	HeadTime   = 8
	HeadPID    = 16
	HeadTID    = 20
	HeadPoint  = 24
)

// HeaderSize is the length of what the records of the script begin with.
func (s *Script) HeaderSize() int {
	if s.Heads {
		return HeadedSize
	}
	return Header
}

// Head says when, where and by whom a probe was hit.
type Head struct {
	Time     uint64 // boot clock, in nanoseconds
	PID, TID uint32 // as our PID namespace numbers them
	Point    uint32
}

// Head is the head of a record; false if the script's records have none, or it is too short.
func (s *Script) Head(rec []byte) (h Head, ok bool) {
	if !s.Heads || len(rec) < HeadedSize {
		return h, false
	}
	return Head{
		Time: binary.LittleEndian.Uint64(rec[HeadTime:]), PID: binary.LittleEndian.Uint32(rec[HeadPID:]),
		TID: binary.LittleEndian.Uint32(rec[HeadTID:]), Point: binary.LittleEndian.Uint32(rec[HeadPoint:]),
	}, true
}

// ID is the number of a record's layout; false for what is too short to be a record.
func ID(rec []byte) (id uint32, ok bool) {
	if len(rec) < Header {
		return 0, false
	}
	return binary.LittleEndian.Uint32(rec), true
}

// dynamicFrom is the capacity from which strings are sent with their true length.
const dynamicFrom = 48

// Arrange lays out the arguments of a record behind its header.
func (l *Layout) Arrange(header int, args ...*types.Type) {
	l.Args, l.Size = nil, header
	for _, t := range args {
		s := Slot{Type: t, Dynamic: t.Kind == types.String && t.Size > dynamicFrom}
		size, align := t.Size, min(max(t.Align, 1), 8)
		if s.Dynamic {
			size, align = 4, 4
		}
		if !t.IsScalar() && !s.Dynamic {
			align = 8 // memory is copied in words
		}
		l.Size = (l.Size + align - 1) / align * align
		s.Offset = l.Size
		l.Size += size
		l.Args = append(l.Args, s)
	}
	l.Size = (l.Size + 7) &^ 7
}

// Names tells whether records or maps hold addresses that will be named: of user space; of the kernel, but for stacks
// in keys of maps, which are all there when they are to be named.
func (s *Script) Names() (user, kernel bool) {
	user = s.holds(true, types.UStack, types.USym)
	return user, s.holds(false, types.KStack) || s.holds(true, types.KSym)
}

// Stacks tells whether records or maps hold call stacks of user space.
func (s *Script) Stacks() bool { return s.holds(true, types.UStack) }

// holds tells whether records or maps, with their keys or without, hold values of one of the kinds.
func (s *Script) holds(keys bool, kinds ...types.Kind) (found bool) {
	var look func(t *types.Type, depth int)
	look = func(t *types.Type, depth int) {
		if t == nil || depth > maxNesting || found {
			return
		}
		switch t.Kind {
		case types.Tuple, types.Record, types.Struct:
			for _, f := range t.Fields {
				look(f.Type, depth+1)
			}
			if vs := t.Alternatives(); vs != nil {
				for _, one := range vs.List {
					look(one.Type, depth+1)
				}
			}
		case types.Array, types.List:
			look(t.Elem, depth+1)
		default:
			found = slices.Contains(kinds, t.Kind)
		}
	}
	for _, l := range s.Layouts {
		for _, a := range l.Args {
			look(a.Type, 0)
		}
	}
	for i := range s.Storage {
		if keys {
			look(s.Storage[i].Map.Key, 0)
		}
		look(s.Storage[i].Map.Value, 0)
	}
	return found
}
