package pclntab

import (
	"bytes"
	"slices"
	"sort"
	"sync"

	"trocar/internal/binary/objfile"
)

// What the table tells of each besides its name: its place in the source, how large its arguments are and
// how they lie (for the runtime's tracebacks), and what was inlined into it. All of it stays in stripped programs.
//
// The records are those of Go 1.20 and later (_func in runtime/runtime2.go, inlinedCall in runtime/symtabinl.go).

// Func is what the table tells of a function.
type Func struct {
	Name       string
	Entry, End uint64
	Assembly   bool
	File       string
	Line       int // of the word func; 0: not known
	// ArgInfo describes the arguments' sizes and places, in the form of abi.FUNCDATA_ArgInfo; nil: there are none, or it
	// is not known.
	ArgInfo []byte
}

// Inline is a place where a function was inlined.
type Inline struct {
	Name   string
	Outer  uint64   // entry of the function that it is part of
	Depth  int      // how many other inlined functions it is in
	Ranges []Extent // its code, in order of addresses, without that of functions inlined into it
	Whole  []Extent // with it
}

// Extent is a range of addresses.
type Extent struct{ Low, High uint64 }

// Places in _func, and numbers of tables (internal/abi/symtab.go).
const (
	funcPCFile   = 20
	funcNPCData  = 28
	funcCU       = 32
	funcLine     = 36
	funcFlag     = 41
	funcNData    = 43
	funcHeader   = 44
	pcInlTree    = 2
	dataInlTree  = 3
	dataArgInfo  = 5
	inlineSize   = 16
	flagAssembly = 4

	maxArgInfo    = 256 // abi.TraceArgsMaxLen is smaller
	maxInlines    = 1 << 16
	maxPCSteps    = 1 << 20
	maxInlineStep = 1 << 26 // in all functions of a program
	maxInlineDeep = 200
	maxExtents    = 1 << 18
)

// record gives the i-th _func; nil for versions whose records are others.
func (t *Table) record(i int) []byte {
	off := t.fieldAt(2*i + 1)
	if t.flagFld != funcFlag || off >= uint64(len(t.funcs)) || uint64(len(t.funcs))-off < funcHeader {
		return nil
	}
	return t.funcs[off:]
}

// index finds the function that an address is in.
func (t *Table) index(addr uint64) (i int, entry, end uint64, ok bool) {
	i = sort.Search(t.n, func(i int) bool { return t.text+t.fieldAt(2*i) > addr }) - 1
	if i < 0 {
		return 0, 0, 0, false
	}
	entry, end, _, ok = t.At(i)
	return i, entry, end, ok && entry <= addr && addr < end
}

// pcData is the offset of a function's table of values by address; 0: there is none.
func pcData(rec []byte, n int) uint64 {
	if uint64(n) >= u32(rec, funcNPCData) || funcHeader+4*n+4 > len(rec) {
		return 0
	}
	return u32(rec, funcHeader+4*n)
}

// funcData is the address of data of a function; 0: there is none.
func funcData(rec []byte, n int, base uint64) uint64 {
	at := funcHeader + 4*u32(rec, funcNPCData) + 4*uint64(n)
	if base == 0 || n >= int(rec[funcNData]) || at+4 > uint64(len(rec)) {
		return 0
	}
	off := u32(rec, int(at))
	if off == 1<<32-1 {
		return 0
	}
	return base + off
}

// pcValues calls yield with the ranges of a table of values by address, as offsets from the function's entry
// (runtime.step).
func (t *Table) pcValues(off uint64, quantum uint64, yield func(low, high uint64, value int) bool) {
	if off == 0 || off >= uint64(len(t.pctab)) {
		return
	}
	d := t.pctab[off:]
	varint := func() (v uint64) {
		for shift := 0; shift < 35; shift += 7 {
			if len(d) == 0 {
				return 0
			}
			c := d[0]
			d = d[1:]
			v |= uint64(c&0x7f) << shift
			if c < 0x80 {
				break
			}
		}
		return v
	}
	pc, value := uint64(0), -1
	for n := range maxPCSteps {
		u := varint()
		if u == 0 && n > 0 || len(d) == 0 {
			return
		}
		if u&1 != 0 {
			value += int(int32(^(u >> 1)))
		} else {
			value += int(u >> 1)
		}
		next := pc + varint()*quantum
		if next < pc || next > 1<<32 || !yield(pc, next, value) {
			return
		}
		pc = next
	}
}

