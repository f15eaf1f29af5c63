package debuginfo

import (
	"errors"
	"fmt"
	"sort"
	"sync"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/objfile"
)

// Frames is the call frame information of a program: .eh_frame (found through .eh_frame_hdr), or .debug_frame, which is
// all that Go writes. It may be used by several goroutines.
type Frames struct {
	arch    *abi.Arch
	mu      sync.Mutex
	eh, dbg frameSection
	hdr     []byte
	hdrAddr uint64
	opened  bool
	code    Sections
	debug   Sections
	last    Row // returned last: the variables of a function are asked for one after another
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

// NewFrames makes the call frame information from the sections of a program and of its debug file (nil: none).
func NewFrames(code, debug Sections, arch *abi.Arch) *Frames {
	return &Frames{code: code, debug: debug, arch: arch}
}

func (f *Frames) open() {
	if f.opened {
		return
	}
	f.opened = true
	if f.code != nil {
		if s, ok := f.code.Section(".eh_frame"); ok {
			if b, err := f.code.Data(".eh_frame"); err == nil {
				f.eh = frameSection{data: b, addr: s.Addr, eh: true}
				if s, ok := f.code.Section(".eh_frame_hdr"); ok {
					f.hdr, _ = f.code.Data(".eh_frame_hdr")
					f.hdrAddr = s.Addr
				}
			}
		}
	}
	for _, sec := range []Sections{f.debug, f.code} {
		if sec == nil || f.dbg.data != nil {
			continue
		}
		if b, err := sec.Data(".debug_frame"); err == nil {
			f.dbg = frameSection{data: b}
		}
	}
}

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
func (f *Frames) At(pc uint64) (row Row, err error) {
	defer objfile.Guard(&err)()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.Contains(pc) {
		return f.last, nil
	}
	f.open()
	for _, s := range []*frameSection{&f.eh, &f.dbg} {
		off, ok := f.find(s, pc)
		if !ok {
			continue
		}
		e, err := s.fde(off)
		if err != nil {
			return Row{}, err
		}
		if !e.Contains(pc) {
			continue
		}
		row, found, err := e.run(f.arch, pc, nil)
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

// Each calls yield with all rows, function by function, until it returns false. Those of .debug_frame come only if
// there is no .eh_frame. The Frames may be used by yield.
func (f *Frames) Each(yield func(Row) bool) (err error) {
	defer objfile.Guard(&err)()
	f.mu.Lock()
	f.open()
	s := &f.eh
	if s.data == nil {
		s = &f.dbg
	}
	s.buildIndex()
	index := s.index
	f.mu.Unlock()
	var rows []Row
	for _, span := range index {
		rows = rows[:0]
		f.mu.Lock()
		if e, err := s.fde(span.off); err == nil { // a damaged function doesn't hide the others
			e.run(f.arch, 0, func(r Row) bool {
				rows = append(rows, r)
				return len(rows) < maxRows
			})
		}
		f.mu.Unlock()
		for _, r := range rows {
			if !yield(r) {
				return nil
			}
		}
	}
	return nil
}

// maxRows bounds the rows of one function.
const maxRows = 1 << 16

// find returns where the FDE of an address is.
func (f *Frames) find(s *frameSection, pc uint64) (int, bool) {
	if s.data == nil {
		return 0, false
	}
	if s.eh && f.hdr != nil && !s.indexed {
		if off, ok := f.findHdr(pc); ok {
			if e, err := s.fde(off); err == nil && e.Contains(pc) {
				return off, true
			}
		}
	}
	s.buildIndex()
	i := sort.Search(len(s.index), func(i int) bool { return s.index[i].Low > pc }) - 1
	for n := 0; i >= 0 && n < 16; i, n = i-1, n+1 {
		if s.index[i].Contains(pc) {
			return s.index[i].off, true
		}
	}
	return 0, false
}

// findHdr searches the table of .eh_frame_hdr (LSB core, 10.6.2).
func (f *Frames) findHdr(pc uint64) (int, bool) {
	r := reader{b: f.hdr}
	version, ptrEnc, countEnc, tableEnc := r.u8(), r.u8(), r.u8(), r.u8()
	if r.bad || version != 1 || tableEnc != encDataRel|encSdata4 {
		return 0, false
	}
	at := encodedAt{r: &r, addr: f.hdrAddr, data: f.hdrAddr, size: 8}
	at.read(ptrEnc)
	count, ok := at.read(countEnc)
	if !ok || r.bad || count > uint64(r.left()/8) {
		return 0, false
	}
	table := f.hdr[r.pos:]
	entry := func(i int) (loc, fde uint64) {
		e := reader{b: table, pos: 8 * i}
		loc = f.hdrAddr + uint64(int64(int32(e.u32())))
		return loc, f.hdrAddr + uint64(int64(int32(e.u32())))
	}
	i := sort.Search(int(count), func(i int) bool { loc, _ := entry(i); return loc > pc }) - 1
	if i < 0 {
		return 0, false
	}
	_, fde := entry(i)
	if fde < f.eh.addr || fde-f.eh.addr >= uint64(len(f.eh.data)) {
		return 0, false
	}
	return int(fde - f.eh.addr), true
}

// buildIndex goes through the whole section.
func (s *frameSection) buildIndex() {
	if s.indexed {
		return
	}
	s.indexed = true
	dead := format{addrSize: 8}
	for off := 0; off < len(s.data); {
		r := reader{b: s.data, pos: off}
		n, off64 := r.initialLength()
		if r.bad || n > uint64(r.left()) {
			break
		}
		if n == 0 {
			off = r.pos
			continue
		}
		end := r.pos + int(n)
		id := r.offset(off64 && !s.eh)
		if !s.isCIE(id, off64) {
			if e, err := s.fde(off); err == nil && !dead.gone(e.Low) {
				s.index = append(s.index, fdeSpan{e.Range, off})
			}
		}
		off = end
	}
	sort.SliceStable(s.index, func(i, j int) bool { return s.index[i].Low < s.index[j].Low })
}

func (s *frameSection) isCIE(id uint64, off64 bool) bool {
	if s.eh {
		return id == 0
	}
	if off64 {
		return id == ^uint64(0)
	}
	return id == 0xffffffff
}

// fde is a frame description entry.
type fde struct {
	Range
	cie *cie
	ins []byte
}

// fde reads the entry at an offset.
func (s *frameSection) fde(off int) (e fde, err error) {
	r := readerAt(s.data, uint64(off))
	n, off64 := r.initialLength()
	if r.bad || n == 0 || n > uint64(r.left()) {
		return e, errShort
	}
	r.b = s.data[:r.pos+int(n)]
	at := r.pos
	id := r.offset(off64 && !s.eh)
	if r.bad || s.isCIE(id, off64) {
		return e, errors.New("no frame description entry")
	}
	if s.eh {
		id = uint64(at) - id // counted back from here
	}
	c, err := s.cie(id)
	if err != nil {
		return e, err
	}
	e.cie = c
	x := encodedAt{r: &r, addr: s.addr, size: c.addrSize}
	low, ok := x.read(c.enc)
	size, ok2 := x.read(c.enc & 0x0f)
	if !ok || !ok2 || r.bad {
		return e, errShort
	}
	e.Range = Range{low, low + size}
	if e.High < e.Low {
		return e, errors.New("damaged frame description entry")
	}
	if c.hasAug {
		r.bytes(r.uleb())
	}
	if r.bad {
		return e, errShort
	}
	e.ins = r.b[r.pos:]
	return e, nil
}

func (s *frameSection) cie(off uint64) (*cie, error) {
	if off >= uint64(len(s.data)) {
		return nil, errShort
	}
	if c := s.cies[int(off)]; c != nil {
		return c, nil
	}
	c, err := s.readCIE(int(off))
	if err != nil {
		return nil, err
	}
	if s.cies == nil {
		s.cies = make(map[int]*cie)
	}
	if len(s.cies) < maxCIEs {
		s.cies[int(off)] = c
	}
	return c, nil
}

func (s *frameSection) readCIE(off int) (*cie, error) {
	r := reader{b: s.data, pos: off}
	n, off64 := r.initialLength()
	if r.bad || n == 0 || n > uint64(r.left()) {
		return nil, errShort
	}
	r.b = s.data[:r.pos+int(n)]
	if id := r.offset(off64 && !s.eh); r.bad || !s.isCIE(id, off64) {
		return nil, errors.New("no common information entry")
	}
	version := r.u8()
	aug := string(r.cstr())
	c := &cie{addrSize: 8}
	if version == 4 {
		c.addrSize = int(r.u8())
		r.u8() // segment selector size
		if c.addrSize != 8 && c.addrSize != 4 {
			return nil, errors.New("damaged common information entry")
		}
	}
	c.codeAlign, c.dataAlign = r.uleb(), r.sleb()
	switch version {
	case 1:
		c.ret = int(r.u8())
	case 3, 4:
		c.ret = int(min(r.uleb(), 1<<16))
	default:
		return nil, fmt.Errorf("call frame information of version %d", version)
	}
	if aug != "" {
		if aug[0] != 'z' {
			return nil, fmt.Errorf("call frame information with the augmentation %q", aug)
		}
		c.hasAug = true
		data := reader{b: r.bytes(r.uleb())}
		for _, a := range aug[1:] {
			switch a {
			case 'R':
				c.enc = data.u8()
			case 'P':
				enc := data.u8()
				x := encodedAt{r: &data, size: c.addrSize}
				x.read(enc)
			case 'L':
				data.u8()
			case 'S':
				c.signal = true
			case 'B': // arm64: addresses are signed with the B key
			default:
				return nil, fmt.Errorf("call frame information with the augmentation %q", aug)
			}
		}
		if data.bad {
			return nil, errShort
		}
	}
	if r.bad {
		return nil, errShort
	}
	c.initial = r.b[r.pos:]
	return c, nil
}

// Encodings of addresses in .eh_frame (LSB core, 10.5.1).
const (
	encUleb    = 0x01
	encUdata2  = 0x02
	encUdata4  = 0x03
	encUdata8  = 0x04
	encSleb    = 0x09
	encSdata2  = 0x0a
	encSdata4  = 0x0b
	encSdata8  = 0x0c
	encPCRel   = 0x10
	encDataRel = 0x30
	encOmit    = 0xff
)

// encodedAt reads encoded addresses from r, whose bytes begin at the address addr.
type encodedAt struct {
	r          *reader
	addr, data uint64
	size       int
}

func (x *encodedAt) read(enc uint8) (uint64, bool) {
	if enc == encOmit {
		return 0, true
	}
	base := uint64(0)
	switch enc & 0x70 {
	case 0:
	case encPCRel:
		base = x.addr + uint64(x.r.pos)
	case encDataRel:
		base = x.data
	default:
		return 0, false
	}
	var v uint64
	switch enc & 0x0f {
	case 0:
		v = x.r.uint(x.size)
	case encUleb:
		v = x.r.uleb()
	case encUdata2:
		v = uint64(x.r.u16())
	case encUdata4:
		v = uint64(x.r.u32())
	case encUdata8, encSdata8:
		v = x.r.u64()
	case encSleb:
		v = uint64(x.r.sleb())
	case encSdata2:
		v = uint64(int64(int16(x.r.u16())))
	case encSdata4:
		v = uint64(int64(int32(x.r.u32())))
	default:
		return 0, false
	}
	return base + v, !x.r.bad
}
