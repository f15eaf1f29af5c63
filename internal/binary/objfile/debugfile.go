package objfile

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strings"

	"trocar/internal/binary/opener"
)

// Debug is the separate file with the full symbol table and the debug information of a stripped file, nil if there is
// none: by build id below /usr/lib/debug, else by .gnu_debuglink, else from where FetchDebug says. It is looked for on
// the first call, and closed with f.
func (f *File) Debug() *File {
	return f.debug.get(func(p **File) {
		names := f.Names()
		for _, path := range f.debugPaths(names) {
			d, err := f.openDebug(names, path)
			if err == nil {
				*p, f.debugErr = d, nil
				return
			}
			if f.debugErr == nil && errors.Is(err, errOtherBuild) {
				f.debugErr = err
			}
		}
		id := f.BuildID()
		if f.fetchDebug == nil || id == "" || f.hasDebug() {
			return
		}
		path, err := f.fetchDebug(id)
		if err == nil {
			*p, err = f.openDebug(opener.Names{}, path) // a path of ours
		}
		f.debugErr = err
	})
}

// A Fetcher gets a debug file by its build id from elsewhere and returns its path. It waits no longer than the context.
type Fetcher func(ctx context.Context, buildID string) (path string, err error)

// FetchDebug sets what gets debug files from elsewhere (nil: nothing does), and what ends a wait for them: whatever
// asks for a name may be the first to need the file. It must be called before Debug, and is used for files without
// debug information of which none is found here.
func (f *File) FetchDebug(ctx context.Context, fetch Fetcher) {
	f.fetchDebug = nil
	if fetch != nil {
		f.fetchDebug = func(buildID string) (string, error) { return fetch(ctx, buildID) }
	}
}

// Fetch is what FetchDebug set, with its context; nil: nothing.
func (f *File) Fetch() func(buildID string) (path string, err error) { return f.fetchDebug }

// DebugError is why the debug file could not be fetched, or that the one at its place is another's; nil: it was, or
// there is none and nowhere to fetch it from.
func (f *File) DebugError() error {
	f.Debug()
	return f.debugErr
}

var errOtherBuild = errors.New("the debug file of another build")

// hasDebug tells whether the file has debug information itself.
func (f *File) hasDebug() bool {
	for _, name := range []string{".debug_info", ".zdebug_info"} {
		if s, ok := f.Section(name); ok && s.Type != shtNoBits && s.Size > 0 {
			return true
		}
	}
	return false
}

// SearchDebug names further folders in which the debug file may be, ahead of the usual ones; relative ones are tried
// from the file's own folder, too. It must be called before Debug.
func (f *File) SearchDebug(dirs ...string) { f.debugDirs = append(f.debugDirs, dirs...) }

// Names opens the files that this file names, and those that its debug files name.
func (f *File) Names() opener.Names { return opener.Beside(f.path, f.debugDirs...) }

// dir is the folder that the file is in, without links: a path of ours.
func (f *File) dir() string {
	if real, err := (opener.Root{}).Resolve(f.AttachPath()); err == nil {
		return filepath.Dir(real)
	}
	return filepath.Dir(f.path)
}

