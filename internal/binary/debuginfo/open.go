package debuginfo

import (
	"fmt"

	"trocar/internal/binary/objfile"
)

// Open reads the DWARF of an opened program or library: its own, else that of its separate debug file, else what f
// fetches (objfile.File.FetchDebug, whose context ends a wait for it).
func Open(f *objfile.File) (*Info, error) {
	if f.Type() != objfile.TypeExec && f.Type() != objfile.TypeDyn {
		return nil, fmt.Errorf("%s: %w: it is not linked, so nothing in it has an address", f.Path(), ErrNone)
	}
	names := f.Names()
	src := Source{
		Path: f.Path(), Code: f, Arch: f.Arch(), ThreadLocal: f.ThreadLocalAt, Paths: names.Paths,
		Dirs: names.Dirs(),
	}
	src.Open = func(path string) (Sections, error) {
		opened, err := f.OpenNamed(names, path)
		if err != nil {
			return nil, err // and no pointer that is nil
		}
		return opened, nil
	}
	if fetch := f.Fetch(); fetch != nil {
		src.Fetch = func(buildID string) (Sections, string, error) {
			path, err := fetch(buildID)
			if err != nil {
				return nil, "", err
			}
			opened, err := objfile.Open(path)
			if err != nil {
				return nil, "", err
			}
			opened.Share(f.Room())
			return opened, path, nil
		}
	}
	if hasDWARF(f) {
		return New(src)
	}
	if d := f.Debug(); d != nil && hasDWARF(d) {
		src.Debug, src.DebugAt = d, d.Path()
		return New(src)
	}
	if err := f.DebugError(); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", f.Path(), ErrNone, err)
	}
	return nil, fmt.Errorf("%s: %w", f.Path(), ErrNone)
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
