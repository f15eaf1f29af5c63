package debuginfo

import (
	"fmt"
	"strings"
	"sync"

	"trocar/internal/binary/section"
	"trocar/internal/binary/types"
)

// unit is a compilation, partial or type unit. Its header is read when units are listed, its first entry on demand.
type unit struct {
	f   *file
	b   []byte // the section up to the unit's end, so that offsets in it are those of the section
	off int    // of the unit
	sec sectionID

	format
	kind      uint8
	first     int // offset of the first entry
	end       int
	abbrevOff uint64
	sig       uint64 // type signature, or id of a split unit
	typeOff   int    // type units: offset of the type's entry; else 0
	pkg       *contribution

	once sync.Once
	*root
}

// root is what a unit's first entry tells.
type root struct {
	err       error
	die       die
	name      string
	compDir   string
	producer  string
	lang      types.Language
	low       uint64
	lineOff   int64 // in .debug_line, -1 if there is none
	strBase   uint64
	addrBase  uint64
	rngBase   uint64
	locBase   uint64
	gnuRanges uint64 // DW_AT_GNU_ranges_base
	dwoName   string
	dwoID     uint64
	optimized bool // told to optimize, or it is not known

	skeleton *unit // of a split unit: the one in the program
	split    *unit // of a skeleton: the unit with the entries, where it was found
	splitErr error

	heavy
}

// heavy is what going through a whole unit gives. It is made on demand and given up again: see Info.keep.
type heavy struct {
	scopes   []scope
	prefixes map[int]string
	funcs    []funcRange
	lines    *lineTable
	linesErr error

	haveScopes, haveFuncs         bool
	scopeQuestions, funcQuestions int // asked before they were listed
	size                          int // bytes of memory, about
}

// parseUnit reads a unit's header (DWARF 5, 7.5.1). It returns no unit for padding.
func (f *file) parseUnit(id sectionID, data []byte, off int) (*unit, error) {
	r := section.Reader{Data: data, Pos: off}
	n, off64 := r.InitialLength()
	if n == 0 && !r.Bad {
		return nil, nil
	}
	if r.Bad || n > uint64(r.Left()) {
		return nil, fmt.Errorf("the unit at %#x is longer than its section", off)
	}
	u := &unit{f: f, off: off, sec: id, end: r.Pos + int(n)}
	u.b = data[:u.end]
	r.Data = u.b
	u.off64 = off64
	version := r.U16()
	u.version = uint8(min(version, 255))
	switch {
	case version >= 2 && version <= 4:
		u.abbrevOff = r.Offset(off64)
		u.addrSize = r.U8()
		u.kind = utCompile
		if id == secTypes {
			u.kind = utType
		}
	case version == 5:
		u.kind = r.U8()
		u.addrSize = r.U8()
		u.abbrevOff = r.Offset(off64)
	default:
		return nil, fmt.Errorf("the unit at %#x has DWARF version %d, versions 2 to 5 are known", off, version)
	}
	switch u.kind {
	case utSkeleton, utSplitCompile:
		u.sig = r.U64()
	case utType, utSplitType:
		u.sig = r.U64()
		typeOff := r.Offset(off64)
		if typeOff < uint64(u.end-off) {
			u.typeOff = off + int(typeOff)
		}
	}
	if r.Bad || u.addrSize != 8 && u.addrSize != 4 {
		return nil, fmt.Errorf("the unit at %#x has a damaged header", off)
	}
	u.first = r.Pos
	return u, nil
}

// table returns the unit's abbreviations.
func (u *unit) table() (*abbrevTable, error) {
	data, off := u.abbrevs()
	t, err := u.f.abbrevs.get(data, off, u.format)
	if err != nil {
		return nil, fmt.Errorf("%s: unit at %#x: %w", u.f.name, u.off, err)
	}
	return t, nil
}

// abbrevs tells where the unit's abbreviations are.
func (u *unit) abbrevs() ([]byte, uint64) {
	off := u.abbrevOff
	if u.pkg != nil {
		off += u.pkg.off[secAbbrev]
	}
	return u.f.section(secAbbrev), off
}

// load reads the unit's first entry.
func (u *unit) load() *root {
	u.once.Do(func() { u.root = u.readRoot(nil) })
	return u.root
}

