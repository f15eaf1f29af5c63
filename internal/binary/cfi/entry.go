package cfi

import (
	"errors"
	"fmt"

	"trocar/internal/binary/section"
)

var errShort = errors.New("call frame information ends within an entry")

// fde is a frame description entry.
type fde struct {
	Range
	cie *cie
	ins []byte
}

// fde reads the entry at an offset.
func (s *frameSection) fde(off int) (e fde, err error) {
	r := section.At(s.data, uint64(off))
	n, off64 := r.InitialLength()
	if r.Bad || n == 0 || n > uint64(r.Left()) {
		return e, errShort
	}
	r.Data = s.data[:r.Pos+int(n)]
	at := r.Pos
	id := r.Offset(off64 && !s.eh)
	if r.Bad || s.isCIE(id, off64) {
		return e, errors.New("no frame description entry")
	}
	if s.eh {
		id = uint64(at) - id // counted back from here
	}
	c, err := s.cie(id)
	if err != nil {
		return e, err
	}
	e.cie = c
	x := encodedAt{r: &r, addr: s.addr, size: c.addrSize}
	low, ok := x.read(c.enc)
	size, ok2 := x.read(c.enc & 0x0f)
	if !ok || !ok2 || r.Bad {
		return e, errShort
	}
	e.Range = Range{low, low + size}
	if e.High < e.Low {
		return e, errors.New("damaged frame description entry")
	}
	if c.hasAug {
		r.Bytes(r.ULEB())
	}
	if r.Bad {
		return e, errShort
	}
	e.ins = r.Data[r.Pos:]
	return e, nil
}

func (s *frameSection) cie(off uint64) (*cie, error) {
	if off >= uint64(len(s.data)) {
		return nil, errShort
	}
	if c := s.cies[int(off)]; c != nil {
		return c, nil
	}
	c, err := s.readCIE(int(off))
	if err != nil {
		return nil, err
	}
	if s.cies == nil {
		s.cies = make(map[int]*cie)
	}
	if len(s.cies) < maxCIEs {
		s.cies[int(off)] = c
	}
	return c, nil
}

func (s *frameSection) readCIE(off int) (*cie, error) {
	r := section.Reader{Data: s.data, Pos: off}
	n, off64 := r.InitialLength()
	if r.Bad || n == 0 || n > uint64(r.Left()) {
		return nil, errShort
	}
	if n > maxCIESize {
		return nil, errors.New("common information entry of more than 4096 bytes")
	}
	r.Data = s.data[:r.Pos+int(n)]
	if id := r.Offset(off64 && !s.eh); r.Bad || !s.isCIE(id, off64) {
		return nil, errors.New("no common information entry")
	}
	version := r.U8()
	aug := string(r.CString())
	c := &cie{addrSize: 8}
	if version == 4 {
		c.addrSize = int(r.U8())
		r.U8() // segment selector size
		if c.addrSize != 8 && c.addrSize != 4 {
			return nil, errors.New("damaged common information entry")
		}
	}
	c.codeAlign, c.dataAlign = r.ULEB(), r.SLEB()
	switch version {
	case 1:
		c.ret = int(r.U8())
	case 3, 4:
		c.ret = int(min(r.ULEB(), 1<<16))
	default:
		return nil, fmt.Errorf("call frame information of version %d", version)
	}
	if aug != "" {
		if aug[0] != 'z' {
			return nil, fmt.Errorf("call frame information with the augmentation %q", aug)
		}
		c.hasAug = true
		data := section.Reader{Data: r.Bytes(r.ULEB())}
		for _, a := range aug[1:] {
			switch a {
			case 'R':
				c.enc = data.U8()
			case 'P':
				enc := data.U8()
				x := encodedAt{r: &data, size: c.addrSize}
				x.read(enc)
			case 'L':
				data.U8()
			case 'S':
				c.signal = true
			case 'B': // arm64: addresses are signed with the B key
			default:
				return nil, fmt.Errorf("call frame information with the augmentation %q", aug)
			}
		}
		if data.Bad {
			return nil, errShort
		}
	}
	if r.Bad {
		return nil, errShort
	}
	c.initial = r.Data[r.Pos:]
	return c, nil
}

// Encodings of addresses in .eh_frame (LSB core, 10.5.1).
const (
	encUleb    = 0x01
	encUdata2  = 0x02
	encUdata4  = 0x03
	encUdata8  = 0x04
	encSleb    = 0x09
	encSdata2  = 0x0a
	encSdata4  = 0x0b
	encSdata8  = 0x0c
	encPCRel   = 0x10
	encDataRel = 0x30
	encOmit    = 0xff
)

// encodedAt reads encoded addresses from r, whose bytes begin at the address addr.
type encodedAt struct {
	r          *section.Reader
	addr, data uint64
	size       int
}

func (x *encodedAt) read(enc uint8) (uint64, bool) {
	if enc == encOmit {
		return 0, true
	}
	base := uint64(0)
	switch enc & 0x70 {
	case 0:
	case encPCRel:
		base = x.addr + uint64(x.r.Pos)
	case encDataRel:
		base = x.data
	default:
		return 0, false
	}
	var v uint64
	switch enc & 0x0f {
	case 0:
		v = x.r.Uint(x.size)
	case encUleb:
		v = x.r.ULEB()
	case encUdata2:
		v = uint64(x.r.U16())
	case encUdata4:
		v = uint64(x.r.U32())
	case encUdata8, encSdata8:
		v = x.r.U64()
	case encSleb:
		v = uint64(x.r.SLEB())
	case encSdata2:
		v = uint64(int64(int16(x.r.U16())))
	case encSdata4:
		v = uint64(int64(int32(x.r.U32())))
	default:
		return 0, false
	}
	return base + v, !x.r.Bad
}