func (t *Table) quantum() uint64 {
	if arch := t.f.Arch(); arch != nil {
		return uint64(arch.MinInst)
	}
	return 1
}

// funcBase is where the data of functions begins (go.func.*).
func (t *Table) funcBase() uint64 {
	if at := t.moduleAt(); at != 0 {
		return t.f.PointerAt(at + moduleFuncs)
	}
	return 0
}

// Code tells whether an address is in a function of the table, which C code in a Go program is not, and whether that
// was written in assembly.
func (t *Table) Code(addr uint64) (in, assembly bool) {
	if t == nil {
		return false, false
	}
	var err error
	defer objfile.Guard(&err)()
	i, _, _, ok := t.index(addr)
	if !ok {
		return false, false
	}
	// _func.flag, FuncFlagAsm (runtime/symtab.go, internal/abi/symtab.go).
	at := t.fieldAt(2*i+1) + uint64(t.flagFld)
	return true, t.flagFld == 0 || at >= uint64(len(t.funcs)) || t.funcs[at]&flagAssembly != 0
}

// Func tells what the table has of the function that an address is in.
func (t *Table) Func(addr uint64) (fn Func, ok bool) {
	if t == nil {
		return fn, false
	}
	var err error
	defer objfile.Guard(&err)()
	i, entry, end, ok := t.index(addr)
	rec := t.record(i)
	if !ok || rec == nil {
		return fn, false
	}
	fn = Func{
		Name: string(t.name(u32(rec, 4))), Entry: entry, End: end,
		Assembly: rec[funcFlag]&flagAssembly != 0, Line: int(int32(u32(rec, funcLine))),
	}
	fn.Line = max(fn.Line, 0)
	t.pcValues(u32(rec, funcPCFile), t.quantum(), func(_, _ uint64, file int) bool {
		fn.File = t.file(u32(rec, funcCU), file)
		return false
	})
	if at := funcData(rec, dataArgInfo, t.funcBase()); at != 0 {
		fn.ArgInfo = slices.Clone(t.f.Bytes(at, maxArgInfo))
	}
	return fn, true
}

// file is the name of a source file by its number in a compilation unit.
func (t *Table) file(cu uint64, n int) string {
	at := 4 * (cu + uint64(n))
	if n < 0 || at+4 > uint64(len(t.cutab)) {
		return ""
	}
	off := u32(t.cutab, int(at))
	if off >= uint64(len(t.files)) {
		return ""
	}
	return string(text(t.files, off))
}

// Inlines calls yield with the places where functions were inlined, of all functions of the program.
func (t *Table) Inlines(yield func(*Inline) bool) {
	if t == nil {
		return
	}
	var err error
	defer objfile.Guard(&err)()
	t.inlines(func(uint64) bool { return true }, yield)
}

// Inlined gives the places where a function was inlined.
func (t *Table) Inlined(name string) (list []Inline) {
	if t == nil {
		return nil
	}
	var err error
	defer objfile.Guard(&err)()
	// Each name is in the table once.
	at := 0
	for {
		i := bytes.Index(t.names[at:], []byte(name+"\x00"))
		if i < 0 {
			return nil
		}
		if at += i; at == 0 || t.names[at-1] == 0 {
			break
		}
		at++
	}
	want := func(n uint64) bool { return n == uint64(at) }
	add := func(in *Inline) bool {
		list = append(list, *in)
		return len(list) < maxInlines
	}
	index := t.inlinedIn.of(t)
	if index == nil {
		t.inlines(want, add)
		return list
	}
	base, steps := t.funcBase(), 0
	for _, i := range index[uint32(at)] {
		entry, end, _, ok := t.At(int(i))
		if rec := t.record(int(i)); ok && rec != nil && !t.inlinesOf(rec, base, entry, end, &steps, want, add) {
			break
		}
	}
	return list
}

