package pclntab

import (
	"bytes"
	"encoding/binary"
	"strings"
	"sync"

	"trocar/internal/binary/objfile"
)

// Table is a program's table of functions. It may be used by several goroutines.
//
// Layouts by magic, all little-endian here: 1.2 (0xfffffffb), 1.16 (0xfffffffa), 1.18 (0xfffffff0), 1.20
// (0xfffffff1); see runtime/symtab.go (pcHeader) and debug/gosym/pclntab.go of the Go source.
type Table struct {
	f     *objfile.File
	place place

	names   []byte // function names
	pctab   []byte // values by address
	cutab   []byte // 32 bits for each file of a compilation unit: where its name is in files
	files   []byte
	funcs   []byte // _func records; offsets of functab count from its start
	tab     []byte // functab: pairs of entry and offset, then the end of the last function
	n       int
	field   int    // size of a functab field: 4, or the pointer's before 1.18
	text    uint64 // added to entries, from 1.18
	nameFld int    // where nameOff is in a _func: behind the entry
	flagFld int    // where flag is; 0: there is none

	once      sync.Once
	module    uint64 // address of runtime.firstmoduledata; 0: not found
	inlinedIn inlineIndex
}

const maxFuncs = 1 << 24

// Read finds the table of a file; nil: it has none.
func Read(f *objfile.File) objfile.FuncTable {
	p, ok := findTable(f)
	if !ok {
		return nil
	}
	t := parse(f, p.data)
	if t == nil {
		return nil
	}
	t.place = p
	// Not written from 1.26 on: the start of Go's code, which is the text section except with external linking, where C
	// code may come first. The module data has it.
	if t.field == 4 && t.text == 0 {
		if at := t.moduleAt(); at != 0 {
			t.text = f.PointerAt(at + moduleText)
		}
		if t.text == 0 {
			t.text = textSection(f)
		}
		if t.text == 0 {
			return nil
		}
	}
	return t
}

// Of is the table of a file that was opened with Read among its readers; nil, which tells nothing: it has none.
func Of(f *objfile.File) *Table {
	t, _ := f.FuncTable().(*Table)
	return t
}

func tableSection(f *objfile.File) (s objfile.Section, ok bool) {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if s, ok = f.Section(name); ok {
			return s, true
		}
	}
	return s, false
}

// place is where the table is, without its end.
type place struct {
	addr uint64
	data []byte // up to the end of the section
}

// findTable finds the table: by its section, or, where an external linker has put it into another with what else is
// read-only after relocation, by its header.
func findTable(f *objfile.File) (p place, ok bool) {
	if s, ok := tableSection(f); ok {
		data, err := f.Data(s.Name)
		return place{s.Addr, data}, err == nil
	}
	if _, ok := f.Section(buildInfo); !ok {
		return p, false
	}
	for _, name := range []string{".data.rel.ro", ".rodata"} {
		s, ok := f.Section(name)
		if !ok || s.Compressed() {
			continue
		}
		if data, err := f.Data(name); err == nil {
			if at := findHeader(f, data); at >= 0 {
				return place{s.Addr + uint64(at), data[at:]}, true
			}
		}
	}
	return p, false
}

// maxHeaders is how many places of the header's first bytes are looked at.
const maxHeaders = 1 << 12

// findHeader finds the header of the table in a section; -1: it is not there.
func findHeader(f *objfile.File, data []byte) int {
	rest := []byte{0xff, 0xff, 0xff, 0, 0} // behind the magic's first byte; then the quantum and the size of pointers
	for at, tries := 0, 0; tries < maxHeaders; tries++ {
		i := bytes.Index(data[at:], rest)
		if i < 0 {
			return -1
		}
		at += i + 1
		if start := at - 2; start >= 0 && start%8 == 0 && tableAt(f, data[start:]) {
			return start
		}
	}
	return -1
}

