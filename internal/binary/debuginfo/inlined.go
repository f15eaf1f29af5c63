package debuginfo

import (
	"slices"
	"sort"
	"sync"

	"trocar/internal/binary/objfile"
)

// maxCopies bounds the inlined copies of one function.
const maxCopies = 1 << 20

// Copies returns the places where a function was inlined, by address.
func (in *Info) Copies(fn *Function) (copies []*Instance, err error) {
	copies, _, _, err = in.AllCopies(fn)
	return copies, err
}

// AllCopies is Copies, and empty is the number of copies that the optimizer left no instruction of their own.
// Those that may be pieces of others are left out; unsure is their number.
func (in *Info) AllCopies(fn *Function) (copies []*Instance, empty, unsure int, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	x, err := in.functionNames()
	if err != nil {
		return nil, 0, 0, err
	}
	id := fn.identity
	name := string(plain([]byte(fn.Name)))
	origins := make(map[entryKey]bool)
	units := make(map[*unit]bool)
	entries := x.find(name)
	for _, e := range entries[:min(len(entries), maxNamed)] {
		d, ok := e.u.at(uint64(e.off))
		if !ok {
			continue
		}
		a := d.abstract()
		if in.identity(a, nil) != id {
			continue
		}
		origins[a.key()] = true
		units[e.u] = true
	}
	for _, u := range x.far {
		units[u] = true
	}
	found := make(map[inFunction][]int)
	if in.copiesAsked++; in.copiesAsked == copiesFrom {
		if in.copies, err = in.allCopies(); err != nil {
			return nil, 0, 0, err
		}
	}
	if in.copies != nil {
		empty, unsure = in.copies.of(origins, found)
	} else {
		empty, unsure, err = in.scannedCopies(origins, units, found)
	}
	if err != nil {
		return nil, 0, 0, err
	}
	for at, offs := range found {
		copies = append(copies, in.instancesIn(at, offs)...)
	}
	sort.Slice(copies, func(i, j int) bool {
		if copies[i].Entry != copies[j].Entry {
			return copies[i].Entry < copies[j].Entry
		}
		return copies[i].off < copies[j].off
	})
	return copies, empty, unsure, nil
}

// scannedCopies looks for the copies of origins in units.
func (in *Info) scannedCopies(
	origins map[entryKey]bool, units map[*unit]bool, found map[inFunction][]int,
) (empty, unsure int, err error) {
	var mu sync.Mutex
	n := 0
	err = in.everyUnit(func(s *scanner, u *unit) bool {
		if !units[u] {
			return true
		}
		s.eachInlined(u, func(d *die, function int, origin value, piece bool) {
			if o, ok := s.origin(u, origin); !ok || !origins[o.key()] {
				return
			}
			hasCode := d.hasCode()
			mu.Lock()
			defer mu.Unlock()
			switch key := (inFunction{u, function}); {
			case !hasCode:
				empty++
			case piece:
				unsure++
			case n < maxCopies:
				n++
				found[key] = append(found[key], d.off)
			}
		})
		return true
	})
	return empty, unsure, err
}

// copiesFrom is for how many functions the copies are looked for before all copies get an index, which takes as long as
// looking in all units, and memory; maxIndexedCopies bounds that.
const (
	copiesFrom       = 16
	maxIndexedCopies = 1 << 22
)

// copyIndex has the inlined copies of functions by their abstract instances.
type copyIndex map[entryKey][]copyAt

type copyAt struct {
	in           inFunction
	off          int
	code, unsure bool
}

// of finds the copies of origins.
func (x copyIndex) of(origins map[entryKey]bool, found map[inFunction][]int) (empty, unsure int) {
	n := 0
	for key := range origins {
		for _, c := range x[key] {
			switch {
			case !c.code:
				empty++
			case c.unsure:
				unsure++
			case n < maxCopies:
				n++
				found[c.in] = append(found[c.in], c.off)
			}
		}
	}
	for _, offs := range found {
		slices.Sort(offs) // of several origins
	}
	return empty, unsure
}

// allCopies makes the index; nil: there are too many.
func (in *Info) allCopies() (copyIndex, error) {
	all := copyIndex{}
	var mu sync.Mutex
	n := 0
	err := in.everyUnit(func(s *scanner, u *unit) bool {
		type one struct {
			origin entryKey
			at     copyAt
		}
		var list []one
		keys := map[reference]entryKey{} // most origins have several copies in a unit
		s.eachInlined(u, func(d *die, function int, origin value, unsure bool) {
			ref := origin.reference()
			key, known := keys[ref]
			if !known {
				if o, ok := s.origin(u, origin); ok {
					key = o.key()
				} else {
					key.off = -1
				}
				keys[ref] = key
			}
			if key.off >= 0 {
				list = append(list, one{key, copyAt{inFunction{u, function}, d.off, d.hasCode(), unsure}})
			}
		})
		mu.Lock()
		defer mu.Unlock()
		for _, c := range list {
			if n++; n <= maxIndexedCopies {
				all[c.origin] = append(all[c.origin], c.at)
			}
		}
		return n <= maxIndexedCopies
	})
	if n > maxIndexedCopies {
		return nil, err
	}
	return all, err
}

