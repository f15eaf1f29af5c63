package objfile

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// maxInflated bounds the size of one section after decompression. Only few programs have more debug information in one
// section, and theirs is not compressed.
const maxInflated = 1 << 30

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
// name). Uncompressed content is a view of the file: see Guard.
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

// AllData is the content of all sections of a name: relocatable files may have several, one for each section group.
func (f *File) AllData(name string) (all [][]byte, err error) {
	defer Guard(&err)()
	for i := range f.sections {
		if s := &f.sections[i]; s.Name == name && s.Type != shtNoBits {
			data, err := f.content(s)
			if err != nil {
				return nil, err
			}
			all = append(all, data)
		}
	}
	return all, nil
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
	data, err := inflate(typ, size, body)
	if err != nil {
		return nil, fmt.Errorf("%s: section %s: %w", f.path, s.Name, err)
	}
	return data, nil
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
	data, err := inflate(chZlib, size, raw[12:])
	if err != nil {
		return nil, fmt.Errorf("%s: section %s: %w", f.path, s.Name, err)
	}
	return data, nil
}

func inflate(typ, size uint64, body []byte) ([]byte, error) {
	if size > maxInflated || size > smallEnough && size/maxRatio > uint64(len(body)) {
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
	// Grown as data really comes, so that a lie about the size costs nothing.
	var buf bytes.Buffer
	buf.Grow(int(min(size, uint64(len(body))*4+512)))
	n, err := io.Copy(&buf, io.LimitReader(r, int64(size)+1))
	if err != nil {
		return nil, err
	}
	if uint64(n) != size {
		return nil, fmt.Errorf("%d bytes promised, %d or more found", size, n)
	}
	return buf.Bytes(), nil
}
