package target

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Perm are the permissions of a mapping.
type Perm uint8

// Bits of Perm.
const (
	Read Perm = 1 << iota
	Write
	Exec
	Shared
)

// String is the permissions as /proc/PID/maps shows them.
func (p Perm) String() string {
	b := []byte("---p")
	if p&Read != 0 {
		b[0] = 'r'
	}
	if p&Write != 0 {
		b[1] = 'w'
	}
	if p&Exec != 0 {
		b[2] = 'x'
	}
	if p&Shared != 0 {
		b[3] = 's'
	}
	return string(b)
}

// Mapping is one line of /proc/PID/maps.
type Mapping struct {
	Start, End uint64
	Offset     uint64 // in the file, of Start
	Perm       Perm
	Deleted    bool   // the file's name is gone (deleted or replaced)
	Dev        uint64 // as unix.Mkdev makes it. Not always stat's: btrfs, overlayfs before Linux 6.8
	Inode      uint64 // 0: not a file
	Path       string // in the process's own root; or "[vdso]", "[stack]", "[anon:…]" …; or ""
}

// IsFile tells whether a file is mapped.
func (m *Mapping) IsFile() bool { return m.Inode != 0 }

// limits of /proc/PID/maps: vm.max_map_count is 65530 by default, some databases raise it to 262144; a path is at most
// 4096 bytes long.
const maxMapsBytes = 128 << 20

const deletedMark = " (deleted)"

// Maps are the process's mappings, by address.
func (p PID) Maps() ([]Mapping, error) {
	m, _, err := p.AppendMaps(nil, nil)
	return m, err
}

// AppendMaps is Maps for callers that come often: it appends to dst, and uses buf (which it returns, perhaps grown) for
// the text.
func (p PID) AppendMaps(dst []Mapping, buf []byte) ([]Mapping, []byte, error) {
	text, err := p.mapsText(buf)
	if err != nil {
		return dst, text, err
	}
	dst, err = ParseMaps(dst, text)
	if err != nil {
		err = fmt.Errorf("process %d: %w", p, err)
	}
	return dst, text, err
}

// AppendGone is AppendMaps of the mappings of files whose names are gone.
func (p PID) AppendGone(dst []Mapping, buf []byte) ([]Mapping, []byte, error) {
	text, err := p.mapsText(buf)
	if err == nil && bytes.Contains(text, []byte(deletedMark)) {
		had := len(dst)
		if dst, err = ParseMaps(dst, text); err != nil {
			err = fmt.Errorf("process %d: %w", p, err)
		}
		dst = dst[:had+len(slices.DeleteFunc(dst[had:], func(m Mapping) bool { return !m.Deleted }))]
	}
	return dst, text, err
}

// mapsText reads the mappings, into buf if it is large enough.
func (p PID) mapsText(buf []byte) ([]byte, error) {
	text, err := readLimited(p.path("maps"), buf[:0], maxMapsBytes)
	if err == nil && len(text) == 0 {
		if t := p.Living(); t != p {
			text, err = readLimited(t.path("maps"), buf[:0], maxMapsBytes)
		}
	}
	if err != nil {
		return buf, procError(p, "mappings", err)
	}
	if len(text) == 0 {
		return text, fmt.Errorf("process %d: %w", p, ErrNoMemory)
	}
	return text, nil
}

// ParseMaps appends the mappings of a text in the form of /proc/PID/maps (proc(5)). It allocates a string for each new
// path only: the mappings of a file follow one another.
func ParseMaps(dst []Mapping, text []byte) ([]Mapping, error) {
	var path []byte // text of the last path, and what it became
	var last Mapping
	for line := 1; len(text) > 0; line++ {
		var l []byte
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			l, text = text[:i], text[i+1:]
		} else {
			l, text = text, nil
		}
		var m Mapping
		name, ok := parseMapping(&m, l)
		if !ok {
			return dst, fmt.Errorf("line %d of maps has an unknown form: %.100q", line, l)
		}
		switch {
		case len(name) == 0:
		case bytes.Equal(name, path):
			m.Path, m.Deleted = last.Path, last.Deleted
		default:
			m.Path = string(name)
			if m.IsFile() {
				m.Path, m.Deleted = strings.CutSuffix(m.Path, deletedMark)
				// The kernel escapes the newline alone (show_map_vma in fs/proc/task_mmu.c).
				m.Path = strings.ReplaceAll(m.Path, `\012`, "\n")
			}
			path, last = name, m
		}
		dst = append(dst, m)
	}
	return dst, nil
}

