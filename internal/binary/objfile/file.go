package objfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/clr"
	"trocar/internal/binary/opener"
)

// ErrNotELF is what Open returns (wrapped) for a file that is no ELF file.
var ErrNotELF = errors.New("not an ELF file")

// Values of e_type.
const (
	TypeExec = 2
	TypeDyn  = 3
	TypeCore = 4
)

// Limits that no honest file reaches.
const (
	maxSegments = 4096
	maxSections = 1 << 20
)

// Segment is a PT_LOAD program header: what is mapped where.
type Segment struct {
	Offset, Addr     uint64 // in the ELF image, and as linked
	FileSize, MemSiz uint64
	Exec, Write      bool
}

// Section is one section header. Data is found by File.Data.
type Section struct {
	Name         string
	Type         uint32
	Flags        uint64
	Addr         uint64
	Offset, Size uint64
	Link, Info   uint32
	EntSize      uint64
}

// File is one opened ELF file.
type File struct {
	path    string
	archive string // path of the zip file this is a member of, or ""
	mapped  []byte // the whole file as mapped; nil for New
	data    []byte // the ELF image in it
	base    uint64 // offset of the image in the mapped file

	is64        bool
	machine     uint16 // e_machine
	arch        *abi.Arch
	typ         uint16
	entry       uint64
	segments    []Segment
	sections    []Section
	dyn         struct{ off, size uint64 } // PT_DYNAMIC in the file
	noteRegions []region
	tls         *tlsSegment // nil: none
	interp      region      // the path of the dynamic linker that it asks for; empty: none

	room      *Room
	unpacking sync.Mutex
	taken     [][]byte // of room
	packedOf  map[*Section]*packed

	debugDirs  []string
	fetchDebug func(buildID string) (string, error)
	debugErr   error
	readers    []TableReader // of functions

	managed     *clr.Image // nil: an ELF file
	methodTable lazy[symTable]

	notes     lazy[[]note]
	debug     lazy[*File]
	mini      lazy[*File]
	dynamic   lazy[*dynamic]
	vers      lazy[*versions]
	functions lazy[FuncTable]
	index     struct {
		sync.Mutex
		x *addrIndex // nil: not made yet, or given back
	}
	relocs  lazy[map[uint64]uint64]
	vtables lazy[[]vtable]
	names   nameIndexes
	matched struct { // by the last pattern
		sync.Mutex
		by    patternKey
		funcs []Func // nil: none yet, or given back
	}
}

// lazy makes a value once. What a fault interrupts (see Guard) stays as far as it was made.
type lazy[T any] struct {
	once sync.Once
	v    T
}

func (l *lazy[T]) get(build func(*T)) T {
	l.once.Do(func() {
		var err error
		defer Guard(&err)()
		build(&l.v)
	})
	return l.v
}

// Open maps the ELF file at path. The form "archive.zip!/member" opens a member that is stored without compression, as
// the dynamic linker of Android does.
func Open(path string) (*File, error) {
	if archive, member, ok := splitArchive(path); ok {
		return openMember(path, archive, member)
	}
	mapped, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	f, err := newFile(path, mapped, 0, uint64(len(mapped)))
	if err != nil {
		unix.Munmap(mapped)
		return nil, err
	}
	return f, nil
}