// inFunction is a function with code in which there are inlined copies.
type inFunction struct {
	u   *unit
	off int
}

// instancesIn makes the instances of inlined copies in one function, which are given in order.
func (in *Info) instancesIn(at inFunction, offs []int) (copies []*Instance) {
	d, ok := at.u.at(uint64(at.off))
	if !ok {
		return nil
	}
	own := in.function(d).Own()
	if own == nil || !d.children {
		return nil
	}
	// around is the inlined copies that the walk is in. Their instances are made when a copy in them is wanted.
	type level struct {
		depth, off int
		inst       *Instance
	}
	var around []level
	var c die
	instance := func(l *level, parent *Instance) *Instance {
		if l.inst == nil && c.read(at.u, d.table, l.off) {
			if l.inst = in.inlined(&c, c.pcRanges(maxRanges), parent); l.inst != nil && in.isRejoined(&c, l.inst) {
				l.inst = parent
			}
		}
		return l.inst
	}
	w := walker{u: at.u, t: d.table, pos: d.next}
	for depth := 1; depth > 0 && len(offs) > 0; {
		ab := w.next()
		if w.bad {
			break
		}
		if ab == nil {
			depth--
			if n := len(around); n > 0 && around[n-1].depth == depth {
				around = around[:n-1]
			}
			continue
		}
		if ab.tag == tagInlinedSubroutine && len(around) < maxInlineDepth {
			around = append(around, level{depth: depth, off: w.off})
			if w.off == offs[0] {
				offs = offs[1:]
				inst := own
				for i := range around {
					if inst = instance(&around[i], inst); inst == nil {
						break
					}
				}
				if inst != nil {
					copies = append(copies, inst)
				}
			}
			if !ab.children {
				around = around[:len(around)-1]
			}
		}
		for len(offs) > 0 && offs[0] <= w.off {
			offs = offs[1:]
		}
		if ab.children {
			depth++
		}
	}
	return copies
}

// rejoined tells a copy that is a piece of the function around it from a call. GCC parts a function of which callers
// need only the beginning (-fpartial-inlining; write of glibc 2.36 is one), and where the rest is put back, it is
// called where the function is declared, in a file that another unit (-flto) may number differently. Only a function
// that calls itself looks so, too, with both from one expansion of a macro, or in one line if columns are not told.
func rejoined(c, abstract *die) bool {
	is := func(call, decl uint16) bool {
		v, _ := c.num(call)
		declared, _, _ := abstract.inherited(decl)
		return !declared.isBlock() && v == declared.u
	}
	_, told := c.num(atCallLine)
	return told && is(atCallLine, atDeclLine) && is(atCallColumn, atDeclColumn) &&
		(c.u != abstract.u || is(atCallFile, atDeclFile))
}

// mayRecur tells whether a rejoined copy may be a call all the same: no column is told, or the function is in it again.
func (s *scanner) mayRecur(w walker, c *die, abstract entryKey) bool {
	if _, ok := c.num(atCallColumn); !ok {
		return true
	}
	var d die
	for depth := 1; c.children && depth > 0 && depth < maxDepth; {
		ab := w.next()
		switch {
		case w.bad:
			return true
		case ab == nil:
			depth--
			continue
		case ab.children:
			depth++
		}
		at := uint16(atAbstractOrigin)
		switch ab.tag {
		case tagCallSite:
			at = atCallOrigin
		case tagGNUCallSite, tagInlinedSubroutine:
		default:
			continue
		}
		if v, ok := d.at(&w, ab).get(at); ok {
			if o, ok := s.origin(c.u, v); ok && o.key() == abstract {
				return true
			}
		}
	}
	return false
}

