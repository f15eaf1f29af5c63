package objfile

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"trocar/internal/binary/types"
	"trocar/internal/order"
)

// A name is looked for by comparing it with all of a table, which takes a millisecond in a large file; whoever looks
// for many gets an index.

// indexFrom is how many names are looked for in a table before it gets an index of its symbols, and readableFrom before
// it gets one of their readable names, which takes as long as reading all of them.
const (
	indexFrom    = 8
	readableFrom = 32
)

// sought is the name of a function that is looked for; "": all functions.
type sought struct {
	name     string
	readable bool // it may also be a readable name
}

// nameIndexes are those of a file's tables.
type nameIndexes struct {
	mu     sync.Mutex
	tables map[*byte]*nameIndex
}

// nameIndex finds the symbols of a table by their names, in order of the table.
type nameIndex struct {
	asked, askedReadable int
	symbols, readable    []nameEntry // by hash, then number; nil: not made yet
}

type nameEntry struct {
	hash   uint32
	number uint32
}

func compareEntries(a, b nameEntry) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.number, b.number))
}

var nameSeed = maphash.MakeSeed()

func hashOf(name string) uint32 { return uint32(maphash.String(nameSeed, name)) }

// stem is what names have in common that differ by a version or the mark of a variant.
func stem(name string) uint32 {
	if i := strings.IndexByte(name, '@'); i > 0 {
		name = name[:i]
	}
	base, _ := Variant(name)
	return hashOf(base)
}

// namesOf are all names of a table by the numbers of those that have one.
type namesOf interface {
	len() int
	// named is the name of one, "" if it is left out.
	named(i int) string
	key() *byte
}

// candidates gives the numbers of those of a table that may have a name; false: all have to be looked at.
func (f *File) candidates(t namesOf, want sought) ([]uint32, bool) {
	if t.len() <= 1 || want.name == "" || want.readable && f.managed != nil {
		return nil, false
	}
	f.names.mu.Lock()
	defer f.names.mu.Unlock()
	if f.names.tables == nil {
		f.names.tables = map[*byte]*nameIndex{}
	}
	x := f.names.tables[t.key()]
	if x == nil {
		x = &nameIndex{}
		f.names.tables[t.key()] = x
	}
	x.asked++
	if want.readable {
		x.askedReadable++
	}
	if want.readable && x.askedReadable < readableFrom || x.asked < indexFrom {
		return nil, false
	}
	if x.symbols == nil {
		x.symbols = index(t, func(name string, add func(uint32)) { add(stem(name)) })
	}
	found := appendHits(nil, x.symbols, stem(want.name))
	if !want.readable {
		return found, true
	}
	if x.readable == nil {
		x.readable = index(t, func(name string, add func(uint32)) {
			readableForms(name, func(form string) { add(hashOf(form)) })
		})
	}
	found = appendHits(found, x.readable, hashOf(squeeze(want.name)))
	order.By(found, cmp.Compare[uint32])
	return slices.Compact(found), true
}

func appendHits(found []uint32, entries []nameEntry, hash uint32) []uint32 {
	i, _ := slices.BinarySearchFunc(entries, nameEntry{hash: hash}, compareEntries)
	for ; i < len(entries) && entries[i].hash == hash; i++ {
		found = append(found, entries[i].number)
	}
	return found
}

// index makes an index of a table; keys calls add with the hashes of a name.
func index(t namesOf, keys func(name string, add func(uint32))) []nameEntry {
	entries := make([]nameEntry, 0, t.len())
	for i := range t.len() {
		if name := t.named(i); name != "" {
			keys(name, func(hash uint32) { entries = append(entries, nameEntry{hash, uint32(i)}) })
		}
	}
	order.ByKey(entries, func(e *nameEntry) uint64 { return uint64(e.hash)<<32 | uint64(e.number) }, nil)
	return slices.Compact(entries)
}

// named, len and key make a table one of names.
func (t *symTable) named(i int) string {
	if i == 0 {
		return ""
	}
	if r := t.at(i); r.code() && r.value != 0 {
		return cString(t.strs, uint64(r.name))
	}
	return ""
}

func (t *symTable) key() *byte { return &t.syms[0] }

// readableForms are all that Query.Match takes as the readable name of a symbol, without needless blanks: they must
// have each of those, and may have more.
func readableForms(name string, yield func(string)) {
	if at := strings.IndexByte(name, '@'); at > 0 {
		name = name[:at] // without its version
	}
	base, _ := Variant(name)
	if before, behind, ok := types.SharedArguments(base); ok {
		yield(squeeze(before + behind))
		yield(squeeze(before + "[...]" + behind))
		return
	}
	names := []string{name, base}
	if base == name {
		names = names[:1]
	}
	for _, n := range names {
		if !IsMangled(n) {
			continue
		}
		formsOf(n, llvmStyle, yield)
		if strings.Contains(n, "Ul") || strings.Contains(n, "Ut") { // lambdas and nameless types, written in two ways
			formsOf(n, gnuStyle, yield)
		}
	}
}

func formsOf(name string, as style, yield func(string)) {
	full := demangledAs(as, name, false)
	if full == name {
		return
	}
	own := squeeze(full[returnType(full):])
	full = squeeze(full)
	yield(own)
	yield(full)
	yield(trimQualifiers(own))
	yield(trimQualifiers(full))
	tagged := squeeze(demangledAs(as, name, true))
	for _, bare := range []string{tagged, dropABITags(tagged)} {
		for _, form := range []string{bare, dropTypeBrackets(bare)} {
			yield(form)
			if strings.Contains(form, "<") {
				yield(dropTemplateArgs(form))
			}
		}
	}
}
