package debuginfo

import "trocar/internal/binary/section"

// maxLocations bounds the entries of one list. GCC writes some hundreds for a variable of a large function.
const maxLocations = 1 << 14

// located is what a location attribute says for one address.
type located struct {
	expr  []byte
	found bool // there is an expression for the address; it may be empty: no location
	plain bool // it holds wherever the variable is visible, not from a list
	other bool // the list has an expression for other addresses
}

// locationAt finds the expression that holds at an address (DWARF 5, 2.6).
func (u *unit) locationAt(v value, pc uint64) located { return u.location(v, pc, false, nil) }

// location finds the expression that holds at an address. At a function's entry that is what the caller has passed: GCC
// may list several expressions for this one address, one for each statement of which the first instruction does a part
// (location views); all but the last then hold for no byte. views tells where the numbers of these views are: an
// expression that begins with a later one than the first says nothing of what was passed.
func (u *unit) location(v value, pc uint64, entry bool, views *value) located {
	if v.isBlock() {
		return located{expr: v.block, found: true, plain: true}
	}
	switch v.form {
	case formSecOffset, formLoclistx, formData4, formData8:
	default:
		return located{}
	}
	ro := u.load()
	l := locReader{u: u, pc: pc, entry: entry, base: ro.low}
	if entry && views != nil && (views.form == formSecOffset || views.form == formData4) {
		data := u.f.section(secLoc)
		if u.version >= 5 {
			data = u.f.section(secLoclists)
		}
		if views.u < v.u && v.form == formSecOffset && u.pkg == nil {
			l.views, l.hasViews = section.At(data, views.u), true
		}
	}
	if u.version >= 5 {
		data, off := u.f.section(secLoclists), v.u
		if v.form == formLoclistx {
			var ok bool
			if off, ok = u.listOffset(data, secLoclists, ro.locBase, v.u); !ok {
				return located{}
			}
		}
		l.readV5(section.At(data, off))
		return l.out
	}
	off := v.u
	if u.pkg != nil {
		off += u.pkg.off[secLoc]
	}
	r := section.At(u.f.section(secLoc), off)
	if ro.skeleton != nil {
		l.readSplitV4(r)
	} else {
		l.readV4(r)
	}
	return l.out
}

type locReader struct {
	u     *unit
	pc    uint64
	entry bool
	// views are the numbers of the first and last view of each entry, if they are known.
	views    section.Reader
	hasViews bool
	base     uint64
	out      located
	// fallback is the entry that holds where no other does.
	fallback    []byte
	hasFallback bool
}

// add takes an entry, and tells whether it is the one.
func (l *locReader) add(low, high uint64, expr []byte) bool {
	later := false
	if l.hasViews {
		later = l.views.ULEB() > 0
		l.views.ULEB()
		later = later && !l.views.Bad
	}
	if low >= high && !(l.entry && low == l.pc && high == low) || l.u.gone(low) {
		return false
	}
	l.out.other = true
	if l.entry && low == l.pc && later {
		return false
	}
	if low <= l.pc && (l.pc < high || high == low) {
		l.out.expr, l.out.found = expr, true
		return true
	}
	return false
}

// readV4 reads .debug_loc (DWARF 4, 2.6.2).
func (l *locReader) readV4(r section.Reader) {
	size := int(l.u.addrSize)
	top := ^uint64(0)
	if size == 4 {
		top = 0xffffffff
	}
	for range maxLocations {
		low, high := r.Uint(size), r.Uint(size)
		switch {
		case r.Bad || low == 0 && high == 0:
			return
		case low == top:
			l.base = high
			continue
		}
		expr := r.Bytes(uint64(r.U16()))
		if r.Bad || low < top-1 && l.base < top-1 && l.add(l.base+low, l.base+high, expr) {
			return
		}
	}
}

// readSplitV4 reads .debug_loc.dwo as GCC and clang write it for split DWARF 4.
func (l *locReader) readSplitV4(r section.Reader) {
	for range maxLocations {
		var low, high uint64
		ok := true
		switch r.U8() {
		case 1: // base address selection
			l.base, ok = l.u.indexedAddr(r.ULEB())
			if !ok {
				return
			}
			continue
		case 2: // start and end
			low, ok = l.u.indexedAddr(r.ULEB())
			if ok {
				high, ok = l.u.indexedAddr(r.ULEB())
			}
		case 3: // start and length
			low, ok = l.u.indexedAddr(r.ULEB())
			high = low + uint64(r.U32())
		default:
			return
		}
		expr := r.Bytes(uint64(r.U16()))
		if r.Bad || ok && l.add(low, high, expr) {
			return
		}
	}
}

// readV5 reads .debug_loclists (DWARF 5, 2.6.2).
func (l *locReader) readV5(r section.Reader) {
	defer func() {
		if !l.out.found && l.hasFallback && !r.Bad {
			l.out.expr, l.out.found = l.fallback, true
		}
	}()
	u := l.u
	size := int(u.addrSize)
	for range maxLocations {
		var low, high uint64
		ok := true
		switch r.U8() {
		case lleBaseAddressx:
			l.base, ok = u.indexedAddr(r.ULEB())
			if !ok {
				return
			}
			continue
		case lleStartxEndx:
			a, b := r.ULEB(), r.ULEB()
			low, ok = u.indexedAddr(a)
			if ok {
				high, ok = u.indexedAddr(b)
			}
		case lleStartxLength:
			low, ok = u.indexedAddr(r.ULEB())
			high = low + r.ULEB()
		case lleOffsetPair:
			low, high = r.ULEB(), r.ULEB()
			ok = l.base < ^uint64(1)
			low, high = l.base+low, l.base+high
		case lleDefaultLocation:
			l.fallback, l.hasFallback = r.Bytes(r.ULEB()), true
			continue
		case lleBaseAddress:
			l.base = r.Uint(size)
			continue
		case lleStartEnd:
			low, high = r.Uint(size), r.Uint(size)
		case lleStartLength:
			low = r.Uint(size)
			high = low + r.ULEB()
		case lleGNUViewPair: // views within one address say nothing about registers between instructions
			r.ULEB()
			r.ULEB()
			continue
		default:
			return
		}
		expr := r.Bytes(r.ULEB())
		if r.Bad || ok && l.add(low, high, expr) {
			return
		}
	}
}