// inlineIndex has the functions (by their numbers in the table) into which others were inlined, by the names of these.
// It is made for who asks about several functions: to look for one takes as long.
type inlineIndex struct {
	mu    sync.Mutex
	asked bool
	into  map[uint32][]uint32
}

// of is the index; nil: it is not worth it yet.
func (x *inlineIndex) of(t *Table) map[uint32][]uint32 {
	x.mu.Lock()
	defer x.mu.Unlock()
	base := t.funcBase()
	if x.into != nil || base == 0 {
		return x.into
	}
	if !x.asked {
		x.asked = true
		return nil
	}
	x.into = map[uint32][]uint32{}
	steps := 0
	for i := range t.n {
		entry, end, _, ok := t.At(i)
		rec := t.record(i)
		if !ok || rec == nil || !t.f.Executable(entry) {
			continue
		}
		t.inlinesOf(rec, base, entry, end, &steps, func(name uint64) bool {
			if l := x.into[uint32(name)]; len(l) == 0 || l[len(l)-1] != uint32(i) {
				x.into[uint32(name)] = append(l, uint32(i))
			}
			return false // none is to be shown
		}, nil)
		if steps > maxInlineStep {
			break
		}
	}
	return x.into
}

func (t *Table) inlines(want func(name uint64) bool, yield func(*Inline) bool) {
	base := t.funcBase()
	if base == 0 {
		return
	}
	steps := 0
	for i := range t.n {
		entry, end, _, ok := t.At(i)
		rec := t.record(i)
		if !ok || rec == nil || !t.f.Executable(entry) {
			continue
		}
		if !t.inlinesOf(rec, base, entry, end, &steps, want, yield) || steps > maxInlineStep {
			return
		}
	}
}

// inlinesOf tells what was inlined into one function.
func (t *Table) inlinesOf(rec []byte, base, entry, end uint64, steps *int,
	want func(uint64) bool, yield func(*Inline) bool,
) bool {
	table, tree := pcData(rec, pcInlTree), funcData(rec, dataInlTree, base)
	if table == 0 || tree == 0 {
		return true
	}
	type span struct {
		low, high uint64
		node      int
	}
	var spans []span
	last := -1
	t.pcValues(table, t.quantum(), func(low, high uint64, node int) bool {
		*steps++
		if node >= 0 && node < maxInlines && high <= end-entry {
			spans = append(spans, span{low, high, node})
			last = max(last, node)
		}
		return true
	})
	if last < 0 {
		return true
	}
	nodes := t.f.Bytes(tree, (last+1)*inlineSize)
	n := len(nodes) / inlineSize
	wanted := false
	for i := 0; i < n && !wanted; i++ {
		wanted = want(u32(nodes, i*inlineSize+4))
	}
	if !wanted {
		return true
	}
	// A node's parent is that of the place of its call.
	parent := make([]int, n)
	for i := range parent {
		pc := u32(nodes, i*inlineSize+8)
		parent[i] = -1
		k := sort.Search(len(spans), func(k int) bool { return spans[k].high > pc })
		if k < len(spans) && spans[k].low <= pc && spans[k].node < n && spans[k].node != i {
			parent[i] = spans[k].node
		}
	}
	copies := make([]Inline, n)
	*steps += n
	left := maxExtents
	for _, s := range spans {
		for node, depth := s.node, 0; node >= 0 && node < n && depth < maxInlineDeep; node, depth = parent[node], depth+1 {
			if left--; left < 0 {
				return false // damaged
			}
			c := &copies[node]
			e := Extent{entry + s.low, entry + s.high}
			if depth == 0 {
				c.Ranges = append(c.Ranges, e)
			}
			c.Whole = append(c.Whole, e)
		}
	}
	for i := range copies {
		name := u32(nodes, i*inlineSize+4)
		if !want(name) {
			continue
		}
		c := &copies[i]
		c.Name, c.Outer = string(t.name(name)), entry
		for p := parent[i]; p >= 0 && c.Depth < maxInlineDeep; p = parent[p] {
			c.Depth++
		}
		if !yield(c) {
			return false
		}
	}
	return true
}
