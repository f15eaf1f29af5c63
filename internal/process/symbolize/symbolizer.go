package symbolize

import (
	"context"
	"slices"
	"sync"

	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/target"
	"trocar/result"
)

// Options of a Symbolizer.
type Options struct {
	Mangled bool // names as in the symbol table (bpftrace's cpp_demangle=0)
	// Images opens the files; nil: a set for them alone.
	Images *image.Set
	// Readable makes of a name in a perf map what people read; nil: it is that.
	Readable func(string) string
	// Interpreted names what stands for functions that an interpreter executes; nil: there are none.
	Interpreted func(uint64) result.Frame
}

// Symbolizer names addresses. Its methods may be called from several goroutines.
type Symbolizer struct {
	opts  Options
	mu    sync.Mutex
	files files
	procs map[target.PID]*process
	clock uint64 // counts uses, to find the process not needed for longest

	watcher changes // nil: not watching
	polled  uint64  // when what that tells was read last, on the monotonic clock

	maps    []target.Mapping // reused by snapshot
	text    []byte
	vdso    lazyVDSO
	kernel  kernel
	stats   Stats
	mapped  int    // mappings kept
	evicted uint64 // frames that were named when files were evicted last
	limits  limits
}

// limits bound what is kept of processes.
type limits struct {
	processes, mappings, files int
}

// A mapping takes 64 bytes. A file takes one mapping of ours, of which we may have 65530 (vm.max_map_count).
var defaultLimits = limits{processes: 4096, mappings: 1 << 17, files: 8192}

// Stats count what could not be named.
type Stats struct {
	Frames    uint64 // asked for in user space
	Gone      uint64 // without name because the process had ended before its mappings were read
	Processes uint64 // of which Gone is
	Missed    uint64 // changes of processes that the watch has lost, so that others may lack names
}

// New makes a Symbolizer.
func New(opts Options) *Symbolizer {
	if opts.Images == nil {
		// Nothing is fetched for it, so that nothing is waited for.
		opts.Images = image.NewSet(context.Background(), image.Options{})
	}
	return &Symbolizer{
		opts: opts,
		files: files{
			images: opts.Images, byKey: map[fileKey]*File{}, byID: map[target.FileID]*File{}, byBuild: map[string]*File{},
			limit: defaultLimits.files,
		},
		procs:  map[target.PID]*process{},
		limits: defaultLimits,
	}
}

// Close gives everything back.
func (s *Symbolizer) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watcher != nil {
		s.watcher.Close()
		s.watcher = nil
	}
	for pid := range s.procs {
		s.drop(pid)
	}
	s.files.close()
}

// Stats are the counts so far.
func (s *Symbolizer) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Hit says whose addresses are to be named and, if they were taken at a probe in a file, where that was.
type Hit struct {
	PID int // in our own PID namespace
	// The probed file and the offset of the probed instruction in it, and the instruction pointer of the hit. File nil:
	// not known, as for timers and for function returns.
	File   *File
	Offset uint64
	IP     uint64
	// Sources asks for the frames of inlined functions and for places in the source, as far as debug information, or Go's
	// own table, tells of them.
	Sources bool
	// Time is when the addresses were taken, on the monotonic clock; 0: just now.
	Time uint64
}

// Probed opens a file that is probed and keeps it until Close, for Hit. The path is valid from our own root; a member
// of a zip file is "archive.zip!/member". What goes wrong is kept in the File: the addresses in it have no names then.
func (s *Symbolizer) Probed(path string) *File {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fileKey{path: path}
	if f := s.files.byKey[key]; f != nil {
		return f
	}
	f := s.probed(path)
	f.pinned = true
	s.files.byKey[key] = f
	return f
}

func (s *Symbolizer) probed(path string) *File {
	o, err := target.Root{}.Open(path)
	if err == nil {
		defer o.Close()
		return s.files.open(o, path, path)
	}
	f := &File{path: path, err: err}
	if im, err := s.files.images.Open(path); err == nil { // a member of an archive
		f.err = nil
		f.set(im)
	}
	return f
}

