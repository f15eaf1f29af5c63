package debuginfo

import (
	"errors"
	"fmt"
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

	unitsOnce sync.Once
	units     []*unit // of .debug_info, by offset
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

// maxUnits bounds the units of a file. Browsers with all type units have some hundred thousand, in files of their size: a
// small file that is unpacked may have fewer, since each takes half a kilobyte here.
func (f *file) maxUnits() int {
	const most, few, bytesForUnit = 1 << 18, 1 << 16, 128
	if s, ok := f.sec.(interface{ Size() uint64 }); ok {
		return few + int(min(s.Size()/bytesForUnit, most-few))
	}
	return most
}

// unitList returns the units of .debug_info. Only their headers are read.
func (f *file) unitList() []*unit {
	f.unitsOnce.Do(func() {
		var err error
		f.units, err = f.scanUnits(secInfo)
		if err == nil {
			f.typeUnits, err = f.scanUnits(secTypes)
		}
		if err != nil {
			f.blame(fmt.Errorf("%s: %w", f.name, err))
		}
	})
	return f.units
}

func (f *file) scanUnits(id sectionID) ([]*unit, error) {
	b := f.section(id)
	var units []*unit
	most := f.maxUnits()
	for off := 0; off < len(b); {
		u, err := f.parseUnit(id, b, off)
		if err != nil {
			return units, err
		}
		if u != nil {
			units = append(units, u)
			if len(units) > most {
				return units, errors.New("too many units")
			}
			off = u.end
			continue
		}
		off += 4 // a padding of zeros
	}
	return units, nil
}

// unitAt returns the unit of .debug_info (or .debug_types) that an offset lies in.
func (f *file) unitAt(id sectionID, off uint64) *unit {
	units := f.unitList()
	if id == secTypes {
		units = f.typeUnits
	}
	i := sort.Search(len(units), func(i int) bool { return uint64(units[i].end) > off })
	if i < len(units) && uint64(units[i].off) <= off {
		return units[i]
	}
	return nil
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
