package objfile

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// maxUnpacked bounds the bytes that are unpacked of all files that share a Room, at any time: a file of ten megabytes
// can ask for gigabytes.
const maxUnpacked = 192 << 20

// Room is what files may take together for sections that are not as they are in the file: unpacked, or put together of
// several. The zero value is a full one.
type Room struct{ used atomic.Int64 }

func (r *Room) reserve(n uint64) bool {
	for {
		used := r.used.Load()
		if n > maxUnpacked-uint64(used) {
			return false
		}
		if r.used.CompareAndSwap(used, used+int64(n)) {
			return true
		}
	}
}

// Share makes a file take its room from what others have as well. It must be called before anything is read of it.
func (f *File) Share(r *Room) { f.room = r }

// Room is where the file takes its room from.
func (f *File) Room() *Room { return f.room }

// take allocates n bytes that are given back when the file is closed. Memory is used as it is written, so a lie about
// the size costs nothing.
func (f *File) take(n uint64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if !f.room.reserve(n) {
		return nil, fmt.Errorf("it is not unpacked: %d bytes are more than is left of %d MiB for all files (for a large "+
			"program, unpack "+
			"a copy with objcopy --decompress-debug-sections, and give its folder to --debuginfo)", n, maxUnpacked>>20)
	}
	b, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		f.room.used.Add(-int64(n))
		return nil, fmt.Errorf("no memory for %d bytes: %w", n, err)
	}
	f.taken = append(f.taken, b)
	return b, nil
}

// drop gives back what was taken last.
func (f *File) drop() {
	last := len(f.taken) - 1
	f.giveBack(f.taken[last])
	f.taken = f.taken[:last]
}

func (f *File) giveBack(b []byte) {
	f.room.used.Add(-int64(len(b)))
	_ = unix.Munmap(b) // of what was mapped, nothing fails
}
