package debuginfo

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/opener"
	"trocar/internal/binary/section"
)

// splitFiles are the .dwo and .dwp files that have been opened.
type splitFiles struct {
	byPath map[string]*file
	failed map[string]error
	pkgs   []*file // .dwp
	tried  bool    // to find them
	open   []io.Closer
}

// maxSplitFiles bounds the files that one program makes us open.
const maxSplitFiles = 1 << 16

// Close closes the files that were opened on the way. The Info must not be used afterwards.
func (in *Info) Close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed.Store(true)
	var errs []error
	for _, c := range in.split.open {
		errs = append(errs, c.Close())
	}
	in.split = splitFiles{failed: in.split.failed}
	return errors.Join(errs...)
}

// openPath opens a file that the debug info names, where it is found first.
func (in *Info) openPath(name string) (Sections, string, error) {
	if in.src.Open == nil {
		return nil, "", fmt.Errorf("%s: other files are not read", name)
	}
	paths := []string{name}
	if in.src.Paths != nil {
		paths = in.src.Paths(name)
	}
	var first error
	for _, path := range paths {
		s, err := in.src.Open(path)
		if err == nil {
			in.adopt(s)
			return s, path, nil
		}
		// That a file is not there says less than that it is, but must not be read.
		if first == nil || errors.Is(first, fs.ErrNotExist) {
			first = err
		}
	}
	return nil, "", first
}

// realDir is the folder of a file of ours, without links.
func realDir(path string) string {
	if real, err := (opener.Root{}).Resolve(path); err == nil {
		path = real
	}
	return filepath.Dir(path)
}

// adopt has a file closed with the Info.
func (in *Info) adopt(s Sections) {
	if c, ok := s.(io.Closer); ok {
		in.split.open = append(in.split.open, c)
	}
}

// openSplit finds the unit that has the entries of a skeleton: in the program's .dwp, or in its own .dwo file.
func (in *Info) openSplit(skeleton *unit) (*unit, error) {
	ro := skeleton.root
	sp := &in.split
	if !sp.tried {
		sp.tried = true
		for _, path := range []string{in.src.Path, in.src.DebugAt} {
			if path == "" {
				continue
			}
			if sec, at, err := in.openPath(path + ".dwp"); err == nil {
				f := in.newFile(at, sec)
				f.dwo = true
				sp.pkgs = append(sp.pkgs, f)
				break
			}
		}
	}
	for _, f := range sp.pkgs {
		if u, ok := f.pkgUnit(ro.dwoID); ok {
			u.once.Do(func() { u.root = u.readRoot(skeleton) })
			return u, u.root.err
		}
	}
	f, err := in.openDwo(ro)
	if err != nil {
		what := "a part of the debug info"
		if ro.name != "" { // DWARF 5 keeps it there too
			what = "the debug info of " + ro.name
		}
		return nil, fmt.Errorf("%s is in %s, which cannot be read: %w", what, ro.dwoName, err)
	}
	for _, u := range f.unitList() {
		if u.kind == utType || u.kind == utSplitType {
			continue
		}
		u.once.Do(func() { u.root = u.readRoot(skeleton) })
		if u.root.err == nil && u.root.dwoID == ro.dwoID {
			return u, nil
		}
	}
	return nil, fmt.Errorf("%s belongs to another build than %s", f.name, in.src.Path)
}

