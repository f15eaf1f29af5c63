package debuginfo

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"trocar/internal/binary/objfile"
)

// Line is a place in the source.
type Line struct {
	File   string
	Line   int
	Column int // 0: unknown
}

func (l Line) String() string { return fmt.Sprintf("%s:%d", l.File, l.Line) }

// LineAt returns the line that the instruction at an address comes from; ErrNotFound (wrapped) if none is known.
func (in *Info) LineAt(addr uint64) (line Line, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, u := range in.unitsAt(addr) {
		lt, err := u.lineHeader()
		if err != nil || lt == nil {
			continue
		}
		if row, ok := lt.rowAt(addr); ok && row.line != 0 {
			return Line{lt.path(uint64(row.file)), int(row.line), int(row.col)}, nil
		}
	}
	return Line{}, fmt.Errorf("a source line of %#x in %s: %w", addr, in.src.Path, ErrNotFound)
}

// Site is an address at which the code of a line begins.
type Site struct {
	Addr uint64
	Line
	Chain []*Instance // what the code came from: inlined copies, innermost first, and last the function
}

// maxSites bounds the addresses of one line: a line of a template or inline function is in many places.
const maxSites = 1 << 16

// SitesOf returns where the code of a line begins, by address: one address for each function, and for each inlined
// copy, that has code of it. The file may be given by the last parts of its path. column 0 means any. If the line has
// no code, the sites are those of the next line of the same file that has some; no sites mean that there is no such
// line.
func (in *Info) SitesOf(file string, line, column int) (sites []Site, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	best := -1 // the line found
	type start struct {
		addr uint64
		Line
	}
	var starts []start
	for _, u := range in.main.unitList() {
		if u.typeOff != 0 || u.kind == utPartial {
			continue
		}
		if u.load().err != nil {
			continue
		}
		lt, err := u.lineHeader()
		if err != nil || lt == nil {
			continue
		}
		files := lt.matching(file)
		if files == nil {
			continue
		}
		lt.decode()
		for i, row := range lt.rows {
			if row.flags&rowStmt == 0 || row.flags&rowEnd != 0 || int(row.line) < line || !files[row.file] ||
				column != 0 && int(row.line) == line && int(row.col) != column {
				continue
			}
			if best >= 0 && int(row.line) > best {
				continue
			}
			if i > 0 && lt.rows[i-1].flags&rowEnd == 0 && lt.rows[i-1].line == row.line && lt.rows[i-1].file == row.file &&
				column == 0 {
				continue // goes on
			}
			if int(row.line) != best {
				best, starts = int(row.line), starts[:0]
			}
			if len(starts) < maxSites {
				starts = append(starts, start{row.addr, Line{lt.path(uint64(row.file)), int(row.line), int(row.col)}})
			}
		}
	}
	sort.Slice(starts, func(i, j int) bool { return starts[i].addr < starts[j].addr })
	// Of the addresses in one function, or one inlined copy, the first is where the line is entered.
	type owner struct {
		key  entryKey
		line int
	}
	seen := make(map[owner]bool)
	for _, s := range starts {
		chain, err := in.instancesAt(s.addr)
		if err != nil {
			continue
		}
		o := owner{entryKey{chain[0].u.f.id, chain[0].u.sec, chain[0].off}, s.Line.Line}
		if seen[o] {
			continue
		}
		seen[o] = true
		sites = append(sites, Site{s.addr, s.Line, chain})
	}
	return sites, nil
}

// matching returns which of the unit's files a path means, nil if none.
func (lt *lineTable) matching(file string) map[uint32]bool {
	base := path.Base(file)
	var found map[uint32]bool
	for i, f := range lt.files {
		if len(f.name) < len(base) || !strings.HasSuffix(string(f.name), base) {
			continue
		}
		p := lt.path(uint64(i))
		if p == path.Clean(file) || strings.HasSuffix(p, "/"+strings.TrimPrefix(path.Clean(file), "./")) {
			if found == nil {
				found = make(map[uint32]bool)
			}
			found[uint32(i)] = true
		}
	}
	return found
}

// Files lists the source files that the units name, by path.
func (in *Info) Files() (files []string, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	seen := make(map[string]bool)
	for _, u := range in.main.unitList() {
		if u.typeOff != 0 || u.load().err != nil {
			continue
		}
		lt, err := u.lineHeader()
		if err != nil || lt == nil {
			continue
		}
		for i := range lt.files {
			if p := lt.path(uint64(i)); p != "" && !seen[p] {
				seen[p] = true
				files = append(files, p)
			}
		}
	}
	sort.Strings(files)
	return files, nil
}

// LinesOf lists the lines of a file that have code, with their lowest address, by line.
func (in *Info) LinesOf(file string) (lines []Site, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	lowest := make(map[Line]uint64)
	for _, u := range in.main.unitList() {
		if u.typeOff != 0 || u.load().err != nil {
			continue
		}
		lt, err := u.lineHeader()
		if err != nil || lt == nil {
			continue
		}
		files := lt.matching(file)
		if files == nil {
			continue
		}
		lt.decode()
		for _, row := range lt.rows {
			if row.flags&(rowStmt|rowEnd) != rowStmt || row.line == 0 || !files[row.file] {
				continue
			}
			l := Line{File: lt.path(uint64(row.file)), Line: int(row.line)}
			if at, ok := lowest[l]; !ok || row.addr < at {
				lowest[l] = row.addr
			}
		}
	}
	for l, addr := range lowest {
		lines = append(lines, Site{Addr: addr, Line: l})
	}
	sort.Slice(lines, func(i, j int) bool {
		if lines[i].File != lines[j].File {
			return lines[i].File < lines[j].File
		}
		return lines[i].Line.Line < lines[j].Line.Line
	})
	return lines, nil
}
