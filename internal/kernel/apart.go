package kernel

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Taking probes off and putting them on writes to the memory of programs, which the kernel gives up in a thread that is
// being killed (fatal_signal_pending, __get_user_pages): then breakpoints stay there for good, without a probe
// (uprobe_unregister: "leaking uprobe"). So both are done in a process of their own, which has our memory and files,
// and lives until that is done. The last one that has the files closes what is open, without such a signal.

// apart makes a system call in such a process. Where there can be none it is made here.
func apart(nr, a, b, c uintptr) (uintptr, unix.Errno) {
	var pin runtime.Pinner
	defer pin.Unpin()
	call := &apartCall{}
	pin.Pin(call)

	// No signal is for that process: handlers of ours cannot run there.
	runtime.LockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	pid := ^uintptr(0)
	if unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before) == nil {
		pid = cloneCall(unsafe.Pointer(&call.stack[len(call.stack)-2]), nr, a, b, c, &call.result)
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	}
	runtime.UnlockOSThread()
	if int(pid) <= 0 {
		r, _, errno := unix.Syscall(nr, a, b, c)
		return r, errno
	}
	for {
		if _, err := unix.Wait4(int(pid), nil, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if r := int(call.result); r < 0 && r > -4096 {
		return ^uintptr(0), unix.Errno(-r)
	}
	return call.result, 0
}

// apartCall is what the process has of its own.
type apartCall struct {
	result uintptr
	stack  [64]struct{ _, _ uint64 } // of 16 bytes, as the CPU wants it
}

// cloneCall makes a process with our memory and files, but in a session of its own, that makes a system call, stores
// its result and ends. It gives its id, or a negative error.
//
//go:noescape
func cloneCall(stack unsafe.Pointer, nr, a, b, c uintptr, result *uintptr) (pid uintptr)

// closeApart closes what probes are attached by.
func closeApart(fd int) { _, _ = apart(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// bpfApart is bpf for what attaches probes.
func bpfApart[T any](cmd uintptr, attr *T) (int, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(attr)
	r, errno := apart(unix.SYS_BPF, cmd, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr))
	runtime.KeepAlive(attr)
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}