// eachInlined calls yield with each inlined copy in a unit that has an attribute for code, the function around it that
// has code, and what it is a copy of. Pieces of a function that are put back into it are none; unsure: it may be one.
func (s *scanner) eachInlined(u *unit, yield func(d *die, function int, origin value, unsure bool)) {
	if u.typeOff != 0 || u.load().err != nil {
		return
	}
	t, err := s.abbrevs(u)
	if err != nil {
		return
	}
	w := walker{u: u, t: t, pos: u.first}
	// around is functions with code and copies that the walk is in; function is the last of the functions.
	type level struct {
		depth, function int
		of              reference
	}
	var around []level
	for depth := 0; depth < maxDepth; {
		ab := w.next()
		if w.bad {
			return
		}
		if ab == nil {
			depth--
			if n := len(around); n > 0 && around[n-1].depth == depth {
				around = around[:n-1]
			}
			continue
		}
		var of reference // of an entry with code
		if n := len(around); ab.tag == tagInlinedSubroutine && ab.has&hasPC != 0 && n > 0 {
			s.die.at(&w, ab)
			if v, ok := s.die.get(atAbstractOrigin); ok {
				of = v.reference()
				again, unsure := of == around[n-1].of, false
				if again {
					again, unsure = s.rejoined(w, v)
				}
				if !again || unsure {
					yield(&s.die, around[n-1].function, v, unsure)
				}
			}
		}
		switch {
		case !ab.children:
		case w.sibling != 0 && isType(ab.tag):
			w.pos = w.sibling
		default:
			switch {
			case ab.has&hasPC == 0:
			case ab.tag == tagSubprogram:
				s.die.at(&w, ab)
				if v, ok := s.die.get(atAbstractOrigin); ok {
					of = v.reference()
				}
				around = append(around, level{depth, w.off, of})
			case ab.tag == tagInlinedSubroutine && len(around) > 0:
				around = append(around, level{depth, around[len(around)-1].function, of})
			}
			depth++
		}
	}
}

// rejoined is rejoined of the entry that the walk is at. unsure: it may be a call all the same.
func (s *scanner) rejoined(w walker, origin value) (yes, unsure bool) {
	abstract, ok := s.origin(w.u, origin)
	if !ok || !rejoined(&s.die, abstract) {
		return false, false
	}
	return true, s.mayRecur(w, &s.die, abstract.key())
}

// origin follows a DW_AT_abstract_origin to its end. The entry is only valid until the next call.
func (s *scanner) origin(u *unit, v value) (*die, bool) {
	d, ok := s.follow(u, v)
	if !ok {
		return nil, false
	}
	for range maxOrigins {
		next, ok := d.get(atAbstractOrigin)
		if !ok {
			break
		}
		o, ok := s.follow(d.u, next)
		if !ok {
			break
		}
		d = o
	}
	return d, true
}

// identity is Info.identity of an abstract entry that a name alone tells apart. It makes no entries; what origin
// returned is not valid any more.
func (s *scanner) identity(abstract *die) (uint64, bool) {
	d, whole := *abstract, abstract.u.load().lang.WholeNames()
	for range maxOrigins {
		b := d.ownLinkage()
		if b == nil && whole {
			if v, ok := d.get(atName); ok {
				b = d.u.strBytes(v)
			}
		}
		if b != nil {
			return s.in.hash.of(b), true
		}
		v, ok := d.completes()
		if !ok {
			break
		}
		o, ok := s.follow(d.u, v)
		if !ok {
			break
		}
		d = *o
	}
	return 0, false
}

// inlineIndex counts the inlined copies of functions by identity.
type inlineIndex struct{ count map[uint64]int }

// inlineCounts counts the copies of all functions.
func (in *Info) inlineCounts() (*inlineIndex, error) {
	if in.inlines != nil {
		return in.inlines, nil
	}
	var mu sync.Mutex
	x := &inlineIndex{count: make(map[uint64]int)}
	later := make(map[entryKey]int) // copies of what has to be looked at more closely
	err := in.everyUnit(func(s *scanner, u *unit) bool {
		copies := s.emptied()
		s.eachInlined(u, func(d *die, _ int, origin value, unsure bool) {
			if !unsure && d.hasCode() {
				copies[origin.reference()]++
			}
		})
		ids, keys := make(map[uint64]int, len(copies)), make(map[entryKey]int)
		for r, n := range copies {
			d, ok := s.origin(u, r.value())
			if !ok {
				continue
			}
			key := d.key()
			if id, ok := s.identity(d); ok {
				ids[id] += n
			} else {
				keys[key] += n
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for id, n := range ids {
			x.count[id] += n
		}
		for key, n := range keys {
			later[key] += n
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	// In order, so that what is read of a unit serves all of its functions.
	keys := make([]entryKey, 0, len(later))
	for key := range later {
		keys = append(keys, key)
	}
	sortKeys(keys)
	var last *unit
	for _, key := range keys {
		if d, ok := in.entry(key); ok {
			if d.u != last {
				last = d.u
				in.passed(d.u)
			}
			x.count[in.identity(d, nil)] += later[key]
		}
	}
	in.inlines = x
	return x, nil
}

// entry reads the entry of a key.
func (in *Info) entry(key entryKey) (*die, bool) {
	f := in.files[key.file]
	if f.pkg != nil {
		for _, u := range f.pkg.units {
			if u.sec == key.sec && u.off <= key.off && key.off < u.end {
				return u.at(uint64(key.off))
			}
		}
		return nil, false
	}
	u := f.unitAt(key.sec, uint64(key.off))
	if u == nil {
		return nil, false
	}
	return u.at(uint64(key.off))
}

func sortKeys(keys []entryKey) {
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		if a.file != b.file {
			return a.file < b.file
		}
		return a.sec < b.sec || a.sec == b.sec && a.off < b.off
	})
}
