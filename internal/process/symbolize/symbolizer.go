package symbolize

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"trocar/internal/binary/objfile"
	"trocar/internal/process/target"
	"trocar/result"
)

// Options of a Symbolizer.
type Options struct {
	Mangled bool // names as in the symbol table (bpftrace's cpp_demangle=0)
}

// Symbolizer names addresses. Its methods may be called from several goroutines.
type Symbolizer struct {
	opts  Options
	mu    sync.Mutex
	files files
	procs map[target.PID]*process
	clock uint64 // counts uses, to find the process not needed for longest

	maps   []target.Mapping // reused by snapshot
	text   []byte
	vdso   lazyVDSO
	kernel kernel
	stats  Stats
	mapped int // mappings kept
	limits limits
}

// limits bound what is kept of processes.
type limits struct {
	processes, mappings, files int
}

// A mapping takes 40 bytes. A file takes one mapping of ours, of which we may have 65530 (vm.max_map_count).
var defaultLimits = limits{processes: 4096, mappings: 1 << 18, files: 8192}

// Stats count what could not be named.
type Stats struct {
	Frames    uint64 // asked for in user space
	Gone      uint64 // without name because the process had ended before its mappings were read
	Processes uint64 // of which Gone is
}

// process is what we know of a process id.
type process struct {
	spaces  []*space // generations, newest first; none: it was gone or not readable
	err     error    // of the last look at it
	checked time.Time
	used    uint64
	next    time.Time // no further look before
	wait    time.Duration
	missed  bool // counted in Stats.Processes
}

// maxGenerations bounds the programs one after another of which we keep the mappings for one process id.
const maxGenerations = 4

// recheck is how long we trust that a process still runs the same program, and that an address without mapping hasn't got
// one meanwhile. Anchors show a change at once.
const recheck = 250 * time.Millisecond

// maxWait is how long looks in vain may hold off the next.
const maxWait = 8 * time.Second

var errRestless = errors.New("it executes one program after another")

// New makes a Symbolizer.
func New(opts Options) *Symbolizer {
	return &Symbolizer{
		opts:   opts,
		files:  files{byKey: map[fileKey]*File{}, byID: map[target.FileID]*File{}},
		procs:  map[target.PID]*process{},
		limits: defaultLimits,
	}
}

// Close gives everything back.
func (s *Symbolizer) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	// The probed file and the offset of the probed instruction in it, and the instruction pointer of the hit. File nil: not
	// known, as for timers and for function returns.
	File   *File
	Offset uint64
	IP     uint64
}

// Probed opens a file that is probed and keeps it until Close, for Hit. The path is valid from our own root; a member of a
// zip file is "archive.zip!/member". What goes wrong is kept in the File: the addresses in it have no names then.
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
		return s.files.open(o, path)
	}
	f := &File{path: path, err: err}
	if elf, err := objfile.Open(path); err == nil { // a member of an archive
		f.elf, f.err, f.size, f.buildID = elf, nil, elf.Size(), elf.BuildID()
	}
	return f
}

// Snapshot looks at a process now and keeps its mappings, so that its addresses can be named after its end. It does
// nothing for one that is known already and still runs the same program. An error is of interest only to who asked for this
// process in particular: it wraps target.ErrGone, or says what is not permitted.
func (s *Symbolizer) Snapshot(pid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.process(target.PID(pid))
	if len(p.spaces) == 0 {
		return p.err
	}
	s.renew(target.PID(pid), p, true)
	return p.err
}

// process finds or makes the entry of a process id; a new one is looked at.
func (s *Symbolizer) process(pid target.PID) *process {
	s.clock++
	p := s.procs[pid]
	if p == nil {
		s.evict()
		p = &process{}
		s.procs[pid] = p
		s.look(pid, p)
	}
	p.used = s.clock
	return p
}

