// Package remote reads the memory of processes that go on running. What is read need not fit together, and what may be
// found there is anything: it is bounded how much is kept, and how long all takes.
package remote

import (
	"encoding/binary"
	"io"
	"strings"
)

// page is what is read at once.
const page = 16 << 10

// maxPages bounds what is kept of a process's memory.
const maxPages = 64 << 20 / page

// Memory is that of a process. Of what cannot be read the values are 0.
type Memory struct {
	from        io.ReaderAt
	pages       map[uint64]*[page]byte
	spent, most int
}

// Seconds is about what may be read in a second, and made of it.
const Seconds = 1 << 25

// A page that is not kept counts for many reads, and so do many bytes.
const (
	ofPage  = 64
	ofBytes = 16
)

// New reads a process's memory, from one Forget to the next not more than most reads.
func New(from io.ReaderAt, most int) *Memory {
	return &Memory{from: from, pages: map[uint64]*[page]byte{}, most: most}
}

// Forget has all be read again.
func (m *Memory) Forget() {
	clear(m.pages)
	m.spent = 0
}

// Spend counts what is made of what was read, as that many reads.
func (m *Memory) Spend(reads int) { m.spent += reads }

// Cut tells whether there was more to read than is read.
func (m *Memory) Cut() bool { return m.spent > m.most }

// Read reads all of b.
func (m *Memory) Read(b []byte, addr uint64) bool {
	if m.spent += 1 + len(b)/ofBytes; m.Cut() {
		return false
	}
	for len(b) > 0 {
		at, off := addr/page, addr%page
		p := m.pages[at]
		if p == nil {
			m.spent += ofPage
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

// Number is what is at an address in so many bytes.
func (m *Memory) Number(addr uint64, size int) uint64 {
	var b [8]byte
	if !m.Read(b[:size], addr) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// Word is one of 8 bytes.
func (m *Memory) Word(addr uint64) uint64 { return m.Number(addr, 8) }

// Text reads a text that ends with a NUL.
func (m *Memory) Text(addr uint64) string {
	const most, chunk = 256, 16
	var text []byte
	for addr != 0 && len(text) < most {
		var b [chunk]byte
		n := chunk - int(addr%chunk) // of which the last may be the last that is mapped
		if !m.Read(b[:n], addr) {
			return ""
		}
		if before, _, ok := strings.Cut(string(b[:n]), "\x00"); ok {
			return string(text) + before
		}
		text, addr = append(text, b[:n]...), addr+uint64(n)
	}
	return ""
}
