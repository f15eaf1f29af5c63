package symbolize

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/order"
	"trocar/internal/process/target"
)

// mapping is an executable mapping.
type mapping struct {
	start, end uint64
	offset     uint64 // in the file
	file       *File  // nil: not of a file
	path       string // as the process names it
	kind       kind
	since      uint64 // when it was seen to be mapped, on the monotonic clock; 0: before
	until      uint64 // of a former one: when something else was mapped there
}

type kind uint8

const (
	ofFile    kind = iota
	anonymous      // made by a program for itself: code of a JIT
	vdso
	vsyscall
	special // [uprobes] and others of the kernel
)

func kindOf(m *target.Mapping) kind {
	switch {
	case m.IsFile():
		return ofFile
	case m.Path == "[vdso]":
		return vdso
	case m.Path == "[vsyscall]":
		return vsyscall
	case m.Path == "[uprobes]", m.Path == "[uprobes-trampoline]", m.Path == "[sigpage]", m.Path == "[vectors]":
		return special
	}
	return anonymous // also "[heap]", "[stack]", "[anon:…]"
}

// specialNames are shown as module.
var specialNames = [...]string{vdso: "[vdso]", vsyscall: "[vsyscall]", special: "[uprobes]"}

// space is what is mapped executable in one generation of a process.
type space struct {
	maps []mapping // by address
	// former are mappings of files in place of which there are others now, by the order in which they went.
	former []mapping
	jit    *perfMap   // nil: it has no code of its own making, or nobody asked
	asOf   uint64     // CLOCK_MONOTONIC: changes before are in it
	until  uint64     // when it had been read: changes before may be in it
	lost   uint64     // how many changes the watch had lost
	from   target.PID // not 0: forked from this process, of which we knew nothing
	refs   int        // processes that have it: forks share it
}

// generated is the names of code that the program made itself.
func (s *Symbolizer) generated(sp *space, p *process) *perfMap {
	if sp.jit == nil && p.err == nil {
		sp.jit = openPerfMap(p.pid, s.opts.Readable)
	}
	return sp.jit
}

// find is the mapping of an address.
func (sp *space) find(addr uint64) *mapping {
	i, _ := slices.BinarySearchFunc(sp.maps, addr, func(m mapping, a uint64) int {
		if m.end <= a {
			return -1
		}
		return 1
	})
	if i < len(sp.maps) && sp.maps[i].start <= addr {
		return &sp.maps[i]
	}
	return nil
}

// overlaps finds the first mapping that has an address of another one, nil: there is none.
func (sp *space) overlaps(m *mapping) *mapping {
	for i := range sp.maps {
		if o := &sp.maps[i]; o.end > m.start {
			if o.start < m.end {
				return o
			}
			break
		}
	}
	return nil
}

// unopened tells whether there are files that the watch told of and nobody has opened.
func (sp *space) unopened() bool {
	for i := range sp.maps {
		if f := sp.maps[i].file; f != nil && f.seen {
			return true
		}
	}
	return false
}

// at is the mapping that an address had at a time; 0: now. It is nil if it is not known what was there: code is mapped
// before it is executed, so that a file which came later was not it.
func (sp *space) at(addr, time uint64) *mapping {
	m := sp.find(addr)
	if time == 0 || m != nil && m.since <= time {
		return m
	}
	for i := range sp.former {
		if f := &sp.former[i]; f.start <= addr && addr < f.end && f.since <= time && time < f.until {
			return f
		}
	}
	if m != nil && m.kind == ofFile && !strings.HasPrefix(m.path, memoryFile) {
		return nil
	}
	return m // code that a program makes is mapped anew as it grows
}

// memoryFile is how the names of files begin that are in memory alone, in which .NET has the code that it makes.
const memoryFile = "/memfd:"

// maxFormer bounds the former mappings of a process.
const maxFormer = 1 << 10

// leave notes that a part of a mapping is no longer there.
func (sp *space) leave(m mapping, start, end, when uint64) {
	if m.kind != ofFile || len(sp.former) >= maxFormer || start >= end {
		return
	}
	m.offset += start - m.start
	m.start, m.end, m.until = start, end, when
	m.file.refs++
	sp.former = append(sp.former, m)
}

