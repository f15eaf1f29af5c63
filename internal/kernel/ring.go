package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Ring reads a BPF ring buffer through its memory.
//
// Programs submit with BPF_RB_NO_WAKEUP, because a wake-up for each record costs four times the hit itself; the reader
// looks by itself every drainEvery. Records that must be seen at once are submitted with BPF_RB_FORCE_WAKEUP (not with
// 0:
// then the kernel only wakes a reader that had read everything before this record).
//
// One goroutine reads. Wake may be called from any.
type Ring struct {
	m        *ebpf.Map
	mem      ringMemory
	consumer []byte // mapping: the consumer's position
	producer []byte // mapping: the producer's position
	epoll    *os.File
	wake     int // eventfd
	stats    RingStats
}

// drainEvery is how long a record may lie in the ring. At 2 million hits a second, the most that one core can do,
// records of 100 bytes fill 4 MB in this time.
const drainEvery = 20 * time.Millisecond

// drainSeldom is how long it may when none has come for emptyLooks looks: who reads has had the programs wake it then.
const (
	drainSeldom = 200 * time.Millisecond
	emptyLooks  = 10
)

// RingStats counts what the reader saw.
type RingStats struct {
	Records   uint64
	Bytes     uint64 // of records, without headers
	Discarded uint64 // reserved, then given back by the program
	Fullest   int    // most bytes found waiting at once
	Size      int
}

// DefaultRingSize is how large a ring buffer should be: the power of two nearest to the available memory, from 256 KB
// to 16 MB. pages, if not 0, is what the user asked for (in pages, one for each CPU at least).
func DefaultRingSize(pages uint64) uint32 {
	page := uint64(os.Getpagesize())
	const most = 1 << 30
	if pages != 0 {
		pages = max(pages, uint64(possibleCPUs()))
		if pages > most/page {
			return most
		}
		return uint32(nearestPower(pages) * page)
	}
	available := uint64(64 << 20)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if _, after, ok := strings.Cut(string(text), "MemAvailable:"); ok {
			if f := strings.Fields(after); len(f) > 0 {
				if kb, err := strconv.ParseUint(f[0], 10, 54); err == nil {
					available = kb << 10
				}
			}
		}
	}
	return uint32(max(nearestPower(min(max(available, 256<<10), 16<<20)), page))
}

func nearestPower(n uint64) uint64 {
	low := uint64(1)
	for low <= n/2 {
		low *= 2
	}
	if n-low <= 2*low-n {
		return low
	}
	return 2 * low
}

