package objfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/klauspost/compress/zlib" // the standard library's takes half the start of a script on libc
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

// Compressed tells whether the section's content is compressed (SHF_COMPRESSED).
func (s *Section) Compressed() bool { return s.Flags&shfCompressed != 0 }

// Data is the content of a section, decompressed if need be (SHF_COMPRESSED, or the older ".zdebug" form of a ".debug"
// name), as far as there is Room. It is a view of the file, or gone when that is closed: see Guard.
func (f *File) Data(name string) (data []byte, err error) { return f.DataTo(name, math.MaxUint64) }

// DataTo is Data of which the first n bytes are there, and the others perhaps not: no more is decompressed than that,
// which takes the time that a start-up has. Several calls give the same bytes.
func (f *File) DataTo(name string, n uint64) (data []byte, err error) {
	defer Guard(&err)()
	if s := f.section(name); s != nil {
		return f.content(s, n)
	}
	if rest, ok := strings.CutPrefix(name, ".debug_"); ok {
		if s := f.section(".zdebug_" + rest); s != nil {
			return f.zdebug(s, n)
		}
	}
	return nil, fmt.Errorf("%s: %s: %w", f.path, name, ErrNoSection)
}

// Joined is the content of all sections of a name, one behind the other: relocatable files may have several, one for
// each section group.
func (f *File) Joined(name string) (data []byte, err error) {
	defer Guard(&err)()
	var all [][]byte
	var size uint64
	for i := range f.sections {
		if s := &f.sections[i]; s.Name == name && s.Type != shtNoBits {
			data, err := f.content(s, math.MaxUint64)
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

// content is a section's, of which the first n bytes are needed.
func (f *File) content(s *Section, n uint64) ([]byte, error) {
	if s.Type == shtNoBits {
		return nil, fmt.Errorf("%s: %s: %w", f.path, s.Name, ErrNoSection)
	}
	raw := f.slice(s.Offset, s.Size)
	if raw == nil {
		return nil, fmt.Errorf("%s: section %s lies outside of the file", f.path, s.Name)
	}
	if !s.Compressed() {
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
	return f.unpacked(s, typ, size, body, n)
}

// zdebug reads GNU's older form: "ZLIB", the size in eight big-endian bytes, zlib data.
func (f *File) zdebug(s *Section, n uint64) ([]byte, error) {
	raw := f.slice(s.Offset, s.Size)
	if len(raw) < 12 || string(raw[:4]) != "ZLIB" {
		return nil, fmt.Errorf("%s: section %s has no compression header", f.path, s.Name)
	}
	var size uint64
	for _, b := range raw[4:12] {
		size = size<<8 | uint64(b)
	}
	return f.unpacked(s, chZlib, size, raw[12:], n)
}

// packed is a compressed section that has been decompressed as far as it was asked for.
type packed struct {
	data []byte // of its full size
	done int
	from io.Reader
	err  error // of from, behind done
}

// unpackStep is how much is decompressed at least.
const unpackStep = 64 << 10

// unpacked is what a section has packed, of which the first n bytes are needed.
func (f *File) unpacked(s *Section, typ, size uint64, body []byte, n uint64) ([]byte, error) {
	f.unpacking.Lock()
	defer f.unpacking.Unlock()
	p := f.packedOf[s]
	if p == nil {
		var err error
		if p, err = f.openPacked(typ, size, body); err != nil {
			return nil, fmt.Errorf("%s: section %s: %w", f.path, s.Name, err)
		}
	}
	if err := p.unpack(n); err != nil {
		if f.packedOf[s] == nil && size > 0 {
			f.drop() // nobody has seen it
		}
		return nil, fmt.Errorf("%s: section %s: %w", f.path, s.Name, err)
	}
	if f.packedOf == nil {
		f.packedOf = map[*Section]*packed{}
	}
	f.packedOf[s] = p
	return p.data, nil
}

func (f *File) openPacked(typ, size uint64, body []byte) (*packed, error) {
	if size > smallEnough && size/maxRatio > uint64(len(body)) {
		return nil, fmt.Errorf("%d bytes packed into %d are not unpacked: that is more than debug information ever is", size,
			len(body))
	}
	p := new(packed)
	switch typ {
	case chZlib:
		z, err := zlib.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		p.from = z
	case chZstd:
		p.from = newZstdReader(body)
	default:
		return nil, fmt.Errorf("unknown compression %d", typ)
	}
	var err error
	p.data, err = f.take(size)
	return p, err
}

// unpack sees to it that the first n bytes are there.
func (p *packed) unpack(n uint64) error {
	done := uint64(p.done)
	switch {
	case p.from == nil && n > done:
		return p.err
	case p.from == nil, n <= done && len(p.data) > 0:
		return nil
	}
	m, err := io.ReadFull(p.from, p.data[p.done:min(max(n, done+unpackStep), uint64(len(p.data)))])
	p.done += m
	found := p.done
	if err == nil {
		if p.done < len(p.data) {
			return nil
		}
		var more int // the check sum is behind the end
		if more, err = io.ReadFull(p.from, make([]byte, 1)); more == 0 && err == io.EOF {
			p.from = nil
			return nil
		}
		found += more
	}
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("%d bytes promised, %d or more found", len(p.data), found)
	}
	p.from, p.err = nil, err
	return err
}

// LinkedApart tells that a linker made the file that leaves functions as compilers made them, also those with the same
// code: GNU's. It is known by the order of sections, as it writes nothing of itself: lld and mold put constants in
// front of the code, lld and gold the hash of symbols behind these.
func (f *File) LinkedApart() bool {
	at := map[string]int{}
	for i := range f.sections {
		at[f.sections[i].Name] = i
	}
	text, hash := at[".text"], at[".gnu.hash"]
	_, gold := at[".note.gnu.gold-version"]
	return text > 0 && hash > 0 && at[".rodata"] > text && at[".dynsym"] > hash && !gold
}