// parseMapping reads "START-END PERM OFFSET MAJOR:MINOR INODE      PATH" and returns the path.
func parseMapping(m *Mapping, l []byte) (path []byte, ok bool) {
	var major, minor uint64
	if m.Start, l, ok = number(l, 16, '-'); !ok {
		return nil, false
	}
	if m.End, l, ok = number(l, 16, ' '); !ok || m.End < m.Start {
		return nil, false
	}
	if len(l) < 5 || l[4] != ' ' {
		return nil, false
	}
	for i, c := range l[:4] {
		switch c {
		case '-', 'p':
		case "rwxs"[i]:
			m.Perm |= 1 << i
		default:
			return nil, false
		}
	}
	if m.Offset, l, ok = number(l[5:], 16, ' '); !ok {
		return nil, false
	}
	if major, l, ok = number(l, 16, ':'); !ok || major > 1<<32-1 {
		return nil, false
	}
	if minor, l, ok = number(l, 16, ' '); !ok || minor > 1<<32-1 {
		return nil, false
	}
	m.Dev = unix.Mkdev(uint32(major), uint32(minor))
	// The inode is followed by blanks and the path, or by a blank or nothing.
	if m.Inode, l, ok = number(l, 10, ' '); !ok {
		return nil, false
	}
	return bytes.TrimLeft(l, " "), true
}

// number reads a number up to the delimiter, which may be missing at the end of the line, and returns what follows.
func number(b []byte, base uint64, delim byte) (n uint64, rest []byte, ok bool) {
	for i, c := range b {
		var d uint64
		switch {
		case c >= '0' && c <= '9':
			d = uint64(c - '0')
		case base == 16 && c >= 'a' && c <= 'f':
			d = uint64(c-'a') + 10
		case c == delim && i > 0:
			return n, b[i+1:], true
		default:
			return 0, nil, false
		}
		if n > (1<<64-1-d)/base {
			return 0, nil, false
		}
		n = n*base + d
	}
	return n, nil, len(b) > 0 && delim == ' '
}

// FileID names a file for as long as it exists: device and inode as stat gives them.
type FileID struct{ Dev, Inode uint64 }

// IDOf is the identity of an open file.
func IDOf(f *os.File) (FileID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return FileID{}, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return FileID{st.Dev, st.Ino}, nil
}

// Memory opens the process's memory for reading.
func (p PID) Memory() (*os.File, error) {
	f, err := os.Open(p.Living().path("mem"))
	if err != nil {
		return nil, procError(p, "memory", err)
	}
	return f, nil
}

// OpenMapped opens the very file that is mapped, even if its name is gone or now another file's. The mapping must be
// one of Maps, not merged with others.
func (p PID) OpenMapped(m *Mapping) (*os.File, error) {
	if !m.IsFile() {
		return nil, fmt.Errorf("process %d: no file is mapped at %#x", p, m.Start)
	}
	// map_files needs CAP_CHECKPOINT_RESTORE (5.9) or CAP_SYS_ADMIN, and names a mapping by its exact bounds.
	name := "map_files/" + strconv.FormatUint(m.Start, 16) + "-" + strconv.FormatUint(m.End, 16)
	f, err := (Root{}).Open(p.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		if t := p.Living(); t != p {
			f, err = (Root{}).Open(t.path(name))
		}
	}
	if err == nil {
		return f, nil
	}
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("process %d: %s: %w", p, m.Path, cause(err))
	}
	// By name then, with a check that it is still the same file.
	if exe, _, xerr := p.Exe(); xerr == nil && exe == m.Path {
		if f, xerr := (Root{}).Open(p.path("exe")); xerr == nil {
			if sameFile(f, m) {
				return f, nil
			}
			f.Close()
		}
	}
	if m.Deleted {
		return nil, fmt.Errorf("process %d: %s is deleted, and opening it as it is mapped is not permitted: run as root: %w",
			p, m.Path, syscall.EACCES)
	}
	root, rerr := p.Root()
	if rerr != nil {
		return nil, rerr
	}
	if f, err = root.Open(root.Shown(m.Path)); err != nil {
		return nil, err
	}
	if !sameFile(f, m) {
		f.Close()
		return nil, fmt.Errorf("process %d: %s: the file has been replaced: %w", p, m.Path, ErrChanged)
	}
	return f, nil
}

// sameFile tells whether a file opened by name is the mapped one. On file systems whose mappings show another device
// number than stat (btrfs, overlayfs before 6.8) the inode number alone has to do.
func sameFile(f *os.File, m *Mapping) bool {
	id, err := IDOf(f)
	return err == nil && id.Inode == m.Inode
}
