package symbolize

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"trocar/internal/order"
	"trocar/internal/process/target"
)

// process is what we know of a process id.
type process struct {
	pid     target.PID
	spaces  []*space    // generations, newest first; none: it was gone or not readable
	stat    target.Stat // of the newest; zero: known by the watch alone
	err     error       // of the last look at it; target.ErrGone after its end
	checked time.Time
	used    uint64
	execed  uint64    // when it was last seen to execute a program, by the watch's clock
	next    time.Time // no further look before
	wait    time.Duration
	missed  bool // counted in Stats.Processes
}

// maxGenerations bounds the programs one after another of which we keep the mappings for one process id.
const maxGenerations = 32

// recheck is how long we trust, without a watch, that a process still runs the same program. Anchors show a change at
// once.
const recheck = 250 * time.Millisecond

// maxWait is how long looks in vain may hold off the next.
const maxWait = 8 * time.Second

var errRestless = errors.New("it keeps executing new programs")

// process finds or makes the entry of a process id; a new one is looked at.
func (s *Symbolizer) process(pid target.PID) *process {
	p := s.procs[pid]
	if p == nil {
		if s.poll(); s.procs[pid] == nil {
			p = s.enter(pid)
			s.look(p)
		}
		p = s.procs[pid]
	}
	s.clock++
	p.used = s.clock
	return p
}

// enter makes an empty entry.
func (s *Symbolizer) enter(pid target.PID) *process {
	s.evict()
	s.clock++
	p := &process{pid: pid, used: s.clock}
	s.procs[pid] = p
	return p
}

// look reads what a process has mapped: a new generation, or more of the newest.
func (s *Symbolizer) look(p *process) {
	p.checked = time.Now()
	s.poll() // what has been mapped and unmapped until now is not seen in its mappings
	var sp *space
	var stat target.Stat
	if sp, stat, p.err = s.snapshot(p.pid); p.err != nil {
		return
	}
	s.poll() // nor is the order in which that was done which was done meanwhile
	switch {
	case s.procs[p.pid] != p || len(p.spaces) > 0 && p.spaces[0].asOf > sp.asOf && p.stat.Start == 0:
		s.forget(sp) // it runs another program since, of which all is told
	case len(p.spaces) > 0 && (p.stat.Start == 0 && s.watcher != nil || sameRun(p.stat, stat)):
		p.stat = stat // the watch would have told of another program
		if s.watcher != nil && s.lost() == p.spaces[0].lost {
			s.complete(p, sp)
			return
		}
		sp.remember(p.spaces[0], s.watcher != nil)
		s.mapped += len(sp.former)
		s.forget(p.spaces[0])
		p.spaces[0] = sp
	default:
		s.push(p, sp, stat)
	}
}

// complete adds what a look has seen to what the watch tells, which alone knows the order of changes: what it has not
// told of, and the files while they can be opened as they are mapped.
func (s *Symbolizer) complete(p *process, seen *space) {
	for _, m := range seen.maps {
		known := p.spaces[0]
		o := known.overlaps(&m)
		if o == nil {
			if m.since = seen.asOf; known.from != 0 {
				m.since = 0 // mapped when it was forked, or told of
			}
			if m.file != nil {
				m.file.refs++
			}
			s.insert(p, m)
		} else if o.start == m.start && o.end == m.end && o.offset == m.offset && o.file != nil && m.file != nil {
			if o.file.seen && m.file.elf != nil && o.file.is(m.file) {
				s.files.found(o.file, m.file)
			}
			s.files.settle(o, p.pid)
		}
	}
	sp := p.spaces[0]
	for i := range sp.maps { // those that are not mapped any more, of which the watch does not tell
		if m := &sp.maps[i]; m.file != nil && m.file.seen {
			s.files.settle(m, p.pid)
		}
	}
	if sp.jit == nil {
		sp.jit, seen.jit = seen.jit, nil
	}
	s.forget(seen)
}

// push begins a new generation.
func (s *Symbolizer) push(p *process, sp *space, stat target.Stat) {
	p.stat = stat
	if len(p.spaces) == maxGenerations {
		s.forget(p.spaces[maxGenerations-1])
		p.spaces = p.spaces[:maxGenerations-1]
	}
	p.spaces = append([]*space{sp}, p.spaces...)
}

// renew looks at the process again if it runs another program than when we looked last (onlyChanged), or in any case.
func (s *Symbolizer) renew(p *process, onlyChanged bool) {
	p.checked = time.Now()
	stat, err := p.pid.Living().Stat()
	if err != nil || stat.Dead() {
		p.gone()
		return
	}
	p.err = nil
	if onlyChanged && len(p.spaces) > 0 && sameRun(stat, p.stat) && !p.spaces[0].unopened() {
		return
	}
	s.look(p)
}

func (p *process) gone() { p.err = fmt.Errorf("process %d: %w", p.pid, target.ErrGone) }

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
	order.By(pids, func(a, b target.PID) int { return cmp.Compare(s.procs[a].used, s.procs[b].used) })
	for i, pid := range pids {
		if i > len(pids)/8 && !full(len(s.procs)) { // some more at once, so that it is not each time
			break
		}
		s.drop(pid)
	}
}

// space chooses the generation that a hit was in, nil if we know none. The first of the addresses is code, the others
// are return addresses.
func (s *Symbolizer) space(p *process, h *Hit, addrs []uint64) *space {
	if h.Time >= s.polled {
		s.poll() // what was mapped there before may not be there any more, and that may not have been read
	}
	sp, all := p.fitting(h, addrs)
	if all && (h.anchored() || s.watcher != nil || time.Since(p.checked) < recheck) {
		return sp
	}
	// It runs another program now, or has mapped more.
	if s.watcher != nil {
		s.poll()
		s.inherit(p)
		if sp, all = p.fitting(h, addrs); all {
			return sp
		}
	}
	// A look costs up to milliseconds, so after one in vain the next has to wait, longer each time.
	now := time.Now()
	if now.Before(p.next) {
		return sp
	}
	stat, err := p.pid.Living().Stat()
	switch {
	case err != nil || stat.Dead():
		p.gone()
		p.checked = now
	case !all || !sameRun(stat, p.stat):
		s.look(p)
	default:
		p.err, p.checked = nil, now
	}
	if sp, all = p.fitting(h, addrs); all {
		p.wait = 0
	} else {
		p.wait = min(max(2*p.wait, recheck), maxWait)
		p.next = now.Add(p.wait)
	}
	return sp
}

// fitting is the newest generation that the hit can have been in; all tells whether it has all addresses mapped. One
// that has is preferred, unless the probed instruction says otherwise.
func (p *process) fitting(h *Hit, addrs []uint64) (fits *space, all bool) {
	for _, sp := range p.spaces {
		if h.anchored() && !sp.holds(h) || !h.anchored() && sp.at(addrs[0], h.Time) == nil {
			continue
		}
		if sp.covers(addrs, h.Time) {
			return sp, true
		}
		if fits == nil {
			fits = sp
		}
	}
	return fits, false
}
