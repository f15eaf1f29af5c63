package symbolize

import (
	"context"
	"slices"

	"trocar/internal/process/target"
)

// changes is what tells of processes (target.Watcher).
type changes interface {
	Read(func(*target.Change))
	Lost() uint64
	Files() []int
	Close()
}

// Watch makes the Symbolizer see from now on what processes execute and map, so that also those have names that end
// before anybody can look at them: for scripts that name addresses of any process. Poll must be called regularly then.
// It needs the right to perf events of all CPUs; without it, names are as good as Snapshot and anchors make them. What
// it gives are file descriptors that can be read when it is time for a Poll.
func (s *Symbolizer) Watch() ([]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watcher == nil {
		w, err := target.Watch()
		if err != nil {
			return nil, err
		}
		s.watcher = w
	}
	return s.watcher.Files(), nil
}

// Poll takes in what has changed: best after records are read and before their addresses are named, at least some times
// a second.
func (s *Symbolizer) Poll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.poll()
}

func (s *Symbolizer) poll() {
	if s.watcher != nil {
		s.polled = monotonic()
		s.watcher.Read(s.apply)
		s.stats.Missed = s.watcher.Lost()
	}
}

// lost is how many changes the watch has lost.
func (s *Symbolizer) lost() uint64 {
	if s.watcher == nil {
		return 0
	}
	return s.watcher.Lost()
}

// Mapped is the path, as the process named it, of the file that was mapped last at an address, "" if none is known:
// also of a process that has ended.
func (s *Symbolizer) Mapped(pid int, addr uint64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.poll()
	p := s.procs[target.PID(pid)]
	if p == nil || len(p.spaces) == 0 {
		return ""
	}
	if m := p.spaces[0].find(addr); m != nil && m.kind == ofFile {
		return m.path
	}
	return ""
}

// maxSpace bounds the mappings that one process may add while it is watched.
const maxSpace = 1 << 16

// apply brings what we know of a process up to date. Files are not opened before they are asked for, since most
// processes never are.
func (s *Symbolizer) apply(c *target.Change) {
	p := s.procs[c.PID]
	switch c.Kind {
	case target.Forked:
		if p == nil {
			p = s.enter(c.PID)
		} else if len(p.spaces) > 0 && p.spaces[0].asOf > c.Time {
			return // we have looked since
		}
		p.err, p.execed = nil, 0
		if parent := s.procs[c.Parent]; parent != nil && len(parent.spaces) > 0 {
			parent.spaces[0].refs++
			s.push(p, parent.spaces[0], target.Stat{})
		} else {
			s.push(p, &space{refs: 1, asOf: c.Time, from: c.Parent, lost: s.lost()}, target.Stat{})
		}
	case target.Execed:
		if p == nil {
			p = s.enter(c.PID)
		}
		p.execed = c.Time
		if len(p.spaces) > 0 && p.spaces[0].asOf > c.Time {
			return // we have looked since
		}
		s.push(p, &space{refs: 1, asOf: c.Time, lost: s.lost()}, target.Stat{})
	case target.Mapped:
		if p != nil && len(p.spaces) > 0 && p.spaces[0].asOf <= c.Time {
			s.mapNew(p, c)
		}
	case target.Exited:
		if p != nil {
			p.gone()
		}
	}
}

// mapNew adds a mapping to a process's newest generation, in place of what was there.
func (s *Symbolizer) mapNew(p *process, c *target.Change) {
	if len(p.spaces[0].maps) >= maxSpace {
		return
	}
	m := mapping{
		start: c.Mapping.Start, end: c.Mapping.End, offset: c.Mapping.Offset, path: c.Mapping.Path,
		kind: kindOf(&c.Mapping), since: c.Time,
	}
	if c.BuildID != "" {
		m.kind = ofFile
	}
	if m.kind == ofFile {
		m.file = s.files.seen(&c.Mapping, c.BuildID, c.Time)
	}
	s.insert(p, m)
	if m.kind == anonymous {
		s.generated(p.spaces[0], p) // what is to be known of the process for that is gone when it has ended
	}
}