// look takes a new generation of mappings.
func (s *Symbolizer) look(pid target.PID, p *process) {
	p.checked = time.Now()
	var sp *space
	if sp, p.err = s.snapshot(pid); p.err != nil {
		return
	}
	s.mapped += len(sp.maps)
	if len(p.spaces) > 0 && sameRun(p.spaces[0].stat, sp.stat) {
		s.forget(p.spaces[0]) // the same program, with more mapped
		p.spaces[0] = sp
		return
	}
	if len(p.spaces) == maxGenerations {
		s.forget(p.spaces[maxGenerations-1])
		p.spaces = p.spaces[:maxGenerations-1]
	}
	p.spaces = append([]*space{sp}, p.spaces...)
}

// renew looks at the process again if it runs another program than when we looked last (changed), or in any case.
func (s *Symbolizer) renew(pid target.PID, p *process, onlyChanged bool) {
	p.checked = time.Now()
	stat, err := pid.Stat()
	if err != nil || stat.Dead() {
		p.err = fmt.Errorf("process %d: %w", pid, target.ErrGone)
		return
	}
	p.err = nil
	if onlyChanged && len(p.spaces) > 0 && sameRun(stat, p.spaces[0].stat) {
		return
	}
	s.look(pid, p)
}

func (s *Symbolizer) forget(sp *space) {
	s.mapped -= len(sp.maps)
	s.releaseSpace(sp)
}

func (s *Symbolizer) drop(pid target.PID) {
	for _, sp := range s.procs[pid].spaces {
		s.forget(sp)
	}
	delete(s.procs, pid)
}

// evict makes room for one more process: those not asked for the longest go.
func (s *Symbolizer) evict() {
	full := func(n int) bool {
		return n >= s.limits.processes || s.mapped > s.limits.mappings || len(s.files.byID) > s.limits.files
	}
	if !full(len(s.procs)) {
		return
	}
	pids := slices.Collect(maps.Keys(s.procs))
	slices.SortFunc(pids, func(a, b target.PID) int { return cmp.Compare(s.procs[a].used, s.procs[b].used) })
	for i, pid := range pids {
		if i > len(pids)/8 && !full(len(s.procs)) { // some more at once, so that it is not each time
			break
		}
		s.drop(pid)
	}
}

// space chooses the generation that a hit was in. first is an address of code of it. nil: we know none.
func (s *Symbolizer) space(h *Hit, first uint64) *space {
	pid := target.PID(h.PID)
	p := s.process(pid)
	anchored := h.File != nil && h.File.elf != nil
	if sp := p.fitting(h, anchored, first); sp != nil && (anchored || time.Since(p.checked) < recheck) {
		return sp
	}
	// It runs another program now, or has mapped more.
	s.reconsider(pid, p, func() bool { return p.fitting(h, anchored, first) != nil })
	return p.fitting(h, anchored, first)
}

// reconsider looks at a process again if that may help: if it runs another program than we know, or if what we know does
// not fit. A look costs up to milliseconds, so after one in vain the next has to wait, longer each time.
func (s *Symbolizer) reconsider(pid target.PID, p *process, fits func() bool) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	stat, err := pid.Stat()
	switch {
	case err != nil || stat.Dead():
		p.err, p.checked = fmt.Errorf("process %d: %w", pid, target.ErrGone), now
	case !fits() || len(p.spaces) == 0 || !sameRun(stat, p.spaces[0].stat):
		s.look(pid, p)
	default:
		p.err, p.checked = nil, now
	}
	if fits() {
		p.wait = 0
		return
	}
	p.wait = min(max(2*p.wait, recheck), maxWait)
	p.next = now.Add(p.wait)
}

// fitting is the newest generation that a hit can have been in.
func (p *process) fitting(h *Hit, anchored bool, first uint64) *space {
	for _, sp := range p.spaces {
		if anchored && sp.holds(h) || !anchored && sp.find(first) != nil {
			return sp
		}
	}
	return nil
}

