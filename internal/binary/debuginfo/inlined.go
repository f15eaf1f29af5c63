package debuginfo

import (
	"sort"
	"sync"

	"trocar/internal/binary/objfile"
)

// maxCopies bounds the inlined copies of one function.
const maxCopies = 1 << 20

// Copies returns the places where a function was inlined, by address.
func (in *Info) Copies(fn *Function) (copies []*Instance, err error) {
	copies, _, err = in.AllCopies(fn)
	return copies, err
}

// AllCopies is Copies, and empty is the number of copies that the optimizer left no instruction of their own.
func (in *Info) AllCopies(fn *Function) (copies []*Instance, empty int, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	x, err := in.functionNames()
	if err != nil {
		return nil, 0, err
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
	var mu sync.Mutex
	type found struct {
		u     *unit
		off   int
		entry uint64
		in    uint64 // an address in it: GCC's entry may be that of an instruction in front of the copy's own
	}
	var all []found
	err = in.everyUnit(func(s *scanner, u *unit) bool {
		if !units[u] {
			return true
		}
		s.eachInlined(u, func(d *die, origin entryKey) {
			if !origins[origin] {
				return
			}
			ranges := d.pcRanges(maxRanges)
			mu.Lock()
			if len(ranges) == 0 {
				empty++
			} else if len(all) < maxCopies {
				all = append(all, found{u, d.off, d.entryPC(ranges), ranges[0].Low})
			}
			mu.Unlock()
		})
		return true
	})
	if err != nil {
		return nil, 0, err
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].entry != all[j].entry {
			return all[i].entry < all[j].entry
		}
		return all[i].off < all[j].off
	})
	for _, f := range all {
		chain, err := in.instancesAt(f.in)
		if err != nil {
			continue
		}
		for _, i := range chain {
			if i.off == f.off && i.u == f.u {
				copies = append(copies, i)
			}
		}
	}
	return copies, empty, nil
}

// eachInlined calls yield with each inlined copy in a unit and what it is a copy of.
func (s *scanner) eachInlined(u *unit, yield func(d *die, origin entryKey)) {
	if u.typeOff != 0 || u.load().err != nil {
		return
	}
	t, err := s.abbrevs(u)
	if err != nil {
		return
	}
	w := walker{u: u, t: t, pos: u.first}
	for {
		ab := w.next()
		if w.bad {
			return
		}
		if ab == nil {
			continue
		}
		if ab.tag == tagInlinedSubroutine && ab.has&hasPC != 0 && s.die.read(u, t, w.off) {
			if v, ok := s.die.get(atAbstractOrigin); ok {
				if origin, ok := s.origin(u, v); ok {
					yield(&s.die, origin)
				}
			}
		}
		if ab.children && w.sibling != 0 && isType(ab.tag) {
			w.pos = w.sibling
		}
	}
}

// origin follows a DW_AT_abstract_origin to its end.
func (s *scanner) origin(u *unit, v value) (entryKey, bool) {
	d, ok := s.follow(u, v)
	if !ok {
		return entryKey{}, false
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
	return d.key(), true
}

// inlineIndex counts the inlined copies of functions by identity.
type inlineIndex struct{ count map[uint64]int }

// inlineCounts counts the copies of all functions.
func (in *Info) inlineCounts() (*inlineIndex, error) {
	if in.inlines != nil {
		return in.inlines, nil
	}
	var mu sync.Mutex
	total := make(map[entryKey]int)
	err := in.everyUnit(func(s *scanner, u *unit) bool {
		local := make(map[entryKey]int)
		s.eachInlined(u, func(d *die, key entryKey) {
			if d.hasCode() {
				local[key]++
			}
		})
		mu.Lock()
		for k, n := range local {
			total[k] += n
		}
		mu.Unlock()
		return true
	})
	if err != nil {
		return nil, err
	}
	// In order, so that what is read of a unit serves all of its functions.
	keys := make([]entryKey, 0, len(total))
	for key := range total {
		keys = append(keys, key)
	}
	sortKeys(keys)
	x := &inlineIndex{count: make(map[uint64]int)}
	var last *unit
	for _, key := range keys {
		if d, ok := in.entry(key); ok {
			if d.u != last {
				last = d.u
				in.passed(d.u)
			}
			x.count[in.identity(d, nil)] += total[key]
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
