package objfile

import (
	"math"
	"unsafe"
)

// FuncTable is a table of functions that the linker of a language with a runtime of its own writes into its programs,
// and that stays in stripped ones. Its methods may be called by several goroutines; At, Names and Stack under Guard.
type FuncTable interface {
	// Len is the number of functions.
	Len() int
	// At gives where the i-th begins and ends, and the offset of its name in Names; false: it is damaged. They are in
	// order of addresses.
	At(i int) (entry, end uint64, name uint32, ok bool)
	// Names are the names of functions, each with a zero byte behind it.
	Names() []byte
	// Mark tells the names of what is no function.
	Mark(name string) bool
	// Frames are the functions that the code at an address came from, innermost first; nil: the table does not tell.
	Frames(addr uint64) []TableFrame
	// Stack calls yield, in the order of addresses, with what the table tells of the stack, until it returns false; ok:
	// it tells.
	Stack(yield func(*StackDelta) bool) (ok bool)
}

// TableReader finds the table of functions of a file; nil: it has none that the reader knows. It must be cheap for
// files of others.
type TableReader func(*File) FuncTable

// TableFrame is one of the functions that the code at an address came from.
type TableFrame struct {
	Name    string
	File    string
	Line    int // of the code, or of the call of what is inlined there
	Inlined bool
}

// StackDelta is how far below the caller's frame code has its stack pointer at some addresses, by a table that the
// language's own linker writes.
type StackDelta struct {
	Low, High uint64
	Delta     int  // bytes between the stack pointer and the return address
	Frame     bool // Delta is not known, or the stack may have been switched: the frame pointer tells of the caller
	Stop      bool // there is no caller
}

// ReadTables says how a table of functions is found, before anything is asked of the file.
func (f *File) ReadTables(readers ...TableReader) { f.readers = readers }

// FuncTable is the table of functions by one of the readers of ReadTables; nil: there is none.
func (f *File) FuncTable() FuncTable {
	return f.functions.get(func(p *FuncTable) {
		for _, read := range f.readers {
			if t := read(f); t != nil {
				*p = t
				return
			}
		}
	})
}

// TableFrames tells what the table of functions has of the code at an address: the functions that were inlined there,
// innermost first, and last the one that it is part of, with their lines. Nil: it does not tell, or there is none.
func (f *File) TableFrames(addr uint64) []TableFrame {
	if t := f.FuncTable(); t != nil {
		return t.Frames(addr)
	}
	return nil
}

// StackDeltas calls yield, in the order of addresses, with what the table of functions tells of the stack, until it
// returns false; ok: there is such a table.
func (f *File) StackDeltas(yield func(*StackDelta) bool) (ok bool) {
	t := f.FuncTable()
	return t != nil && t.Stack(yield)
}

// tableFunctions yields the functions of the table that may have a name.
func (f *File) tableFunctions(want sought, yield func(*Symbol) bool) bool {
	t := f.FuncTable()
	if t == nil {
		return true
	}
	if found, ok := f.candidates(tableNames{t}, want); ok {
		for _, i := range found {
			if !f.tableFunction(t, int(i), yield) {
				return false
			}
		}
		return true
	}
	for i := range t.Len() {
		if !f.tableFunction(t, i, yield) {
			return false
		}
	}
	return true
}

func (f *File) tableFunction(t FuncTable, i int, yield func(*Symbol) bool) bool {
	entry, end, name, ok := t.At(i)
	if !ok || !f.Executable(entry) {
		return true
	}
	s := Symbol{Name: cString(t.Names(), uint64(name)), Addr: entry, Size: end - entry}
	if s.Name == "" || t.Mark(s.Name) {
		return true
	}
	return yield(&s)
}

func (x *addrIndex) addTable(f *File) {
	t := f.FuncTable()
	if t == nil || len(x.strs) == math.MaxUint8 {
		return
	}
	table := uint8(len(x.strs))
	x.strs = append(x.strs, t.Names())
	for i := range t.Len() {
		if entry, end, name, ok := t.At(i); ok && x.want(entry, end-entry) && f.Executable(entry) {
			x.keep(indexEntry{
				addr: entry, size: uint32(min(end-entry, math.MaxUint32)), name: name, table: table,
			})
		}
	}
}

// tableNames are the names of a table of functions.
type tableNames struct{ FuncTable }

func (t tableNames) len() int { return t.Len() }

func (t tableNames) named(i int) string {
	if _, _, name, ok := t.At(i); ok {
		return cString(t.Names(), uint64(name))
	}
	return ""
}

func (t tableNames) key() *byte { return unsafe.SliceData(t.Names()) }
