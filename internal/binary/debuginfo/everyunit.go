package debuginfo

import (
	"hash/maphash"
	"runtime"
	"sync"

	"trocar/internal/binary/objfile"
)

// scanner goes through units one after another with memory of its own, for work that several do at once.
type scanner struct {
	in    *Info
	table abbrevTable
	unit  *unit // being gone through
	last  *unit // whose abbreviations are in table
	die   die
	aux   die

	copies  map[reference]int
	classes map[farType]class // of texts' types in other units
}

// emptied is a map for counting what a unit refers to.
func (s *scanner) emptied() map[reference]int {
	if s.copies == nil {
		s.copies = make(map[reference]int)
	}
	clear(s.copies)
	return s.copies
}

// abbrevs reads the unit's abbreviations into the scanner's memory.
func (s *scanner) abbrevs(u *unit) (*abbrevTable, error) {
	s.unit = u
	data, off := u.abbrevs()
	if l := s.last; l != nil && l.f == u.f && l.format == u.format {
		if _, lastOff := l.abbrevs(); lastOff == off {
			return &s.table, nil
		}
	}
	s.last = nil
	if err := s.table.parse(data, off, u.format, 0); err != nil {
		return nil, err
	}
	s.last = u
	return &s.table, nil
}

// follow reads the entry a reference leads to into s.aux if it is in the same unit, else with memory of its own.
func (s *scanner) follow(u *unit, v value) (*die, bool) {
	if v.inUnit() && u == s.unit && v.u < uint64(u.end) {
		return &s.aux, s.aux.read(u, &s.table, int(v.u))
	}
	return u.ref(v)
}

// everyUnit calls visit for each unit of the program with code or types, several at once. in.mu is held. What visit
// returns false for ends the scan early.
func (in *Info) everyUnit(visit func(s *scanner, u *unit) bool) error {
	list := in.main.unitList()
	if in.main.alt != nil {
		list = append(list[:len(list):len(list)], in.main.alt.unitList()...)
	}
	workers := max(1, min(runtime.GOMAXPROCS(0), 8, len(list)))
	units := make(chan *unit)
	stop := make(chan struct{})
	var once sync.Once
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			defer objfile.Guard(&errs[n])()
			s := scanner{in: in}
			for u := range units {
				if !visit(&s, u) {
					once.Do(func() { close(stop) })
				}
			}
		})
	}
	var err error
	func() {
		defer close(units)
		defer objfile.Guard(&err)()
		for _, u := range list {
			in.passed(u)
			if u.typeOff == 0 {
				full, splitErr := u.full(in) // may open files: not by the workers
				if splitErr == nil {
					u = full
				} else if u.load().err == nil {
					in.main.blame(splitErr)
				}
			} else {
				u.load()
			}
			select {
			case units <- u:
			case <-stop:
				return
			}
		}
	}()
	wg.Wait()
	for _, e := range errs {
		if e != nil && err == nil {
			err = e
		}
	}
	return err
}

// evictAfter is how much debug info is gone through before the memory of its pages is given back.
const evictAfter = 8 << 20

// passed counts a unit that a scan comes to. Without it, a scan would end with the whole file in memory.
func (in *Info) passed(u *unit) {
	in.scanned += u.end - u.off
	if in.scanned < evictAfter {
		return
	}
	in.evict()
}

// Evict gives the memory of its pages back. What they gave stays valid.
func (in *Info) Evict() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.evict()
}

func (in *Info) evict() {
	in.scanned = 0
	for _, f := range in.files {
		if m, ok := f.sec.(interface{ Evict() }); ok {
			m.Evict()
		}
	}
}

// nameHash hashes names for the indexes.
type nameHash struct{ seed maphash.Seed }

func (h nameHash) of(name []byte) uint64 { return maphash.Bytes(h.seed, name) }

func newNameHash() nameHash { return nameHash{maphash.MakeSeed()} }
