package symbolize

import (
	"cmp"
	"slices"
	"time"

	"trocar/internal/process/target"
)

// mapping is an executable mapping.
type mapping struct {
	start, end uint64
	offset     uint64 // in the file
	file       *File  // nil: not of a file
	kind       kind
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
	stat target.Stat
	jit  *perfMap // nil: it has no code of its own making
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

// covers tells whether all addresses of a stack are mapped. The address 0 ends some stacks.
func (sp *space) covers(addrs []uint64) bool {
	for i, a := range addrs {
		if i > 0 && a != 0 {
			a-- // a return address
		}
		if a != 0 && sp.find(a) == nil {
			return false
		}
	}
	return true
}

// holds tells whether the probed instruction is mapped where the hit was.
func (sp *space) holds(h *Hit) bool {
	m := sp.find(h.IP)
	return m != nil && m.kind == ofFile && h.IP-m.start+m.offset == h.Offset && (m.file.elf == nil || m.file.same(h.File))
}

// sameRun tells whether two looks at a process saw the same program running: exec gives a new stack.
func sameRun(a, b target.Stat) bool {
	return a.Start == b.Start && a.StartStack == b.StartStack && a.StartCode == b.StartCode
}

// snapshot reads the executable mappings of a living process. The process may execute another program meanwhile, so that
// we might mix two: then it is read again.
func (s *Symbolizer) snapshot(pid target.PID) (*space, error) {
	for range 3 {
		before, err := pid.Stat()
		if err != nil {
			return nil, err
		}
		if s.maps, s.text, err = pid.AppendMaps(s.maps[:0], s.text); err != nil {
			return nil, err
		}
		after, err := pid.Stat()
		if err != nil {
			return nil, err
		}
		if sameRun(before, after) {
			return s.newSpace(pid, after, s.maps), nil
		}
	}
	return nil, errRestless
}

func (s *Symbolizer) newSpace(pid target.PID, stat target.Stat, all []target.Mapping) *space {
	n := 0
	for i := range all {
		if all[i].Perm&target.Exec != 0 {
			n++
		}
	}
	sp := &space{maps: make([]mapping, 0, n), stat: stat}
	now := time.Now()
	jit := false
	for i := range all {
		m := &all[i]
		if m.Perm&target.Exec == 0 {
			continue
		}
		e := mapping{start: m.Start, end: m.End, offset: m.Offset, kind: kindOf(m)}
		if e.kind == ofFile {
			e.file = s.files.mapped(pid, m, now)
		}
		jit = jit || e.kind == anonymous || e.kind == ofFile && e.file.elf == nil
		sp.maps = append(sp.maps, e)
	}
	slices.SortFunc(sp.maps, func(a, b mapping) int { return cmp.Compare(a.start, b.start) })
	if jit {
		sp.jit = openPerfMap(pid)
	}
	return sp
}

func (s *Symbolizer) releaseSpace(sp *space) {
	for i := range sp.maps {
		if f := sp.maps[i].file; f != nil {
			s.files.release(f)
		}
	}
	if sp.jit != nil {
		sp.jit.close()
	}
}
