package objfile

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// maxRatio bounds what a byte of a large section may become. Real debug information is compressed to no less than a
// tenth; deflate could make a thousandth of zeros (RFC 1951).
const (
	maxRatio    = 100
	smallEnough = 16 << 20 // no ratio is too high for this
)

const (
	shfCompressed = 0x800
	chZlib        = 1 // ELFCOMPRESS_ZLIB (gABI)
	chZstd        = 2 // ELFCOMPRESS_ZSTD (gABI)
)

// ErrNoSection is returned for a section that the file does not have, or has without content.
var ErrNoSection = errors.New("no such section")

// Data is the content of a section, decompressed if need be (SHF_COMPRESSED, or the older ".zdebug" form of a ".debug"
// name), as far as there is Room. It is a view of the file, or gone when that is closed: see Guard.
func (f *File) Data(name string) (data []byte, err error) {
	defer Guard(&err)()
	if s := f.section(name); s != nil {
		return f.content(s)
	}
	if len(name) > 7 && name[:7] == ".debug_" {
		if s := f.section(".z" + name[1:]); s != nil {
			return f.zdebug(s)
		}
	}
	return nil, fmt.Errorf("%s: %s: %w", f.path, name, ErrNoSection)
}

// Joined is the content of all sections of a name, one behind the other: relocatable files may have several, one for each
// section group.
func (f *File) Joined(name string) (data []byte, err error) {
	defer Guard(&err)()
	var all [][]byte
	var size uint64
	for i := range f.sections {
		if s := &f.sections[i]; s.Name == name && s.Type != shtNoBits {
			data, err := f.content(s)
			if err != nil {
				return nil, err
			}
			all = append(all, data)
			if size += uint64(len(data)); size > maxUnpacked {
				break // several may be at the same place of the file
			}
		}
	}
	switch len(all) {
	case 0:
		return nil, fmt.Errorf("%s: %s: %w", f.path, name, ErrNoSection)
	case 1:
		return all[0], nil
	}
	f.unpacking.Lock()
	defer f.unpacking.Unlock()
	if data, err = f.take(size); err != nil {
		return nil, fmt.Errorf("%s: sections %s: %w", f.path, name, err)
	}
	at := 0
	for _, part := range all {
		at += copy(data[at:], part)
	}
	return data, nil
}

func (f *File) content(s *Section) ([]byte, error) {
	if s.Type == shtNoBits {
		return nil, fmt.Errorf("%s: %s: %w", f.path, s.Name, ErrNoSection)
	}
	raw := f.slice(s.Offset, s.Size)
	if raw == nil {
		return nil, fmt.Errorf("%s: section %s lies outside of the file", f.path, s.Name)
	}
	if s.Flags&shfCompressed == 0 {
		return raw, nil
	}
	var typ, size uint64
	var body []byte
	switch {
	case f.is64 && len(raw) >= 24:
		typ, size, body = u32(raw, 0), u64(raw, 8), raw[24:]
	case !f.is64 && len(raw) >= 12:
		typ, size, body = u32(raw, 0), u32(raw, 4), raw[12:]
	default:
		return nil, fmt.Errorf("%s: section %s has no compression header", f.path, s.Name)
	}
	return f.unpacked(s, typ, size, body)
}

// zdebug reads GNU's older form: "ZLIB", the size in eight big-endian bytes, zlib data.
func (f *File) zdebug(s *Section) ([]byte, error) {
	raw := f.slice(s.Offset, s.Size)
	if len(raw) < 12 || string(raw[:4]) != "ZLIB" {
		return nil, fmt.Errorf("%s: section %s has no compression header", f.path, s.Name)
	}
	var size uint64
	for _, b := range raw[4:12] {
		size = size<<8 | uint64(b)
	}
	return f.unpacked(s, chZlib, size, raw[12:])
}

// unpacked is what a section has packed; it is unpacked once.
func (f *File) unpacked(s *Section, typ, size uint64, body []byte) ([]byte, error) {
	f.unpacking.Lock()
	defer f.unpacking.Unlock()
	if data, ok := f.unpackedOf[s]; ok {
		return data, nil
	}
	data, err := f.inflate(typ, size, body)
	if err != nil {
		return nil, fmt.Errorf("%s: section %s: %w", f.path, s.Name, err)
	}
	if f.unpackedOf == nil {
		f.unpackedOf = map[*Section][]byte{}
	}
	f.unpackedOf[s] = data
	return data, nil
}

func (f *File) inflate(typ, size uint64, body []byte) ([]byte, error) {
	if size > smallEnough && size/maxRatio > uint64(len(body)) {
		return nil, fmt.Errorf("%d bytes packed into %d are not unpacked: that is more than debug information ever is", size, len(body))
	}
	var r io.Reader
	switch typ {
	case chZlib:
		z, err := zlib.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		r = z
	case chZstd:
		r = newZstdReader(body)
	default:
		return nil, fmt.Errorf("unknown compression %d", typ)
	}
	data, err := f.take(size)
	if err != nil {
		return nil, err
	}
	n, err := io.ReadFull(r, data)
	if err == nil && n == len(data) {
		if _, err := io.ReadFull(r, make([]byte, 1)); err != io.EOF {
			n++
		}
	}
	if uint64(n) == size {
		return data, nil
	}
	if size > 0 {
		f.drop()
	}
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	return nil, fmt.Errorf("%d bytes promised, %d or more found", size, n)
}
