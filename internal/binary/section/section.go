// Package section reads what is in the sections of object files: numbers in the encodings of DWARF, within bounds. What
// is read is not trusted: no offset or length leads out of the section.
package section

import (
	"bytes"
	"encoding/binary"
)

// Reader reads numbers from a section, which is little-endian. After a read beyond the end Bad is set, Pos stands at
// the end, and every read gives zero.
type Reader struct {
	Data []byte
	Pos  int
	Bad  bool
}

// At starts reading at an offset, which may be anything.
func At(b []byte, off uint64) Reader {
	if off > uint64(len(b)) {
		return Reader{Data: b, Pos: len(b), Bad: true}
	}
	return Reader{Data: b, Pos: int(off)}
}

// Fail makes the reader bad.
func (r *Reader) Fail() { r.Bad, r.Pos = true, len(r.Data) }

// Left is the number of bytes that are left.
func (r *Reader) Left() int { return len(r.Data) - r.Pos }

// U8 reads one byte.
func (r *Reader) U8() uint8 {
	if r.Pos >= len(r.Data) {
		r.Fail()
		return 0
	}
	v := r.Data[r.Pos]
	r.Pos++
	return v
}

// U16 reads two bytes.
func (r *Reader) U16() uint16 {
	if r.Left() < 2 {
		r.Fail()
		return 0
	}
	v := binary.LittleEndian.Uint16(r.Data[r.Pos:])
	r.Pos += 2
	return v
}

// U32 reads four bytes.
func (r *Reader) U32() uint32 {
	if r.Left() < 4 {
		r.Fail()
		return 0
	}
	v := binary.LittleEndian.Uint32(r.Data[r.Pos:])
	r.Pos += 4
	return v
}

// U64 reads eight bytes.
func (r *Reader) U64() uint64 {
	if r.Left() < 8 {
		r.Fail()
		return 0
	}
	v := binary.LittleEndian.Uint64(r.Data[r.Pos:])
	r.Pos += 8
	return v
}

// Uint reads an unsigned number of 1, 2, 3, 4 or 8 bytes.
func (r *Reader) Uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(r.U8())
	case 2:
		return uint64(r.U16())
	case 3:
		lo := uint64(r.U16())
		return lo | uint64(r.U8())<<16
	case 4:
		return uint64(r.U32())
	case 8:
		return r.U64()
	}
	r.Fail()
	return 0
}

// ULEB reads an unsigned number of variable length (DWARF 5, 7.6). What is beyond 64 bits is dropped.
func (r *Reader) ULEB() uint64 {
	var v uint64
	for shift := 0; r.Pos < len(r.Data); shift += 7 {
		c := r.Data[r.Pos]
		r.Pos++
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c < 0x80 {
			return v
		}
	}
	r.Fail()
	return 0
}

// SLEB reads a signed number of variable length.
func (r *Reader) SLEB() int64 {
	var v int64
	for shift := 0; r.Pos < len(r.Data); {
		c := r.Data[r.Pos]
		r.Pos++
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
	r.Fail()
	return 0
}

// Bytes returns the next n bytes, a view.
func (r *Reader) Bytes(n uint64) []byte {
	if n > uint64(r.Left()) {
		r.Fail()
		return nil
	}
	v := r.Data[r.Pos : r.Pos+int(n) : r.Pos+int(n)]
	r.Pos += int(n)
	return v
}

// CString returns the bytes before the next NUL, a view.
func (r *Reader) CString() []byte {
	i := bytes.IndexByte(r.Data[r.Pos:], 0)
	if i < 0 {
		r.Fail()
		return nil
	}
	v := r.Data[r.Pos : r.Pos+i : r.Pos+i]
	r.Pos += i + 1
	return v
}

// InitialLength reads a unit's length (DWARF 5, 7.4) and whether offsets within are of 8 bytes.
func (r *Reader) InitialLength() (n uint64, off64 bool) {
	v := r.U32()
	switch {
	case v == 0xffffffff:
		return r.U64(), true
	case v >= 0xfffffff0:
		r.Fail()
		return 0, false
	}
	return uint64(v), false
}

// Offset reads an offset of 8 or 4 bytes.
func (r *Reader) Offset(off64 bool) uint64 {
	if off64 {
		return r.U64()
	}
	return uint64(r.U32())
}

// StringAt returns the string at an offset of a string section, a view; nil if there is none.
func StringAt(b []byte, off uint64) []byte {
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
