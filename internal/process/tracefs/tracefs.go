// Package tracefs opens the kernel's tracing files: descriptions of tracepoints, lists of functions.
//
// On a machine where tracefs is not mounted it takes a mount of its own that is attached nowhere: no process sees it,
// and it ends with its descriptor.
package tracefs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNone: the kernel has no tracefs (CONFIG_TRACING), or it is not mounted and the kernel is older than 5.2.
var ErrNone = errors.New("this kernel has no tracefs")

// FS is tracefs as an fs.FS. Names are relative to its root: "events/sched/sched_switch/format".
type FS struct {
	root int    // a descriptor of the root
	at   string // where it is mounted; "" for a mount of our own
}

// places are where tracefs is mounted by custom. Where debugfs is mounted, opening the second mounts it.
var places = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// Open finds tracefs: at the usual places, anywhere else in this process's mounts, else in a detached mount, which
// needs CAP_SYS_ADMIN. The error is ErrNone, or wraps fs.ErrPermission or another errno.
func Open() (*FS, error) {
	for _, dir := range places {
		if f := openMounted(dir); f != nil {
			return f, nil
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		for _, dir := range mountPoints(string(mounts)) {
			if f := openMounted(dir); f != nil {
				return f, nil
			}
		}
	}
	return openDetached()
}

// openMounted gives nil if there is no tracefs at a path, or not on top. O_DIRECTORY makes automatic mounts happen.
func openMounted(dir string) *FS {
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(root, &st); err != nil || int64(st.Type) != unix.TRACEFS_MAGIC {
		unix.Close(root)
		return nil
	}
	return &FS{root: root, at: dir}
}

// openDetached uses the calls of 5.2 that make a mount without a place.
func openDetached() (*FS, error) {
	root, err := mount()
	switch {
	case err == nil:
		return &FS{root: root}, nil
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOSYS):
		return nil, ErrNone
	}
	return nil, fmt.Errorf("mount tracefs: %w", err)
}

func mount() (int, error) {
	context, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(context)
	if err := unix.FsconfigCreate(context); err != nil {
		return -1, err
	}
	return unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}

// MountPoint is where it is mounted, "" if nowhere that others see.
func (f *FS) MountPoint() string { return f.at }

// Close gives the mount back. Files that are open stay so.
func (f *FS) Close() { unix.Close(f.root) }

// Open opens a file for reading.
func (f *FS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	fd, err := unix.Openat(f.root, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Openat(f.root, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), path.Join("tracefs", name)), nil
}

// Stat tells about a file without opening it.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	fd, err := unix.Openat(f.root, name, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	return file.Stat()
}

// maxFile bounds what ReadFile takes: the description of an event is some kilobytes.
const maxFile = 1 << 20

// ReadFile reads a whole small file, up to 1 MB. The sizes that tracefs tells are 0.
func (f *FS) ReadFile(name string) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// Lines calls yield with the lines of a file until it returns false. A line is good only during the call.
func (f *FS) Lines(name string, yield func(string) bool) error {
	file, err := f.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return Lines(file, yield)
}

// Lines calls yield with the lines of a text, each of at most 1 MB, until it returns false.
func Lines(r io.Reader, yield func(string) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), 1<<20)
	for lines.Scan() {
		if !yield(lines.Text()) {
			break
		}
	}
	return lines.Err()
}

// mountPoints reads mountinfo (proc_pid_mountinfo(5)): mounts of the file system's root.
func mountPoints(mountinfo string) []string {
	var dirs []string
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 5 || fields[3] != "/" || !strings.HasPrefix(after, "tracefs ") {
			continue
		}
		dirs = append(dirs, unescapeMount(fields[4]))
	}
	return dirs
}

// unescapeMount undoes mountinfo's \ooo for blanks and backslashes.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
