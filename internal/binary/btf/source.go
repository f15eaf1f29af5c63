package btf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/opener"
)

// KernelPath is where the running kernel shows its types (with CONFIG_DEBUG_INFO_BTF, Linux 5.4).
const KernelPath = "/sys/kernel/btf/vmlinux"

// Source says where types are: in a file, or in memory. It is data, so that the description of a machine can carry it.
type Source struct {
	Path string `json:",omitempty"`
	Data []byte `json:",omitempty"` // the file's content; comes before Path
}

// Kernel is the source of the running kernel's types.
func Kernel() Source { return Source{Path: KernelPath} }

// ErrNone: the source is empty, as that of a kernel without types.
var ErrNone = errors.New("no type information (BTF)")

var errMalformed = errors.New("malformed BTF")

// maxFile bounds what is read; vmlinux files have 4 to 10 MB.
const maxFile = 64 << 20

// Available tells whether there are types, without reading those of a file.
func (b *Types) Available() bool {
	if b.source.Data == nil && b.source.Path != "" {
		_, err := os.Stat(b.source.Path)
		return err == nil
	}
	return b.Err() == nil
}

// Err opens the source, unless that has been done, and tells why there are no types: ErrNone, an error of opening the
// file, or that the data are malformed.
func (b *Types) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open()
	return b.err
}

// open finds types and strings. Without them there are none of either.
func (b *Types) open() {
	if b.opened {
		return
	}
	b.opened = true
	b.types, b.strings, b.err = b.read()
	if b.err != nil {
		b.types, b.strings = nil, []byte{0}
		if b.source.Data == nil && b.source.Path != "" && !errors.Is(b.err, os.ErrNotExist) {
			b.err = fmt.Errorf("%s: %w", b.source.Path, b.err)
		}
	}
}

func (b *Types) read() (types, strings []byte, err error) {
	data := b.source.Data
	if data == nil && b.source.Path == "" {
		return nil, nil, ErrNone
	}
	if data == nil {
		if data, err = b.readFile(b.source.Path); err != nil {
			return nil, nil, err
		}
	}
	return sections(data)
}

func (b *Types) readFile(path string) ([]byte, error) {
	file, err := opener.Asked(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are read", errMalformed, info.Size(), maxFile)
	}
	if strings.HasPrefix(path, "/sys/") && info.Size() > 0 {
		// The kernel's own file cannot shrink while it is mapped. It can be mapped from 6.16 on. Types that were handed
		// out lead to b, so the mapping stays for as long as something may be asked of them.
		if mapped, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE); err == nil {
			runtime.AddCleanup(b, func(mapped []byte) { unix.Munmap(mapped) }, mapped)
			return mapped, nil
		}
	}
	data := make([]byte, info.Size()) // as good as known, into as much memory
	n, err := io.ReadFull(file, data)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil
	}
	return data[:n], err
}

// sections checks the header and finds the two sections.
func sections(data []byte) (types, strings []byte, err error) {
	const magic, headerSize = 0xeb9f, 24
	if len(data) < headerSize || binary.LittleEndian.Uint16(data) != magic {
		return nil, nil, fmt.Errorf("%w: it begins with something else", errMalformed)
	}
	header := uint64(u32(data, 4))
	section := func(at int) []byte {
		off, size := header+uint64(u32(data, at)), uint64(u32(data, at+4))
		if off > uint64(len(data)) || size > uint64(len(data))-off {
			return nil
		}
		return data[off : off+size : off+size]
	}
	types, strings = section(8), section(16)
	// Each string ends with a NUL, and the first is empty.
	if n := len(strings); n == 0 || strings[0] != 0 || strings[n-1] != 0 {
		return nil, nil, fmt.Errorf("%w: its strings are cut off", errMalformed)
	}
	return types, strings, nil
}
