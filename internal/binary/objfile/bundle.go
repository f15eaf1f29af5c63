package objfile

import (
	"bytes"
	"fmt"

	"trocar/internal/binary/section"
)

// A single file of .NET has assemblies and libraries behind the program that runs them
// (docs/design/features/bundle of dotnet/designs). They are given as the members of an archive are.

// Bundled is one of these files.
type Bundled struct {
	Name         string // its path in the bundle
	Offset, Size uint64
	Packed       bool // it is compressed
	Assembly     bool
}

// bundleMarker stands in the program behind the offset of the list of the files.
var bundleMarker = []byte{
	0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32,
	0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
}

const (
	bundleVersion = 6 // of .NET 6 and later
	mostBundled   = 1 << 14
)

// Bundle are the files that are bundled in a program, in the order of the file.
func (f *File) Bundle() (list []Bundled) {
	var err error
	defer Guard(&err)()
	for i := range f.segments {
		if s := &f.segments[i]; s.Write && f.managed == nil && f.base == 0 {
			r := section.At(f.data, s.Offset)
			data := r.Bytes(min(s.FileSize, uint64(r.Left())))
			if at := bytes.Index(data, bundleMarker); at >= 8 {
				return bundled(f.data, u64(data, at-8))
			}
		}
	}
	return nil
}

// bundled reads the list of the files.
func bundled(data []byte, at uint64) (list []Bundled) {
	const fixed, assembly = 40, 1 // where further lists are, and flags; a type of files
	text := func(r *section.Reader) string {
		n := r.ULEB()
		return string(r.Bytes(n))
	}
	r := section.At(data, at)
	major := r.U32()
	r.U32()
	n := r.U32()
	text(&r)
	r.Bytes(fixed)
	if at == 0 || major != bundleVersion || n > mostBundled {
		return nil
	}
	for range n {
		b := Bundled{Offset: r.U64(), Size: r.U64(), Packed: r.U64() != 0, Assembly: r.U8() == assembly}
		b.Name = text(&r)
		if r.Bad {
			return list
		}
		if b.Offset > uint64(len(data)) || !b.Packed && b.Size > uint64(len(data))-b.Offset {
			continue
		}
		list = append(list, b)
	}
	return list
}

// memberOf finds a member by its name.
func memberOf(list []Bundled, name string) (base, size uint64, err error) {
	for i := range list {
		switch b := &list[i]; {
		case b.Name != name:
		case b.Packed:
			return 0, 0, fmt.Errorf("%q is compressed in the program: publish it without EnableCompressionInSingleFile", name)
		default:
			return b.Offset, b.Size, nil
		}
	}
	return 0, 0, fmt.Errorf("no file %q in the program", name)
}