// insert puts a mapping, with its reference to a file, into a process's newest generation.
func (s *Symbolizer) insert(p *process, m mapping) {
	sp := p.spaces[0]
	if sp.refs > 1 { // a fork goes its own way
		sp.refs--
		sp = &space{
			refs: 1, asOf: sp.asOf, until: sp.until, lost: sp.lost, from: sp.from, maps: slices.Clone(sp.maps),
			former: slices.Clone(sp.former),
		}
		for _, list := range [][]mapping{sp.maps, sp.former} {
			for i := range list {
				if f := list[i].file; f != nil {
					f.refs++
				}
			}
		}
		s.mapped += len(sp.maps) + len(sp.former)
		p.spaces[0] = sp
	}
	s.mapped -= len(sp.maps) + len(sp.former)
	for i := range sp.maps {
		old := &sp.maps[i]
		if old.start >= m.end || m.start >= old.end || old.file == m.file {
			continue
		}
		// What a look saw may be what was mapped while it was taken: it is not known what was there before.
		if old.since > 0 || m.since >= sp.until {
			sp.leave(*old, max(old.start, m.start), min(old.end, m.end), m.since)
		}
	}
	sp.maps = s.files.replace(sp.maps, m)
	s.mapped += len(sp.maps) + len(sp.former)
}

// replace puts a mapping among others, which are by address, and cuts away what it covers.
func (fs *files) replace(maps []mapping, m mapping) []mapping {
	i, _ := slices.BinarySearchFunc(maps, m.start, func(e mapping, at uint64) int {
		if e.end <= at {
			return -1
		}
		return 1
	})
	var parts []mapping // what is in place of maps[i:j]
	j := i
	if i < len(maps) && maps[i].start < m.start {
		left := maps[i]
		left.end = m.start
		parts = append(parts, left)
	} else if m.kind == anonymous && i > 0 && maps[i-1].kind == anonymous && maps[i-1].end == m.start {
		// Code made piece by piece grows together.
		i--
		m.start = maps[i].start
	}
	parts = append(parts, m)
	for ; j < len(maps) && maps[j].start < m.end; j++ {
		if maps[j].end > m.end {
			right := maps[j]
			right.offset += m.end - right.start
			right.start = m.end
			parts = append(parts, right)
		}
	}
	for k := range parts {
		if f := parts[k].file; f != nil {
			f.refs++
		}
	}
	if m.file != nil {
		fs.release(m.file) // the caller's
	}
	for k := i; k < j; k++ {
		if f := maps[k].file; f != nil {
			fs.release(f)
		}
	}
	return slices.Replace(maps, i, j, parts...)
}

// inherit completes a process that was forked, by one we knew nothing of, and has executed nothing since: if the parent
// hasn't either, what it has mapped now is mapped in both.
func (s *Symbolizer) inherit(p *process) {
	if len(p.spaces) == 0 || p.spaces[0].from == 0 {
		return
	}
	own := p.spaces[0]
	parent := s.procs[own.from]
	if parent == nil {
		parent = s.enter(own.from)
		s.look(parent)
	}
	if s.procs[p.pid] != p || len(parent.spaces) == 0 || parent.execed > own.asOf || parent.spaces[0].from != 0 {
		return
	}
	p.spaces[0] = parent.spaces[0]
	p.spaces[0].refs++
	for _, m := range own.maps {
		if m.file != nil {
			m.file.refs++
		}
		s.insert(p, m)
	}
	s.forget(own)
}

// SnapshotRunning takes a Snapshot of each process that runs now and has one of the files mapped, of each if no files
// are given. It reads the mappings of all processes, which may take a tenth of a second: to be called on the side, when
// probes are attached in any process.
func (s *Symbolizer) SnapshotRunning(ctx context.Context, probed ...*File) {
	pids, err := target.All()
	if err != nil {
		return
	}
	inodes := map[uint64]bool{}
	for _, f := range probed {
		inodes[f.id.Inode] = true
	}
	delete(inodes, 0)
	var all []target.Mapping
	var text []byte
	for _, pid := range pids {
		if ctx.Err() != nil {
			return
		}
		if all, text, err = pid.AppendMaps(all[:0], text); err != nil {
			continue
		}
		has := func(m target.Mapping) bool { return m.Perm&target.Exec != 0 && inodes[m.Inode] }
		if len(probed) == 0 || slices.ContainsFunc(all, has) {
			s.Snapshot(int(pid))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files.evict()
}