// Stack names the frames of a user stack, innermost first, and appends them to dst. The first address is taken as it is, the
// others as return addresses: they are named by the call before them, with the offset they have themselves.
func (s *Symbolizer) Stack(dst []result.Frame, h Hit, addrs []uint64) []result.Frame {
	if len(addrs) == 0 {
		return dst
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := s.space(&h, addrs[0])
	if p := s.procs[target.PID(h.PID)]; sp != nil && sp == p.spaces[0] && !sp.covers(addrs) {
		// Perhaps a library was loaded since, or code was made.
		s.reconsider(target.PID(h.PID), p, func() bool { return p.spaces[0].covers(addrs) })
		sp = s.space(&h, addrs[0])
	}
	exact, gone := true, false
	for _, addr := range addrs {
		var f result.Frame
		var lost bool
		f, exact, lost = s.frame(sp, &h, addr, exact)
		gone = gone || lost
		dst = append(dst, f)
	}
	if gone {
		s.countGone(h.PID)
	}
	return dst
}

// Symbol names an address of a process: the builtin `usym`, and `func` where a point doesn't know its own.
func (s *Symbolizer) Symbol(h Hit, addr uint64) result.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := addr
	if h.IP != 0 {
		first = h.IP
	}
	sp := s.space(&h, first)
	if p := s.procs[target.PID(h.PID)]; sp != nil && sp == p.spaces[0] && sp.find(addr) == nil {
		s.reconsider(target.PID(h.PID), p, func() bool { return p.spaces[0].find(addr) != nil })
		sp = s.space(&h, first)
	}
	f, _, gone := s.frame(sp, &h, addr, true)
	if gone {
		s.countGone(h.PID)
	}
	return f
}

func (s *Symbolizer) countGone(pid int) {
	if p := s.procs[target.PID(pid)]; p != nil && !p.missed {
		p.missed = true
		s.stats.Processes++
	}
}

// frame names one address. exact: it is not a return address; the result tells it of the next one. gone: there might be
// a name, had we seen the process in time.
func (s *Symbolizer) frame(sp *space, h *Hit, addr uint64, exact bool) (f result.Frame, nextExact, gone bool) {
	s.stats.Frames++
	f.Addr = addr
	at := addr
	if !exact && addr != 0 {
		at--
	}
	var m *mapping
	if sp != nil {
		m = sp.find(at)
	}
	if m != nil && m.kind != ofFile {
		return f, s.special(&f, sp, m, at), false
	}
	file, in := h.File, uint64(0) // in: the address in the file
	ok := false
	if m != nil {
		f.Module, f.ModuleOffset, f.BuildID = m.file.path, addr-m.start+m.offset, m.file.buildID
		if m.file.elf != nil {
			file = m.file
			in, ok = file.elf.Addr(at - m.start + m.offset)
		} else if sp.jit.find(&f, at) {
			return f, false, false
		}
	}
	if !ok {
		if in, ok = h.inFile(at); !ok {
			if gone = m == nil && sp == nil; gone {
				s.stats.Gone++
			}
			return f, false, gone
		}
		f.Module, f.BuildID = file.path, file.buildID
		if off, ok := file.elf.Offset(in); ok {
			f.ModuleOffset = off + (addr - at)
		}
	}
	sym := file.lookup(in, !s.opts.Mangled)
	if sym == nil {
		return f, false, false
	}
	f.Symbol, f.Offset = sym.name, in-sym.start+(addr-at)
	return f, sym.signal, false
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

// Bias is what is added to an address in a file (a symbol's value) to get the address in a running process. ok is false if
// the process has no code of the file mapped.
func (s *Symbolizer) Bias(pid int, f *File) (bias uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.elf == nil {
		return 0, false
	}
	p := s.process(target.PID(pid))
	for range 2 {
		if len(p.spaces) > 0 {
			for _, m := range p.spaces[0].maps {
				if m.file != nil && m.file.elf != nil && m.file.same(f) {
					if in, ok := m.file.elf.Addr(m.offset); ok {
						return m.start - in, true
					}
				}
			}
		}
		s.renew(target.PID(pid), p, false)
	}
	return 0, false
}
