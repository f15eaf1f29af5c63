package opener

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// DebugDir is where distributions put separate debug files.
const DebugDir = "/usr/lib/debug"

// ErrOutside says that a file names another one that lies outside of where it may.
var ErrOutside = errors.New("it is outside of the root of the process, and debug files of this machine are only " +
	"read below " +
	DebugDir + " (or in folders named by --debuginfo)")

// Asked opens a file that the user named: any regular one, also of the kernel's. It does not wait for a FIFO's writer,
// nor open a device.
func Asked(name string) (*os.File, error) {
	h, err := openPath(unix.AT_FDCWD, name, 0, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer h.close()
	f, err := h.open(name, true)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	return f, nil
}

// Names opens the files that a file names: its debug files, and those that they name. They may be in the root that the
// file is in. In ours, if that is another one, they may be where debug files are. The zero Names are of a file of our
// root.
type Names struct {
	root Root
	dirs []string // of ours
}

// Beside is for the names in the file at a path; the user has named folders where debug files are.
func Beside(path string, dirs ...string) Names {
	n := Names{root: Of(path)}
	for _, d := range dirs {
		if abs, err := filepath.Abs(d); err == nil {
			n.dirs = append(n.dirs, abs)
		}
	}
	return n
}

// Dirs are the folders that the user named, as absolute paths.
func (n Names) Dirs() []string { return n.dirs }

// Root is the root that the file is in.
func (n Names) Root() Root { return n.root }

// Paths are the paths of ours that a path in the file can mean, best first: in the file's root, then, where that is
// another one, in ours. A path of ours that is in the file's root already, such as one beside the file, means itself.
func (n Names) Paths(name string) []string {
	if n.root.Own() || n.within(name) {
		return []string{name}
	}
	return []string{filepath.Join(n.root.dir, filepath.Clean("/"+name)), name}
}

// within tells whether a path of ours is written as one of the file's root, which is another than ours.
func (n Names) within(name string) bool { return strings.HasPrefix(name, n.root.dir+"/") }

// Open opens a regular file by a path of ours. Links are followed, but not those of /proc that lead into processes.
func (n Names) Open(name string) (*os.File, error) {
	root, inner := Root{}, name
	switch {
	case n.root.Own():
	case n.within(name):
		root, inner = n.root, strings.TrimPrefix(name, n.root.dir)
	case !n.permits(name):
		return nil, fmt.Errorf("%s: %w", name, ErrOutside)
	}
	h, err := root.handle(inner, 0, unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil, root.failed(name, inner, err)
	}
	defer h.close()
	f, err := h.open(name, false)
	if err != nil {
		return nil, root.failed(name, inner, err)
	}
	return f, nil
}

// permits tells whether a path of ours is below one of the folders, as it is written.
func (n Names) permits(name string) bool {
	name, err := filepath.Abs(name)
	if err != nil {
		return false
	}
	for _, dir := range append([]string{DebugDir}, n.dirs...) {
		if strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/") {
			return true
		}
	}
	return false
}
