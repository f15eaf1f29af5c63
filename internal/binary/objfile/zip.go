package objfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/opener"
)

// splitArchive splits "archive.zip!/member" if there is such an archive.
func splitArchive(path string) (archive, member string, ok bool) {
	archive, member, ok = strings.Cut(path, "!/")
	if !ok || member == "" {
		return "", "", false
	}
	_, ok = opener.Root{}.Regular(archive)
	return archive, member, ok
}

// openMember opens a member of a zip file, or of a bundle of .NET. Only members stored without compression can be
// mapped, and so be probed.
func openMember(path, archive, member string) (f *File, err error) {
	mapped, err := mapFile(archive)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			unix.Munmap(mapped)
		}
	}()
	base, size, err := findMember(mapped, member)
	if exe, wrong := newFile(archive, mapped, 0, uint64(len(mapped))); wrong == nil {
		if list := exe.Bundle(); len(list) > 0 {
			base, size, err = memberOf(list, member)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f, err = newFile(path, mapped, base, size); err != nil {
		return nil, err
	}
	f.archive = archive
	return f, nil
}

func findMember(data []byte, member string) (base, size uint64, err error) {
	defer Guard(&err)()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return 0, 0, fmt.Errorf("not a zip file: %w", err)
	}
	for _, m := range r.File {
		if m.Name != member {
			continue
		}
		if m.Method != zip.Store {
			return 0, 0, fmt.Errorf("%q is compressed in the archive; only stored members can be mapped and probed", member)
		}
		off, err := m.DataOffset()
		if err != nil {
			return 0, 0, err
		}
		if off < 0 || uint64(off) > uint64(len(data)) || m.UncompressedSize64 > uint64(len(data))-uint64(off) {
			return 0, 0, fmt.Errorf("%q lies outside of the archive", member)
		}
		return uint64(off), m.UncompressedSize64, nil
	}
	return 0, 0, fmt.Errorf("no member %q in the archive", member)
}
