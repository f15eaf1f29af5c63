package symbolize

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/order"
	"trocar/internal/process/target"
	"trocar/result"
)

// perfMap are the names that a runtime gives to code of its own making: /tmp/perf-PID.map in the process's own root,
// with the id that the process has inside its PID namespace. Lines are "START SIZE NAME", numbers in hexadecimal; later
// ones replace earlier ones (tools/perf/Documentation/jit-interface.txt of Linux).
//
// Anybody can make a file there: it counts only if it belongs to root or to the process's user, and its size is
// bounded.
type perfMap struct {
	pid   target.PID
	name  string
	root  target.Root
	uid   uint32
	f     *os.File // nil: there was none yet
	id    target.FileID
	tried time.Time
	// readable makes a name what people read; nil: it is that.
	readable func(string) string

	entries []jitEntry // by start
	names   []byte
	read    int64  // so much of the file is read
	last    []byte // the last line or piece read: tells whether the file was only added to
	tail    bool   // that was a piece of a line longer than any we want
}

type jitEntry struct {
	start, size uint64
	name        uint32 // in names
	length      uint16
	order       uint32 // later entries count
}

// Bounds of what is kept of one file.
const (
	maxJITEntries = 1 << 20
	maxJITNames   = 64 << 20
	maxJITName    = 4096
	maxJITLine    = 64 << 10
	maxJITRead    = 256 << 20
)

// openPerfMap prepares the reading of a living process's map: it is opened now, since its path is gone with the
// process, and read when an address is asked for.
func openPerfMap(pid target.PID, readable func(string) string) *perfMap {
	p := &perfMap{pid: pid, readable: readable}
	ids, err := pid.NSPIDs()
	if err != nil {
		return p
	}
	p.name = "/tmp/perf-" + strconv.Itoa(ids[len(ids)-1]) + ".map"
	if p.uid, err = pid.UID(); err != nil {
		return p
	}
	if p.root, err = pid.Root(); err != nil {
		return p
	}
	p.open()
	return p
}

// Renamed tells that a process's perf map may have been written anew: what was read of it before is forgotten.
func (s *Symbolizer) Renamed(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.procs[target.PID(pid)]
	if p == nil {
		return // it is read when it is asked for
	}
	for _, sp := range p.spaces {
		if m := sp.jit; m != nil {
			m.open()
			m.reset()
			m.update()
		}
	}
}

func (p *perfMap) close() {
	if p.f != nil {
		p.f.Close()
	}
}

// open opens the file, or the one that has taken its place.
func (p *perfMap) open() {
	if p.name == "" {
		return
	}
	f, err := p.root.Open(p.name)
	if err != nil && p.f == nil {
		f, err = p.pid.OpenUnnamed(p.name) // what a runtime writes for us alone
	}
	if err != nil {
		return
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Uid != 0 && st.Uid != p.uid {
		f.Close()
		return
	}
	id := target.FileID{Dev: st.Dev, Inode: st.Ino}
	if p.f != nil {
		if id == p.id {
			f.Close()
			return
		}
		p.f.Close()
		p.reset()
	}
	p.f, p.id = f, id
}

func (p *perfMap) reset() {
	p.entries, p.names, p.read, p.last, p.tail = nil, nil, 0, nil, false
}

// find names an address.
func (p *perfMap) find(f *result.Frame, at uint64) bool {
	if p == nil {
		return false
	}
	e := p.entry(at)
	if e == nil {
		if now := time.Now(); now.Sub(p.tried) < recheck {
			return false
		} else {
			p.tried = now
		}
		p.open()
		if !p.update() {
			return false
		}
		if e = p.entry(at); e == nil {
			return false
		}
	}
	f.Symbol = string(p.names[e.name : e.name+uint32(e.length)])
	if p.readable != nil {
		f.Symbol = p.readable(f.Symbol)
	}
	f.Offset = f.Addr - e.start
	if f.Module == "" {
		f.Module = p.name
	}
	return true
}

// maxOverlap is how many entries before an address are looked at for one that holds it.
const maxOverlap = 64

func (p *perfMap) entry(at uint64) *jitEntry {
	i, _ := slices.BinarySearchFunc(p.entries, at, func(e jitEntry, a uint64) int {
		if e.start <= a {
			return -1
		}
		return 1
	})
	var best *jitEntry
	for j := i - 1; j >= 0 && j >= i-maxOverlap; j-- {
		if e := &p.entries[j]; at-e.start < e.size && (best == nil || e.order > best.order) {
			best = e
		}
	}
	return best
}

// update reads what is new in the file; it tells whether there was anything.
func (p *perfMap) update() bool {
	if p.f == nil {
		return false
	}
	st, err := p.f.Stat()
	if err != nil {
		return false
	}
	return p.updateFrom(p.f, st.Size())
}

func (p *perfMap) updateFrom(file io.ReaderAt, size int64) bool {
	if p.read > 0 && (size < p.read || !p.continued(file)) {
		p.reset() // written anew
	}
	size = min(size, maxJITRead)
	if size <= p.read {
		return false
	}
	r := bufio.NewReaderSize(io.NewSectionReader(file, p.read, size-p.read), int(min(size-p.read+1, maxJITLine)))
	old := len(p.entries)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			break // what follows the last newline is read when the rest of it is there
		}
		p.read += int64(len(line))
		p.last = append(p.last[:0], line...)
		if !p.tail && err == nil {
			p.add(line)
		}
		p.tail = err != nil
	}
	p.order(old)
	return len(p.entries) > old
}

