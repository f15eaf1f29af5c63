package kernel

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BreakpointsFire tells by a trial whether hardware breakpoints fire here: a word of this process is watched and
// written. Some virtual machines take debug registers and never raise the exception, so that opening a breakpoint
// succeeds and it stays silent, for debuggers too. An error is the kernel's refusal to open one. The trial takes some
// 50 microseconds.
func BreakpointsFire() (bool, error) {
	runtime.LockOSThread() // the breakpoint is this thread's
	defer runtime.UnlockOSThread()
	watched := new(uint64)
	const write = 2 // HW_BREAKPOINT_W
	fd, err := openPerf(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_BREAKPOINT, Sample: 1, Bp_type: write, Ext1: uint64(uintptr(unsafe.Pointer(watched))), Ext2: 8,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}, 0, -1)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	touch(watched)
	var count [8]byte
	if _, err := unix.Read(fd, count[:]); err != nil {
		return false, err
	}
	return binary.NativeEndian.Uint64(count[:]) > 0, nil
}

// touch writes to memory where the compiler cannot leave it out.
//
//go:noinline
func touch(word *uint64) { *word++ }