// Snapshot looks at a process now and keeps its mappings, so that its addresses can be named after its end. It does
// nothing for one that is known already and still runs the same program. An error is of interest only to who asked for
// this process in particular: it wraps target.ErrGone, or says what is not permitted.
func (s *Symbolizer) Snapshot(pid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.process(target.PID(pid))
	if len(p.spaces) == 0 {
		return p.err
	}
	s.renew(p, true)
	return p.err
}

// Interpreted is the bit of what is no address, but stands for a function that an interpreter executes:
// Options.Interpreted names it.
const Interpreted = 1 << 62

// Exact is the bit of an address in a stack that says that it is no return address, since a signal was delivered there.
const Exact = 1 << 63

func (s *Symbolizer) interpreted(addr uint64) bool {
	return s.opts.Interpreted != nil && addr&Interpreted != 0
}

// native are the addresses of a stack from the first one on that is one; all are, if there is none.
func (s *Symbolizer) native(addrs []uint64) []uint64 {
	for i, a := range addrs {
		if !s.interpreted(a) {
			return addrs[i:]
		}
	}
	return addrs
}

// Stack names the frames of a user stack, innermost first, and appends them to dst. The first address is taken as it
// is, the others as return addresses unless they are Exact: they are named by the call before them, with the offset
// they have themselves. An address has several frames where functions were inlined (see Hit.Sources).
func (s *Symbolizer) Stack(dst []result.Frame, h Hit, addrs []uint64) []result.Frame {
	if len(addrs) == 0 {
		return dst
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.process(target.PID(h.PID))
	sp := s.space(p, &h, s.native(addrs))
	exact, gone := true, false
	for _, addr := range addrs {
		var n named
		if s.interpreted(addr) {
			dst, exact = append(dst, s.opts.Interpreted(addr)), false
			continue
		}
		if addr&Exact != 0 {
			addr, exact = addr&^Exact, true
		}
		n, exact = s.frame(p, sp, &h, addr, exact)
		gone = gone || n.gone
		if h.Sources && n.file != nil {
			dst = n.file.sources(dst, &n.Frame, n.at, !s.opts.Mangled)
		}
		dst = append(dst, n.Frame)
	}
	if gone {
		s.countGone(p)
	}
	if s.stats.Frames-s.evicted > evictAfter {
		s.evicted = s.stats.Frames
		s.files.evict()
	}
	return dst
}

// evictAfter is how many frames are named before the memory is given back that reading their files took.
const evictAfter = 4096

// Symbol names an address of a process: the builtin `usym`, and `func` where a point doesn't know its own.
func (s *Symbolizer) Symbol(h Hit, addr uint64) result.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.process(target.PID(h.PID))
	code := [2]uint64{addr}
	addrs := code[:1]
	if h.IP != 0 {
		code, addrs = [2]uint64{h.IP, addr + 1}, code[:] // + 1: as if it were a return address
	}
	n, _ := s.frame(p, s.space(p, &h, addrs), &h, addr, true)
	if n.gone {
		s.countGone(p)
	}
	return n.Frame
}

// Ask says that Stack will be asked for some addresses, and many others: Answer then finds all names.
func (s *Symbolizer) Ask(h Hit, addrs []uint64) {
	if len(addrs) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.process(target.PID(h.PID))
	sp := s.space(p, &h, s.native(addrs))
	exact := true
	for _, addr := range addrs {
		if s.interpreted(addr) {
			exact = false
			continue
		}
		if addr&Exact != 0 {
			addr, exact = addr&^Exact, true
		}
		var n named
		n, exact = s.place(p, sp, &h, addr, exact)
		if n.file != nil && len(n.file.asked) < maxNames {
			if n.file.asked == nil {
				n.file.asked = map[uint64]bool{}
			}
			n.file.asked[n.at] = n.file.asked[n.at] || h.Sources
		}
	}
}

