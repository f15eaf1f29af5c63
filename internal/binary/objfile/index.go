package objfile

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"trocar/internal/order"
)

// addrIndex finds the symbol of an address. Names stay in their string tables until they are asked for.
type addrIndex struct {
	entries []indexEntry // by address, then by rank
	strs    [][]byte     // string tables
	stripV  bool         // names may carry versions

	// Only what is needed for some addresses, which are in order, is kept; nil: all.
	wanted []uint64
	near   []uint64 // beside them: the nearest symbol so far at or below one, and above the one before
	last   []uint32 // which of the entries, counted from 1, was kept for that; 0: none yet
}

type indexEntry struct {
	addr  uint64
	size  uint32 // clipped
	name  uint32 // offset in the string table
	table uint8
	rank  uint8 // lower is better
}

// bindOf is the binding that a rank was made of.
func bindOf(r uint8, name string) Bind { return Bind(r&15) - Bind(rank(0, true, false, name)) }

// rank orders the names of one address: what a reader would call the function.
func rank(bind Bind, sized, noType bool, name string) uint8 {
	r := uint8(bind)
	if strings.HasPrefix(name, "__") {
		r += 3
	} else if strings.HasPrefix(name, "_") && !IsMangled(name) {
		r += 2
	}
	if !sized {
		r += 16
	}
	if noType {
		r += 32
	}
	return r
}

// Lookup finds the function that holds an address: the innermost symbol with a size around it, else the nearest one
// before it whose size is not known. ok is false if no symbol can be told for certain.
func (f *File) Lookup(addr uint64) (sym Symbol, ok bool) { return f.lookUp(f.addrIndex(), addr) }

// LookupAll is Lookup for many addresses, which are in order, without the memory and the time that an index of all
// symbols takes.
func (f *File) LookupAll(addrs []uint64, yield func(addr uint64, sym Symbol, ok bool)) {
	f.index.Lock()
	x := f.index.x
	f.index.Unlock()
	if x == nil {
		x = f.newIndex(addrs)
	}
	for _, addr := range addrs {
		sym, ok := f.lookUp(x, addr)
		yield(addr, sym, ok)
	}
}

func (f *File) lookUp(x *addrIndex, addr uint64) (sym Symbol, ok bool) {
	var err error
	defer Guard(&err)()
	if !f.Executable(addr) {
		return Symbol{}, false
	}
	// The entries before i begin at or below addr.
	i := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].addr > addr })
	if i == 0 {
		return Symbol{}, false
	}
	// Sized symbols around addr, innermost first. Functions hardly nest, so a few steps back suffice.
	for j, steps := i-1, 0; j >= 0 && steps < 64; j, steps = j-1, steps+1 {
		if e := &x.entries[j]; e.size > 0 && addr-e.addr < uint64(e.size) {
			return f.entrySymbol(x, first(x, j)), true
		}
	}
	// A label without a size reaches to the next symbol or the end of its segment.
	if e := &x.entries[i-1]; e.size == 0 && f.segmentAt(e.addr) == f.segmentAt(addr) {
		return f.entrySymbol(x, first(x, i-1)), true
	}
	return Symbol{}, false
}

// NamesAt are the names of the symbols of code that begin at an address, each once.
func (f *File) NamesAt(addr uint64) (names []string) {
	var err error
	defer Guard(&err)()
	x := f.addrIndex()
	i := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].addr >= addr })
	for ; i < len(x.entries) && x.entries[i].addr == addr && len(names) < maxNamesAt; i++ {
		if sym := f.entrySymbol(x, &x.entries[i]); !slices.Contains(names, sym.Name) {
			names = append(names, sym.Name)
		}
	}
	return names
}

// SharedNames are the names of symbols of code that begin where another one begins.
func (f *File) SharedNames() (names []string) {
	var err error
	defer Guard(&err)()
	x := f.addrIndex()
	for i := range x.entries {
		e := x.entries
		if i > 0 && e[i-1].addr == e[i].addr || i+1 < len(e) && e[i+1].addr == e[i].addr {
			names = append(names, f.entrySymbol(x, &e[i]).Name)
		}
	}
	return names
}

// maxNamesAt bounds the names of one address.
const maxNamesAt = 256

// BeginsIn tells whether a symbol of code, a label included, begins at one of the addresses from low up to high.
func (f *File) BeginsIn(low, high uint64) (found bool) {
	var err error
	defer Guard(&err)()
	x := f.addrIndex()
	i := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].addr >= low })
	return i < len(x.entries) && x.entries[i].addr <= high
}

// first is the best entry among those with the same address as entry j.
func first(x *addrIndex, j int) *indexEntry {
	for j > 0 && x.entries[j-1].addr == x.entries[j].addr {
		j--
	}
	return &x.entries[j]
}