// extraPaths are the places in the folders of SearchDebug: by build id, by .gnu_debuglink and by the file's own name.
func (f *File) extraPaths(own string) (paths []string) {
	id, link := f.BuildID(), f.debugLink()
	for _, d := range f.debugDirs {
		dirs := []string{d}
		if !filepath.IsAbs(d) {
			dirs = append(dirs, filepath.Join(own, d))
		}
		for _, dir := range dirs {
			if len(id) > 2 {
				paths = append(paths, filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
			}
			if link != "" {
				paths = append(paths, filepath.Join(dir, link))
			}
			base := filepath.Base(f.path)
			paths = append(paths, filepath.Join(dir, base+".debug"), filepath.Join(dir, base))
		}
	}
	return paths
}

// debugPaths are the places where the debug file may be, best first, as paths of ours. A file inside of a process's
// root (/proc/PID/root/…) has its debug files there or here.
func (f *File) debugPaths(names opener.Names) (paths []string) {
	dir := f.dir()
	paths = f.extraPaths(dir)
	if id := f.BuildID(); len(id) > 2 {
		paths = append(paths, names.Paths(opener.DebugDir+"/.build-id/"+id[:2]+"/"+id[2:]+".debug")...)
	}
	name := f.debugLink()
	if name == "" || f.archive != "" {
		return paths
	}
	paths = append(paths, filepath.Join(dir, name), filepath.Join(dir, ".debug", name))
	if abs, err := filepath.Abs(dir); err == nil {
		inner := abs
		if root := names.Root(); !root.Own() {
			inner = strings.TrimPrefix(abs, root.String())
		}
		paths = append(paths, names.Paths(filepath.Join(opener.DebugDir, inner, name))...)
	}
	return paths
}

// debugLink is the file name in .gnu_debuglink; anything with a slash is refused.
func (f *File) debugLink() string {
	var name string
	var err error
	func() {
		defer Guard(&err)()
		data, derr := f.Data(".gnu_debuglink")
		if derr == nil {
			name = strings.Clone(cString(data, 0))
		}
	}()
	if err != nil || strings.ContainsRune(name, '/') || name == "." || name == ".." {
		return ""
	}
	return name
}

// debugLinkCRC is the checksum that the debug file must have.
func (f *File) debugLinkCRC() (crc uint32, ok bool) {
	var err error
	defer Guard(&err)()
	data, derr := f.Data(".gnu_debuglink")
	end := bytes.IndexByte(data, 0)
	at := (end + 4) &^ 3
	if derr != nil || end < 0 || at+4 > len(data) {
		return 0, false
	}
	return uint32(u32(data, at)), true
}

// openDebug opens a debug file if it really belongs to f: the build ids are equal or, where one has none, the checksum
// of .gnu_debuglink is right.
func (f *File) openDebug(names opener.Names, path string) (d *File, err error) {
	if d, err = f.OpenNamed(names, path); err != nil {
		return nil, err
	}
	if !f.owns(d) {
		d.Close()
		return nil, fmt.Errorf("%s is %w than %s", path, errOtherBuild, f.path)
	}
	return d, nil
}

func (f *File) owns(d *File) (yes bool) {
	var err error
	defer Guard(&err)()
	if d.machine != f.machine || d.is64 != f.is64 || bytes.Equal(f.data, d.data) {
		return false
	}
	if a, b := f.BuildID(), d.BuildID(); a != "" && b != "" {
		return a == b
	}
	crc, ok := f.debugLinkCRC()
	return ok && crc32.ChecksumIEEE(d.data) == crc
}

// BuildID is the file's build id in hexadecimal, or "".
func (f *File) BuildID() (id string) {
	var err error
	defer Guard(&err)()
	for _, n := range f.allNotes() {
		if n.typ == 3 && n.name == "GNU" && len(n.desc) > 0 && len(n.desc) <= 64 { // NT_GNU_BUILD_ID
			return hex.EncodeToString(n.desc)
		}
	}
	return ""
}

// maxMini bounds the size of unpacked mini debug info, which is a symbol table: real ones have up to some megabytes.
const maxMini = 32 << 20

// miniDebug is the symbol table that Fedora and others put, packed by xz, into .gnu_debugdata. It holds the functions
// that .dynsym lacks.
func (f *File) miniDebug() *File {
	return f.mini.get(func(p **File) {
		packed, err := f.Data(".gnu_debugdata")
		if err != nil {
			return
		}
		unpacked, err := unxz(packed, maxMini)
		if err != nil {
			return
		}
		f.unpacking.Lock()
		data, err := f.take(uint64(len(unpacked)))
		f.unpacking.Unlock()
		if err != nil {
			return
		}
		copy(data, unpacked)
		m, err := New(f.path+" (.gnu_debugdata)", data)
		if err == nil && m.machine == f.machine && m.is64 == f.is64 {
			m.Share(f.room)
			*p = m
		}
	})
}
