package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
)

// newZstdReader decompresses zstd data. The standard library's decoder is only reachable through debug/elf, so the data
// is dressed up as the one section of an ELF file.
func newZstdReader(body []byte) io.Reader {
	const head = 64 + 3*64 + 24
	var b bytes.Buffer
	le := binary.LittleEndian
	word := func(v any) { binary.Write(&b, le, v) }
	word(elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: 1, Machine: 62, Version: 1,
		Shoff: 64, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2,
	})
	word(elf.Section64{})
	word(elf.Section64{Type: 1, Flags: shfCompressed, Off: head - 24, Size: 24 + uint64(len(body)), Addralign: 1})
	// The string table is the zero byte behind the header's last field in use (e_ident's padding).
	word(elf.Section64{Type: 3, Off: 15, Size: 1, Addralign: 1})
	// The real size is checked by the caller; the largest is promised here, since debug/elf does not use it to allocate.
	word(elf.Chdr64{Type: chZstd, Size: maxUnpacked + 1, Addralign: 1})
	ef, err := elf.NewFile(&joined{b.Bytes(), body})
	if err != nil {
		return &failed{err}
	}
	return ef.Sections[1].Open()
}

// joined is the concatenation of two slices, without copying them.
type joined struct{ a, b []byte }

func (j *joined) ReadAt(p []byte, off int64) (n int, err error) {
	if off < int64(len(j.a)) {
		n = copy(p, j.a[off:])
	}
	if n < len(p) {
		at := off + int64(n) - int64(len(j.a))
		if at >= int64(len(j.b)) {
			return n, io.EOF
		}
		n += copy(p[n:], j.b[at:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

type failed struct{ err error }

func (f *failed) Read([]byte) (int, error) { return 0, f.err }
