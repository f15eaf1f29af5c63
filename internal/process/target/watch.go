package target

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"trocar/internal/order"
)

// ChangeKind is what happened to a process.
type ChangeKind uint8

// Kinds of changes.
const (
	Forked ChangeKind = iota // a new process, with what its Parent has mapped
	Execed                   // another program: what was mapped is gone
	Mapped                   // Mapping, which is executable, replaces what was mapped there
	Exited
)

// Change is one change of what a process has mapped executable.
type Change struct {
	Kind    ChangeKind
	PID     PID
	Parent  PID    // Forked
	Time    uint64 // nanoseconds of CLOCK_MONOTONIC
	Mapping Mapping
	BuildID string // Mapped, in hexadecimal: that of the file, instead of Mapping's Dev and Inode (Linux 5.12)
}

// Watcher sees all processes change: those too that live for less time than it takes to look at /proc. It listens to
// side-band records of perf (perf_event_open(2)), as `perf record` does.
type Watcher struct {
	rings   []*ring
	pending []Change // read but not handed out
	lost    uint64
	paths   map[string]string // names seen, each once in memory
}

// ringPages is the size of each CPU's ring without its first page, a power of two: 64 KB have room for some 500
// changes.
func ringPages(cpus int) int {
	if cpus > 16 {
		return 8
	}
	return 16
}

type ring struct {
	fd   int
	mem  []byte
	meta *unix.PerfEventMmapPage
	data []byte
	rec  []byte // a record that wraps around
}

// perfBitBuildID asks for build ids in PERF_RECORD_MMAP2 (struct perf_event_attr in include/uapi/linux/perf_event.h,
// 5.12).
const perfBitBuildID = 1 << 34

// Watch begins to watch. It needs CAP_PERFMON or root.
func Watch() (*Watcher, error) { return watch(perfBitBuildID) }

func watch(extra uint64) (*Watcher, error) {
	cpus, err := onlineCPUs()
	if err != nil {
		return nil, fmt.Errorf("watching processes: %w", err)
	}
	w := &Watcher{paths: map[string]string{}}
	bits := uint64(unix.PerfBitMmap|unix.PerfBitMmap2|unix.PerfBitComm|unix.PerfBitCommExec|unix.PerfBitTask|
		unix.PerfBitSampleIDAll|unix.PerfBitWatermark|unix.PerfBitUseClockID|unix.PerfBitExcludeKernel|
		unix.PerfBitExcludeHv) |
		extra
	for _, cpu := range cpus {
		r, err := openRing(cpu, ringPages(len(cpus)), bits)
		if err == unix.EINVAL && bits&extra != 0 { // an older kernel
			bits &^= extra
			r, err = openRing(cpu, ringPages(len(cpus)), bits)
		}
		if err == unix.ENODEV { // the CPU went off meanwhile
			continue
		}
		if err != nil {
			w.Close()
			if errors.Is(err, os.ErrPermission) {
				return nil, fmt.Errorf("watching processes: perf events of all CPUs need root or CAP_PERFMON: %w", err)
			}
			return nil, fmt.Errorf("watching processes: perf events of CPU %d: %w", cpu, err)
		}
		w.rings = append(w.rings, r)
	}
	return w, nil
}

func openRing(cpu, pages int, bits uint64) (*ring, error) {
	size := pages * os.Getpagesize()
	attr := unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_DUMMY, // counts nothing, carries the records
		Bits:        bits,
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME,
		Wakeup:      uint32(size / 2),
		Clockid:     unix.CLOCK_MONOTONIC,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(fd, 0, os.Getpagesize()+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	meta := (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0]))
	return &ring{fd: fd, mem: mem, meta: meta, data: mem[os.Getpagesize():]}, nil
}

// onlineCPUs reads a list like "0-3,5".
func onlineCPUs() ([]int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return parseCPUs(strings.TrimSpace(string(b)))
}

func parseCPUs(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(first)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(last)
		}
		if err != nil || a < 0 || b < a || b > 1<<16 {
			return nil, fmt.Errorf("the list of CPUs %q has an unknown form", list)
		}
		for i := a; i <= b; i++ {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

// Close ends watching.
func (w *Watcher) Close() {
	for _, r := range w.rings {
		unix.Munmap(r.mem)
		unix.Close(r.fd)
	}
	w.rings = nil
}

// Files are file descriptors that can be read when there is much to Read.
func (w *Watcher) Files() []int {
	files := make([]int, len(w.rings))
	for i, r := range w.rings {
		files[i] = r.fd
	}
	return files
}

// Lost is how many changes were lost because nobody had read for too long.
func (w *Watcher) Lost() uint64 { return w.lost }

// Read calls f for what has changed since, in order of time. What f gets is good until it returns.
func (w *Watcher) Read(f func(*Change)) {
	// Rings are read one after another, so a change may be seen on one CPU while an earlier one on another is not, if that
	// was written just after its ring was read. All changes up to now are written, so the later ones wait for the next
	// time.
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return
	}
	now := uint64(ts.Nano())
	empty := true
	for _, r := range w.rings {
		if r.read(w) {
			empty = false
		}
	}
	if empty && len(w.pending) == 0 {
		return
	}
	order.By(w.pending, func(a, b Change) int {
		switch {
		case a.Time < b.Time:
			return -1
		case a.Time > b.Time:
			return 1
		}
		return 0
	})
	n := 0
	for n < len(w.pending) && w.pending[n].Time <= now {
		f(&w.pending[n])
		n++
	}
	w.pending = append(w.pending[:0], w.pending[n:]...)
	if len(w.paths) > maxPaths {
		clear(w.paths)
	}
}

