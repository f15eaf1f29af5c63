package objfile

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
)

// A name is looked for by comparing it with all of a table, which takes a millisecond in a large file; whoever looks
// for many gets an index.

// indexFrom is how many names are looked for in a table before it gets an index.
const indexFrom = 8

// nameIndexes are those of a file's tables.
type nameIndexes struct {
	mu     sync.Mutex
	tables map[*byte]*nameIndex
}

// nameIndex finds the symbols of a table by their names, in order of the table.
type nameIndex struct {
	asked   int
	entries []nameEntry // by hash, then number; nil: not made yet
}

type nameEntry struct {
	hash   uint32
	number uint32
}

var nameSeed = maphash.MakeSeed()

// stem is what names that begin alike have in common: up to a version or the mark of a clone.
func stem(name string) uint32 {
	if i := strings.IndexAny(name, ".@"); i > 0 {
		name = name[:i]
	}
	return uint32(maphash.String(nameSeed, name))
}

// named gives the numbers of the code symbols of a table that may begin with a name; false: all have to be looked at.
func (f *File) named(t *symTable, want string) ([]nameEntry, bool) {
	if t.len() <= 1 {
		return nil, false
	}
	f.names.mu.Lock()
	defer f.names.mu.Unlock()
	if f.names.tables == nil {
		f.names.tables = map[*byte]*nameIndex{}
	}
	x := f.names.tables[&t.syms[0]]
	if x == nil {
		x = &nameIndex{}
		f.names.tables[&t.syms[0]] = x
	}
	if x.asked++; x.asked < indexFrom {
		return nil, false
	}
	if x.entries == nil {
		x.entries = t.byName()
	}
	hash := stem(want)
	from, _ := slices.BinarySearchFunc(x.entries, hash, func(e nameEntry, h uint32) int { return cmp.Compare(e.hash, h) })
	to := from
	for to < len(x.entries) && x.entries[to].hash == hash {
		to++
	}
	return x.entries[from:to], true
}

// byName makes the index of a table.
func (t *symTable) byName() []nameEntry {
	entries := make([]nameEntry, 0, t.len())
	for i := 1; i < t.len(); i++ {
		if r := t.at(i); r.code() && r.value != 0 {
			entries = append(entries, nameEntry{stem(cString(t.strs, uint64(r.name))), uint32(i)})
		}
	}
	slices.SortFunc(entries, func(a, b nameEntry) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.number, b.number))
	})
	return entries
}
