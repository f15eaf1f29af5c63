package objfile

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
)

// funcTable is Go's table of functions (.gopclntab), which stays in stripped programs.
//
// Layouts by magic, all little-endian here: 1.2 (0xfffffffb), 1.16 (0xfffffffa), 1.18 (0xfffffff0), 1.20
// (0xfffffff1); see runtime/symtab.go (pcHeader) and debug/gosym/pclntab.go of the Go source.
type funcTable struct {
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
}

const maxGoFuncs = 1 << 24

// IsGo tells whether the file holds Go code: it has Go's function table or build information.
func (f *File) IsGo() bool {
	return f.goSection() != nil || f.section(".go.buildinfo") != nil
}

func (f *File) goSection() *Section {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if s := f.section(name); s != nil {
			return s
		}
	}
	return nil
}

// tablePlace is where Go's function table is, without its end.
type tablePlace struct {
	addr uint64
	data []byte // up to the end of the section
}

// tablePlace finds the table: by its section, or, where an external linker has put it into another with what else is
// read-only after relocation, by its header.
func (f *File) tablePlace() tablePlace {
	return f.pcln.get(func(p *tablePlace) {
		if s := f.goSection(); s != nil {
			*p = tablePlace{s.Addr, f.sectionBytes(s)}
			return
		}
		if f.section(".go.buildinfo") == nil {
			return
		}
		for _, name := range []string{".data.rel.ro", ".rodata"} {
			s := f.section(name)
			if s == nil || s.Type == shtNoBits || s.Flags&shfCompressed != 0 {
				continue
			}
			if data := f.sectionBytes(s); data != nil {
				if at := f.goHeader(data); at >= 0 {
					*p = tablePlace{s.Addr + uint64(at), data[at:]}
					return
				}
			}
		}
	})
}

// maxHeaders is how many places of the header's first bytes are looked at.
const maxHeaders = 1 << 12

// goHeader finds the header of Go's function table in a section; -1: it is not there.
func (f *File) goHeader(data []byte) int {
	rest := []byte{0xff, 0xff, 0xff, 0, 0} // behind the magic's first byte; then the quantum and the size of pointers
	for at, tries := 0, 0; tries < maxHeaders; tries++ {
		i := bytes.Index(data[at:], rest)
		if i < 0 {
			return -1
		}
		at += i + 1
		if start := at - 2; start >= 0 && start%8 == 0 && f.goTableAt(data[start:]) {
			return start
		}
	}
	return -1
}

// goTableAt tells whether what looks like the header of a table is one: its first functions are code, one behind the
// other, and have names.
func (f *File) goTableAt(d []byte) bool {
	if len(d) < 8 || d[6] != 1 && d[6] != 2 && d[6] != 4 {
		return false
	}
	t := f.parseGoTable(d, f.goTextSection)
	if t == nil {
		return false
	}
	last := uint64(0)
	for i := range min(t.n, 8) {
		entry, end, name, ok := t.at(i)
		if !ok || entry < last || end < entry || !f.Executable(entry) || cString(t.names, uint64(name)) == "" {
			return false
		}
		last = end
	}
	return true
}

func (f *File) funcTable() *funcTable {
	return f.funcs.get(func(p **funcTable) {
		if d := f.tablePlace().data; d != nil {
			*p = f.parseGoTable(d, f.goText)
		}
	})
}

// parseGoTable reads the header of a table. Text tells where Go's code begins if the header does not.
func (f *File) parseGoTable(d []byte, text func() uint64) *funcTable {
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
	t := &funcTable{field: ptr, nameFld: ptr}
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
		if t.text == 0 { // not written from 1.26 on: the text section's start
			t.text = text()
		}
		if t.text == 0 {
			return nil
		}
	default:
		return nil
	}
	if n == 0 || n > maxGoFuncs || (2*n+1)*uint64(t.field) > uint64(len(t.tab)) {
		return nil
	}
	t.n = int(n)
	return t
}

