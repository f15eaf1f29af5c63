package opener

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Root is a folder that absolute paths start from: our own root, or that of a process in another mount namespace or
// chroot. Symbolic links met on the way are resolved inside it, so that a container cannot lead us to files outside.
// The zero Root is our own.
type Root struct {
	dir string // "" or "/proc/PID/root"
}

// At is the root at a folder, such as "/proc/PID/root".
func At(dir string) Root { return Root{strings.TrimSuffix(dir, "/")} }

// OfProcess is where the absolute paths of a process start. It is our own root where that is the same folder of the
// same mount namespace, so that paths stay as short as the user knows them.
func OfProcess(pid int) (Root, error) {
	var own, its unix.Stat_t
	proc := "/proc/" + strconv.Itoa(pid)
	if err := unix.Stat(proc+"/root", &its); err != nil {
		return Root{}, err
	}
	if err := unix.Stat("/", &own); err == nil && own.Dev == its.Dev && own.Ino == its.Ino {
		ownNS, err := os.Readlink("/proc/self/ns/mnt")
		if err == nil {
			if itsNS, err := os.Readlink(proc + "/ns/mnt"); err == nil && itsNS == ownNS {
				return Root{}, nil
			}
		}
	}
	return Root{proc + "/root"}, nil
}

// Of is the root in whose file system the file of a path is, if it is a path of /proc that leads into that of a
// process:
// "/proc/PID/root/…", "/proc/PID/exe", "/proc/PID/map_files/…". All other paths are of our own root.
func Of(name string) Root {
	rest, ok := strings.CutPrefix(name, "/proc/")
	if !ok {
		return Root{}
	}
	pid, rest, ok := strings.Cut(rest, "/")
	n, err := strconv.ParseUint(pid, 10, 31)
	switch {
	case !ok || err != nil && pid != "self":
		return Root{}
	case strings.HasPrefix(rest, "root/"):
		return Root{"/proc/" + pid + "/root"}
	case pid == "self":
		return Root{}
	}
	r, err := OfProcess(int(n))
	if err != nil { // it ended: nothing below is found any more
		return Root{"/proc/" + pid + "/root"}
	}
	return r
}

// String is the root's folder: "/" or "/proc/PID/root".
func (r Root) String() string {
	if r.dir == "" {
		return "/"
	}
	return r.dir
}

// Own tells whether it is our own root.
func (r Root) Own() bool { return r.dir == "" }

// inner splits a path into the root it means and the path in there: what the user names by /proc/PID/root/… is meant to
// be resolved inside that root too.
func (r Root) inner(p string) (Root, string) {
	rest, ok := strings.CutPrefix(p, "/proc/")
	if !ok {
		return r, p
	}
	pid, rest, ok := strings.Cut(rest, "/")
	if !ok || rest != "root" && !strings.HasPrefix(rest, "root/") {
		return r, p
	}
	dir := "/proc/" + pid + "/root"
	if _, err := strconv.ParseUint(pid, 10, 31); err != nil && pid != "self" || r.dir != "" && r.dir != dir {
		return r, p
	}
	return Root{dir}, "/" + strings.TrimLeft(strings.TrimPrefix(rest, "root"), "/")
}

// Open opens a regular file for reading. A relative path starts at our working directory in our own root, at the root
// elsewhere. Files that the kernel makes up, as those of /proc, are refused: opening one can have effects.
func (r Root) Open(name string) (*os.File, error) {
	in, p := r.inner(name)
	h, err := in.handle(p, 0, 0)
	if err != nil {
		return nil, in.failed(name, p, err)
	}
	defer h.close()
	f, err := h.open(name, false)
	if err != nil {
		return nil, in.failed(name, p, err)
	}
	return f, nil
}

