package cfi

import (
	"errors"
	"fmt"
	"sort"
	"sync"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/section"
	"trocar/internal/order"
)

// ErrNotFound is returned (wrapped) for an address of which nothing is told.
var ErrNotFound = errors.New("not in the call frame information")

// Sections gives the sections of an object file. *objfile.File does.
type Sections interface {
	// Data returns a section's content, decompressed; objfile.ErrNoSection if there is none.
	Data(name string) ([]byte, error)
	// Section returns a section's header.
	Section(name string) (objfile.Section, bool)
}

// Table is the call frame information of a program. It may be used by several goroutines.
type Table struct {
	arch  *abi.Arch
	code  Sections
	debug func() Sections

	mu      sync.Mutex
	eh, dbg frameSection
	hdr     header
	opened  bool
	debugAt bool // .debug_frame was looked for
	last    Row  // returned last: the variables of a function are asked for one after another
}

// Open takes the call frame information of a program or library, with or without debug information; its separate debug
// file is looked for only when .eh_frame does not tell of an address.
func Open(f *objfile.File) *Table {
	return New(f, f.Arch(), func() Sections {
		if d := f.Debug(); d != nil {
			return d
		}
		return nil
	})
}

// New takes the call frame information from the sections of a program and from those of its debug file, which debug
// gives when they are needed (nil: there is none).
func New(code Sections, arch *abi.Arch, debug func() Sections) *Table {
	return &Table{code: code, arch: arch, debug: debug}
}

// open finds .eh_frame.
func (f *Table) open() {
	if f.opened {
		return
	}
	f.opened = true
	if f.code == nil {
		return
	}
	s, ok := f.code.Section(".eh_frame")
	if !ok {
		return
	}
	b, err := f.code.Data(".eh_frame")
	if err != nil {
		return
	}
	f.eh = frameSection{data: b, addr: s.Addr, eh: true}
	if s, ok := f.code.Section(".eh_frame_hdr"); ok {
		if b, err := f.code.Data(".eh_frame_hdr"); err == nil {
			f.hdr = readHeader(b, s.Addr)
		}
	}
}

// openDebug finds .debug_frame: in the debug file, else in the program.
func (f *Table) openDebug() {
	if f.debugAt {
		return
	}
	f.debugAt = true
	var debug Sections
	if f.debug != nil {
		debug = f.debug()
	}
	for _, sec := range []Sections{debug, f.code} {
		if sec == nil || f.dbg.data != nil {
			continue
		}
		if b, err := sec.Data(".debug_frame"); err == nil {
			f.dbg = frameSection{data: b}
		}
	}
}

// frameSection is .eh_frame or .debug_frame.
type frameSection struct {
	data    []byte
	addr    uint64
	eh      bool
	cies    map[int]*cie
	index   []fdeSpan // by low; made when it is needed
	indexed bool
}

type fdeSpan struct {
	Range
	off int
}

// cie is a common information entry (DWARF 5, 6.4.1).
type cie struct {
	codeAlign uint64
	dataAlign int64
	ret       int
	enc       uint8 // of addresses in its FDEs
	hasAug    bool  // FDEs have augmentation data
	signal    bool
	addrSize  int
	initial   []byte
}

// maxCIEs bounds the cache of CIEs: there are some for each kind of function, or one for each unit.
const maxCIEs = 1 << 14

// maxCIESize bounds what each function's entry may have us read again; compilers and assembly need less than 100 bytes.
const maxCIESize = 1 << 12

// Row is how the caller's frame is found from a frame at certain addresses.
type Row struct {
	Range      // where it holds
	CFA        CFARule
	Return     int // the register whose rule gives the return address
	Saved      []RegRule
	Signal     bool // a signal handler's frame: the return address is where the interruption was
	SignedAddr bool // arm64: return addresses on the stack are signed
}

// CFARule tells the canonical frame address: a register plus an offset, or an expression.
type CFARule struct {
	Reg    int
	Offset int64
	Expr   []byte // a view of the file; nil: Reg and Offset
}

// RuleKind tells what became of the caller's register.
type RuleKind uint8

// Rules (DWARF 5, 6.4.1).
const (
	SameValue RuleKind = iota
	Undefined
	AtOffset      // saved at CFA+Offset
	ValueOffset   // its value is CFA+Offset
	InOther       // in register Offset
	AtExpr        // saved at the address that Expr gives, with the CFA on its stack
	ValueExpr     // its value is what Expr gives
	architectural // unspecified by the information
)

// Range is a range of addresses, the last not in it.
type Range struct{ Low, High uint64 }

// Contains tells whether an address lies in the range.
func (r Range) Contains(addr uint64) bool { return r.Low <= addr && addr < r.High }

// RegRule is the rule of one register.
type RegRule struct {
	Reg    int
	Kind   RuleKind
	Offset int64
	Expr   []byte // a view of the file
}

// Rule returns the rule of a register; one that isn't mentioned keeps its value.
func (r *Row) Rule(reg int) RegRule {
	for _, s := range r.Saved {
		if s.Reg == reg {
			return s
		}
	}
	return RegRule{Reg: reg, Kind: SameValue}
}

