package objfile

import (
	"math"
	"strings"
)

// Bind is the binding of a symbol.
type Bind uint8

// Bindings, in the order in which a name is preferred for an address.
const (
	Global Bind = iota
	Weak
	Local
)

// Symbol is one function (or other piece of code) as a symbol table names it.
type Symbol struct {
	Name    string // as in the file, without a version; mangled
	Version string // "GLIBC_2.2.5", or ""
	Default bool   // the version is the one new programs are linked to (name@@version)
	Addr    uint64
	Size    uint64 // 0: not known
	Bind    Bind
	IFunc   bool // the code at Addr is not the function, but chooses and returns it (STT_GNU_IFUNC)
	NoType  bool // an assembler label that is not declared to be a function
}

// FullName is the name with its version, as nm -D shows it.
func (s *Symbol) FullName() string {
	switch {
	case s.Version == "":
		return s.Name
	case s.Default:
		return s.Name + "@@" + s.Version
	}
	return s.Name + "@" + s.Version
}

const (
	sttNoType = 0
	sttFunc   = 2
	sttIFunc  = 10

	// maxSymbols bounds the symbols read of one table. Browsers with all their debug information have some million.
	maxSymbols = 1 << 23

	shnUndef     = 0
	shnLoReserve = 0xff00
)

// symTable is a symbol table and its strings, both views.
type symTable struct {
	syms, strs []byte
	versym     []byte // .gnu.version: one entry of 16 bits a symbol; nil: none
	ent        int
}

// Stripped tells whether only what the file exports has names: it has no symbol table, and neither has a debug file.
func (f *File) Stripped() bool {
	return f.managed == nil && f.section(".symtab") == nil && f.Debug() == nil && f.miniDebug() == nil &&
		f.FuncTable() == nil
}

// table finds a symbol table section with its strings.
func (f *File) table(name string) symTable {
	if f.managed != nil && name == ".symtab" {
		return f.methods()
	}
	s := f.section(name)
	if s == nil || s.Type == shtNoBits || s.Link >= uint32(len(f.sections)) {
		return symTable{}
	}
	return f.makeTable(f.sectionBytes(s), f.sectionBytes(&f.sections[s.Link]))
}

func (f *File) sectionBytes(s *Section) []byte {
	data, err := f.content(s, math.MaxUint64)
	if err != nil {
		return nil
	}
	return data
}

func (f *File) makeTable(syms, strs []byte) symTable {
	t := symTable{syms: syms, strs: strs, ent: 16}
	if f.is64 {
		t.ent = 24
	}
	// A file may have any size without taking room on a disk.
	t.syms = syms[:min(len(syms), maxSymbols*t.ent)]
	if len(strs) > math.MaxUint32 {
		t.strs = strs[:math.MaxUint32]
	}
	return t
}

// dynTable is the dynamic symbol table, found by its section or, in files without section headers, by PT_DYNAMIC.
func (f *File) dynTable() symTable {
	t := f.table(".dynsym")
	if len(t.syms) > 0 {
		if v := f.section(".gnu.version"); v != nil {
			t.versym = f.sectionBytes(v)
		}
		return t
	}
	return f.dynamicInfo().table
}

func (t *symTable) len() int { return len(t.syms) / max(t.ent, 1) }

// begins tells whether the name at an offset is want, or want with something behind that is no part of the name.
func (t *symTable) begins(name uint32, want string) bool {
	end := uint64(name) + uint64(len(want))
	if end >= uint64(len(t.strs)) || view(t.strs[name:end]) != want {
		return false
	}
	c := t.strs[end]
	return c == 0 || c == '@' || c == '.' || c == '('
}

// rawSym is a symbol as in the file.
type rawSym struct {
	name        uint32
	info        byte
	shndx       uint16
	value, size uint64
}

func (t *symTable) at(i int) (r rawSym) {
	b := t.syms[i*t.ent:]
	r.name = uint32(u32(b, 0))
	if t.ent == 24 {
		r.info, r.shndx, r.value, r.size = b[4], uint16(u16(b, 6)), u64(b, 8), u64(b, 16)
	} else {
		r.value, r.size, r.info, r.shndx = u32(b, 4), u32(b, 8), b[12], uint16(u16(b, 14))
	}
	return r
}

func (r *rawSym) typ() byte { return r.info & 15 }

// code tells whether the symbol names code that is defined in the file.
func (r *rawSym) code() bool {
	switch r.typ() {
	case sttFunc, sttIFunc, sttNoType:
		return r.shndx != shnUndef && r.shndx < shnLoReserve || r.shndx == 0xffff
	}
	return false
}

func (r *rawSym) bind() Bind {
	switch r.info >> 4 {
	case 0:
		return Local
	case 2:
		return Weak
	}
	return Global // also STB_GNU_UNIQUE
}

// Functions calls yield for every symbol that names code of this file, until it returns false: those of the file's own
// tables, then, if it has no full table, those of its separate debug file, its mini debug info and its table of
// functions. An address may come several times, under several names or from several tables.
//
// The symbol's Name is a view that is only good until yield returns: clone what is kept (see Guard).
func (f *File) Functions(yield func(*Symbol) bool) (err error) {
	defer Guard(&err)()
	own := f.table(".symtab")
	if all := (sought{}); f.walkOwn(all, yield) && own.len() <= 1 {
		_ = f.walkDebug(all, yield) && f.walkMini(all, yield) && f.tableFunctions(all, yield)
	}
	return nil
}

// walkOwn walks the two tables of the file itself.
func (f *File) walkOwn(want sought, yield func(*Symbol) bool) bool {
	own, dyn := f.table(".symtab"), f.dynTable()
	return f.walk(&own, want, yield) && f.walk(&dyn, want, yield)
}