// tableAt tells whether what looks like the header of a table is one: its first functions are code, one behind the
// other, and have names.
func tableAt(f *objfile.File, d []byte) bool {
	if len(d) < 8 || d[6] != 1 && d[6] != 2 && d[6] != 4 {
		return false
	}
	t := parse(f, d)
	if t == nil {
		return false
	}
	if t.text == 0 && t.field == 4 {
		t.text = textSection(f)
	}
	last := uint64(0)
	for i := range min(t.n, 8) {
		entry, end, name, ok := t.At(i)
		if !ok || entry < last || end < entry || !f.Executable(entry) || len(t.name(uint64(name))) == 0 {
			return false
		}
		last = end
	}
	return true
}

// parse reads the header of a table.
func parse(f *objfile.File, d []byte) *Table {
	if len(d) < 8 || d[4] != 0 || d[5] != 0 || d[7] != 4 && d[7] != 8 {
		return nil
	}
	ptr := int(d[7])
	word := func(i int) uint64 { // the i-th word of the header behind its 8 bytes
		at := 8 + i*ptr
		if at+ptr > len(d) {
			return 0
		}
		if ptr == 8 {
			return u64(d, at)
		}
		return u32(d, at)
	}
	from := func(off uint64) []byte {
		if off >= uint64(len(d)) {
			return nil
		}
		return d[off:]
	}
	t := &Table{f: f, field: ptr, nameFld: ptr}
	var n uint64
	switch binary.LittleEndian.Uint32(d) {
	case 0xfffffffb:
		n, t.names, t.funcs, t.tab = word(0), d, d, from(uint64(8+ptr))
	case 0xfffffffa:
		n, t.names, t.funcs = word(0), from(word(2)), from(word(6))
		t.tab = t.funcs
	case 0xfffffff0, 0xfffffff1:
		n, t.text, t.names, t.funcs = word(0), word(2), from(word(3)), from(word(7))
		t.cutab, t.files, t.pctab = from(word(4)), from(word(5)), from(word(6))
		t.tab, t.field, t.nameFld, t.flagFld = t.funcs, 4, 4, funcFlag
		if d[0] == 0xf0 {
			t.flagFld = 37
		}
	default:
		return nil
	}
	if n == 0 || n > maxFuncs || (2*n+1)*uint64(t.field) > uint64(len(t.tab)) {
		return nil
	}
	t.n = int(n)
	return t
}

func textSection(f *objfile.File) uint64 {
	s, _ := f.Section(".text")
	return s.Addr
}

func (t *Table) fieldAt(i int) uint64 {
	if t.field == 8 {
		return u64(t.tab, 8*i)
	}
	return u32(t.tab, 4*i)
}

// Len is the number of functions.
func (t *Table) Len() int { return t.n }

// At gives the i-th function's entry, end and offset of its name in Names.
func (t *Table) At(i int) (entry, end uint64, name uint32, ok bool) {
	entry, end = t.text+t.fieldAt(2*i), t.text+t.fieldAt(2*i+2)
	off, size := t.fieldAt(2*i+1), uint64(len(t.funcs))
	if off > size || size-off < uint64(t.nameFld)+4 || end < entry {
		return 0, 0, 0, false
	}
	off += uint64(t.nameFld)
	return entry, end, uint32(u32(t.funcs, int(off))), true
}

// Names are the names of functions, each with a zero byte behind it.
func (t *Table) Names() []byte { return t.names }

// Mark tells the names of the linker's own marks ("go:buildid"), which are no functions ("type:.eq." are).
func (t *Table) Mark(name string) bool { return strings.HasPrefix(name, "go:") }

// name is the name at an offset, as a view.
func (t *Table) name(off uint64) []byte { return text(t.names, off) }

// maxName bounds a name, those of generic functions with their types.
const maxName = 1 << 16

// text is the text up to a zero byte at an offset, as a view; nil: it is not inside.
func text(table []byte, off uint64) []byte {
	if off >= uint64(len(table)) {
		return nil
	}
	b := table[off:]
	b = b[:min(len(b), maxName)]
	return b[:max(bytes.IndexByte(b, 0), 0)]
}

func u32(b []byte, at int) uint64 { return uint64(binary.LittleEndian.Uint32(b[at:])) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