// goText is runtime.text: the start of Go's code, which is the text section except with external linking, where C code
// may come first.
func (f *File) goText() uint64 {
	// The module data begins with the address of the function table and has text behind 22 words (1.20 to 1.26).
	if a := f.goModuleText(); a != 0 {
		return a
	}
	return f.goTextSection()
}

func (f *File) goTextSection() uint64 {
	if s := f.section(".text"); s != nil {
		return s.Addr
	}
	return 0
}

// moduleText is the offset of text in runtime.moduledata.
const moduleText = 22 * 8

func (f *File) goModuleText() uint64 {
	if at := f.goModule(); at != 0 {
		return f.PointerAt(at + moduleText)
	}
	return 0
}

// goModule is the address of runtime.firstmoduledata, 0 if it is not found.
func (f *File) goModule() uint64 {
	return f.module.get(func(p *uint64) { *p = f.findGoModule() })
}

// findGoModule finds it by the address of the function table at its start.
func (f *File) findGoModule() uint64 {
	pcln := f.tablePlace()
	if pcln.data == nil || !f.is64 {
		return 0
	}
	for _, name := range []string{".go.module", ".noptrdata", ".data", ".data.rel.ro"} {
		s := f.section(name)
		if s == nil || s.Type == shtNoBits {
			continue
		}
		data := f.sectionBytes(s)
		// Addresses of position-independent programs are in relocations; those are only looked up where it may fit.
		for at := 0; at+moduleText+8 <= len(data) && at < 64<<20; at += 8 {
			v := u64(data, at)
			if v != pcln.addr && v != 0 {
				continue
			}
			if f.PointerAt(s.Addr+uint64(at)) != pcln.addr {
				continue
			}
			text := f.PointerAt(s.Addr + uint64(at) + moduleText)
			if f.Executable(text) {
				return s.Addr + uint64(at)
			}
		}
	}
	return 0
}

func (t *funcTable) fieldAt(i int) uint64 {
	if t.field == 8 {
		return u64(t.tab, 8*i)
	}
	return u32(t.tab, 4*i)
}

// at gives the i-th function's entry, end and offset of its name.
func (t *funcTable) at(i int) (entry, end uint64, name uint32, ok bool) {
	entry, end = t.text+t.fieldAt(2*i), t.text+t.fieldAt(2*i+2)
	off, size := t.fieldAt(2*i+1), uint64(len(t.funcs))
	if off > size || size-off < uint64(t.nameFld)+4 || end < entry {
		return 0, 0, 0, false
	}
	off += uint64(t.nameFld)
	return entry, end, uint32(u32(t.funcs, int(off))), true
}

// tableFunctions yields the functions of Go's table that may have a name.
func (f *File) tableFunctions(want sought, yield func(*Symbol) bool) bool {
	t := f.funcTable()
	if t == nil {
		return true
	}
	if found, ok := f.candidates(t, want); ok {
		for _, i := range found {
			if !f.tableFunction(t, int(i), yield) {
				return false
			}
		}
		return true
	}
	for i := range t.n {
		if !f.tableFunction(t, i, yield) {
			return false
		}
	}
	return true
}

func (f *File) tableFunction(t *funcTable, i int, yield func(*Symbol) bool) bool {
	entry, end, name, ok := t.at(i)
	if !ok || !f.Executable(entry) {
		return true
	}
	s := Symbol{Name: cString(t.names, uint64(name)), Addr: entry, Size: end - entry}
	// Names in angle brackets or with a blank are the linker's own marks ("go:buildid", "type:.eq." are functions).
	if s.Name == "" || strings.HasPrefix(s.Name, "go:") {
		return true
	}
	return yield(&s)
}

func (x *addrIndex) addTable(f *File) {
	t := f.funcTable()
	if t == nil || len(x.strs) == math.MaxUint8 {
		return
	}
	table := uint8(len(x.strs))
	x.strs = append(x.strs, t.names)
	for i := range t.n {
		if entry, end, name, ok := t.at(i); ok && f.Executable(entry) {
			x.entries = append(x.entries, indexEntry{
				addr: entry, size: uint32(min(end-entry, math.MaxUint32)), name: name, table: table,
			})
		}
	}
}
