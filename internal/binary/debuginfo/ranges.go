package debuginfo

import (
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/section"
)

// Range is a range of addresses, Low included and High not.
type Range struct{ Low, High uint64 }

// Contains tells whether an address lies in the range.
func (r Range) Contains(addr uint64) bool { return r.Low <= addr && addr < r.High }

func contains(ranges []Range, addr uint64) bool {
	for _, r := range ranges {
		if r.Contains(addr) {
			return true
		}
	}
	return false
}

// Bounds on the length of a list: cold parts and inlining split a function into some hundred ranges at most, a unit has
// one for each function.
const (
	maxRanges     = 1 << 12
	maxUnitRanges = 1 << 20
)

// gone tells whether an address stands for code that the linker removed: GNU ld leaves 0 (1 in .debug_ranges), lld -1
// (-2 in .debug_ranges and .debug_loc).
func (f format) gone(addr uint64) bool {
	if f.addrSize == 4 {
		return addr == 0 || addr >= 0xfffffffe
	}
	return addr == 0 || addr >= ^uint64(1)
}

// pcRanges returns the code of an entry: DW_AT_ranges, or DW_AT_low_pc to DW_AT_high_pc. What the linker removed is
// left out.
func (d *die) pcRanges(limit int) []Range { return d.appendRanges(nil, limit) }

// appendRanges is pcRanges into the memory of dst.
func (d *die) appendRanges(dst []Range, limit int) []Range {
	if v, ok := d.get(atRanges); ok {
		return d.u.rangeList(v, dst, limit)
	}
	if r, ok := d.lowToHigh(); ok {
		dst = append(dst, r)
	}
	return dst
}

// lowToHigh is DW_AT_low_pc to DW_AT_high_pc.
func (d *die) lowToHigh() (Range, bool) {
	lowAttr, ok := d.get(atLowPC)
	if !ok {
		return Range{}, false
	}
	low, ok := d.u.address(lowAttr)
	if !ok || d.u.gone(low) {
		return Range{}, false
	}
	highAttr, ok := d.get(atHighPC)
	if !ok {
		return Range{}, false
	}
	high, isAddr := d.u.address(highAttr)
	if !isAddr {
		if highAttr.isBlock() {
			return Range{}, false
		}
		high = low + highAttr.u
	}
	return Range{low, high}, low < high
}

// hasCode tells whether the entry has code that the linker kept.
func (d *die) hasCode() bool {
	if v, ok := d.get(atRanges); ok {
		return len(d.u.rangeList(v, nil, 1)) > 0
	}
	_, ok := d.lowToHigh()
	return ok
}

// entryPC is the address at which the code of an entry begins to run (DWARF 5, 2.18). It is 0 for an inlined copy that
// begins where no instruction of it is left.
func (d *die) entryPC(ranges []Range) uint64 {
	if len(ranges) == 0 {
		return 0
	}
	low := ranges[0].Low
	if d.tag == tagInlinedSubroutine {
		for _, r := range ranges {
			low = min(low, r.Low)
		}
	}
	pc, ok := d.beginPC(ranges)
	switch {
	case ok && contains(ranges, pc):
		return pc
	case ok && d.tag == tagInlinedSubroutine:
		return 0
	case ok:
		return low
	}
	if v, ok := d.get(atLowPC); ok {
		if a, ok := d.u.address(v); ok && contains(ranges, a) {
			return a
		}
	}
	return low
}

// beginPC is what DW_AT_entry_pc says, an address or an offset from the entry's base address.
func (d *die) beginPC(ranges []Range) (pc uint64, ok bool) {
	v, ok := d.get(atEntryPC)
	if !ok || len(ranges) == 0 {
		return 0, false
	}
	pc, isAddr := d.u.address(v)
	if !isAddr {
		base := ranges[0].Low
		if lv, ok := d.get(atLowPC); ok {
			base, _ = d.u.address(lv)
		}
		pc = base + v.u
	}
	return pc, true
}

// rangeList reads the list that DW_AT_ranges names.
func (u *unit) rangeList(v value, dst []Range, limit int) []Range {
	ro := u.load()
	list := rangeReader{u: u, limit: limit, base: ro.low, out: dst}
	if u.version < 5 {
		f, off := u.f, v.u
		if ro.skeleton != nil { // GNU's split DWARF 4 keeps all ranges in the program
			f = ro.skeleton.f
			off += ro.gnuRanges
		}
		list.readV4(section.At(f.section(secRanges), off))
		return list.out
	}
	data, off := u.f.section(secRnglists), v.u
	if v.form == formRnglistx {
		var ok bool
		if off, ok = u.listOffset(data, secRnglists, ro.rngBase, v.u); !ok {
			return dst
		}
	}
	list.readV5(section.At(data, off))
	return list.out
}

// listOffset looks up an index in the offset table of .debug_rnglists or .debug_loclists (DWARF 5, 7.28 and 7.29).
func (u *unit) listOffset(data []byte, id sectionID, base, index uint64) (uint64, bool) {
	if u.pkg != nil {
		base += u.pkg.off[id]
	}
	if index > 1<<40 {
		return 0, false
	}
	r := section.At(data, base+index*uint64(u.offSize()))
	off := r.Offset(u.off64)
	return base + off, !r.Bad
}

type rangeReader struct {
	u     *unit
	base  uint64
	limit int
	out   []Range
}

func (l *rangeReader) add(low, high uint64) {
	if low < high && !l.u.gone(low) {
		l.out = append(l.out, Range{low, high})
	}
}

// readV4 reads .debug_ranges (DWARF 4, 2.17.3).
func (l *rangeReader) readV4(r section.Reader) {
	size := int(l.u.addrSize)
	top := ^uint64(0)
	if size == 4 {
		top = 0xffffffff
	}
	for n := 0; n < maxUnitRanges && len(l.out) < l.limit; n++ {
		low, high := r.Uint(size), r.Uint(size)
		switch {
		case r.Bad || low == 0 && high == 0:
			return
		case low == top:
			l.base = high
		case low >= top-1 || l.base >= top-1:
			// removed
		default:
			l.add(l.base+low, l.base+high)
		}
	}
}

// readV5 reads .debug_rnglists (DWARF 5, 2.17.3).
func (l *rangeReader) readV5(r section.Reader) {
	u := l.u
	size := int(u.addrSize)
	for n := 0; n < maxUnitRanges && len(l.out) < l.limit; n++ {
		var low, high uint64
		ok := true
		switch r.U8() {
		case rleBaseAddressx:
			l.base, ok = u.indexedAddr(r.ULEB())
			if !ok {
				return
			}
			continue
		case rleStartxEndx:
			low, ok = u.indexedAddr(r.ULEB())
			if ok {
				high, ok = u.indexedAddr(r.ULEB())
			}
		case rleStartxLength:
			low, ok = u.indexedAddr(r.ULEB())
			high = low + r.ULEB()
		case rleOffsetPair:
			low, high = r.ULEB(), r.ULEB()
			if l.base >= ^uint64(1) {
				continue
			}
			low, high = l.base+low, l.base+high
		case rleBaseAddress:
			l.base = r.Uint(size)
			continue
		case rleStartEnd:
			low, high = r.Uint(size), r.Uint(size)
		case rleStartLength:
			low = r.Uint(size)
			high = low + r.ULEB()
		default:
			return
		}
		if !ok || r.Bad {
			return
		}
		l.add(low, high)
	}
}

// UnitRanges is the code of the compilation unit that a function is in.
func (in *Info) UnitRanges(fn *Function) (ranges []Range, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	root := fn.u.load()
	return root.die.pcRanges(maxUnitRanges), root.err
}
