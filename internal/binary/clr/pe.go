package clr

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Errors of Open, wrapped.
var (
	// ErrNotManaged is a file that is no PE image, or one without .NET's header.
	ErrNotManaged error = fault("not a .NET assembly")
	errDamaged    error = fault("damaged .NET assembly")
)

// fault is an error that needs nothing to be run when the package is loaded.
type fault string

func (f fault) Error() string { return string(f) }

// Section is a part of the image: what is mapped where.
type Section struct {
	Name           string
	Addr, Size     uint32 // as mapped
	Offset, Stored uint32 // in the file
	Exec, Write    bool
}

// Image is one assembly. It may be used by several goroutines.
type Image struct {
	data     []byte
	Machine  Machine
	sections []Section

	meta   metadata
	native native

	once   sync.Once
	bodies []Body
	err    error
}

// Machine is what the code compiled ahead of time is made for, by the number in the PE header.
type Machine uint16

// withEnds is the machine whose table of functions has the end of each, which no other is read of: Linux on x86-64.
const withEnds Machine = 0xfd1d

// Limits that no honest file reaches.
const (
	maxSections = 96 // of the Windows loader
	maxNames    = 64 << 20
)

// Magic is what a PE image begins with.
const Magic = "MZ"

// Open reads the headers. The data must not change.
func Open(data []byte) (*Image, error) {
	im := &Image{data: data}
	if len(data) < 0x40 || string(data[:len(Magic)]) != Magic {
		return nil, ErrNotManaged
	}
	pe := int64(u32(data, 0x3c))
	head := im.file(pe, 24)
	if head == nil || string(head[:4]) != "PE\x00\x00" {
		return nil, ErrNotManaged
	}
	im.Machine = Machine(u16(head, 4))
	count, optional := int(u16(head, 6)), int64(u16(head, 20))
	opt := im.file(pe+24, optional)
	if len(opt) < 2 {
		return nil, fmt.Errorf("%w: its header is cut short", errDamaged)
	}
	directories := 96
	switch u16(opt, 0) {
	case 0x10b:
	case 0x20b:
		directories = 112
	default:
		return nil, fmt.Errorf("%w (optional header %#x)", ErrNotManaged, u16(opt, 0))
	}
	const managed = 14 // IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR
	at := directories + 8*managed
	if len(opt) < at+8 || u32(opt, directories-4) <= managed || u32(opt, at) == 0 {
		return nil, ErrNotManaged
	}
	if count > maxSections {
		return nil, fmt.Errorf("%w: %d sections", errDamaged, count)
	}
	for i := range count {
		h := im.file(pe+24+optional+40*int64(i), 40)
		if h == nil {
			return nil, fmt.Errorf("%w: section %d lies outside of the file", errDamaged, i)
		}
		const exec, write = 0x20000000, 0x80000000
		flags := u32(h, 36)
		im.sections = append(im.sections, Section{
			Name: strings.TrimRight(string(h[:8]), "\x00"),
			Size: u32(h, 8), Addr: u32(h, 12), Stored: u32(h, 16), Offset: u32(h, 20),
			Exec: flags&exec != 0, Write: flags&write != 0,
		})
	}
	if !slices.IsSortedFunc(im.sections, func(a, b Section) int { return int(int64(a.Addr) - int64(b.Addr)) }) {
		return nil, fmt.Errorf("%w: its sections are not in order", errDamaged)
	}
	cor := im.at(u32(opt, at), 72)
	if cor == nil {
		return nil, fmt.Errorf("%w: its .NET header lies outside of the file", errDamaged)
	}
	if err := im.meta.parse(im.at(u32(cor, 8), u32(cor, 12))); err != nil {
		return nil, err
	}
	return im, im.openNative(u32(cor, 64), u32(cor, 68))
}

// Sections are the parts of the image, by address. The caller must not change them.
func (im *Image) Sections() []Section { return im.sections }

// file is the part of the file at an offset; nil if it is not wholly inside.
func (im *Image) file(off, n int64) []byte {
	if size := int64(len(im.data)); off < 0 || n < 0 || off > size || n > size-off {
		return nil
	}
	return im.data[off : off+n : off+n]
}

// sectionAt is the section that an address lies in, as far as the file has its bytes.
func (im *Image) sectionAt(addr uint32) *Section {
	i, found := slices.BinarySearchFunc(im.sections, addr, func(s Section, a uint32) int {
		return int(int64(s.Addr) - int64(a))
	})
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	s := &im.sections[i]
	if addr-s.Addr >= min(s.Stored, max(s.Size, 1)) && addr-s.Addr >= s.Stored {
		return nil
	}
	return s
}

// at is the image's content at an address; nil if the file has not all of it.
func (im *Image) at(addr, n uint32) []byte {
	s := im.sectionAt(addr)
	if s == nil || n > s.Stored-(addr-s.Addr) {
		return nil
	}
	return im.file(int64(s.Offset)+int64(addr-s.Addr), int64(n))
}

// Code is the content at an address: at most n bytes, fewer at the end of its section.
func (im *Image) Code(addr uint32, n int) []byte {
	s := im.sectionAt(addr)
	if s == nil || n <= 0 {
		return nil
	}
	n = int(min(int64(n), int64(s.Stored-(addr-s.Addr))))
	return im.file(int64(s.Offset)+int64(addr-s.Addr), int64(n))
}

func u16(b []byte, at int) uint16 { return binary.LittleEndian.Uint16(b[at:]) }
func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
