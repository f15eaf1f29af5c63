package debuginfo

import (
	"sort"

	"trocar/internal/binary/section"
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
	u *unit
}

// unitsAt returns the units that may have code at an address, most likely first.
func (in *Info) unitsAt(addr uint64) []*unit {
	if in.addrs == nil {
		in.lookups++
		if in.lookups <= lookupsBeforeIndex {
			var found []*unit
			in.main.eachArange(func(off uint64, r Range) bool {
				if r.Contains(addr) {
					if u := in.main.unitAt(secInfo, off); u != nil && u.off == int(off) {
						found = append(found, u)
					}
				}
				return len(found) == 0
			})
			if found != nil {
				return found
			}
		}
		in.addrs = in.buildAddrIndex()
	}
	return in.addrs.at(addr)
}

func (x *addrIndex) at(addr uint64) []*unit {
	var found []*unit
	i := sort.Search(len(x.spans), func(i int) bool { return x.spans[i].Low > addr }) - 1
	for ; i >= 0 && x.reach[i] > addr && len(found) < 16; i-- {
		if x.spans[i].Contains(addr) {
			found = append(found, x.spans[i].u)
		}
	}
	return found
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
		x.spans = append(x.spans, addrSpan{r, last})
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
			x.spans = append(x.spans, addrSpan{r, u})
		}
	}
	sort.SliceStable(x.spans, func(i, j int) bool { return x.spans[i].Low < x.spans[j].Low })
	x.reach = make([]uint64, len(x.spans))
	reach := uint64(0)
	for i, s := range x.spans {
		reach = max(reach, s.High)
		x.reach[i] = reach
	}
	return x
}
