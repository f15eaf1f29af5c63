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
// looks by itself every drainEvery. Records that must be seen at once are submitted with BPF_RB_FORCE_WAKEUP (not with 0:
// then the kernel only wakes a reader that had read everything before this record).
//
// One goroutine reads. Wake may be called from any.
type Ring struct {
	mem      ringMemory
	consumer []byte // mapping: the consumer's position
	producer []byte // mapping: the producer's position, then the data twice
	epoll    int
	wake     int // eventfd
	stats    RingStats
}

// drainEvery is how long a record may lie in the ring. At 2 million hits a second, the most that one core can do, records
// of 100 bytes fill 4 MB in this time.
const drainEvery = 20 * time.Millisecond

// RingStats counts what the reader saw.
type RingStats struct {
	Records   uint64
	Bytes     uint64 // of records, without headers
	Discarded uint64 // reserved, then given back by the program
	Fullest   int    // most bytes found waiting at once
	Size      int
}

// DefaultRingSize is how large a ring buffer should be: the power of two nearest to the available memory, from 256 KB to
// 16 MB. pages, if not 0, is what the user asked for (in pages, one for each CPU at least).
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
	r := &Ring{epoll: -1, wake: -1}
	r.stats.Size = size
	var err error
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	// Documentation/bpf/ringbuf.rst: a page that we may write (our position), a page that we may only read (the
	// producer's), then the data mapped twice in a row, so that a record at the end continues behind it.
	if r.consumer, err = unix.Mmap(m.FD(), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	if r.producer, err = unix.Mmap(m.FD(), int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	r.mem = ringMemory{
		consumer: (*uint64)(unsafe.Pointer(&r.consumer[0])),
		producer: (*uint64)(unsafe.Pointer(&r.producer[0])),
		data:     r.producer[page:],
		mask:     uint64(size - 1),
	}
	if r.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, err
	}
	if r.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	// Edge-triggered: else epoll would return at once for as long as there is data, woken for or not.
	for _, fd := range []int{m.FD(), r.wake} {
		event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(fd)}
		if err = unix.EpollCtl(r.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Ring) close() {
	for _, fd := range []int{r.epoll, r.wake} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	r.epoll, r.wake = -1, -1
	r.mem = ringMemory{}
	if r.producer != nil {
		unix.Munmap(r.producer)
	}
	if r.consumer != nil {
		unix.Munmap(r.consumer)
	}
	r.producer, r.consumer = nil, nil
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
	var events [2]unix.EpollEvent
	ms := int((d + time.Millisecond - 1) / time.Millisecond)
	n, err := unix.EpollWait(r.epoll, events[:], ms)
	if err != nil && err != unix.EINTR {
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

// Wake ends a Wait.
func (r *Ring) Wake() {
	one := [8]byte{0: 1, 7: 1} // not 0 in either byte order
	unix.Write(r.wake, one[:])
}

// ErrStop is returned by a callback to end Run without an error.
var ErrStop = errors.New("stop")

// Run reads until ctx ends or fn returns an error (ErrStop: without one). idle, if not nil, is called when the ring was
// found empty or has been emptied: at least each drainEvery, and at most once for each look.
func (r *Ring) Run(ctx context.Context, fn func(record []byte) error, idle func() error) error {
	stop := context.AfterFunc(ctx, r.Wake)
	defer stop()
	for {
		before := r.stats.Bytes
		_, err := r.Read(fn)
		if err == nil && idle != nil {
			err = idle()
		}
		if errors.Is(err, ErrStop) {
			return nil
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		// If the last interval brought a good part of what fits, do not wait so long again.
		wait := drainEvery
		if r.stats.Bytes-before > uint64(r.stats.Size)/8 {
			wait = time.Millisecond
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
	data               []byte // twice
	mask               uint64
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
			header := atomic.LoadUint32((*uint32)(unsafe.Pointer(&m.data[at])))
			if header&ringBusy != 0 {
				end = position
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
				stats.Records++
				stats.Bytes += size
				n++
				err = fn(m.data[at+ringHeader : at+ringHeader+size : at+ringHeader+size])
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
