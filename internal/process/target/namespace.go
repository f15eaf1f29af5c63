package target

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// PIDNamespace is the PID namespace that we are in.
type PIDNamespace struct {
	// Device and inode of the namespace's file, in the form that the BPF helper bpf_get_ns_current_pid_tgid wants them:
	// the device as the kernel keeps it, not as stat encodes it.
	Dev, Inode uint64
	// Initial: BPF's bpf_get_current_pid_tgid shows ids as our /proc does.
	Initial bool
}

// initialPIDNamespace is PROC_PID_INIT_INO of include/uapi/linux/nsfs.h (before: include/linux/proc_ns.h).
const initialPIDNamespace = 0xEFFFFFFC

// OwnPIDNamespace is ours. A kernel without PID namespaces has one, the initial.
func OwnPIDNamespace() (PIDNamespace, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		if err == unix.ENOENT {
			if _, err := os.Stat("/proc/self/stat"); err == nil {
				return PIDNamespace{Initial: true}, nil
			}
		}
		return PIDNamespace{}, fmt.Errorf("looking up our PID namespace: /proc/self/ns/pid: %w", err)
	}
	return PIDNamespace{
		Dev:     uint64(unix.Major(st.Dev))<<20 | uint64(unix.Minor(st.Dev)), // MKDEV of include/linux/kdev_t.h
		Inode:   st.Ino,
		Initial: st.Ino == initialPIDNamespace,
	}, nil
}