// readRoot reads the first entry; skeleton is the unit in the program if u is a split one.
func (u *unit) readRoot(skeleton *unit) *root {
	ro := &root{lineOff: -1, skeleton: skeleton, dwoID: u.sig}
	u.root = ro // reading strings needs the bases found so far
	d := &ro.die
	r := section.Reader{Data: u.b, Pos: u.first}
	data, off := u.abbrevs()
	var t abbrevTable
	if err := t.parse(data, off, u.format, r.ULEB()); err != nil {
		ro.err = fmt.Errorf("%s: unit at %#x: %w", u.f.name, u.off, err)
		return ro
	}
	if !d.read(u, &t, u.first) {
		ro.err = fmt.Errorf("%s: the unit at %#x has no entries", u.f.name, u.off)
		return ro
	}
	d.table = nil // it has this one entry
	ro.defaultBases(u, skeleton)
	d.each(func(v value) { // first what the others need
		switch v.attr {
		case atStrOffsetsBase:
			ro.strBase = v.u
		case atAddrBase, atGNUAddrBase:
			ro.addrBase = v.u
		case atRnglistsBase:
			ro.rngBase = v.u
		case atLoclistsBase:
			ro.locBase = v.u
		case atGNURangesBase:
			ro.gnuRanges = v.u
		case atGNUDwoID:
			ro.dwoID = v.u
		case atStmtList:
			if v.u < 1<<62 {
				ro.lineOff = int64(v.u)
			}
		}
	})
	d.each(func(v value) {
		switch v.attr {
		case atName:
			ro.name = u.str(v)
		case atCompDir:
			ro.compDir = u.str(v)
		case atProducer:
			ro.producer = u.str(v)
		case atDwoName, atGNUDwoName:
			ro.dwoName = u.str(v)
		case atLanguage:
			ro.lang = languageOf(v.u)
		case atLowPC:
			ro.low, _ = u.address(v)
		}
	})
	ro.optimized = optimized(ro.producer)
	// Not by the tag: while this asks for the languages of others, none of them may ask so too.
	if u.isPartial() && ro.lang == types.UnknownLanguage {
		ro.lang = u.f.info.partialLanguage(u)
	}
	return ro
}

// defaultBases sets the bases of units that don't give any: in .dwo files the tables follow their header (DWARF 5,
// 7.26 to 7.29), and everything else comes from the skeleton.
func (ro *root) defaultBases(u *unit, skeleton *unit) {
	if skeleton != nil {
		s := skeleton.root
		ro.addrBase, ro.gnuRanges, ro.low, ro.compDir = s.addrBase, s.gnuRanges, s.low, s.compDir
		ro.lineOff = s.lineOff
	}
	if u.version < 5 || !u.f.dwo {
		return
	}
	ro.strBase, ro.rngBase, ro.locBase = 8, 12, 12
	if u.off64 {
		ro.strBase, ro.rngBase, ro.locBase = 16, 20, 20
	}
}

func languageOf(code uint64) types.Language {
	switch code {
	case 0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x3e: // C89, C, C99, C11, C17, C23
		return types.C
	case 0x04, 0x1a, 0x21, 0x2b, 0x3a, 0x3b, 0x11: // C++98 to C++23, Objective-C++
		return types.CPlusPlus
	case 0x1c:
		return types.Rust
	case 0x16:
		return types.Go
	case 0x8001: // DW_LANG_Mips_Assembler, which stands for all
		return types.Assembler
	case 0:
		return types.UnknownLanguage
	}
	return types.OtherLanguage
}

// main is the unit in the program: the skeleton of a split unit, else u.
func (u *unit) main() *unit {
	if s := u.load().skeleton; s != nil {
		return s
	}
	return u
}

// full is the unit with the entries: the split one of a skeleton, else u.
func (u *unit) full(in *Info) (*unit, error) {
	ro := u.load()
	if ro.err != nil {
		return nil, ro.err
	}
	if ro.dwoName == "" || u.f.dwo {
		return u, nil
	}
	if ro.split == nil && ro.splitErr == nil {
		ro.split, ro.splitErr = in.openSplit(u)
	}
	return ro.split, ro.splitErr
}

// optimized tells whether a compiler was told to optimize. GCC records its options (-grecord-gcc-switches is the
// default); of others it isn't known, and taken to be so.
func optimized(producer string) bool {
	if !strings.HasPrefix(producer, "GNU") {
		return true
	}
	last := ""
	for _, f := range strings.Fields(producer) {
		if strings.HasPrefix(f, "-O") {
			last = f
		}
	}
	return last != "" && last != "-O0"
}

// str returns the text of a string attribute.
func (u *unit) str(v value) string { return string(u.strBytes(v)) }

// strBytes is str as a view.
func (u *unit) strBytes(v value) []byte {
	switch v.form {
	case formString:
		return v.block
	case formStrp:
		return section.StringAt(u.f.section(secStr), v.u)
	case formLineStrp:
		return section.StringAt(u.f.section(secLineStr), v.u)
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		return u.indexedStr(v.u)
	case formGNUStrpAlt, formStrpSup:
		if u.f.alt != nil {
			return section.StringAt(u.f.alt.section(secStr), v.u)
		}
	}
	return nil
}

func (u *unit) indexedStr(index uint64) []byte {
	off := u.root.strBase
	if u.pkg != nil {
		off += u.pkg.off[secStrOffsets]
	}
	size := uint64(u.offSize())
	if index > 1<<40 {
		return nil
	}
	r := section.At(u.f.section(secStrOffsets), off+index*size)
	at := r.Offset(u.off64)
	if r.Bad {
		return nil
	}
	return section.StringAt(u.f.section(secStr), at)
}

// address returns the value of an attribute of the class address.
func (u *unit) address(v value) (uint64, bool) {
	switch v.form {
	case formAddr:
		return v.u, true
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return u.indexedAddr(v.u)
	}
	return 0, false
}

// indexedAddr returns an entry of .debug_addr, which is in the program for split units too.
func (u *unit) indexedAddr(index uint64) (uint64, bool) {
	f := u.f
	if s := u.root.skeleton; s != nil {
		f = s.f
	}
	if index > 1<<40 {
		return 0, false
	}
	r := section.At(f.section(secAddr), u.root.addrBase+index*uint64(u.addrSize))
	a := r.Uint(int(u.addrSize))
	return a, !r.Bad
}