// At returns the row for an address; ErrNotFound (wrapped) if there is none.
func (f *Table) At(pc uint64) (row Row, err error) {
	defer objfile.Guard(&err)()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.Contains(pc) {
		return f.last, nil
	}
	f.open()
	for _, s := range []*frameSection{&f.eh, &f.dbg} {
		if s == &f.dbg {
			f.openDebug()
		}
		e, ok, err := f.find(s, pc)
		if err != nil {
			return Row{}, err
		}
		if !ok {
			continue
		}
		var m machine
		row, found, err := m.at(&e, f.arch, pc)
		if err != nil {
			return Row{}, err
		}
		if found {
			f.last = row
			return row, nil
		}
	}
	return Row{}, fmt.Errorf("call frame information for %#x: %w", pc, ErrNotFound)
}

// Function returns the range of code around an address that .eh_frame takes for one function. Stripped files tell it,
// too, because exceptions need it. Some compilers make several functions of one, with a range each; the start of one is
// an instruction's start all the same.
func (f *Table) Function(pc uint64) (r Range, ok bool) {
	var err error
	defer objfile.Guard(&err)()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open()
	// The header has all functions: what it does not tell is not worth going through the whole section.
	e, ok := f.findByHeader(pc)
	if !ok && f.hdr.count == 0 {
		e, ok, err = f.find(&f.eh, pc)
	}
	return e.Range, ok && err == nil
}

// Each calls yield with all rows, function by function in the order of addresses, until it returns false. A row's
// memory is used again: it is good for the call only. Rows of .debug_frame come only if there is no .eh_frame. The
// Table may be used by yield.
func (f *Table) Each(yield func(*Row) bool) (err error) {
	defer objfile.Guard(&err)()
	f.mu.Lock()
	f.open()
	s := &f.eh
	if s.data == nil {
		f.openDebug()
		s = &f.dbg
	}
	s.buildIndex()
	index := s.index
	f.mu.Unlock()
	var m machine
	for _, span := range index {
		f.mu.Lock()
		e, err := s.fde(span.off)
		f.mu.Unlock()
		if err != nil { // a damaged function doesn't hide the others
			continue
		}
		n := 0
		stopped := false
		_ = m.each(&e, f.arch, func(r *Row) bool { // what comes before the damage counts
			n++
			stopped = !yield(r)
			return !stopped && n < maxRows
		})
		if stopped {
			return nil
		}
	}
	return nil
}

// maxRows bounds the rows of one function.
const maxRows = 1 << 16

// find returns the entry of an address.
func (f *Table) find(s *frameSection, pc uint64) (e fde, ok bool, err error) {
	if s.data == nil {
		return e, false, nil
	}
	if s.eh && !s.indexed {
		if e, ok := f.findByHeader(pc); ok {
			return e, true, nil
		}
	}
	s.buildIndex()
	i := sort.Search(len(s.index), func(i int) bool { return s.index[i].Low > pc }) - 1
	for n := 0; i >= 0 && n < 16; i, n = i-1, n+1 {
		if s.index[i].Contains(pc) {
			e, err = s.fde(s.index[i].off)
			return e, err == nil, err
		}
	}
	return e, false, nil
}

func (f *Table) findByHeader(pc uint64) (e fde, ok bool) {
	at, ok := f.hdr.find(pc)
	if !ok || at < f.eh.addr || at-f.eh.addr >= uint64(len(f.eh.data)) {
		return fde{}, false
	}
	e, err := f.eh.fde(int(at - f.eh.addr))
	return e, err == nil && e.Contains(pc)
}

// buildIndex goes through the whole section.
func (s *frameSection) buildIndex() {
	if s.indexed {
		return
	}
	s.indexed = true
	s.index = make([]fdeSpan, 0, len(s.data)/usualFDE)
	for off := 0; off < len(s.data); {
		r := section.Reader{Data: s.data, Pos: off}
		n, off64 := r.InitialLength()
		if r.Bad || n > uint64(r.Left()) {
			break
		}
		if n == 0 {
			off = r.Pos
			continue
		}
		end := r.Pos + int(n)
		id := r.Offset(off64 && !s.eh)
		if !s.isCIE(id, off64) {
			if e, err := s.fde(off); err == nil && !removed(e.Low) {
				s.index = append(s.index, fdeSpan{e.Range, off})
			}
		}
		off = end
	}
	order.ByKey(s.index, func(e *fdeSpan) uint64 { return e.Low }, func(x, y *fdeSpan) int { return x.off - y.off })
}

// usualFDE is how many bytes an entry takes at least, most often.
const usualFDE = 40

// forget gives the memory of the index back.
func (s *frameSection) forget() { s.index, s.indexed = nil, false }

// removed tells whether an address stands for code that the linker removed: GNU ld leaves 0, lld -1 or -2.
func removed(addr uint64) bool { return addr == 0 || addr >= ^uint64(1) }

func (s *frameSection) isCIE(id uint64, off64 bool) bool {
	if s.eh {
		return id == 0
	}
	if off64 {
		return id == ^uint64(0)
	}
	return id == 0xffffffff
}
