package match

import (
	"fmt"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/opener"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// Places where a probe changes what the program does (code.Hazard). None of them leaves this package: spec asks
// harmless of all points of an attach point, whatever kind they are of, and what finds places asks hazardAt before, to
// take another or to say more.

// hazard is an instruction that must not be probed.
type hazard struct {
	why  code.Hazard
	name string // of the instruction
}

func (h hazard) String() string { return h.name + ", " + h.why.Why() }

// lifted tells whether a hazard is none on this kernel, which is tried when the first such instruction is met.
func (m *matcher) lifted(h code.Hazard) bool {
	if !h.Vector() || m.opts.VectorsStepped == nil {
		return false
	}
	if m.vectors == nil {
		ok := m.opts.VectorsStepped()
		m.vectors = &ok
	}
	return *m.vectors
}

// hazardIn is what makes a probe on the first instruction of text harmful, nil: nothing.
func (m *matcher) hazardIn(obj *objfile.File, text []byte) *hazard {
	why := code.HazardAt(obj.Arch(), text)
	if why == code.Sound || m.lifted(why) {
		return nil // what is no instruction is refused elsewhere, or asked for with --unsafe
	}
	return &hazard{why, code.Describe(obj.Arch(), text)}
}

// hazardAt is hazardIn of an address of a file.
func (m *matcher) hazardAt(obj *objfile.File, addr uint64) (h *hazard) {
	var err error
	defer objfile.Guard(&err)()
	return m.hazardIn(obj, obj.Bytes(addr, code.MaxInstruction))
}

// look is hazardAt, and tells whether the kernel steps over the instruction.
func (m *matcher) look(obj *objfile.File, addr uint64) (h *hazard, stepped bool) {
	var err error
	defer objfile.Guard(&err)()
	text := obj.Bytes(addr, code.MaxInstruction)
	return m.hazardIn(obj, text), code.Stepped(obj.Arch(), text)
}

// maxPast is for how many places of an attach point all code is searched for jumps behind them.
const maxPast = 64

// pastVectors gives the distance of the first instruction behind an address that can be probed and stands for it: what
// lies in between changes vector registers only, and nothing comes by without it.
func (m *matcher) pastVectors(b *binary, addr uint64) (n int, ok bool) {
	var err error
	defer objfile.Guard(&err)()
	start, _, known := m.functionStart(b, addr)
	if !known || len(b.runtimes()) > 0 || m.past >= maxPast || textSize(b.obj) > maxScannedText {
		return 0, false
	}
	n, ok = code.PastVectors(b.obj.Arch(), b.obj.Bytes(addr, code.EntryWindow), m.lifted)
	if !ok || b.obj.BeginsIn(addr+1, addr+uint64(n)) || m.jumpsAnywhere(b.obj, start) {
		return 0, false
	}
	m.past++
	here := objfile.Func{Symbol: objfile.Symbol{Addr: addr}}
	if len(m.jumpedInto(b.obj, b.im.Frames(), []objfile.Func{here}, []int{n}, []int{0})) > 0 {
		return 0, false
	}
	return n, true
}

// jumpsAnywhere tells whether a function has jumps to computed places, or it is not known what it has.
func (m *matcher) jumpsAnywhere(obj *objfile.File, start uint64) bool {
	body := obj.Bytes(start, int(min(obj.CodeSize(start), code.MaxFunction)))
	for at := 0; at < len(body); {
		in, ok := code.Decode(obj.Arch(), body[at:])
		if !ok || in.Op == code.Jump && !in.Direct {
			return true
		}
		at += in.Len
	}
	return len(body) == 0
}

// harmless leaves out of an attach point's points, and of the entries beside them, those on instructions that must not
// be probed, and says so: every point passes here.
func (m *matcher) harmless(s *spec, points []*probe.Point) []*probe.Point {
	begins := map[uint64]bool{} // that are left out, by function
	m.begins, _ = m.sound(m.begins, func(p *probe.Point, h *hazard) { begins[p.FunctionStart()] = true; m.harm(p, h) })
	points, left := m.sound(points, m.harm)
	if len(begins) > 0 {
		kept := points[:0]
		for _, p := range points { // whose entry is not seen is not seen at all
			if !begins[p.FunctionStart()] {
				kept = append(kept, p)
			}
		}
		points = kept
	}
	m.tellHarm(s, len(points) == 0 && left != nil)
	return points
}

// sound gives the points on instructions that can be probed, calls bad with the others and gives the last of them.
func (m *matcher) sound(points []*probe.Point,
	bad func(*probe.Point, *hazard),
) (good []*probe.Point, last *probe.Point) {
	good = points[:0]
	for _, p := range points {
		if h := m.pointHazard(p); h != nil {
			bad(p, h)
			last = p
			continue
		}
		good = append(good, p)
	}
	return good, last
}

// pointHazard looks at the instruction that a point is on. Points of other kinds than programs' are on none.
func (m *matcher) pointHazard(p *probe.Point) (h *hazard) {
	if p.Path == "" || p.Program() != probe.UprobeProgram {
		return nil
	}
	if m.last == nil || m.last.path != p.Path {
		m.last = m.files.byPath(p.Path)
	}
	if m.last != nil {
		p.File = m.last.fileID()
		h, p.Stepped = m.look(m.last.obj, p.Addr)
		return h
	}
	// Code in a file that is no ELF file (flatFile): of this machine.
	arch, err := abi.Host()
	if err != nil {
		return nil
	}
	f, err := opener.Asked(p.Path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text := make([]byte, code.MaxInstruction)
	n, _ := f.ReadAt(text, int64(p.Offset))
	why := code.HazardAt(arch, text[:n])
	if why == code.Sound || m.lifted(why) {
		return nil
	}
	return &hazard{why, code.Describe(arch, text[:n])}
}

// harm notes a place that is left out.
func (m *matcher) harm(p *probe.Point, h *hazard) {
	where := p.Func
	if where == "" {
		where = p.Name
	}
	m.harms.add(&probe.Refusal{Reason: h.why.Why()}, fmt.Sprintf("%s at %#x: %s", where, p.Addr, h.name))
}

// refuseEntry reports a function without a place for a probe on its entry.
func (m *matcher) refuseEntry(c *candidate) {
	if c.why == nil {
		m.refuse(c, "%s cannot be probed: at %#x are %s", c.shown, c.fn.Addr, code.ErrUndecodable)
		return
	}
	if c.pattern {
		m.harms.add(&probe.Refusal{Reason: c.why.why.Why()}, fmt.Sprintf("%s at %#x: %s", c.shown, c.fn.Addr, c.why.name))
		return
	}
	m.failAttach(c.s, "%s cannot be probed: its first instruction is %s", c.shown, c.why).
		Hint("nothing behind it is as good: it changes what a probe may look at, or calls come by without it; "+
			"probe what calls %s, or a line of it",
			c.shown)
}

// tellHarm says which places of an attach point are left out; as an error where nothing is left of what was named.
func (m *matcher) tellHarm(s *spec, nothing bool) {
	for why, names := range m.harms.each() {
		if s.skip {
			break
		}
		text := fmt.Sprintf("%d places are left out, like %s, %s", len(names), names[0], why)
		if len(names) == 1 {
			text = fmt.Sprintf("1 place is left out, %s, %s", names[0], why)
		}
		if nothing && !hasWildcard(s.target+s.ns+s.fn) {
			m.diags.Errorf(s.ap.Span, "%s", text)
		} else {
			m.diags.Add(diag.Warning, s.ap.Span, "%s", text)
		}
	}
	clear(m.harms)
	m.past = 0
}
