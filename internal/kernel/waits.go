package kernel

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"trocar/internal/compile/feature"
)

// Programs that read floating-point registers have the kernel switch to a thread of ours, since it stores the registers
// of a thread that it takes off the CPU (codegen: floats.go). For each CPU there is one, of the highest priority, which
// waits for records of that CPU's ring buffer, and does nothing with them. It is none of Go's: nothing but the kernel
// makes it run, it takes no signal, and it ends with the process.

// waits are those threads.
type waits struct {
	stop    int // eventfd
	threads []*waiter
	barred  []int // CPUs at which there is none, though they run
}

// waiter is the thread of one CPU.
type waiter struct {
	state              []byte // a page: waiterState, and its stack
	consumer, producer []byte // of the ring buffer
	ring               *ebpf.Map
	ends               int // the event by which it ends
}

// waiterState is what the thread works on.
type waiterState struct {
	polls    [2]unix.PollFd // the ring buffer, and the event by which it ends
	consumer *uint64        // what it has read of the ring buffer
	producer *uint64        // what there is
	tid      uint32         // 0 when it has ended
}

// topPriority is that of threads that are never made to wait by others (SCHED_FIFO).
const (
	schedFIFO   = 1
	topPriority = 99
)

// cloneWaiter makes the thread, with all signals blocked. It gives its id, or a negative error.
//
//go:noescape
func cloneWaiter(stack, state unsafe.Pointer) (tid uintptr)

// storesState tells whether the CPU stores floating-point registers in the form of which the kernel's structures tell
// (XSAVE, which the kernel has turned on), and such threads can be made.
func storesState() bool

// startWaits starts the threads for a map of ring buffers.
func startWaits(m *Map) (*waits, error) {
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	w := &waits{stop: stop}
	online, _ := onlineCPUs()
	for i := range possibleCPUs() {
		err := w.start(m, i)
		if errors.Is(err, errBarred) { // nothing is known of registers there
			if err = nil; slices.Contains(online, i) {
				w.barred = append(w.barred, i)
			}
		}
		if err != nil {
			w.close()
			return nil, fmt.Errorf("for CPU %d no thread can be made to wait: %w", i, err)
		}
	}
	return w, nil
}

// errBarred: a CPU does not run at present, or it is not for us.
var errBarred = errors.New("the CPU is not among ours")

// Barred are the CPUs at which floating-point registers that programs ask for cannot be read.
func (l *Loaded) Barred() []int {
	if l.waits == nil {
		return nil
	}
	return l.waits.barred
}

// start starts the thread of one CPU.
func (w *waits) start(m *Map, n int) error {
	ring, err := ebpf.NewMap(m.inner)
	if err != nil {
		return err
	}
	t := &waiter{ring: ring, ends: w.stop}
	w.threads = append(w.threads, t)
	page := os.Getpagesize()
	if t.consumer, err = unix.Mmap(ring.FD(), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	if t.producer, err = unix.Mmap(ring.FD(), int64(page), page, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return err
	}
	const private = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	if t.state, err = unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE, private); err != nil {
		return err
	}
	s := t.words()
	s.polls[0] = unix.PollFd{Fd: int32(ring.FD()), Events: unix.POLLIN}
	s.polls[1] = unix.PollFd{Fd: int32(w.stop), Events: unix.POLLIN}
	s.consumer, s.producer = (*uint64)(unsafe.Pointer(&t.consumer[0])), (*uint64)(unsafe.Pointer(&t.producer[0]))

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return err
	}
	tid := int(cloneWaiter(unsafe.Pointer(&t.state[page-16]), unsafe.Pointer(s)))
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	if tid < 0 {
		return unix.Errno(-tid)
	}
	var set unix.CPUSet
	set.Set(n)
	err = unix.SchedSetaffinity(tid, &set)
	if errors.Is(err, unix.EINVAL) {
		return errBarred
	}
	if err == nil {
		err = first(tid)
	}
	if err == nil {
		err = m.m.Put(uint32(n), ring)
	}
	return err
}

// first gives a thread the highest priority; 0 is the calling one.
func first(tid int) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: schedFIFO, Priority: topPriority}
	return unix.SchedSetAttr(tid, &attr, 0)
}

func (t *waiter) words() *waiterState { return (*waiterState)(unsafe.Pointer(&t.state[0])) }

// close ends the threads. No program may run any more.
func (w *waits) close() {
	if w == nil {
		return
	}
	_, _ = unix.Write(w.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	for _, t := range w.threads {
		t.close()
	}
	unix.Close(w.stop)
}

func (t *waiter) close() {
	for t.state != nil {
		// The kernel clears its id where it ends, and wakes who waits for that (CLONE_CHILD_CLEARTID).
		id := &t.words().tid
		tid := *id
		if tid == 0 {
			break
		}
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(id)), 0, uintptr(tid), 0, 0, 0)
	}
	for _, mem := range [][]byte{t.state, t.consumer, t.producer} {
		if mem != nil {
			_ = unix.Munmap(mem)
		}
	}
	t.ring.Close()
}

// haveFloats tells whether programs may find floating-point registers: where our threads may come first.
func haveFloats(f *Features) bool { return couldFloats(f) && mayBeFirst() }

func couldFloats(f *Features) bool {
	return storesState() && f.Has(feature.SleepableUprobe) && f.Has(feature.KernelBTF) && f.Has(feature.AtomicFetch)
}

// NiceCap is the capability that real-time priority needs.
const NiceCap = "CAP_SYS_NICE"

// FloatsNeed is the right for want of which alone programs do not find floating-point registers, "" if that is not why.
func FloatsNeed(f *Features) string {
	switch {
	case f.Has(feature.FloatRegisters) || !couldFloats(f) || mayBeFirst():
		return ""
	case capabilities()&(1<<capSysNice) == 0:
		return NiceCap
	}
	return "real-time priority, which this cgroup does not allow (cpu.rt_runtime_us)"
}

// mayBeFirst tries whether a thread of ours may have the highest priority.
func mayBeFirst() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || first(0) != nil {
		return false
	}
	return unix.SchedSetAttr(0, before, 0) == nil
}
