package debuginfo

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var errShort = errors.New("debug info ends within an entry")

// reader reads numbers from a section. After a read beyond the end bad is set, pos stands at the end, and every
// read gives zero.
type reader struct {
	b   []byte
	pos int
	bad bool
}

// readerAt starts reading at an offset, which may be anything.
func readerAt(b []byte, off uint64) reader {
	if off > uint64(len(b)) {
		return reader{b: b, pos: len(b), bad: true}
	}
	return reader{b: b, pos: int(off)}
}

func (r *reader) fail() { r.bad, r.pos = true, len(r.b) }

func (r *reader) left() int { return len(r.b) - r.pos }

func (r *reader) u8() uint8 {
	if r.pos >= len(r.b) {
		r.fail()
		return 0
	}
	v := r.b[r.pos]
	r.pos++
	return v
}

func (r *reader) u16() uint16 {
	if r.left() < 2 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint16(r.b[r.pos:])
	r.pos += 2
	return v
}

func (r *reader) u32() uint32 {
	if r.left() < 4 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint32(r.b[r.pos:])
	r.pos += 4
	return v
}

func (r *reader) u64() uint64 {
	if r.left() < 8 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b[r.pos:])
	r.pos += 8
	return v
}

// uint reads an unsigned number of 1, 2, 3, 4 or 8 bytes.
func (r *reader) uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(r.u8())
	case 2:
		return uint64(r.u16())
	case 3:
		lo := uint64(r.u16())
		return lo | uint64(r.u8())<<16
	case 4:
		return uint64(r.u32())
	case 8:
		return r.u64()
	}
	r.fail()
	return 0
}

func (r *reader) uleb() uint64 {
	var v uint64
	for shift := 0; r.pos < len(r.b); shift += 7 {
		c := r.b[r.pos]
		r.pos++
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c < 0x80 {
			return v
		}
	}
	r.fail()
	return 0
}

func (r *reader) sleb() int64 {
	var v int64
	for shift := 0; r.pos < len(r.b); {
		c := r.b[r.pos]
		r.pos++
		if shift < 64 {
			v |= int64(c&0x7f) << shift
		}
		shift += 7
		if c < 0x80 {
			if c&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
	r.fail()
	return 0
}

// bytes returns the next n bytes, a view.
func (r *reader) bytes(n uint64) []byte {
	if n > uint64(r.left()) {
		r.fail()
		return nil
	}
	v := r.b[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return v
}

// cstr returns the bytes before the next NUL, a view.
func (r *reader) cstr() []byte {
	i := bytes.IndexByte(r.b[r.pos:], 0)
	if i < 0 {
		r.fail()
		return nil
	}
	v := r.b[r.pos : r.pos+i : r.pos+i]
	r.pos += i + 1
	return v
}

// initialLength reads a unit's length (DWARF 5, 7.4) and whether offsets within are of 8 bytes.
func (r *reader) initialLength() (n uint64, off64 bool) {
	v := r.u32()
	switch {
	case v == 0xffffffff:
		return r.u64(), true
	case v >= 0xfffffff0:
		r.fail()
		return 0, false
	}
	return uint64(v), false
}

func (r *reader) offset(off64 bool) uint64 {
	if off64 {
		return r.u64()
	}
	return uint64(r.u32())
}

// cstrAt returns the string at an offset of a string section, a view; nil if there is none.
func cstrAt(b []byte, off uint64) []byte {
	if off >= uint64(len(b)) {
		return nil
	}
	b = b[off:]
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return nil
	}
	return b[:i:i]
}
