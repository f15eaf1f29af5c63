package pclntab

import (
	"encoding/binary"
	"strings"

	"trocar/internal/binary/objfile"
)

const buildInfo = ".go.buildinfo"

// IsGo tells whether the file holds Go code: it has Go's function table or build information.
func IsGo(f *objfile.File) bool {
	if _, ok := tableSection(f); ok {
		return true
	}
	_, ok := f.Section(buildInfo)
	return ok
}

// Version is the version of Go that the program was built with ("go1.26.1"), "" if it doesn't tell. Its build
// information has it in text from 1.18 on (debug/buildinfo of the Go source).
func Version(f *objfile.File) (version string) {
	var err error
	defer objfile.Guard(&err)()
	d, err := f.Data(buildInfo)
	const header, inline = 32, 2
	if err != nil || len(d) < header || string(d[:14]) != "\xff Go buildinf:" || d[15]&inline == 0 {
		return ""
	}
	n, width := binary.Uvarint(d[header:])
	if width <= 0 || n > 256 || n > uint64(len(d)-header-width) {
		return ""
	}
	return strings.Clone(string(d[header+width : header+width+int(n)]))
}

// Module is the address of the program's description (runtime.firstmoduledata), 0 if it is not found.
func (t *Table) Module() (addr uint64) {
	if t == nil {
		return 0
	}
	var err error
	defer objfile.Guard(&err)()
	return t.moduleAt()
}

// moduleText is the offset of text in runtime.moduledata, moduleFuncs that of gofunc.
const (
	moduleText  = 22 * 8
	moduleFuncs = 320
)

func (t *Table) moduleAt() uint64 {
	t.once.Do(func() {
		var err error
		defer objfile.Guard(&err)()
		t.module = findModule(t.f, t.place)
	})
	return t.module
}

// findModule finds the description by the address of the function table at its start.
func findModule(f *objfile.File, table place) uint64 {
	if !f.Is64() {
		return 0
	}
	for _, name := range []string{".go.module", ".noptrdata", ".data", ".data.rel.ro"} {
		s, ok := f.Section(name)
		data, err := f.Data(name)
		if !ok || err != nil {
			continue
		}
		// Addresses of position-independent programs are in relocations; those are only looked up where it may fit.
		for at := 0; at+moduleText+8 <= len(data) && at < 64<<20; at += 8 {
			v := binary.LittleEndian.Uint64(data[at:])
			if v != table.addr && v != 0 {
				continue
			}
			if f.PointerAt(s.Addr+uint64(at)) != table.addr {
				continue
			}
			if f.Executable(f.PointerAt(s.Addr + uint64(at) + moduleText)) {
				return s.Addr + uint64(at)
			}
		}
	}
	return 0
}
