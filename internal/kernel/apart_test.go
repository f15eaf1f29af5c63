package kernel

import (
	"errors"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestApart: a call is made by a child of this process that has its memory and files, and its result comes back.
func TestApart(t *testing.T) {
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if pid, errno := apart(unix.SYS_GETPPID, 0, 0, 0); errno != 0 || int(pid) != os.Getpid() {
				t.Errorf("the parent is %d (%v), want %d", pid, errno, os.Getpid())
			}
			fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Error(err)
				return
			}
			copied, errno := apart(unix.SYS_DUP, uintptr(fd), 0, 0)
			if errno != 0 {
				t.Error(errno)
				return
			}
			for _, fd := range []int{fd, int(copied)} {
				var st unix.Stat_t
				if err := unix.Fstat(fd, &st); err != nil {
					t.Error(err)
				}
				closeApart(fd)
			}
		})
	}
	wg.Wait()
	if _, errno := apart(unix.SYS_CLOSE, 1<<30, 0, 0); !errors.Is(errno, unix.EBADF) {
		t.Errorf("a file that is not open: %v", errno)
	}
	if _, err := bpfApart(cmdMapGetFDByID, &attrGetByID{id: 1<<32 - 1}); err == nil {
		t.Error("there is a map that nobody has made")
	}
}
