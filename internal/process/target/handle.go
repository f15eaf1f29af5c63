package target

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Handle holds on to a process that is none of our children: to its end, and to how it ended.
type Handle struct {
	pid PID
	fd  int // -1: the kernel has no descriptors of processes (before Linux 5.3)
}

// Hold makes a handle of a process. The process may have ended already; the handle is to be closed.
func Hold(pid PID) *Handle {
	fd, err := unix.PidfdOpen(int(pid), 0)
	if err != nil {
		fd = -1
	}
	return &Handle{pid, fd}
}

// Close gives the descriptor back.
func (h *Handle) Close() {
	if h.fd >= 0 {
		unix.Close(h.fd)
		h.fd = -1
	}
}

// pollProcess is how often it is looked whether a process has ended where the kernel does not tell.
const pollProcess = 500 * time.Millisecond

// Wait returns when the process has ended or ctx is done.
func (h *Handle) Wait(ctx context.Context) {
	if h.fd < 0 {
		for h.pid.Exists() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pollProcess):
			}
		}
		return
	}
	wake, end, err := os.Pipe() // reading ends when ctx is done
	if err != nil {
		return
	}
	defer wake.Close()
	stop := context.AfterFunc(ctx, func() { end.Close() })
	defer end.Close()
	defer stop()
	poll := []unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}, {Fd: int32(wake.Fd()), Events: unix.POLLIN}}
	for {
		if n, err := unix.Poll(poll, -1); n > 0 || err != nil && err != unix.EINTR {
			return
		}
	}
}

// Exit is how the process ended, where that is known: by its descriptor once its parent has asked (Linux 6.15), by
// /proc as long as the parent has not.
func (h *Handle) Exit() (Exit, bool) {
	for range 2 { // the parent may ask between the two looks
		if e, ok := h.exitInfo(); ok {
			return e, true
		}
		if e, ok := h.pid.zombieExit(); ok {
			return e, true
		}
	}
	return Exit{}, false
}

// pidfdInfo is struct pidfd_info as it was first (PIDFD_INFO_SIZE_VER0).
type pidfdInfo struct {
	mask, cgroup    uint64
	pid, tgid, ppid uint32
	ruid, rgid      uint32
	euid, egid      uint32
	suid, sgid      uint32
	fsuid, fsgid    uint32
	exitCode        int32
}

const (
	pidfdGetInfo  = 0xc040ff0b // PIDFD_GET_INFO: _IOWR(0xff, 11, struct pidfd_info of 64 bytes)
	pidfdInfoExit = 1 << 3
)

func (h *Handle) exitInfo() (Exit, bool) {
	if h.fd < 0 {
		return Exit{}, false
	}
	info := pidfdInfo{mask: pidfdInfoExit}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(h.fd), pidfdGetInfo, uintptr(unsafe.Pointer(&info)))
	if errno != 0 || info.mask&pidfdInfoExit == 0 {
		return Exit{}, false
	}
	return exitOf(syscall.WaitStatus(info.exitCode)), true
}

// zombieExit is how a process ended that its parent has not asked for yet: the last field of its stat, which is shown
// to those who may trace it.
func (p PID) zombieExit() (Exit, bool) {
	b, err := p.read("stat", 4096)
	if err != nil {
		return Exit{}, false
	}
	text := string(b)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const state, exitCode = 0, 49 // the fields 3 and 52 of proc(5)
	if len(fields) <= exitCode || fields[state] != "Z" && fields[state] != "X" {
		return Exit{}, false
	}
	code, err := strconv.ParseUint(fields[exitCode], 10, 32)
	if err != nil {
		return Exit{}, false
	}
	return exitOf(syscall.WaitStatus(code)), true
}

// LastFault is what the kernel's log says of the last fault of a process's first thread since a time, "" if nothing: it
// tells of those that the CPU raised, and of what its own probes could not do.
func LastFault(pid PID, begin time.Time) string {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return ""
	}
	since := time.Duration(now.Nano()) - time.Since(begin) - time.Second // the log's clock is not quite this one
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var found string
	record := make([]byte, 8192)
	for range 1 << 16 {
		n, err := unix.Read(fd, record)
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EINTR) {
			continue // some were overwritten meanwhile
		}
		if err != nil || n <= 0 {
			break
		}
		if text := faultOf(string(record[:n]), pid, since); text != "" {
			found = text
		}
	}
	return found
}

// faultOf is the text of a record of the kernel's log ("priority,number,microseconds,flags;text") if it is of a fault
// of this process.
func faultOf(record string, pid PID, since time.Duration) string {
	head, text, _ := strings.Cut(record, ";")
	text, _, _ = strings.Cut(text, "\n")
	fields := strings.Split(head, ",")
	if len(fields) < 3 {
		return ""
	}
	at, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || time.Duration(at)*time.Microsecond < since {
		return ""
	}
	id := strconv.Itoa(int(pid))
	// "traps: NAME[PID] trap int3 ip:…", "NAME[PID]: segfault at …", "uprobe: NAME:PID failed to …"
	_, fault, ok := strings.Cut(text, "["+id+"] trap ")
	if !ok {
		if _, fault, ok = strings.Cut(text, "["+id+"]: "); ok && !strings.HasPrefix(fault, "segfault ") {
			ok = false
		}
	}
	if !ok && strings.HasPrefix(text, "uprobe: ") {
		_, fault, ok = strings.Cut(text, ":"+id+" ")
	}
	if !ok {
		return ""
	}
	return fault
}