func openRing(m *ebpf.Map) (*Ring, error) {
	size := int(m.MaxEntries())
	page := os.Getpagesize()
	r := &Ring{m: m, wake: -1}
	r.stats.Size = size
	var err error
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	// Documentation/bpf/ringbuf.rst: a page that we may write (our position), a page that we may only read (the
	// producer's), then the data twice in a row, so that a record at the end continues behind it.
	if r.consumer, err = unix.Mmap(m.FD(), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	if r.producer, err = unix.Mmap(m.FD(), int64(page), page, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	r.mem = ringMemory{
		consumer: (*uint64)(unsafe.Pointer(&r.consumer[0])),
		producer: (*uint64)(unsafe.Pointer(&r.producer[0])),
		mask:     uint64(size - 1),
		slide:    r.slide,
	}
	if r.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, err
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	// Who waits in a system call keeps a thread of Go's scheduler awake, 60 times for each wait. So that is left to the
	// runtime, which is told by not blocking that it can be.
	if err = unix.SetNonblock(epoll, true); err != nil {
		unix.Close(epoll)
		return nil, err
	}
	r.epoll = os.NewFile(uintptr(epoll), "epoll")
	// Edge-triggered: else epoll would return at once for as long as there is data, woken for or not.
	for _, fd := range []int{m.FD(), r.wake} {
		if err = r.Also(fd); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Ring) close() {
	if r.epoll != nil {
		r.epoll.Close()
	}
	if r.wake >= 0 {
		unix.Close(r.wake)
	}
	r.epoll, r.wake = nil, -1
	for _, mapping := range [][]byte{r.mem.window, r.producer, r.consumer} {
		if mapping != nil {
			unix.Munmap(mapping)
		}
	}
	r.mem = ringMemory{}
	r.producer, r.consumer = nil, nil
}

// ringWindow is how much of the data is mapped at once. All of it, twice, would be shown as 32 MB of memory in use by
// this process for a ring of 16 MB; a window that moves along costs a nanosecond a record.
const ringWindow = 1 << 20

// slide maps the data from offset at on, at least need bytes.
func (r *Ring) slide(at, need uint64) ([]byte, uint64, error) {
	page := uint64(os.Getpagesize())
	size := r.mem.mask + 1
	base, length := at&^(page-1), uint64(ringWindow)
	if 2*size <= 4*ringWindow {
		base, length = 0, 2*size // small: all of it, once and for all
	}
	length = max(length, (at-base+need+page-1)&^(page-1))
	length = min(length, 2*size-base)
	if r.mem.window != nil {
		unix.Munmap(r.mem.window)
		r.mem.window = nil
	}
	window, err := unix.Mmap(r.m.FD(), int64(2*page+base), int(length), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot map the ring buffer: %w", err)
	}
	return window, base, nil
}

// Read calls fn for each record at hand and returns how many there were; it does not wait. The record is the ring's own
// memory: it is overwritten after fn returns. An error of fn ends the reading behind that record.
func (r *Ring) Read(fn func(record []byte) error) (int, error) {
	if waiting := r.mem.waiting(); waiting > uint64(r.stats.Fullest) {
		r.stats.Fullest = int(min(waiting, uint64(r.stats.Size)))
	}
	return r.mem.read(fn, &r.stats)
}

// Wait sleeps until a program or Wake wakes the reader, or d has passed.
func (r *Ring) Wait(d time.Duration) error {
	conn, err := r.epoll.SyscallConn()
	if err == nil {
		err = r.epoll.SetReadDeadline(time.Now().Add(d))
	}
	if err != nil {
		return fmt.Errorf("cannot wait for the ring buffer: %w", err)
	}
	var events [2]unix.EpollEvent
	n, failed := 0, error(nil)
	err = conn.Read(func(epoll uintptr) bool {
		if n, failed = unix.EpollWait(int(epoll), events[:], 0); failed == unix.EINTR {
			n, failed = 0, nil
		}
		return n != 0
	})
	if failed != nil {
		return fmt.Errorf("cannot wait for the ring buffer: %w", failed)
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("cannot wait for the ring buffer: %w", err)
	}
	for i := range max(n, 0) {
		if int(events[i].Fd) == r.wake {
			var count [8]byte
			unix.Read(r.wake, count[:])
		}
	}
	return nil
}

// Also has a file descriptor that can be read end a Wait, each time it comes to be so.
func (r *Ring) Also(fd int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(fd)}
	conn, err := r.epoll.SyscallConn()
	if err != nil {
		return err
	}
	if failed := conn.Control(func(epoll uintptr) {
		err = unix.EpollCtl(int(epoll), unix.EPOLL_CTL_ADD, fd, &event)
	}); failed != nil {
		return failed
	}
	return err
}

// Wake ends a Wait.
func (r *Ring) Wake() {
	one := [8]byte{0: 1, 7: 1} // not 0 in either byte order
	unix.Write(r.wake, one[:])
}

// ErrStop is returned by a callback to end Run without an error.
var ErrStop = errors.New("stop")

// ErrSeldom is returned by idle when the programs were told to wake the reader, so that it need not look by itself more
// than once more.
var ErrSeldom = errors.New("seldom")

// Run reads until ctx ends or fn returns an error (ErrStop: without one). idle, if not nil, is called when the ring was
// found empty or has been emptied: at most once for each look, and at least each drainEvery, or drainSeldom if nothing
// has come for a while.
func (r *Ring) Run(ctx context.Context, fn func(record []byte) error, idle func() error) error {
	stop := context.AfterFunc(ctx, r.Wake)
	defer stop()
	for empty := 0; ; empty++ {
		before := r.stats.Bytes
		_, err := r.Read(fn)
		if err == nil && idle != nil {
			err = idle()
		}
		got := r.stats.Bytes - before
		switch {
		case errors.Is(err, ErrStop):
			return nil
		case errors.Is(err, ErrSeldom):
			err, got, empty = nil, 0, emptyLooks
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		// If the last interval brought a good part of what fits, do not wait so long again.
		wait := drainEvery
		switch {
		case got > uint64(r.stats.Size)/8:
			wait = time.Millisecond
		case got > 0:
			empty = 0
		case empty > emptyLooks:
			wait = drainSeldom
		}
		if err := r.Wait(wait); err != nil {
			return err
		}
	}
}

// Stats are the counts so far. The loss of records is counted by the programs: only they see a reservation fail.
func (r *Ring) Stats() RingStats { return r.stats }

// ringMemory is the shared memory of a ring buffer, and how it is read.
type ringMemory struct {
	consumer, producer *uint64
	mask               uint64 // size of the data - 1
	// window is the part of the data, counted as twice in a row, that begins at base; slide moves it.
	window []byte
	base   uint64
	slide  func(at, need uint64) (window []byte, base uint64, err error)
}

// bytes gives n bytes of the data at the offset at, below the size; at+n may be beyond it.
func (m *ringMemory) bytes(at, n uint64) ([]byte, error) {
	if at < m.base || at+n > m.base+uint64(len(m.window)) {
		var err error
		if m.window, m.base, err = m.slide(at, n); err != nil {
			return nil, err
		}
		if at < m.base || at+n > m.base+uint64(len(m.window)) {
			return nil, errRing
		}
	}
	at -= m.base
	return m.window[at : at+n : at+n], nil
}

const (
	ringHeader  = 8
	ringBusy    = 1 << 31
	ringDiscard = 1 << 30
	// ringBatch is after how many bytes the kernel is told that we have read them: seldom, because that line of memory
	// is also read by all programs at each record, and often enough that little of the ring is held.
	ringBatch = 64 << 10
)

var errRing = errors.New("malformed record in the ring buffer")

func (m *ringMemory) waiting() uint64 {
	return atomic.LoadUint64(m.producer) - atomic.LoadUint64(m.consumer)
}

// read goes through the records between the two positions, up to one that is still being written.
func (m *ringMemory) read(fn func([]byte) error, stats *RingStats) (n int, err error) {
	position := *m.consumer // nobody else writes it
	told := position
	batch := min(uint64(ringBatch), (m.mask+1)/4)
	for err == nil {
		end := atomic.LoadUint64(m.producer)
		if position >= end {
			break
		}
		for position < end && err == nil {
			at := position & m.mask
			var head, record []byte
			if head, err = m.bytes(at, ringHeader); err != nil {
				break
			}
			header := atomic.LoadUint32((*uint32)(unsafe.Pointer(&head[0])))
			if header&ringBusy != 0 {
				err = errBusy
				break
			}
			size := uint64(header &^ (ringBusy | ringDiscard))
			next := position + (ringHeader+size+7)&^7
			if next > end || next-position > m.mask+1 {
				err = errRing
				break
			}
			if header&ringDiscard != 0 {
				stats.Discarded++
			} else {
				if record, err = m.bytes(at, ringHeader+size); err != nil {
					break
				}
				stats.Records++
				stats.Bytes += size
				n++
				err = fn(record[ringHeader:])
			}
			position = next
			if position-told >= batch {
				atomic.StoreUint64(m.consumer, position)
				told = position
			}
		}
	}
	if position != told {
		atomic.StoreUint64(m.consumer, position)
	}
	if err == errBusy {
		err = nil
	}
	return n, err
}

// errBusy ends a read at a record that is not complete yet.
var errBusy = errors.New("busy")
