package target

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/opener"
)

// LibraryEntry is one entry of ld.so.cache: the name programs ask for, and the file that serves it.
type LibraryEntry struct {
	Name  string
	Path  string
	Flags uint32 // FLAG_* of glibc's sysdeps/generic/ldconfig.h: type in the low byte, ABI in the next
	HWCap uint64 // not 0: only for certain CPUs
}

// ld.so.cache, new format of glibc since 2.2 (struct cache_file_new in sysdeps/generic/dl-cache.h). Files written
// before 2.32 by default have the old format in front; all offsets count from the new header.
const (
	cacheOldMagic   = "ld.so-1.7.0"
	cacheMagic      = "glibc-ld.so.cache1.1"
	cacheOldEntry   = 12
	cacheHeaderSize = 48
	cacheEntrySize  = 24
	maxCacheBytes   = 64 << 20
)

// ParseLibraryCache reads the content of ld.so.cache. Entries whose strings are outside of the file are an error.
func ParseLibraryCache(b []byte) ([]LibraryEntry, error) {
	if bytes.HasPrefix(b, []byte(cacheOldMagic)) {
		if len(b) < 16 {
			return nil, errors.New("ld.so.cache is truncated")
		}
		n := uint64(binary.NativeEndian.Uint32(b[12:]))
		skip := (16 + n*cacheOldEntry + 7) &^ 7 // ALIGN_CACHE: to that of the new header
		if skip > uint64(len(b)) {
			return nil, errors.New("ld.so.cache is truncated, or has only the format before glibc 2.2")
		}
		b = b[skip:]
	}
	if !bytes.HasPrefix(b, []byte(cacheMagic)) {
		return nil, errors.New("ld.so.cache has an unknown format")
	}
	if len(b) < cacheHeaderSize {
		return nil, errors.New("ld.so.cache is truncated")
	}
	n := uint64(binary.NativeEndian.Uint32(b[20:]))
	if n > uint64(len(b)-cacheHeaderSize)/cacheEntrySize {
		return nil, fmt.Errorf("ld.so.cache is truncated: %d entries don't fit", n)
	}
	str := func(off uint32) (string, bool) {
		if uint64(off) >= uint64(len(b)) {
			return "", false
		}
		s := b[off:]
		if len(s) > 4096 {
			s = s[:4096]
		}
		i := bytes.IndexByte(s, 0)
		if i < 0 {
			return "", false
		}
		return string(s[:i]), true
	}
	libs := make([]LibraryEntry, 0, n)
	for i := range n {
		e := b[cacheHeaderSize+i*cacheEntrySize:]
		l := LibraryEntry{Flags: binary.NativeEndian.Uint32(e), HWCap: binary.NativeEndian.Uint64(e[16:])}
		var ok1, ok2 bool
		l.Name, ok1 = str(binary.NativeEndian.Uint32(e[4:]))
		l.Path, ok2 = str(binary.NativeEndian.Uint32(e[8:]))
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("ld.so.cache: the name of entry %d is outside of the file", i)
		}
		libs = append(libs, l)
	}
	return libs, nil
}

// native tells whether a library of the cache can be loaded by programs of this machine's main ABI.
func (l *LibraryEntry) native() bool {
	host, err := abi.Host()
	return err != nil || l.Flags>>8 == host.ELF.Cache // sysdeps/generic/ldconfig.h
}

// libraryDirs are the folders that loaders search without a cache: musl (ldso/dynlink.c) and glibc with Debian's and
// others' multiarch folders.
func libraryDirs() []string {
	var dirs []string
	if host, err := abi.Host(); err == nil {
		dirs = append(dirs, "/lib/"+host.Triplet, "/usr/lib/"+host.Triplet)
	}
	return append(dirs, "/lib64", "/usr/lib64", "/lib", "/usr/local/lib", "/usr/lib")
}

// IsLibrary tells whether a file's name (without folder) is that of the library meant by name: "libc.so.6" for
// "libc.so.6", "libc.so" and "libc"; "libc-2.31.so" for "libc".
func IsLibrary(file, name string) bool {
	rest, ok := strings.CutPrefix(file, name)
	switch {
	case !ok:
		return false
	case rest == "" || rest == ".so" || strings.HasPrefix(rest, ".so."):
		return true
	case rest[0] == '.':
		return strings.HasSuffix(name, ".so") || strings.Contains(name, ".so.")
	}
	return len(rest) > 1 && rest[0] == '-' && rest[1] >= '0' && rest[1] <= '9' && strings.Contains(rest, ".so")
}

// FindLibrary finds shared libraries by name: "libc.so.6" the file of that name; "libc" every libc.so…. The paths are
// resolved (see Resolve), each file once, in the loader's order of preference: the first is the one most programs use.
// No match is an empty list.
func (r Root) FindLibrary(name string) ([]string, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q is not the name of a library", name)
	}
	var found []string
	add := func(p string) {
		if p, err := r.Resolve(p); err == nil && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	libs, err := r.libraryCache()
	for i := range libs {
		if l := &libs[i]; IsLibrary(l.Name, name) && l.native() {
			add(l.Path)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	for _, dir := range libraryDirs() {
		names, rerr := r.ReadDir(dir)
		if rerr != nil {
			continue
		}
		for _, n := range names {
			if IsLibrary(n, name) {
				add(path.Join(dir, n))
			}
		}
		// musl's libc is the loader itself.
		if name == "libc" && len(found) == 0 {
			for _, n := range names {
				if strings.HasPrefix(n, "ld-musl-") || strings.HasPrefix(n, "libc.musl-") {
					add(path.Join(dir, n))
				}
			}
		}
	}
	if len(found) == 0 && err != nil && !errors.Is(err, opener.ErrNotRegular) {
		return nil, err
	}
	return found, nil
}

// libraryCache reads the root's ld.so.cache; a root without one has no entries.
func (r Root) libraryCache() ([]LibraryEntry, error) {
	const name = "/etc/ld.so.cache"
	if !r.Exists(name) {
		return nil, nil
	}
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxCacheBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cause(err))
	}
	if len(b) > maxCacheBytes {
		return nil, fmt.Errorf("%s is larger than %d MB", name, maxCacheBytes>>20)
	}
	return ParseLibraryCache(b)
}
