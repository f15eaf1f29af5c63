package target

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Folder is a folder as the process sees it, without a way out of its root. It can only be looked up in; it outlives
// the process.
func (p PID) Folder(path string) (*os.File, error) {
	root, err := unix.Open(p.Living().path("root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT,
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// HasOpen tells whether the process has a file open.
func (p PID) HasOpen(id FileID) bool {
	_, ok := p.Descriptor(id)
	return ok
}

// Descriptor is the number by which the process has a file open.
func (p PID) Descriptor(id FileID) (fd int, ok bool) {
	folder := p.Living().path("fd")
	list, err := os.ReadDir(folder)
	if err != nil {
		return 0, false
	}
	for _, e := range list {
		var st unix.Stat_t
		if unix.Stat(folder+"/"+e.Name(), &st) == nil && (FileID{Dev: st.Dev, Inode: st.Ino}) == id {
			fd, err = strconv.Atoi(e.Name())
			return fd, err == nil
		}
	}
	return 0, false
}

// OpenUnnamed opens a file that the process has open and that had this path, whose name is gone.
func (p PID) OpenUnnamed(name string) (*os.File, error) {
	folder := p.Living().path("fd")
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		at := folder + "/" + e.Name()
		link, err := os.Readlink(at)
		if err != nil || path.Base(link) != path.Base(name)+deletedMark {
			continue
		}
		if st, err := os.Stat(at); err == nil && st.Mode().IsRegular() {
			return os.OpenFile(at, os.O_RDONLY|unix.O_NONBLOCK, 0)
		}
	}
	return nil, os.ErrNotExist
}

// dialPause is between tries to reach a socket that too many wait at.
const dialPause = 2 * time.Millisecond

// DialIn connects to a stream socket in a folder, which must be a socket of the user. All that is done with the
// connection has to be done by end.
func DialIn(dir *os.File, name string, uid uint32, end time.Time) (net.Conn, error) {
	at, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK || st.Uid != uid {
		return nil, fmt.Errorf("%s/%s is not a socket of the process's user", dir.Name(), name)
	}
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(s), "socket")
	defer f.Close() // FileConn takes a copy
	for {
		err = unix.Connect(s, &unix.SockaddrUnix{Name: "/proc/self/fd/" + strconv.Itoa(at)})
		if !errors.Is(err, unix.EAGAIN) {
			break
		}
		if time.Now().After(end) {
			return nil, os.ErrDeadlineExceeded
		}
		time.Sleep(dialPause)
	}
	if err != nil {
		return nil, fmt.Errorf("the socket %s/%s: %w", dir.Name(), name, err)
	}
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(end); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
