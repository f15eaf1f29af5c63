package target

import (
	"errors"
	"fmt"
	"io/fs"

	"trocar/internal/binary/opener"
)

// Root is a folder that absolute paths start from: our own root, or that of a process in another mount namespace or
// chroot. The zero Root is our own.
type Root struct{ opener.Root }

// Root is where the process's absolute paths start.
func (p PID) Root() (Root, error) {
	r, err := opener.OfProcess(int(p))
	if errors.Is(err, fs.ErrNotExist) {
		if t := p.Living(); t != p {
			r, err = opener.OfProcess(int(t))
		}
	}
	if err != nil {
		return Root{}, procError(p, "root", err)
	}
	return Root{r}, nil
}

// Program is Exe with the path as the process has it: one that has only changed its root (chroot(2)) runs what the
// kernel shows by a path from ours.
func (p PID) Program() (path string, deleted bool, err error) {
	if path, deleted, err = p.Exe(); err != nil {
		return "", false, err
	}
	if root, err := p.Root(); err == nil {
		path = root.Shown(path)
	}
	return path, deleted, nil
}

// Ours is the path by which we open a file that is mapped in the process: what the file names is looked for in that
// root.
func (p PID) Ours(path string) string {
	root, err := p.Root()
	if err != nil { // it ended meanwhile
		return opener.At(fmt.Sprintf("/proc/%d/root", p)).Ours(path)
	}
	return root.Ours(root.Shown(path))
}
