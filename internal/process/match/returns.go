package match

import (
	le "encoding/binary"
	"slices"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
)

// Where a function returns, and how its return may be caught. The kernel catches returns by putting an address of
// its own in place of the return address on the stack. Where that would break the program, the instructions that
// return are probed instead, which leaves the stack alone, or nothing is.

// returnWay is how the return of a function is caught.
type returnWay uint8

// Ways.
const (
	byAddress     returnWay = iota // the kernel replaces the return address
	byInstruction                  // the instructions that return are probed
)

// returnWayOf decides how a function's return is caught, or why it is not. Each language has its rules in a file of
// its own.
func (m *matcher) returnWayOf(c *candidate) (returnWay, *probe.Refusal) {
	switch {
	case len(c.b.runtimes()) > 0:
		return byInstruction, c.b.runtimes()[0].NoReturn(c.fn)
	case m.throws(c):
		return byInstruction, nativeReturnRefused(c.b.obj, c.fn)
	}
	return byAddress, nativeReturnRefused(c.b.obj, c.fn)
}

// returnPoints makes the points at which the return of a function is seen; scope is what is in scope without debug
// information.
func (m *matcher) returnPoints(c *candidate, scope *probe.Scope) []*probe.Point {
	way, refusal := m.returnWayOf(c)
	if refusal != nil {
		m.noReturn(c, refusal)
		return nil
	}
	if runtimes := c.b.runtimes(); len(runtimes) > 0 {
		points := m.runtimeReturns(c, runtimes[0])
		if len(points) > 0 {
			m.entry(c, false)
		}
		return points
	}
	p := m.function(c)
	if p == nil {
		return nil
	}
	m.scopeAt(c, p, scope)
	points := []*probe.Point{p}
	if way == byInstruction {
		points = m.exitPoints(c, p)
	}
	if len(points) > 0 {
		m.entry(c, p.Keeps())
	}
	return points
}

// noReturn reports a function whose return cannot be caught.
func (m *matcher) noReturn(c *candidate, r *probe.Refusal) {
	switch {
	case c.pattern && len(c.b.runtimes()) > 0:
		m.noReturns.add(r, c.fn.Name)
	case !c.pattern:
		m.failAttach(c.s, "uretprobe on %s is not possible: %s", c.shown, r.Reason).Hint("%s", r.Way)
	}
}

// maxReturns and maxGoReturns bound the instructions with which one function ends. Go's compiler copies them freely.
const (
	maxReturns   = 256
	maxGoReturns = 4096
)

// Returns are the instructions with which a function ends.
type Returns struct {
	At []uint64 // those that return
	// Tails are jumps with which it goes on in another function, which returns in its place.
	Tails []uint64
}

// Reasons for which it is not known where a function returns.
const (
	whyUnreadable   = "its code cannot be read"
	whyLarge        = "it is too large to find where it returns"
	whyUndecoded    = "not all of its instructions can be decoded"
	whyComputed     = "it has indirect jumps, which may be tail calls"
	whyConditional  = "it ends in a conditional tail call"
	whyNoReturn     = "it has no return instruction: it ends in a tail call, or never"
	whyLeaves       = "it may also end in a tail call"
	whyMany         = "it has too many return instructions"
	whyNothingFound = "it has no return instruction"
)

// ReturnsOf finds the instructions with which a function ends, which begins at start and has its code in ranges
// (nil: behind start, as far as the file tells). A refusal says why they are not known.
func ReturnsOf(obj *objfile.File, start uint64, ranges []debuginfo.Range) (Returns, *probe.Refusal) {
	if len(ranges) == 0 {
		ranges = []debuginfo.Range{{Low: start, High: start + obj.CodeSize(start)}}
	}
	f := returnFinder{arch: obj.Arch(), read: obj.Bytes, start: start, ranges: ranges}
	f.entry = func(t code.Table) uint64 { return tableEntry(obj, t) }
	f.golang, _ = obj.GoCode(start)
	if why := f.find(); why != "" {
		return Returns{}, &probe.Refusal{Reason: why}
	}
	n, limit := len(f.found.At)+len(f.found.Tails), maxReturns
	why := ""
	switch {
	case f.golang && len(f.found.At) == 0:
		why = whyNoReturn
	case f.golang && len(f.found.Tails) > 0:
		why = whyLeaves // what Go's compiler makes of wrappers: where these return is not seen
	case f.golang:
		limit = maxGoReturns
	case n == 0:
		why = whyNothingFound
	}
	if why == "" && n > limit {
		why = whyMany
	}
	if why != "" {
		return Returns{}, &probe.Refusal{Reason: why}
	}
	return f.found, nil
}

// returnFinder is one search for the instructions with which a function ends.
type returnFinder struct {
	arch   *abi.Arch
	read   func(addr uint64, n int) []byte
	entry  func(code.Table) uint64 // the address that the first entry of a table stands for
	start  uint64
	ranges []debuginfo.Range
	golang bool // Go's compiler made it: it jumps to computed places only for switches
	found  Returns
}

func (f *returnFinder) inside(addr uint64) bool {
	return slices.ContainsFunc(f.ranges, func(r debuginfo.Range) bool { return r.Contains(addr) })
}

// find looks through the code. why says what is in the way.
func (f *returnFinder) find() (why string) {
	var err error
	defer objfile.Guard(&err)()
	why = whyUnreadable // unless the end is reached
	for _, r := range f.ranges {
		if r.High <= r.Low || r.High-r.Low > code.MaxFunction {
			return whyLarge
		}
		body := f.read(r.Low, int(r.High-r.Low))
		var starts []int
		for at := 0; at < len(body); {
			in, ok := code.Decode(f.arch, body[at:])
			if !ok || in.Len == 0 {
				return whyUndecoded
			}
			starts = append(starts, at)
			if why := f.instruction(&in, body, r.Low, starts); why != "" {
				return why
			}
			at += in.Len
		}
	}
	return ""
}

// instruction looks at the last of the instructions that begin at starts in body, which lies at low.
func (f *returnFinder) instruction(in *code.Inst, body []byte, low uint64, starts []int) (why string) {
	at := starts[len(starts)-1]
	addr := low + uint64(at)
	target := addr + uint64(in.Target)
	switch {
	case in.Op == code.Ret:
		f.found.At = append(f.found.At, addr)
	case in.Op == code.Jump && !in.Direct && f.golang:
	case in.Op == code.Jump && !in.Direct:
		tables, ok := code.Switch(f.arch, body, low, starts, at)
		switch {
		case ok && slices.ContainsFunc(tables, f.within):
		case ok:
			return whyComputed
		default:
			f.found.Tails = append(f.found.Tails, addr)
		}
	case in.Op == code.Jump && !f.inside(target):
		f.found.Tails = append(f.found.Tails, addr)
	case in.Op == code.CondJump && !f.inside(target) && f.golang:
		f.found.Tails = append(f.found.Tails, addr)
	case in.Op == code.CondJump && !f.inside(target):
		return whyConditional
	}
	return ""
}

// within tells whether a table begins with an address in the function: then all of it is.
func (f *returnFinder) within(t code.Table) bool {
	a := f.entry(t)
	return a != f.start && f.inside(a)
}

// tableEntry is the address that the first entry of a table stands for.
func tableEntry(obj *objfile.File, t code.Table) (addr uint64) {
	var err error
	defer objfile.Guard(&err)()
	if !t.Relative {
		return obj.PointerAt(t.At)
	}
	if b := obj.Bytes(t.At, 4); len(b) == 4 {
		return t.At + uint64(int64(int32(le.LittleEndian.Uint32(b))))
	}
	return 0
}