func (f *File) entrySymbol(x *addrIndex, e *indexEntry) Symbol {
	name := strings.Clone(cString(x.strs[e.table], uint64(e.name)))
	if at := strings.IndexByte(name, '@'); at > 0 && x.stripV {
		name = name[:at]
	}
	return Symbol{Name: name, Addr: e.addr, Size: uint64(e.size), Bind: bindOf(e.rank, name)}
}

// ForgetNames gives the memory back that Lookup and Match need, of which large programs take megabytes. It is made
// again when it is asked for.
func (f *File) ForgetNames() {
	f.matched.Lock()
	f.matched.funcs = nil
	f.matched.Unlock()
	f.index.Lock()
	defer f.index.Unlock()
	f.index.x = nil
}

// addrIndex is empty if the tables cannot be read.
func (f *File) addrIndex() *addrIndex {
	f.index.Lock()
	defer f.index.Unlock()
	if f.index.x == nil {
		f.index.x = f.newIndex(nil)
	}
	return f.index.x
}

func (f *File) newIndex(wanted []uint64) *addrIndex {
	x := &addrIndex{wanted: wanted, near: make([]uint64, len(wanted)), last: make([]uint32, len(wanted))}
	var err error
	func() {
		defer Guard(&err)()
		x.fill(f)
	}()
	if err != nil {
		return &addrIndex{} // what is wrong is not tried again
	}
	return x
}

// want tells whether a symbol may name one of the addresses that are wanted.
func (x *addrIndex) want(addr, size uint64) bool {
	if x.wanted == nil {
		return true
	}
	i, _ := slices.BinarySearch(x.wanted, addr)
	return i < len(x.wanted) && (addr >= x.near[i] || x.wanted[i]-addr < size)
}

// keep keeps an entry that is wanted, in place of one that is not any more: tables are in the order of addresses often,
// so that each symbol is nearer than the one before.
func (x *addrIndex) keep(e indexEntry) {
	if x.wanted != nil {
		i, _ := slices.BinarySearch(x.wanted, e.addr)
		if e.addr >= x.near[i] {
			n := x.last[i]
			if n > 0 && e.addr > x.near[i] && x.wanted[i]-x.near[i] >= uint64(x.entries[n-1].size) {
				x.near[i], x.entries[n-1] = e.addr, e
				return
			}
			x.near[i], x.last[i] = e.addr, uint32(len(x.entries)+1)
		}
	}
	x.entries = append(x.entries, e)
}

func (x *addrIndex) fill(f *File) {
	x.stripV = f.versions().any
	var own symTable
	if f.managed != nil && x.wanted != nil {
		own = f.methodsAt(x.wanted)
	} else {
		own = f.table(".symtab")
	}
	dyn := f.dynTable()
	x.add(f, f, &own)
	x.add(f, f, &dyn)
	if own.len() <= 1 {
		if d := f.Debug(); d != nil {
			t := d.table(".symtab")
			x.add(f, d, &t)
		}
		if m := f.miniDebug(); m != nil {
			t := m.table(".symtab")
			x.add(f, m, &t)
		}
		x.addTable(f)
	}
	order.ByKey(x.entries, func(e *indexEntry) uint64 { return e.addr }, func(a, b *indexEntry) int {
		if a.rank != b.rank {
			return cmp.Compare(a.rank, b.rank)
		}
		return cmp.Compare(uint64(a.table)<<32|uint64(a.name), uint64(b.table)<<32|uint64(b.name))
	})
}

// evictEvery is after how many symbols of which few are wanted the memory is given back that reading them took.
const evictEvery = 1 << 16

// add adds the code of a table, which is in a file of its own perhaps.
func (x *addrIndex) add(f, of *File, t *symTable) {
	if t.len() <= 1 || len(x.strs) == math.MaxUint8 {
		return
	}
	table := uint8(len(x.strs))
	x.strs = append(x.strs, t.strs)
	if x.wanted == nil {
		n := 0
		for i := 1; i < t.len(); i++ {
			if r := t.at(i); r.code() && r.value != 0 {
				n++
			}
		}
		x.entries = slices.Grow(x.entries, n)
	}
	for i := 1; i < t.len(); i++ {
		if x.wanted != nil && i%evictEvery == 0 {
			of.Evict()
		}
		r := t.at(i)
		if !r.code() || r.value == 0 || !x.want(r.value, r.size) || !f.Executable(r.value) {
			continue
		}
		name := cString(t.strs, uint64(r.name))
		if name == "" || name[0] == '$' && r.typ() == sttNoType {
			continue
		}
		x.keep(indexEntry{
			addr: r.value, size: uint32(min(r.size, math.MaxUint32)), name: r.name, table: table,
			rank: rank(r.bind(), r.size > 0, r.typ() == sttNoType, name),
		})
	}
}
