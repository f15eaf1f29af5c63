package debuginfo

import (
	"cmp"
	"sort"

	"trocar/internal/binary/section"
	"trocar/internal/order"
)

// lookupsBeforeIndex is how many addresses are looked up by going through .debug_aranges, before an index pays.
const lookupsBeforeIndex = 4

// addrIndex tells the unit of an address.
type addrIndex struct {
	spans []addrSpan // by low
	// reach is the highest end of all spans up to this one, so that overlapping spans are found.
	reach []uint64
}

type addrSpan struct {
	Range
	off int // of the unit
	u   *unit
}

// unitsAt returns the units that may have code at an address, most likely first.
func (in *Info) unitsAt(addr uint64) []*unit {
	if in.addrs == nil {
		var found []*unit
		add := func(off int) {
			if u := in.main.unitAt(secInfo, uint64(off)); u != nil && u.off == off {
				found = append(found, u)
			}
		}
		if in.lookups++; in.lookups <= lookupsBeforeIndex {
			in.main.eachArange(func(off uint64, r Range) bool {
				if r.Contains(addr) {
					add(int(off))
				}
				return len(found) == 0
			})
		} else {
			// Units are read as they are needed, which those that .debug_aranges leaves out, if any, are not yet.
			if in.stated == nil {
				in.stated = new(addrIndex)
				in.main.eachArange(func(off uint64, r Range) bool {
					in.stated.spans = append(in.stated.spans, addrSpan{Range: r, off: int(off)})
					return true
				})
				in.stated.sort()
			}
			in.stated.each(addr, func(s addrSpan) { add(s.off) })
		}
		if found != nil {
			return found
		}
		in.addrs = in.buildAddrIndex()
		in.stated = nil
	}
	return in.addrs.at(addr)
}

func (x *addrIndex) at(addr uint64) (found []*unit) {
	x.each(addr, func(s addrSpan) { found = append(found, s.u) })
	return found
}

// each goes through the spans that an address is in, of which some are enough.
func (x *addrIndex) each(addr uint64, visit func(addrSpan)) {
	i := sort.Search(len(x.spans), func(i int) bool { return x.spans[i].Low > addr }) - 1
	for n := 0; i >= 0 && x.reach[i] > addr && n < 16; i-- {
		if x.spans[i].Contains(addr) {
			visit(x.spans[i])
			n++
		}
	}
}

// sort puts the spans in order when all are there.
func (x *addrIndex) sort() {
	order.By(x.spans, func(a, b addrSpan) int { return cmp.Compare(a.Low, b.Low) })
	x.reach = make([]uint64, len(x.spans))
	reach := uint64(0)
	for i, s := range x.spans {
		reach = max(reach, s.High)
		x.reach[i] = reach
	}
}

// eachArange goes through .debug_aranges (DWARF 5, 6.1.2): GCC and rustc write it, clang and Go don't.
func (f *file) eachArange(yield func(unit uint64, r Range) bool) {
	b := f.section(secAranges)
	for off := 0; off < len(b); {
		r := section.Reader{Data: b, Pos: off}
		n, off64 := r.InitialLength()
		if r.Bad || n == 0 || n > uint64(r.Left()) {
			return
		}
		end := r.Pos + int(n)
		r.Data = b[:end]
		version := r.U16()
		unit := r.Offset(off64)
		size, seg := int(r.U8()), r.U8()
		if !r.Bad && version == 2 && (size == 8 || size == 4) && seg == 0 {
			if pad := (r.Pos - off) % (2 * size); pad != 0 {
				r.Bytes(uint64(2*size - pad))
			}
			fm := format{addrSize: uint8(size)}
			for r.Left() >= 2*size {
				low, n := r.Uint(size), r.Uint(size)
				if low == 0 && n == 0 {
					break
				}
				if !fm.gone(low) && low+n > low && !yield(unit, Range{low, low + n}) {
					return
				}
			}
		}
		off = end
	}
}

// buildAddrIndex takes the ranges of .debug_aranges, and those of each unit that isn't in it.
func (in *Info) buildAddrIndex() *addrIndex {
	x := new(addrIndex)
	covered := make(map[int]bool)
	var last *unit
	in.main.eachArange(func(off uint64, r Range) bool {
		if last == nil || uint64(last.off) != off {
			last = in.main.unitAt(secInfo, off)
			if last == nil || uint64(last.off) != off {
				last = nil
				return true
			}
			covered[last.off] = true
		}
		x.spans = append(x.spans, addrSpan{r, last.off, last})
		return true
	})
	for _, u := range in.main.unitList() {
		if covered[u.off] || u.kind == utPartial || u.typeOff != 0 {
			continue
		}
		ro := u.load()
		if ro.err != nil {
			continue
		}
		for _, r := range ro.die.pcRanges(maxUnitRanges) {
			x.spans = append(x.spans, addrSpan{r, u.off, u})
		}
	}
	x.sort()
	return x
}