// maxPaths bounds the names remembered.
const maxPaths = 1 << 14

// read takes all records of the ring; it tells whether there were any.
func (r *ring) read(w *Watcher) bool {
	head := atomic.LoadUint64(&r.meta.Data_head)
	tail := r.meta.Data_tail
	if head == tail {
		return false
	}
	size := uint64(len(r.data))
	for tail < head {
		at := tail % size
		n := uint64(binary.NativeEndian.Uint16(r.data[at+6:])) // records are aligned by 8, so the header is whole
		if n < 8 || n > head-tail {
			break // can't be
		}
		rec := r.data[at:min(at+n, size)]
		if at+n > size {
			r.rec = append(append(r.rec[:0], rec...), r.data[:at+n-size]...)
			rec = r.rec
		}
		w.record(rec)
		tail += n
	}
	atomic.StoreUint64(&r.meta.Data_tail, head)
	return true
}

// record decodes one record (enum perf_event_type in include/uapi/linux/perf_event.h). All end with the sample id that
// Sample_type asks for: u32 pid, tid; u64 time.
func (w *Watcher) record(rec []byte) {
	typ, misc := binary.NativeEndian.Uint32(rec), binary.NativeEndian.Uint16(rec[4:])
	b := rec[8:]
	if len(b) < 24 {
		return
	}
	u32 := func(off int) uint32 { return binary.NativeEndian.Uint32(b[off:]) }
	u64 := func(off int) uint64 { return binary.NativeEndian.Uint64(b[off:]) }
	c := Change{PID: PID(int32(u32(0))), Time: u64(len(b) - 8)}
	switch typ {
	case unix.PERF_RECORD_LOST: // id, lost
		w.lost += u64(8)
		return
	case unix.PERF_RECORD_FORK: // pid, ppid, tid, ptid, time
		if len(b) < 40 || u32(0) == u32(4) { // a thread
			return
		}
		c.Kind, c.Parent = Forked, PID(int32(u32(4)))
	case unix.PERF_RECORD_EXIT: // the same
		if len(b) < 40 || u32(0) != u32(8) { // a thread; the main one may end before others, which is rare
			return
		}
		c.Kind = Exited
	case unix.PERF_RECORD_COMM: // pid, tid, name
		if misc&unix.PERF_RECORD_MISC_COMM_EXEC == 0 {
			return
		}
		c.Kind = Execed
	case unix.PERF_RECORD_MMAP2: // pid, tid, addr, len, pgoff, 24 bytes that name the file, prot, flags, path
		if len(b) < 64+8+16 {
			return
		}
		prot, flags := u32(56), u32(60)
		if prot&unix.PROT_EXEC == 0 {
			return
		}
		c.Kind = Mapped
		m := &c.Mapping
		m.Start, m.Offset = u64(8), u64(24)
		m.End = m.Start + u64(16)
		if m.End < m.Start {
			return
		}
		m.Perm = Exec
		if prot&unix.PROT_READ != 0 {
			m.Perm |= Read
		}
		if prot&unix.PROT_WRITE != 0 {
			m.Perm |= Write
		}
		if flags&unix.MAP_SHARED != 0 {
			m.Perm |= Shared
		}
		path := b[64 : len(b)-16]
		if i := slices.Index(path, 0); i >= 0 {
			path = path[:i]
		}
		m.Path = w.intern(path)
		if misc&unix.PERF_RECORD_MISC_MMAP_BUILD_ID != 0 {
			if n := int(b[32]); n > 0 && n <= 20 {
				c.BuildID = hex.EncodeToString(b[36 : 36+n])
			}
		} else {
			m.Dev, m.Inode = unix.Mkdev(u32(32), u32(36)), u64(40)
		}
		// d_path's marks, and the kernel's own names (perf_event_mmap_event in kernel/events/core.c).
		switch {
		case m.Path == "//anon", m.Path == "//enomem", m.Path == "//toolong":
			m.Path, m.Inode, c.BuildID = "", 0, ""
		default:
			m.Path, m.Deleted = strings.CutSuffix(m.Path, deletedMark)
		}
	default:
		return
	}
	if c.PID > 0 { // 0, -1: outside of our PID namespace
		w.pending = append(w.pending, c)
	}
}

func (w *Watcher) intern(path []byte) string {
	if s, ok := w.paths[string(path)]; ok {
		return s
	}
	s := string(path)
	w.paths[s] = s
	return s
}
