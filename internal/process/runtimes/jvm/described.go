package jvm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"trocar/internal/binary/objfile"
)

// HotSpot describes its own structures for debuggers: tables that libjvm.so exports (gHotSpotVMStructs and others,
// vmStructs.hpp) name the fields of its classes with their offsets or addresses, so that nothing has to be known of a
// version. All is read from the memory of the process, which goes on running: what is read need not fit together.

const (
	page = 16 << 10
	// maxPages bounds what is kept of a process's memory.
	maxPages = 64 << 20 / page
	// maxEntries bounds the tables.
	maxEntries = 1 << 14
)

// memory is that of a process. Of what cannot be read the values are 0.
type memory struct {
	from  io.ReaderAt
	pages map[uint64]*[page]byte
	reads int // so far
}

// mostReads bounds the time that a process's memory can take, which is about a second, and what is made of it: a page
// that is not kept counts for many, and so do many bytes, and a parameter.
const (
	mostReads   = 1 << 25
	ofPage      = 64
	ofParameter = 64
	ofBytes     = 16
)

// forget has all be read again.
func (m *memory) forget() {
	clear(m.pages)
	m.reads = 0
}

// cut tells whether there was more to read than is read.
func (m *memory) cut() bool { return m.reads > mostReads }

func (m *memory) read(b []byte, addr uint64) bool {
	if m.reads += 1 + len(b)/ofBytes; m.cut() {
		return false
	}
	for len(b) > 0 {
		at, off := addr/page, addr%page
		p := m.pages[at]
		if p == nil {
			m.reads += ofPage
			if addr>>47 != 0 {
				return false
			}
			p = &[page]byte{}
			// The page may not be mapped whole.
			if n, err := m.from.ReadAt(p[:], int64(at*page)); err != nil && n < int(off)+min(len(b), page-int(off)) {
				n, err := m.from.ReadAt(b[:min(len(b), page-int(off))], int64(addr))
				if err != nil {
					return false
				}
				b, addr = b[n:], addr+uint64(n)
				continue
			} else if err == nil {
				if len(m.pages) >= maxPages {
					clear(m.pages)
				}
				m.pages[at] = p
			}
		}
		n := copy(b, p[off:])
		b, addr = b[n:], addr+uint64(n)
	}
	return true
}

func (m *memory) number(addr uint64, size int) uint64 {
	var b [8]byte
	if !m.read(b[:size], addr) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

func (m *memory) word(addr uint64) uint64 { return m.number(addr, 8) }

// name reads a text that ends with a NUL.
func (m *memory) name(addr uint64) string {
	const most, chunk = 256, 16
	var text []byte
	for addr != 0 && len(text) < most {
		var b [chunk]byte
		n := chunk - int(addr%chunk) // of which the last may be the last that is mapped
		if !m.read(b[:n], addr) {
			return ""
		}
		if before, _, ok := strings.Cut(string(b[:n]), "\x00"); ok {
			return string(text) + before
		}
		text, addr = append(text, b[:n]...), addr+uint64(n)
	}
	return ""
}

// described is what the virtual machine says of itself.
type described struct {
	fields    map[string]uint64 // "Type::field": its offset, of static ones the address
	sizes     map[string]uint64 // of types
	constants map[string]uint64
	missing   string // the first that was asked for in vain
}

var errDescribed = errors.New("this virtual machine does not describe itself in the usual way")

// describe reads the tables.
func describe(m *memory, lib *objfile.File, bias uint64) (*described, error) {
	d := &described{fields: map[string]uint64{}, sizes: map[string]uint64{}, constants: map[string]uint64{}}
	exported := func(name string) uint64 {
		if addr, _, ok := lib.Symbol("gHotSpotVM" + name); ok {
			return m.word(addr + bias)
		}
		return 0
	}
	table := func(name, entry string, columns []string, yield func(at []uint64)) error {
		start, stride := exported(name), exported(entry+"EntryArrayStride")
		at, offsets := make([]uint64, len(columns)), make([]uint64, len(columns))
		for i, c := range columns {
			offsets[i] = exported(entry + "Entry" + c + "Offset")
		}
		if start == 0 || stride == 0 || stride > page {
			return errDescribed
		}
		for range maxEntries {
			for i := range at {
				at[i] = start + offsets[i]
			}
			if m.word(at[0]) == 0 {
				return nil
			}
			yield(at)
			start += stride
		}
		return errDescribed
	}
	text := func(at uint64) string { return m.name(m.word(at)) }
	err := errors.Join(
		table("Structs", "Struct", []string{"TypeName", "FieldName", "IsStatic", "Offset", "Address"}, func(at []uint64) {
			value := at[3]
			if m.number(at[2], 4) != 0 {
				value = at[4]
			}
			d.fields[text(at[0])+"::"+text(at[1])] = m.word(value)
		}),
		table("Types", "Type", []string{"TypeName", "Size"}, func(at []uint64) { d.sizes[text(at[0])] = m.word(at[1]) }),
		table("IntConstants", "IntConstant", []string{"Name", "Value"}, func(at []uint64) {
			d.constants[text(at[0])] = m.number(at[1], 4)
		}),
	)
	return d, err
}

// field is the offset of a field, or the address of a static one, by the first of several names that is described.
func (d *described) field(names string) uint64 {
	for name := range strings.SplitSeq(names, ",") {
		if at, ok := d.fields[name]; ok {
			return at
		}
	}
	if d.missing == "" {
		d.missing = names
	}
	return 0
}

func (d *described) size(name string) uint64 {
	n := d.sizes[name]
	if n == 0 && d.missing == "" {
		d.missing = name
	}
	return n
}

func (d *described) err() error {
	if d.missing != "" {
		return fmt.Errorf("this version's virtual machine does not describe %s", d.missing)
	}
	return nil
}
