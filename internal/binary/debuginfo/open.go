package debuginfo

import (
	"fmt"

	"trocar/internal/binary/objfile"
)

// Open reads the DWARF of an opened program or library: its own, else that of its separate debug file.
func Open(f *objfile.File) (*Info, error) {
	src := Source{Path: f.Path(), Code: f, Machine: f.Machine(), Open: openSections}
	if !hasDWARF(f) {
		d := f.Debug()
		if d == nil || !hasDWARF(d) {
			return nil, fmt.Errorf("%s: %w", f.Path(), ErrNone)
		}
		src.Debug, src.DebugAt = d, d.Path()
	}
	return New(src)
}

// hasDWARF tells whether a file has debug info of its own.
func hasDWARF(f Sections) bool {
	for _, name := range []string{".debug_info", ".zdebug_info"} {
		if s, ok := f.Section(name); ok && s.Type != shtNoBits && s.Size > 0 {
			return true
		}
	}
	return false
}

const shtNoBits = 8 // the section's content is in another file

// openSections opens a file that the debug info names.
func openSections(path string) (Sections, error) {
	f, err := objfile.Open(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}