// remember takes over what an earlier look at the same program knew. watched: what was mapped until now is in it, so
// that something that is not has been mapped since.
func (sp *space) remember(old *space, watched bool) {
	for _, f := range old.former {
		sp.leave(f, f.start, f.end, f.until)
	}
	for _, o := range old.maps {
		if m := sp.find(o.start); m == nil || m.start != o.start || m.end != o.end || m.file != o.file {
			sp.leave(o, o.start, o.end, sp.asOf)
		}
	}
	for i := range sp.maps {
		m := &sp.maps[i]
		if o := old.find(m.start); o != nil && o.start == m.start && o.end == m.end && o.file == m.file {
			m.since = o.since
		} else if o != nil || watched {
			m.since = sp.asOf
		} else {
			m.since = old.asOf
		}
	}
}

// covers tells whether all addresses of a stack were mapped at a time. The address 0 ends some stacks.
func (sp *space) covers(addrs []uint64, time uint64) bool {
	for i, a := range addrs {
		if a&Interpreted != 0 {
			continue
		}
		if a&Exact != 0 {
			a &^= Exact
		} else if i > 0 && a != 0 {
			a-- // a return address
		}
		if a != 0 && sp.at(a, time) == nil {
			return false
		}
	}
	return true
}

// anchored tells whether it is known where in a file the hit was.
func (h *Hit) anchored() bool { return h.File != nil && h.File.elf != nil }

// holds tells whether the probed instruction is mapped where the hit was.
func (sp *space) holds(h *Hit) bool {
	m := sp.at(h.IP, h.Time)
	return m != nil && m.kind == ofFile && h.IP-m.start+m.offset == h.Offset && (m.file.elf == nil || m.file.same(h.File))
}

// sameRun tells whether two looks at a process saw the same program running: exec gives a new stack.
func sameRun(a, b target.Stat) bool {
	return a.Start == b.Start && a.StartStack == b.StartStack && a.StartCode == b.StartCode
}

// snapshot reads the executable mappings of a living process. The process may execute another program meanwhile, so
// that we might mix two: then it is read again.
func (s *Symbolizer) snapshot(pid target.PID) (*space, target.Stat, error) {
	for range 3 {
		asOf := monotonic()
		before, err := pid.Living().Stat()
		if err != nil {
			return nil, before, err
		}
		if s.maps, s.text, err = pid.AppendMaps(s.maps[:0], s.text); err != nil {
			return nil, before, err
		}
		after, err := pid.Living().Stat()
		if err != nil {
			return nil, before, err
		}
		if sameRun(before, after) {
			until := monotonic()
			sp := s.newSpace(pid, s.maps)
			sp.asOf, sp.until = asOf, until
			if len(s.maps) > maxReused {
				s.maps, s.text = nil, nil
			}
			return sp, after, nil
		}
	}
	return nil, target.Stat{}, errRestless
}

// maxReused is how many mappings the memory is kept for.
const maxReused = 4096

func monotonic() uint64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return uint64(ts.Nano())
}

func (s *Symbolizer) newSpace(pid target.PID, all []target.Mapping) *space {
	n := 0
	for i := range all {
		if all[i].Perm&target.Exec != 0 {
			n++
		}
	}
	sp := &space{maps: make([]mapping, 0, n), refs: 1, lost: s.lost()}
	now := time.Now()
	s.files.budget = maxFiles
	jit := false
	for i := range all {
		m := &all[i]
		if m.Perm&target.Exec == 0 {
			continue
		}
		e := mapping{start: m.Start, end: m.End, offset: m.Offset, path: m.Path, kind: kindOf(m)}
		if e.kind == ofFile {
			e.file = s.files.mapped(pid, m, now)
		}
		jit = jit || e.kind == anonymous || e.kind == ofFile && e.file.elf == nil
		sp.maps = append(sp.maps, e)
	}
	s.mapped += len(sp.maps)
	order.By(sp.maps, func(a, b mapping) int { return cmp.Compare(a.start, b.start) })
	if jit {
		sp.jit = openPerfMap(pid, s.opts.Readable)
	}
	return sp
}

// forget gives back what a process has of a space.
func (s *Symbolizer) forget(sp *space) {
	if sp.refs--; sp.refs > 0 {
		return
	}
	s.mapped -= len(sp.maps) + len(sp.former)
	for _, list := range [][]mapping{sp.maps, sp.former} {
		for i := range list {
			if f := list[i].file; f != nil {
				s.files.release(f)
			}
		}
	}
	if sp.jit != nil {
		sp.jit.close()
	}
}
