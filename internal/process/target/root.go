package target

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

// Root is where the process's absolute paths start. It is our own root where that is the same folder of the same mount
// namespace, so that paths stay as short as the user knows them.
func (p PID) Root() (Root, error) {
	var own, its unix.Stat_t
	dir := p.path("root")
	if err := unix.Stat(dir, &its); err != nil {
		return Root{}, procError(p, "root", err)
	}
	if err := unix.Stat("/", &own); err == nil && own.Dev == its.Dev && own.Ino == its.Ino {
		ownNS, err := os.Readlink("/proc/self/ns/mnt")
		if err == nil {
			if itsNS, err := os.Readlink(p.path("ns/mnt")); err == nil && itsNS == ownNS {
				return Root{}, nil
			}
		}
	}
	return Root{dir}, nil
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
// elsewhere.
func (r Root) Open(name string) (*os.File, error) {
	in, p := r.inner(name)
	if in.dir == "" {
		f, err := openRegular(unix.AT_FDCWD, p, 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, cause(err))
		}
		return f, nil
	}
	dir, err := in.open()
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	f, err := openRegular(dir, p, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return nil, fmt.Errorf("%s (in %s): %w", p, in.dir, cause(err))
	}
	return f, nil
}

// Resolve returns a path of the file or folder that has no symbolic links left and is valid from our own root: what the
// kernel can be given to attach to.
func (r Root) Resolve(name string) (string, error) {
	in, p := r.inner(name)
	at, dir, resolve := name, unix.AT_FDCWD, uint64(0)
	if in.dir != "" {
		at, resolve = fmt.Sprintf("%s (in %s)", p, in.dir), unix.RESOLVE_IN_ROOT
		var err error
		if dir, err = in.open(); err != nil {
			return "", err
		}
		defer unix.Close(dir)
	}
	fd, err := openPath(dir, p, 0, resolve)
	if err != nil {
		return "", fmt.Errorf("%s: %w", at, err)
	}
	defer unix.Close(fd)
	var want, got unix.Stat_t
	if err := unix.Fstat(fd, &want); err != nil {
		return "", fmt.Errorf("%s: %w", at, err)
	}
	link, err := os.Readlink(procFD(fd))
	if err != nil {
		return "", fmt.Errorf("%s: %w", at, cause(err))
	}
	// The kernel shows the path from the root of the mount namespace that the file is in. For a chroot in our own namespace
	// that is a path from our root already.
	for _, c := range []string{in.dir + link, link} {
		if err := unix.Stat(c, &got); err == nil && got.Dev == want.Dev && got.Ino == want.Ino {
			return c, nil
		}
	}
	return "", fmt.Errorf("%s: its path cannot be opened from here: %w", at, fs.ErrNotExist)
}

// Path is what the user would call the file in this root: a path that Resolve returned, without the root's folder.
func (r Root) Path(resolved string) string {
	if rest, ok := strings.CutPrefix(resolved, r.dir+"/"); ok && r.dir != "" {
		return "/" + rest
	}
	return resolved
}

// open opens the root's folder.
func (r Root) open() (int, error) {
	fd, err := unix.Open(r.String(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		return fd, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return -1, fmt.Errorf("%s: %w", r.dir, ErrGone)
	case errors.Is(err, fs.ErrPermission):
		return -1, fmt.Errorf("%s: entering the root of this process is not permitted: run as root (with CAP_SYS_PTRACE): %w", r.dir, err)
	}
	return -1, fmt.Errorf("%s: %w", r.dir, err)
}

// ErrNotRegular says that a path is not a regular file.
var ErrNotRegular = errors.New("not a regular file")

// openRegular opens a regular file for reading. It looks before it opens: opening a FIFO would hang, opening a device may do
// anything.
func openRegular(dir int, name string, resolve uint64) (*os.File, error) {
	fd, err := openPath(dir, name, 0, resolve)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, ErrNotRegular
	}
	rfd, err := ignoringEINTR(func() (int, error) {
		return unix.Open(procFD(fd), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(rfd), name), nil
}

// openPath makes a handle of a file without opening it. openat2 is from Linux 5.6.
func openPath(dir int, name string, flags, resolve uint64) (int, error) {
	if resolve == 0 {
		return ignoringEINTR(func() (int, error) {
			return unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC|int(flags), 0)
		})
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: resolve}
	for range 100 {
		fd, err := unix.Openat2(dir, name, &how)
		// EAGAIN: something was renamed or mounted meanwhile, the kernel can't rule out an escape.
		if err != unix.EAGAIN && err != unix.EINTR {
			return fd, err
		}
	}
	return -1, unix.EAGAIN
}

func ignoringEINTR(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != unix.EINTR {
			return n, err
		}
	}
}

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// readDir lists the names in a folder of the root.
func (r Root) readDir(name string) ([]string, error) {
	dir, resolve := unix.AT_FDCWD, uint64(0)
	if r.dir != "" {
		var err error
		if dir, err = r.open(); err != nil {
			return nil, err
		}
		defer unix.Close(dir)
		resolve = unix.RESOLVE_IN_ROOT
	}
	fd, err := openPath(dir, name, unix.O_DIRECTORY, resolve)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	d, err := os.Open(procFD(fd))
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

// exists tells whether a path names something in the root.
func (r Root) exists(name string) bool {
	dir, resolve := unix.AT_FDCWD, uint64(0)
	if r.dir != "" {
		var err error
		if dir, err = r.open(); err != nil {
			return false
		}
		defer unix.Close(dir)
		resolve = unix.RESOLVE_IN_ROOT
	}
	fd, err := openPath(dir, name, 0, resolve)
	if err == nil {
		unix.Close(fd)
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
			names, err := in.readDir(cmpOr(d, "."))
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
	at = slices.DeleteFunc(at, func(p string) bool { return p == "" || !in.exists(p) })
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
		if r.executable(name) {
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
		if !slices.Contains(found, p) && r.executable(p) {
			found = append(found, p)
		}
	}
	return found
}

// executable tells whether a path is a regular file that somebody may execute.
func (r Root) executable(name string) bool {
	dir, resolve := unix.AT_FDCWD, uint64(0)
	if r.dir != "" {
		var err error
		if dir, err = r.open(); err != nil {
			return false
		}
		defer unix.Close(dir)
		resolve = unix.RESOLVE_IN_ROOT
	}
	fd, err := openPath(dir, name, 0, resolve)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o111 != 0
}