// continued tells whether the last line that we have read is still where it was.
func (p *perfMap) continued(file io.ReaderAt) bool {
	b := make([]byte, len(p.last))
	_, err := file.ReadAt(b, p.read-int64(len(b)))
	return err == nil && bytes.Equal(b, p.last)
}

// add takes a line. Lines of another form are passed over.
func (p *perfMap) add(line []byte) {
	start, rest, ok := hexField(line)
	if !ok {
		return
	}
	size, name, ok := hexField(rest)
	name = bytes.TrimRight(name, "\r\n")
	if !ok || len(name) == 0 || size == 0 || start+size < start {
		return
	}
	name = name[:min(len(name), maxJITName)]
	if len(p.entries) == maxJITEntries || len(p.names)+len(name) > maxJITNames {
		return
	}
	p.entries = append(p.entries, jitEntry{
		start: start, size: size, name: uint32(len(p.names)), length: uint16(len(name)), order: uint32(len(p.entries)),
	})
	p.names = append(p.names, name...)
}

// order sorts the entries from the old ones on, which are in order, into them.
func (p *perfMap) order(old int) {
	compare := func(a, b jitEntry) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.order, b.order))
	}
	added := p.entries[old:]
	order.ByKey(added, func(e *jitEntry) uint64 { return e.start }, func(a, b *jitEntry) int {
		return cmp.Compare(a.order, b.order)
	})
	if old == 0 || len(added) == 0 || compare(p.entries[old-1], added[0]) < 0 {
		return
	}
	// Merge from the end, so that nothing old is overwritten before it is moved.
	added = slices.Clone(added)
	for i, j, to := old-1, len(added)-1, len(p.entries)-1; j >= 0; to-- {
		if i >= 0 && compare(p.entries[i], added[j]) > 0 {
			p.entries[to] = p.entries[i]
			i--
		} else {
			p.entries[to] = added[j]
			j--
		}
	}
}

// hexField reads a hexadecimal number, which may begin with 0x, up to a blank.
func hexField(b []byte) (n uint64, rest []byte, ok bool) {
	b = bytes.TrimPrefix(b, []byte("0x"))
	for i, c := range b {
		var d byte
		switch {
		case c >= '0' && c <= '9':
			d = c - '0'
		case c >= 'a' && c <= 'f':
			d = c - 'a' + 10
		case c >= 'A' && c <= 'F':
			d = c - 'A' + 10
		case c == ' ' && i > 0:
			return n, b[i+1:], true
		default:
			return 0, nil, false
		}
		if n>>60 != 0 {
			return 0, nil, false
		}
		n = n<<4 | uint64(d)
	}
	return 0, nil, false
}

// Generated gives the names in a process's perf map, by address and, where several are of the same place, the latest
// last.
func Generated(pid int, yield func(start, size uint64, name string)) {
	p := openPerfMap(target.PID(pid), nil)
	defer p.close()
	p.update()
	for i := range p.entries {
		e := &p.entries[i]
		yield(e.start, e.size, string(p.names[e.name:e.name+uint32(e.length)]))
	}
}
