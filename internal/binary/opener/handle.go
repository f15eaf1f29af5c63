package opener

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrNotRegular says that a path is not a regular file.
var ErrNotRegular = errors.New("not a regular file")

// ErrSpecial says that the kernel makes a file up when it is opened.
var ErrSpecial = errors.New("a file that the kernel makes up is not opened")

// errLeased: fcntl(2), "Leases". Who waits may be made to wait for 45 seconds.
var errLeased = errors.New("a process has a lease on it (F_SETLEASE)")

// handle is a file that has been found but not opened.
type handle int

// openPath makes a handle. openat2 is from Linux 5.6.
func openPath(dir int, name string, flags, resolve uint64) (handle, error) {
	if resolve == 0 {
		fd, err := ignoringEINTR(func() (int, error) {
			return unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC|int(flags), 0)
		})
		return handle(fd), err
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: resolve}
	for range 100 {
		fd, err := unix.Openat2(dir, name, &how)
		// EAGAIN: something was renamed or mounted meanwhile, the kernel can't rule out an escape.
		if err != unix.EAGAIN && err != unix.EINTR {
			return handle(fd), err
		}
	}
	return -1, unix.EAGAIN
}

func (h handle) close() { unix.Close(int(h)) }

// proc is the handle as a path, which the kernel follows to this very file.
func (h handle) proc() string { return "/proc/self/fd/" + strconv.Itoa(int(h)) }

func (h handle) stat() (st unix.Stat_t, err error) {
	err = unix.Fstat(int(h), &st)
	return st, err
}

// link is the path of the file, as the kernel shows it.
func (h handle) link() (string, error) { return os.Readlink(h.proc()) }

// open opens the file for reading if it is a regular one; those of the kernel only if made is set.
func (h handle) open(name string, made bool) (*os.File, error) {
	st, err := h.stat()
	if err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, ErrNotRegular
	}
	if !made {
		var in unix.Statfs_t
		if err := unix.Fstatfs(int(h), &in); err != nil {
			return nil, err
		}
		// The field has 32 or 64 bits, with or without a sign.
		if slices.Contains(madeUp(), uint32(in.Type)) {
			return nil, ErrSpecial
		}
	}
	// Not blocking, because of leases; to read a regular file is the same.
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Open(h.proc(), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	})
	if err == unix.EAGAIN {
		err = errLeased
	}
	if err != nil {
		return nil, err
	}
	// Or package os would try to have it watched (epoll).
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// madeUp are the file systems whose files are the kernel's own (statfs(2), include/uapi/linux/magic.h): regular by
// type, but to open, read or close one can be a command.
func madeUp() []uint32 {
	return []uint32{
		unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.EFIVARFS_MAGIC, unix.PSTOREFS_MAGIC,
		unix.SELINUX_MAGIC, unix.SMACK_MAGIC, unix.BINFMTFS_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.NSFS_MAGIC,
		unix.XENFS_SUPER_MAGIC, unix.USBDEVICE_SUPER_MAGIC, unix.OPENPROM_SUPER_MAGIC, unix.AAFS_MAGIC,
		0x19800202, // mqueue (ipc/mqueue.c)
		0x62656570, // configfs (fs/configfs/mount.c)
		0x65735543, // the controls of FUSE (fs/fuse/control.c)
		0x67596969, // rpc_pipefs (net/sunrpc/rpc_pipe.c)
		0x6e667364, // nfsd (fs/nfsd/nfsctl.c)
		0x7655821,  // resctrl (arch/x86/kernel/cpu/resctrl)
	}
}

func ignoringEINTR(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// cause strips the operation and path that package os adds, where the message already tells them.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