// New reads an ELF image that is in memory, such as the vDSO. The data must not change while the File is used.
func New(name string, data []byte) (*File, error) {
	f := &File{path: name, data: data, room: new(Room)}
	if err := f.parse(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func newFile(path string, mapped []byte, base, size uint64) (*File, error) {
	f := &File{path: path, mapped: mapped, data: mapped[base : base+size], base: base, room: new(Room)}
	if err := f.parse(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// mapFile maps a regular file read-only.
func mapFile(path string) ([]byte, error) {
	f, err := opener.Root{}.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	defer f.Close()
	return mapFD(path, int(f.Fd()))
}

// openError: what is no regular file is no ELF file either.
func openError(path string, err error) error {
	if errors.Is(err, opener.ErrNotRegular) {
		return fmt.Errorf("%s: %w (not a regular file)", path, ErrNotELF)
	}
	return err
}

func mapFD(path string, fd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("%s: %w (not a regular file)", path, ErrNotELF)
	}
	if st.Size < 16 || st.Size != int64(int(st.Size)) {
		return nil, fmt.Errorf("%s: %w (%d bytes)", path, ErrNotELF, st.Size)
	}
	// Shared, though it is only read: a private mapping of a file that may be executed counts as one to place breakpoints
	// in (valid_vma in kernel/events/uprobes.c). The kernel decodes a probed instruction once, for the process that it
	// comes across first; were that us, the code of 32-bit programs would be taken for 64-bit code, and crash.
	data, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err == unix.ENODEV { // file systems that map privately only, as FUSE's may
		data, err = unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_PRIVATE)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "mmap", Path: path, Err: err}
	}
	return data, nil
}

// Close unmaps the file and its separate debug file. Nothing of it may be used afterwards.
func (f *File) Close() error {
	// A debug file that was never asked for stays unopened.
	if d := f.debug.get(func(**File) {}); d != nil {
		d.Close()
	}
	if m := f.mini.get(func(**File) {}); m != nil {
		m.Close()
	}
	f.unpacking.Lock()
	for _, b := range f.taken {
		f.giveBack(b)
	}
	f.taken, f.packedOf = nil, nil
	f.unpacking.Unlock()
	data := f.mapped
	f.mapped, f.data = nil, nil
	if data == nil {
		return nil
	}
	return unix.Munmap(data)
}

// Evict gives the memory back that reading large parts of the file took: pages are read again when they are needed.
// Views stay valid.
func (f *File) Evict() {
	if f.mapped != nil {
		_ = unix.Madvise(f.mapped, unix.MADV_DONTNEED) // of a file, only the page tables forget it
	}
}

// Path is the path given to Open.
func (f *File) Path() string { return f.path }

// AttachPath is the path of the file that the kernel must be told: the archive of a member, else Path.
func (f *File) AttachPath() string {
	if f.archive != "" {
		return f.archive
	}
	return f.path
}

// Base is the offset of the ELF image in AttachPath: not 0 for a member of an archive.
func (f *File) Base() uint64 { return f.base }

// Arch is the CPU the file is made for, nil if it is not known: files of others can be listed but not probed.
func (f *File) Arch() *abi.Arch { return f.arch }

// CPU is the name, for people, of the CPU that the file is made for, known or not.
func (f *File) CPU() string { return abi.MachineName(f.machine) }

// Is64 tells whether the file is of the 64-bit class.
func (f *File) Is64() bool { return f.is64 }

// Type is e_type: TypeExec, TypeDyn, …
func (f *File) Type() int { return int(f.typ) }

// Entry is the address of the program's first instruction, 0 for most libraries.
func (f *File) Entry() uint64 { return f.entry }

// Size is the size of the ELF image in bytes.
func (f *File) Size() uint64 { return uint64(len(f.data)) }

// Segments are the PT_LOAD headers in the file's order. The caller must not change them.
func (f *File) Segments() []Segment { return f.segments }

// Sections are the section headers. The caller must not change them.
func (f *File) Sections() []Section { return f.sections }

func (f *File) parse() (err error) {
	defer Guard(&err)()
	d := f.data
	if len(d) >= len(clr.Magic) && string(d[:len(clr.Magic)]) == clr.Magic {
		return f.parseManaged()
	}
	if len(d) < 20 || string(d[:4]) != "\x7fELF" {
		return ErrNotELF
	}
	if d[5] != 1 {
		return fmt.Errorf("%w for this CPU (big-endian)", ErrNotELF)
	}
	switch d[4] {
	case 1:
	case 2:
		f.is64 = true
	default:
		return fmt.Errorf("%w (class %d)", ErrNotELF, d[4])
	}
	ehsize := 52
	if f.is64 {
		ehsize = 64
	}
	if len(d) < ehsize {
		return fmt.Errorf("%w (cut short)", ErrNotELF)
	}
	f.typ = binary.LittleEndian.Uint16(d[16:])
	f.machine = binary.LittleEndian.Uint16(d[18:])
	f.arch = abi.ByELF(f.machine, d[4])
	var phoff, shoff uint64
	var phent, phnum, shent, shnum, shstr uint64
	if f.is64 {
		f.entry = u64(d, 24)
		phoff, shoff = u64(d, 32), u64(d, 40)
		phent, phnum, shent, shnum, shstr = u16(d, 54), u16(d, 56), u16(d, 58), u16(d, 60), u16(d, 62)
	} else {
		f.entry = u32(d, 24)
		phoff, shoff = u32(d, 28), u32(d, 32)
		phent, phnum, shent, shnum, shstr = u16(d, 42), u16(d, 44), u16(d, 46), u16(d, 48), u16(d, 50)
	}
	f.parseSections(shoff, shent, shnum, shstr, &phnum)
	return f.parseSegments(phoff, phent, phnum)
}

// parseSections reads the section headers. They are not needed to run a program, so damaged ones are taken as absent.
func (f *File) parseSections(off, ent, num, str uint64, phnum *uint64) {
	want := uint64(40)
	if f.is64 {
		want = 64
	}
	if off == 0 || ent < want || off >= uint64(len(f.data)) {
		return
	}
	read := func(i uint64) (s Section, name uint64, ok bool) {
		h := f.slice(off+i*ent, want)
		if h == nil {
			return s, 0, false
		}
		name = u32(h, 0)
		s.Type = uint32(u32(h, 4))
		if f.is64 {
			s.Flags, s.Addr, s.Offset, s.Size = u64(h, 8), u64(h, 16), u64(h, 24), u64(h, 32)
			s.Link, s.Info, s.EntSize = uint32(u32(h, 40)), uint32(u32(h, 44)), u64(h, 56)
		} else {
			s.Flags, s.Addr, s.Offset, s.Size = u32(h, 8), u32(h, 12), u32(h, 16), u32(h, 20)
			s.Link, s.Info, s.EntSize = uint32(u32(h, 24)), uint32(u32(h, 28)), u32(h, 36)
		}
		return s, name, true
	}
	first, _, ok := read(0)
	if !ok {
		return
	}
	// Numbers that do not fit the header are in the first section header (gABI, "ELF header").
	if num == 0 {
		num = first.Size
	}
	if str == 0xffff {
		str = uint64(first.Link)
	}
	if *phnum == 0xffff {
		*phnum = uint64(first.Info)
	}
	if num > maxSections || num*ent > uint64(len(f.data)) || str >= num {
		return
	}
	strSec, _, ok := read(str)
	if !ok {
		return
	}
	names := f.slice(strSec.Offset, strSec.Size)
	sections := make([]Section, 0, num)
	for i := range num {
		s, name, ok := read(i)
		if !ok {
			return
		}
		s.Name = strings.Clone(cString(names, name))
		sections = append(sections, s)
	}
	f.sections = sections
}

const (
	ptLoad    = 1
	ptDynamic = 2
	ptInterp  = 3
	ptNote    = 4
	ptTLS     = 7
	shtNote   = 7
	shtNoBits = 8
)

func (f *File) parseSegments(off, ent, num uint64) error {
	want := uint64(32)
	if f.is64 {
		want = 56
	}
	if num > maxSegments || (num > 0 && ent < want) {
		return fmt.Errorf("damaged ELF file: %d program headers of %d bytes", num, ent)
	}
	for i := range num {
		h := f.slice(off+i*ent, want)
		if h == nil {
			return fmt.Errorf("damaged ELF file: program header %d lies outside of the file", i)
		}
		var s Segment
		var flags, align uint64
		typ := u32(h, 0)
		if f.is64 {
			flags = u32(h, 4)
			s.Offset, s.Addr, s.FileSize, s.MemSiz, align = u64(h, 8), u64(h, 16), u64(h, 32), u64(h, 40), u64(h, 48)
		} else {
			s.Offset, s.Addr, s.FileSize, s.MemSiz = u32(h, 4), u32(h, 8), u32(h, 16), u32(h, 20)
			flags, align = u32(h, 24), u32(h, 28)
		}
		switch typ {
		case ptLoad:
			if s.Addr+s.MemSiz < s.Addr || s.Offset+s.FileSize < s.Offset {
				return fmt.Errorf("damaged ELF file: segment %d wraps around", i)
			}
			s.Exec, s.Write = flags&1 != 0, flags&2 != 0
			f.segments = append(f.segments, s)
		case ptTLS:
			f.tls = &tlsSegment{addr: s.Addr, size: s.MemSiz, align: align}
		case ptInterp:
			f.interp = region{s.Offset, s.FileSize, align}
		case ptDynamic:
			f.dyn.off, f.dyn.size = s.Offset, s.FileSize
		case ptNote:
			f.addNotes(region{s.Offset, s.FileSize, align})
		}
	}
	for i := range f.sections {
		if s := &f.sections[i]; s.Type == shtNote {
			f.addNotes(region{s.Offset, s.Size, 4})
		}
	}
	return nil
}

func (f *File) addNotes(r region) {
	if len(f.noteRegions) < maxRegions {
		f.noteRegions = append(f.noteRegions, r)
	}
}

// slice is the part of the image at [off, off+n), nil if it is not wholly inside.
func (f *File) slice(off, n uint64) []byte {
	if size := uint64(len(f.data)); off > size || n > size-off {
		return nil
	}
	return f.data[off : off+n : off+n]
}

// Offset gives the file offset (in AttachPath) of an address: by the PT_LOAD segment that holds it, an executable one
// if several do.
func (f *File) Offset(addr uint64) (uint64, bool) {
	s := f.segmentAt(addr)
	if s == nil {
		return 0, false
	}
	return f.base + s.Offset + (addr - s.Addr), true
}

// Addr gives the address that is mapped from a file offset (in AttachPath): in an executable segment if several
// segments hold it.
func (f *File) Addr(offset uint64) (uint64, bool) {
	if offset < f.base {
		return 0, false
	}
	offset -= f.base
	found := -1
	for i := range f.segments {
		s := &f.segments[i]
		if offset >= s.Offset && offset-s.Offset < s.FileSize && (found < 0 || s.Exec && !f.segments[found].Exec) {
			found = i
		}
	}
	if found < 0 {
		return 0, false
	}
	s := &f.segments[found]
	return s.Addr + (offset - s.Offset), true
}

// Bias is what the addresses of code are moved by where n bytes of the file from offset on are mapped at start. The
// first of them may belong to another segment, whose last page the file shares with it.
func (f *File) Bias(start, offset, n uint64) (uint64, bool) {
	offset -= f.base
	for i := range f.segments {
		if s := &f.segments[i]; s.Exec && s.Offset < offset+n && s.Offset+s.FileSize > offset {
			return start - offset + s.Offset - s.Addr, true
		}
	}
	return 0, false
}

// segmentAt finds the segment whose bytes of the file hold addr.
func (f *File) segmentAt(addr uint64) *Segment {
	var found *Segment
	for i := range f.segments {
		s := &f.segments[i]
		if addr >= s.Addr && addr-s.Addr < s.FileSize && (found == nil || s.Exec && !found.Exec) {
			found = s
		}
	}
	return found
}

// Executable tells whether an address lies in code.
func (f *File) Executable(addr uint64) bool {
	s := f.segmentAt(addr)
	return s != nil && s.Exec
}

// Bytes is the file's content at an address: at most n bytes, fewer at the end of the segment, none outside. It is a
// view (see Guard).
func (f *File) Bytes(addr uint64, n int) []byte {
	s := f.segmentAt(addr)
	if s == nil || n <= 0 {
		return nil
	}
	return f.slice(s.Offset+(addr-s.Addr), min(uint64(n), s.FileSize-(addr-s.Addr)))
}

// section finds a section by name.
func (f *File) section(name string) *Section {
	for i := range f.sections {
		if f.sections[i].Name == name {
			return &f.sections[i]
		}
	}
	return nil
}

// Section finds a section by name.
func (f *File) Section(name string) (Section, bool) {
	if s := f.section(name); s != nil {
		return *s, true
	}
	return Section{}, false
}

// IsExecutable tells whether the file can hold code that runs: a program or a library.
func (f *File) IsExecutable() bool { return f.typ == TypeExec || f.typ == TypeDyn }

// Interpreter is the path of the dynamic linker that a program asks for; "": it loads no libraries, or is one.
func (f *File) Interpreter() string {
	if f.interp.size > maxPath {
		return ""
	}
	text, _, _ := strings.Cut(string(f.slice(f.interp.off, f.interp.size)), "\x00")
	return text
}

// maxPath is the longest path that the kernel takes (PATH_MAX).
const maxPath = 4096

func u16(b []byte, at int) uint64 { return uint64(binary.LittleEndian.Uint16(b[at:])) }
func u32(b []byte, at int) uint64 { return uint64(binary.LittleEndian.Uint32(b[at:])) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