// Regular tells whether a path in the root is a regular file, and what it is.
func (r Root) Regular(name string) (os.FileMode, bool) {
	in, p := r.inner(name)
	h, err := in.handle(p, 0, 0)
	if err != nil {
		return 0, false
	}
	defer h.close()
	st, err := h.stat()
	return os.FileMode(st.Mode & 0o777), err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// failed says which path could not be used, and in which root.
func (r Root) failed(name, inner string, err error) error {
	if r.dir == "" || errors.Is(err, ErrGone) || errors.Is(err, errEnter) {
		return fmt.Errorf("%s: %w", name, cause(err))
	}
	return fmt.Errorf("%s (in %s): %w", inner, r.dir, cause(err))
}

// handle makes a handle of a path in the root.
func (r Root) handle(name string, flags, resolve uint64) (handle, error) {
	if r.dir == "" {
		return openPath(unix.AT_FDCWD, name, flags, resolve)
	}
	dir, err := r.open()
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	return openPath(dir, name, flags, resolve|unix.RESOLVE_IN_ROOT)
}

// Resolve returns a path of the file or folder that has no symbolic links left and is valid from our own root: what the
// kernel can be given to attach to.
func (r Root) Resolve(name string) (string, error) {
	in, p := r.inner(name)
	h, err := in.handle(p, 0, 0)
	if err != nil {
		return "", in.failed(name, p, err)
	}
	defer h.close()
	want, err := h.stat()
	if err != nil {
		return "", in.failed(name, p, err)
	}
	link, err := h.link()
	if err != nil {
		return "", in.failed(name, p, err)
	}
	// The kernel shows the path from the root of the mount namespace that the file is in. For a chroot in our own
	// namespace that is a path from our root.
	paths := []string{in.dir + link}
	if in.dir != "" {
		if top, err := os.Readlink(in.dir); err == nil && strings.HasPrefix(link, top+"/") {
			paths = append(paths, in.dir+strings.TrimPrefix(link, top))
		}
		paths = append(paths, link)
	}
	var got unix.Stat_t
	for _, c := range paths {
		if err := unix.Stat(c, &got); err == nil && got.Dev == want.Dev && got.Ino == want.Ino {
			return c, nil
		}
	}
	return "", in.failed(name, p, fmt.Errorf("its path cannot be opened from here: %w", fs.ErrNotExist))
}

// Path is what the user would call the file in this root: a path that Resolve returned, without the root's folder.
func (r Root) Path(resolved string) string {
	if rest, ok := strings.CutPrefix(resolved, r.dir+"/"); ok && r.dir != "" {
		return "/" + rest
	}
	return resolved
}

// Ours is the path by which we open a path in the root, whatever that says: what a process or a file names may be made
// to look like a path of ours.
func (r Root) Ours(inner string) string {
	if r.dir == "" {
		return inner
	}
	return path.Join(r.dir, path.Clean("/"+inner))
}

// Shown is the path in the root for what the kernel shows as the path of a file of a process, in maps or exe: of one
// that has only changed its root (chroot(2)) that is a path from the root of its mount namespace.
func (r Root) Shown(name string) string {
	if r.dir == "" {
		return name
	}
	if top, err := os.Readlink(r.dir); err == nil {
		if inner, ok := strings.CutPrefix(name, top+"/"); ok {
			return "/" + inner
		}
	}
	return name
}

// ErrGone says that the process of a root does not exist (any more).
var ErrGone = errors.New("no such process")

var errEnter = errors.New("entering the root of this process is not permitted")

// open opens the root's folder.
func (r Root) open() (int, error) {
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Open(r.String(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	switch {
	case err == nil:
		return fd, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return -1, fmt.Errorf("%s: %w", r.dir, ErrGone)
	case errors.Is(err, fs.ErrPermission):
		return -1, fmt.Errorf("%s: %w: run as root (with CAP_SYS_PTRACE): %w", r.dir, errEnter, err)
	}
	return -1, fmt.Errorf("%s: %w", r.dir, err)
}

// ReadDir lists the names in a folder of the root, sorted.
func (r Root) ReadDir(name string) ([]string, error) {
	h, err := r.handle(name, unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer h.close()
	d, err := os.Open(h.proc())
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxGlob)
	if err != nil && len(names) == 0 {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// Exists tells whether a path names something in the root.
func (r Root) Exists(name string) bool {
	h, err := r.handle(name, 0, 0)
	if err == nil {
		h.close()
	}
	return err == nil
}

// maxGlob bounds the names read of one folder and the paths that a pattern may match.
const maxGlob = 1 << 20

// HasGlob tells whether a path contains wildcards.
func HasGlob(p string) bool { return strings.ContainsAny(p, "*?[") }

// Glob returns the paths in the root that match a pattern, sorted, as in glob(7): wildcards don't match a slash nor a
// leading dot. Symbolic links in folders are followed inside the root.
func (r Root) Glob(pattern string) ([]string, error) {
	in, p := r.inner(pattern)
	if _, err := path.Match(p, ""); err != nil {
		return nil, fmt.Errorf("%s: the pattern's [ is not closed", pattern)
	}
	at := []string{""}
	if strings.HasPrefix(p, "/") || in.dir != "" {
		at = []string{"/"}
	}
	elems := strings.FieldsFunc(p, func(c rune) bool { return c == '/' })
	for i, e := range elems {
		var next []string
		for _, d := range at {
			if !HasGlob(e) {
				next = append(next, d+e)
				continue
			}
			names, err := in.ReadDir(cmpOr(d, "."))
			if err != nil {
				continue // not a folder, or not ours to read
			}
			for _, name := range names {
				if ok, _ := path.Match(e, name); ok && (name[0] != '.' || e[0] == '.') {
					next = append(next, d+name)
				}
			}
			if len(next) > maxGlob {
				return nil, fmt.Errorf("%s: more than %d paths match", pattern, maxGlob)
			}
		}
		at = next
		if i < len(elems)-1 {
			for j := range at {
				at[j] += "/"
			}
		}
	}
	at = slices.DeleteFunc(at, func(p string) bool { return p == "" || !in.Exists(p) })
	if in != r { // as the user named it
		for i := range at {
			at[i] = in.dir + at[i]
		}
	}
	return at, nil
}

func cmpOr(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// LookPath finds a program by name in the folders of a PATH variable, in order: the paths in the root (not resolved) of
// all executable regular files. A name with a slash is only checked. Without a PATH the one of execvp(3) serves.
func (r Root) LookPath(name, pathVar string) []string {
	if strings.Contains(name, "/") {
		if r.Executable(name) {
			return []string{name}
		}
		return nil
	}
	if name == "" {
		return nil
	}
	if pathVar == "" {
		pathVar = "/bin:/usr/bin"
	}
	var found []string
	for dir := range strings.SplitSeq(pathVar, ":") {
		p := path.Join(cmpOr(dir, "."), name)
		if dir == "" || dir == "." {
			p = "./" + name
		}
		if !slices.Contains(found, p) && r.Executable(p) {
			found = append(found, p)
		}
	}
	return found
}

// Executable tells whether a path is a regular file that somebody may execute.
func (r Root) Executable(name string) bool {
	mode, ok := r.Regular(name)
	return ok && mode&0o111 != 0
}