// walkDebug walks the table of the separate debug file.
func (f *File) walkDebug(want sought, yield func(*Symbol) bool) bool {
	d := f.Debug()
	if d == nil {
		return true
	}
	t := d.table(".symtab")
	return f.walk(&t, want, yield)
}

// walkMini walks the table of the mini debug info.
func (f *File) walkMini(want sought, yield func(*Symbol) bool) bool {
	m := f.miniDebug()
	if m == nil {
		return true
	}
	t := m.table(".symtab")
	return f.walk(&t, want, yield)
}

// Symbols may have the same name, of which the file has the text once; so names together can be longer than the string
// table. Where they are much longer, and long, nobody wrote them: such symbols are left out, since a file of some
// megabytes would have gigabytes of names.
const (
	sharedNames = 1 << 20 // together, beyond twice the string table
	longName    = 64
)

// walk yields the code symbols of a table: those that begin with the name wanted and go on at most with a version or
// the mark of a clone, all with "". Addresses are judged by f, since a debug file has no content of its own.
func (f *File) walk(t *symTable, want sought, yield func(*Symbol) bool) bool {
	begins := want.name
	if want.readable {
		begins = ""
	}
	if found, ok := f.candidates(t, want); ok {
		for _, i := range found {
			if !f.walkRange(t, begins, int(i), int(i)+1, yield) {
				return false
			}
		}
		return true
	}
	return f.walkRange(t, begins, 1, t.len(), yield)
}

// walkRange is walk for some of the table's symbols.
func (f *File) walkRange(t *symTable, want string, from, to int, yield func(*Symbol) bool) bool {
	v := f.versions()
	var s Symbol
	var seg *Segment
	left := 2*len(t.strs) + sharedNames
	for i := from; i < to; i++ {
		r := t.at(i)
		if !r.code() || r.value == 0 || want != "" && !t.begins(r.name, want) {
			continue
		}
		if seg == nil || r.value-seg.Addr >= seg.FileSize {
			if seg = f.segmentAt(r.value); seg == nil {
				continue
			}
		}
		if !seg.Exec {
			continue
		}
		name := cString(t.strs, uint64(r.name))
		if name == "" || name[0] == '$' && r.typ() == sttNoType { // "$x" and "$d" of arm64 are marks, not names
			continue
		}
		if left -= len(name); left < 0 && len(name) >= longName {
			continue
		}
		s = Symbol{
			Name: name, Addr: r.value, Size: r.size, Bind: r.bind(),
			IFunc: r.typ() == sttIFunc, NoType: r.typ() == sttNoType,
		}
		if t.versym != nil {
			s.Version, s.Default = v.of(t.versym, i)
		} else if at := strings.IndexByte(name, '@'); at > 0 && v.any {
			s.Name, s.Version = name[:at], name[at+1:]
			if strings.HasPrefix(s.Version, "@") {
				s.Version, s.Default = s.Version[1:], true
			}
		}
		if !yield(&s) {
			return false
		}
	}
	return true
}

// versions holds the names of symbol versions by their index.
type versions struct {
	names map[uint16]string
	any   bool // the file has versions at all
}

const (
	shtGNUVerDef  = 0x6ffffffd
	shtGNUVerNeed = 0x6ffffffe
)

// of gives the version of a symbol of the dynamic table.
func (v *versions) of(versym []byte, i int) (name string, isDefault bool) {
	if 2*i+2 > len(versym) {
		return "", false
	}
	n := uint16(u16(versym, 2*i))
	// Bit 15 marks a version that is not the default ("hidden"); indexes 0 and 1 mean none (LSB, "Symbol Versioning").
	name = v.names[n&0x7fff]
	return name, name != "" && n&0x8000 == 0
}

func (f *File) versions() *versions {
	return f.vers.get(func(p **versions) {
		v := &versions{names: map[uint16]string{}}
		*p = v
		for i := range f.sections {
			s := &f.sections[i]
			if s.Type != shtGNUVerDef && s.Type != shtGNUVerNeed || s.Link >= uint32(len(f.sections)) {
				continue
			}
			v.any = true
			data, strs := f.sectionBytes(s), f.sectionBytes(&f.sections[s.Link])
			if s.Type == shtGNUVerDef {
				v.readDefs(data, strs)
			} else {
				v.readNeeds(data, strs)
			}
		}
	})
}

// readDefs reads .gnu.version_d: Verdef records of 20 bytes with Verdaux behind, chained by relative offsets.
func (v *versions) readDefs(data, strs []byte) {
	for at := uint64(0); at+20 <= uint64(len(data)) && len(v.names) < 1<<15; {
		d := data[at:]
		flags, index, aux, next := u16(d, 2), uint16(u16(d, 4)), u32(d, 12), u32(d, 16)
		// The base definition (VER_FLG_BASE) names the file itself.
		if flags&1 == 0 && at+aux+8 <= uint64(len(data)) {
			v.names[index] = strings.Clone(cString(strs, u32(data[at+aux:], 0)))
		}
		if next == 0 {
			return
		}
		at += next
	}
}

// readNeeds reads .gnu.version_r: Verneed records of 16 bytes, each with a chain of Vernaux.
func (v *versions) readNeeds(data, strs []byte) {
	for at := uint64(0); at+16 <= uint64(len(data)) && len(v.names) < 1<<15; {
		n := data[at:]
		count, aux, next := u16(n, 2), at+u32(n, 8), u32(n, 12)
		for ; count > 0 && aux+16 <= uint64(len(data)); count-- {
			a := data[aux:]
			v.names[uint16(u16(a, 6))] = strings.Clone(cString(strs, u32(a, 8)))
			step := u32(a, 12)
			if step == 0 {
				break
			}
			aux += step
		}
		if next == 0 {
			return
		}
		at += next
	}
}
