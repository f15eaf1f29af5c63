package debuginfo

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"sync"
	"sync/atomic"

	"trocar/internal/binary/cfi"
	"trocar/internal/binary/objfile"
)

var errShort = errors.New("debug info ends within an entry")

// Sections gives the sections of an object file. *objfile.File does.
type Sections = cfi.Sections

// sectionID names a DWARF section.
type sectionID uint8

const (
	secInfo sectionID = iota
	secTypes
	secAbbrev
	secStr
	secLineStr
	secStrOffsets
	secAddr
	secRanges
	secRnglists
	secLoc
	secLoclists
	secLine
	secAranges
	secCUIndex
	secTUIndex
	numSections
)

var sectionNames = [numSections]string{
	"info", "types", "abbrev", "str", "line_str", "str_offsets", "addr", "ranges", "rnglists", "loc", "loclists", "line",
	"aranges", "cu_index", "tu_index",
}

// file is one file with DWARF: the program's or its separate debug file, a .dwo or .dwp, or dwz's common file.
type file struct {
	info *Info
	name string
	sec  Sections
	dwo  bool // sections are named .debug_*.dwo
	alt  *file
	from *file // the same file of the Info that this one's is a fork of: sections come from there
	id   int   // among the files of an Info

	mu   sync.Mutex
	data [numSections]atomic.Pointer[[]byte]
	err  error // the first damage found; what could be read before it counts

	abbrevs abbrevCache

	unitsMu   sync.Mutex
	units     []*unit // of .debug_info, by offset, as far as they were asked for
	scanned   int     // the end of them
	complete  bool    // they are all units, and so are typeUnits
	typeUnits []*unit // of .debug_types (DWARF 4), by offset
	sigsOnce  sync.Once
	sigs      map[uint64]*unit // type units by signature

	pkgOnce sync.Once
	pkg     *dwp
}