// openDwo opens a .dwo file: where the compiler put it, or beside the program.
func (in *Info) openDwo(ro *root) (*file, error) {
	name := ro.dwoName
	paths := []string{name}
	if !filepath.IsAbs(name) {
		paths[0] = filepath.Join(ro.compDir, name)
	}
	if in.src.Path != "" {
		dir := realDir(in.src.Path)
		if !filepath.IsAbs(name) {
			paths = append(paths, filepath.Join(dir, name))
		}
		paths = append(paths, filepath.Join(dir, filepath.Base(name)))
	}
	for _, dir := range in.src.Dirs {
		if !filepath.IsAbs(name) {
			paths = append(paths, filepath.Join(dir, name))
		}
		paths = append(paths, filepath.Join(dir, filepath.Base(name)))
	}
	sp := &in.split
	if sp.byPath == nil {
		sp.byPath, sp.failed = make(map[string]*file), make(map[string]error)
	}
	if len(sp.byPath)+len(sp.failed) > maxSplitFiles {
		return nil, errors.New("too many files")
	}
	var first error
	for _, path := range paths {
		if f := sp.byPath[path]; f != nil {
			return f, nil
		}
		err := sp.failed[path]
		if err == nil {
			var sec Sections
			var at string
			if sec, at, err = in.openPath(path); err == nil {
				f := in.newFile(at, sec)
				f.dwo = true
				sp.byPath[path] = f
				return f, nil
			}
			sp.failed[path] = err
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// contribution tells where the parts of a unit begin in the sections of a .dwp file.
type contribution struct {
	off  [numSections]uint64
	info uint64
	size uint64
}

// dwp is the index of a .dwp file (DWARF 5, 7.3.5; version 2 is GNU's for DWARF 4).
type dwp struct {
	cus, tus map[uint64]*contribution
	units    map[uint64]*unit
}

// maxPackaged bounds the units of a .dwp file.
const maxPackaged = 1 << 22

func (f *file) pkgIndex() *dwp {
	f.pkgOnce.Do(func() {
		f.pkg = &dwp{units: make(map[uint64]*unit)}
		f.pkg.cus = parseIndex(f.section(secCUIndex))
		f.pkg.tus = parseIndex(f.section(secTUIndex))
	})
	return f.pkg
}

func parseIndex(b []byte) map[uint64]*contribution {
	r := section.Reader{Data: b}
	version := r.U32()
	if version&0xffff == 5 {
		version = 5
	}
	sections, units, slots := r.U32(), r.U32(), r.U32()
	if r.Bad || version != 2 && version != 5 || sections == 0 || sections > 32 || units > maxPackaged || slots > 1<<24 {
		return nil
	}
	sigs := section.Reader{Data: r.Bytes(8 * uint64(slots))}
	rows := section.Reader{Data: r.Bytes(4 * uint64(slots))}
	ids := make([]sectionID, sections)
	for i := range ids {
		ids[i] = packagedSection(version, r.U32())
	}
	table := r.Bytes(4 * uint64(sections) * uint64(units))
	sizes := r.Bytes(4 * uint64(sections) * uint64(units))
	if r.Bad {
		return nil
	}
	index := make(map[uint64]*contribution, units)
	for range slots {
		sig, row := sigs.U64(), rows.U32()
		if row == 0 || row > units {
			continue
		}
		c := new(contribution)
		off := section.Reader{Data: table, Pos: int(4 * sections * (row - 1))}
		size := section.Reader{Data: sizes, Pos: int(4 * sections * (row - 1))}
		for _, id := range ids {
			o, n := uint64(off.U32()), uint64(size.U32())
			if id < numSections {
				c.off[id] = o
			}
			if id == secInfo || id == secTypes {
				c.info, c.size = o, n
			}
		}
		index[sig] = c
	}
	return index
}

// packagedSection is the section that a number in the index stands for.
func packagedSection(version, id uint32) sectionID {
	switch id {
	case 1:
		return secInfo
	case 2:
		if version == 2 {
			return secTypes
		}
	case 3:
		return secAbbrev
	case 4:
		return secLine
	case 5:
		if version == 2 {
			return secLoc
		}
		return secLoclists
	case 6:
		return secStrOffsets
	case 8:
		if version == 5 {
			return secRnglists
		}
	}
	return numSections
}

// pkgUnit returns a compilation unit of a .dwp file.
func (f *file) pkgUnit(id uint64) (*unit, bool) {
	p := f.pkgIndex()
	return f.packaged(p, p.cus[id], secInfo)
}

// pkgTypeUnit returns the type unit of a signature in a .dwp file.
func (f *file) pkgTypeUnit(sig uint64) *unit {
	if !f.dwo {
		return nil
	}
	p := f.pkgIndex()
	c := p.tus[sig]
	sec := secTypes
	if len(f.section(secTypes)) == 0 {
		sec = secInfo
	}
	u, ok := f.packaged(p, c, sec)
	if !ok || u.typeOff == 0 {
		return nil
	}
	u.load()
	return u
}

func (f *file) packaged(p *dwp, c *contribution, sec sectionID) (*unit, bool) {
	if c == nil {
		return nil, false
	}
	key := c.info<<1 | uint64(sec&1)
	if u := p.units[key]; u != nil {
		return u, true
	}
	b := f.section(sec)
	if c.info >= uint64(len(b)) {
		return nil, false
	}
	u, err := f.parseUnit(sec, b, int(c.info))
	if err != nil || u == nil {
		return nil, false
	}
	u.pkg = c
	p.units[key] = u
	return u, true
}

// openAlt opens the file that dwz moved common parts to, if the debug info refers to one: .gnu_debugaltlink, or
// .debug_sup of DWARF 5 (7.3.6).
func (in *Info) openAlt() error {
	var name, id []byte
	if b, err := in.src.Debug.Data(".gnu_debugaltlink"); err == nil {
		r := section.Reader{Data: b}
		name = r.CString()
		id = r.Data[r.Pos:]
	} else if b, err := in.src.Debug.Data(".debug_sup"); err == nil {
		r := section.Reader{Data: b}
		r.U16()
		supplementary := r.U8()
		name = r.CString()
		id = r.Bytes(r.ULEB())
		if supplementary != 0 {
			return nil
		}
	}
	if len(name) == 0 || len(name) > maxPath || len(id) > 64 {
		return nil
	}
	paths := []string{string(name)}
	if !filepath.IsAbs(paths[0]) {
		paths[0] = filepath.Join(realDir(in.src.DebugAt), paths[0])
	}
	if len(id) > 1 {
		byID := fmt.Sprintf(".build-id/%x/%x.debug", id[:1], id[1:])
		for _, dir := range append(slices.Clone(in.src.Dirs), opener.DebugDir) {
			paths = append(paths, filepath.Join(dir, byID))
		}
	}
	var first error
	for _, path := range paths {
		sec, at, err := in.openPath(path)
		if err == nil && len(id) > 0 && !bytes.Equal(buildID(sec), id) {
			err = fmt.Errorf("%s belongs to another build than %s", at, in.src.DebugAt)
		}
		if err == nil {
			in.main.alt = in.newFile(at, sec)
			return nil
		}
		if first == nil {
			first = err
		}
	}
	if in.src.Fetch != nil && len(id) > 0 {
		sec, path, err := in.src.Fetch(hex.EncodeToString(id))
		if err == nil {
			in.adopt(sec)
			in.main.alt = in.newFile(path, sec)
			return nil
		}
		first = err
	}
	return fmt.Errorf("parts of the debug info of %s are in %s, which cannot be read: %w", in.src.DebugAt, name, first)
}

// buildID is the build id of a file.
func buildID(sec Sections) []byte {
	b, err := sec.Data(".note.gnu.build-id")
	if err != nil {
		return nil
	}
	r := section.Reader{Data: b}
	nameLen, descLen, kind := r.U32(), r.U32(), r.U32()
	r.Bytes(uint64(nameLen+3) &^ 3)
	desc := r.Bytes(uint64(descLen))
	if r.Bad || kind != 3 {
		return nil
	}
	return desc
}

var _ Sections = (*objfile.File)(nil)
