//lint:file-ignore U1000 the structures are the kernel's: all of their fields belong to them

package kernel

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of bpf(2) that are used directly: for attributes that the library does not offer (session links), and where
// its way costs more than the call (batches of map entries, test runs).
const (
	cmdMapCreate            = 0
	cmdProgLoad             = 5
	cmdProgTestRun          = 10
	cmdMapGetFDByID         = 14
	cmdRawTracepointOpen    = 17
	cmdMapLookupBatch       = 24
	cmdMapLookupDeleteBatch = 25
	cmdLinkCreate           = 28
	cmdIterCreate           = 33
	cmdProgBindMap          = 35
)

// Attach types (enum bpf_attach_type).
const (
	attachIter          = 28
	attachPerfEvent     = 41 // 5.15
	attachUprobeMulti   = 48 // 6.6
	attachUprobeSession = 57 // 6.13
)

const uprobeMultiReturn = 1 // BPF_F_UPROBE_MULTI_RETURN

const progSleepable = 1 << 4 // BPF_F_SLEEPABLE

// bpf calls bpf(2). Calls that a signal interrupted (the Go runtime sends them to preempt goroutines) are repeated: the
// kernel answers EAGAIN while verifying and EINTR while attaching.
func bpf[T any](cmd uintptr, attr *T) (int, error) {
	for tries := 0; ; tries++ {
		r, _, errno := unix.Syscall(unix.SYS_BPF, cmd, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr))
		runtime.KeepAlive(attr)
		switch {
		case errno == 0:
			return int(r), nil
		case (errno == unix.EINTR || errno == unix.EAGAIN) && tries < 30:
			continue
		}
		return -1, errno
	}
}

// pointer is a pointer inside an attribute: 64 bits on every CPU we run on, and followed by the garbage collector.
type pointer = unsafe.Pointer

func slicePointer[T any](s []T) pointer {
	return pointer(unsafe.SliceData(s))
}

// cString is s with its final zero.
func cString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

// attrProgLoad is the part of BPF_PROG_LOAD's attribute that feature probes use.
type attrProgLoad struct {
	progType     uint32
	insnCnt      uint32
	insns        pointer
	license      pointer
	logLevel     uint32
	logSize      uint32
	logBuf       pointer
	kernVersion  uint32
	flags        uint32
	name         [16]byte
	ifindex      uint32
	expectedType uint32
}

type attrMapCreate struct {
	mapType, keySize, valueSize, maxEntries, flags uint32
}

// attrLinkMulti is BPF_LINK_CREATE for uprobe_multi and session links.
type attrLinkMulti struct {
	progFD, targetFD, attachType, flags uint32
	path                                pointer
	offsets                             pointer
	refCtrs                             pointer
	cookies                             pointer
	count                               uint32
	multiFlags                          uint32
	pid                                 uint32
	_                                   uint32
}

// attrLinkPerf is BPF_LINK_CREATE for perf events.
type attrLinkPerf struct {
	progFD, targetFD, attachType, flags uint32
	cookie                              uint64
}

// attrLinkIter is BPF_LINK_CREATE for iterators.
type attrLinkIter struct {
	progFD, targetFD, attachType, flags uint32
	info                                pointer
	infoLen                             uint32
	_                                   uint32
}

type attrIterCreate struct {
	linkFD, flags uint32
}

type attrGetByID struct {
	id, next, flags uint32
}

// attrProgBindMap is BPF_PROG_BIND_MAP (5.10).
type attrProgBindMap struct {
	progFD, mapFD, flags uint32
}

type attrRawTracepoint struct {
	name   pointer
	progFD uint32
	_      uint32
}

type attrTestRun struct {
	progFD, retval                uint32
	dataSizeIn, dataSizeOut       uint32
	dataIn, dataOut               pointer
	repeat, duration              uint32
	ctxSizeIn, ctxSizeOut         uint32
	ctxIn, ctxOut                 pointer
	flags, cpu, batchSize, unused uint32
}

type attrBatch struct {
	inBatch, outBatch pointer
	keys, values      pointer
	count, mapFD      uint32
	elemFlags, flags  uint64
}