// section returns the content of a DWARF section, nil if there is none.
func (f *file) section(id sectionID) []byte {
	if b := f.data[id].Load(); b != nil {
		return *b
	}
	if f.from != nil {
		b := f.from.section(id)
		f.data[id].Store(&b)
		return b
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.data[id].Load(); b != nil {
		return *b
	}
	name := ".debug_" + sectionNames[id]
	if f.dwo && id < secAranges {
		name += ".dwo"
	}
	b, err := f.read(id, name)
	if err != nil {
		if !errors.Is(err, objfile.ErrNoSection) {
			f.note(fmt.Errorf("%s: %s: %w", f.name, name, err))
		}
		b = nil
	}
	f.data[id].Store(&b)
	return b
}

// read reads a section. A .dwo file has its type units in sections of their own, one each: what is in them refers to
// nothing outside of its unit, so they can be put together.
func (f *file) read(id sectionID, name string) ([]byte, error) {
	if m, ok := f.sec.(interface {
		Joined(string) ([]byte, error)
	}); ok && f.dwo && (id == secInfo || id == secTypes) {
		return m.Joined(name)
	}
	return f.sec.Data(name)
}

// upTo is a section of which the first n bytes are needed, which need not be read for that as a whole.
func (f *file) upTo(id sectionID, n int) []byte {
	if f.wholly() {
		return f.section(id)
	}
	if f.from != nil {
		return f.from.upTo(id, n)
	}
	if b := f.data[id].Load(); b != nil {
		return *b
	}
	parts, ok := f.sec.(partial)
	if !ok {
		return f.section(id)
	}
	b, err := parts.DataTo(".debug_"+sectionNames[id], uint64(n))
	if err != nil {
		return f.section(id)
	}
	return b
}

// size is that of a section, of which nothing need have been read.
func (f *file) size(id sectionID) int { return len(f.upTo(id, 0)) }

// partial gives sections of which only a first part is asked for. *objfile.File does.
type partial interface {
	DataTo(name string, n uint64) ([]byte, error)
}

// wholly tells whether sections of the file are read as a whole.
func (f *file) wholly() bool { return f.dwo }

// note keeps the first damage found. f.mu is held, or the file is only known here.
func (f *file) note(err error) {
	if f.err == nil {
		f.err = err
	}
}

// blame is note for those who don't hold f.mu; nil is no damage.
func (f *file) blame(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(err)
}

func (f *file) damage() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// maxUnits bounds the units of a file. Browsers with all type units have some hundred thousand, in files of their size:
// a small file that is unpacked may have fewer, since each takes half a kilobyte here.
func (f *file) maxUnits() int {
	const most, few, bytesForUnit = 1 << 18, 1 << 16, 128
	if s, ok := f.sec.(interface{ Size() uint64 }); ok {
		return few + int(min(s.Size()/bytesForUnit, most-few))
	}
	return most
}

// unitList returns the units of .debug_info. Only their headers are read.
func (f *file) unitList() []*unit {
	f.unitsMu.Lock()
	defer f.unitsMu.Unlock()
	if f.complete {
		return f.units
	}
	f.complete = true
	f.section(secInfo) // for what is damaged, and in the units that were found without the rest
	err := f.scanUnits(secInfo, math.MaxInt, &f.units, &f.scanned)
	if err == nil {
		at := 0
		err = f.scanUnits(secTypes, math.MaxInt, &f.typeUnits, &at)
	}
	if err != nil {
		f.blame(fmt.Errorf("%s: %w", f.name, err))
	}
	return f.units
}

// unitHeader is what the header of a unit has at most (DWARF 5, 7.5.1), twice.
const unitHeader = 80

// scanUnits reads the headers of units from *at on, until one ends behind an offset.
func (f *file) scanUnits(id sectionID, end int, units *[]*unit, at *int) error {
	most := f.maxUnits()
	size := f.size(id)
	for *at < size && (len(*units) == 0 || (*units)[len(*units)-1].end <= end) {
		u, err := f.parseUnit(id, f.upTo(id, *at+unitHeader), *at)
		if err != nil {
			return err
		}
		if u != nil {
			*units = append(*units, u)
			if len(*units) > most {
				return errors.New("too many units")
			}
			*at = u.end
			continue
		}
		*at += 4 // a padding of zeros
	}
	return nil
}

// unitAt returns the unit of .debug_info (or .debug_types) that an offset lies in.
func (f *file) unitAt(id sectionID, off uint64) *unit {
	units := f.unitsTo(id, off)
	i := sort.Search(len(units), func(i int) bool { return uint64(units[i].end) > off })
	if i < len(units) && uint64(units[i].off) <= off {
		return units[i]
	}
	return nil
}

// unitsTo returns the units as far as that which an offset lies in, or more. What is damaged behind it is not found.
func (f *file) unitsTo(id sectionID, off uint64) []*unit {
	if id == secTypes {
		f.unitList()
		return f.typeUnits
	}
	if f.wholly() || off > math.MaxInt32 {
		return f.unitList()
	}
	f.unitsMu.Lock()
	if f.complete {
		defer f.unitsMu.Unlock()
		return f.units
	}
	err := f.scanUnits(id, int(off), &f.units, &f.scanned)
	units := f.units
	f.unitsMu.Unlock()
	if err != nil || len(units) == 0 {
		return f.unitList()
	}
	f.upTo(id, units[len(units)-1].end)
	return units
}

// typeUnit returns the unit that describes the type of a signature.
func (f *file) typeUnit(sig uint64) *unit {
	f.sigsOnce.Do(func() {
		f.sigs = make(map[uint64]*unit)
		f.unitList()
		for _, list := range [][]*unit{f.typeUnits, f.units} {
			for _, u := range list {
				if u.typeOff != 0 {
					if _, ok := f.sigs[u.sig]; !ok {
						f.sigs[u.sig] = u
					}
				}
			}
		}
	})
	return f.sigs[sig]
}