// Answer finds the names that were asked for, file by file and in the order of addresses, so that what is made of one
// file for that is gone before the next.
func (s *Symbolizer) Answer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kernel.answer()
	for _, f := range s.files.byID {
		if f.asked == nil {
			continue
		}
		all := make([]uint64, 0, len(f.asked))
		for at := range f.asked {
			all = append(all, at)
		}
		slices.Sort(all)
		if f.overwritten() {
			all = nil
		}
		f.elf.LookupAll(all, func(at uint64, sym objfile.Symbol, ok bool) {
			if f.name(at, sym, ok, !s.opts.Mangled); ok && f.asked[at] {
				f.origins(at, !s.opts.Mangled)
			}
		})
		f.asked = nil
		f.im.Forget()
	}
}

// named is a frame with what it was named by.
type named struct {
	result.Frame
	file *File  // nil: it has no symbol of a file
	at   uint64 // its address in the file, or that of its call
	gone bool   // there might be a name, had we seen the process in time
}

func (s *Symbolizer) countGone(p *process) {
	if !p.missed {
		p.missed = true
		s.stats.Processes++
	}
}

// frame names one address. exact: it is not a return address; the result tells it of the next one.
func (s *Symbolizer) frame(p *process, sp *space, h *Hit, addr uint64, exact bool) (f named, nextExact bool) {
	s.stats.Frames++
	if f, nextExact = s.place(p, sp, h, addr, exact); f.file == nil {
		if f.gone {
			s.stats.Gone++
		}
		return f, nextExact
	}
	after := addr - f.Offset // 1 behind a call
	sym := f.file.lookup(f.at, !s.opts.Mangled)
	if sym == nil {
		f.Offset, f.file = f.at+after, nil
		return f, false
	}
	f.Symbol, f.Offset = sym.name, f.at-sym.start+after
	return f, sym.signal
}

// place finds the file of an address, and the place in it. Without a file, there may be a name all the same.
func (s *Symbolizer) place(p *process, sp *space, h *Hit, addr uint64, exact bool) (f named, nextExact bool) {
	f.Addr = addr
	at := addr
	if !exact && addr != 0 {
		at--
	}
	var m *mapping
	if sp != nil {
		m = sp.at(at, h.Time)
	}
	if m != nil && m.kind != ofFile {
		nextExact = s.special(&f.Frame, p, sp, m, at)
		return f, nextExact
	}
	file, in := h.File, uint64(0) // in: the address in the file
	ok := false
	if m != nil {
		s.files.settle(m, p.pid)
		f.Module, f.ModuleOffset, f.BuildID = m.path, addr-m.start+m.offset, m.file.buildID
		if m.file.elf != nil && h.Time != 0 && m.since > h.Time {
			f.Module, f.ModuleOffset, f.BuildID = "", 0, "" // a library in memory, in place of something else
		} else if m.file.elf != nil {
			file = m.file
			in, ok = file.elf.Addr(at - m.start + m.offset)
		} else if s.generated(sp, p).find(&f.Frame, at) {
			return f, false
		}
	}
	if !ok {
		if in, ok = h.inFile(at); !ok {
			f.gone = m == nil && p.err != nil
			return f, false
		}
		f.Module, f.BuildID = file.path, file.buildID
		if off, ok := file.elf.Offset(in); ok {
			f.ModuleOffset = off + (addr - at)
		}
	}
	f.file, f.at, f.Offset = file, in, at
	return f, false
}

// inFile is what an address of the process is in the probed file, if it lies in that.
func (h *Hit) inFile(addr uint64) (uint64, bool) {
	if h.File == nil || h.File.elf == nil {
		return 0, false
	}
	probed, ok := h.File.elf.Addr(h.Offset)
	if !ok {
		return 0, false
	}
	const page = 4096
	bias := h.IP - probed
	if bias%page != 0 || bias != 0 && h.File.elf.Type() == objfile.TypeExec {
		return 0, false // not where the probe is: the kernel took the hit for another program, or we misread the record
	}
	in := addr - bias
	return in, h.File.elf.Executable(in)
}
