package match

import (
	"slices"

	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes/native"
	"trocar/internal/script/diag"
)

// How the return of a function is caught. The rule, for all languages: the instructions with which it ends are probed,
// which leaves the stack alone. Where these are not all known, or the result is another function's in whose place it
// returns, the kernel can put an address of its own in place of the return address; that breaks programs that look at
// their stacks or change them, so it is done only where nothing of the kind can be there (see kernelReturnRefused).
// What is left is refused.

// returnWay is how the return of a function is caught.
type returnWay uint8

// Ways.
const (
	byInstruction returnWay = iota // the instructions that return are probed
	byAddress                      // the kernel replaces the return address
)

// ends is where a native function ends, and how its return is caught.
type ends struct {
	way     returnWay
	found   native.Returns
	refusal *probe.Refusal // no way is right
}

// endsOf decides how the return of a function of C, C++ or Rust is caught. It goes by the function and by what runs
// it, and not by what is asked there.
func (m *matcher) endsOf(c *candidate) ends {
	if why := native.NoReturnAddress(c.b.obj, c.fn); why != "" {
		return ends{refusal: &probe.Refusal{Reason: why, Way: entryInstead}}
	}
	k := m.known(c)
	found, refusal := k.Returns(c.fn.Addr)
	if refusal == nil && len(found.Tails) == 0 {
		return ends{found: found}
	}
	if refusal != nil && refusal.Reason == native.NothingFound {
		return ends{refusal: &probe.Refusal{Reason: native.NothingFound, Way: entryInstead}}
	}
	if refusal == nil && m.opts.Instructions {
		return ends{found: found}
	}
	harm := m.kernelReturnRefused(c.b)
	switch {
	case harm == "":
		return ends{way: byAddress}
	case refusal == nil:
		return ends{found: found}
	case m.opts.Unsafe:
		return ends{way: byAddress}
	}
	return ends{refusal: &probe.Refusal{
		Reason: "not all instructions with which it returns are known (" + refusal.Reason + "), and replacing its return " +
			"address may end the program: " + harm,
		Way: entryInstead + ", or accept that with --unsafe",
	}}
}

// returnPoints makes the points at which the return of a function is seen; scope is what is in scope without debug
// information.
func (m *matcher) returnPoints(c *candidate, scope *probe.Scope) []*probe.Point {
	if runtimes := c.b.runtimes(); len(runtimes) > 0 {
		if refusal := runtimes[0].NoReturn(c.fn); refusal != nil {
			m.noReturn(c, refusal)
			return nil
		}
		points := m.runtimeReturns(c, runtimes[0])
		if len(points) > 0 {
			m.entry(c, false)
		}
		return points
	}
	e := m.endsOf(c)
	if e.refusal != nil {
		m.noReturn(c, e.refusal)
		return nil
	}
	if e.way == byInstruction && c.site < 0 && c.why != nil && c.fn.Size > 0 {
		c.site = 0 // where the probes will be is elsewhere
	}
	p := m.function(c)
	if p == nil {
		return nil
	}
	m.scopeAt(c, p, scope)
	points := []*probe.Point{p}
	if e.way == byInstruction {
		points = m.exitPoints(c, p, e.found)
	}
	if len(points) > 0 {
		m.entry(c, p.Keeps() || e.way == byAddress) // there it is counted what the kernel lets pass
	}
	return points
}

// noReturn reports a function whose return cannot be caught.
func (m *matcher) noReturn(c *candidate, r *probe.Refusal) {
	if c.pattern {
		m.noReturns.add(r, c.shown)
		return
	}
	if m.anew(c.b, c.fn.Addr) { // and may return in that code
		if !c.s.tail && !m.listing {
			m.diags.Add(diag.Info, c.s.ap.Span, "the return of %s is not seen in the code of its file: %s", c.shown, r.Reason)
		}
		return
	}
	m.failAttach(c.s, "uretprobe on %s is not possible: %s", c.shown, r.Reason).Hint("%s", r.Way)
}

// exitPoints makes the points of the instructions with which a function ends, of the point of its return probe. Where
// it goes on in another function, which returns in its place, it is left; its result is not known there.
func (m *matcher) exitPoints(c *candidate, p *probe.Point, found native.Returns) []*probe.Point {
	addrs := found.At
	switch n := len(found.Tails); {
	case c.s.tail:
		addrs = found.Tails
	case n == 0:
	case !m.needs.Retval:
		addrs = append(slices.Clone(addrs), found.Tails...) // it is left there
		if m.needs.Duration && !c.pattern && !m.listing {
			m.diags.Add(diag.Info, c.s.ap.Span, "where %s ends in a tail call, "+
				"the duration is measured up to the tail call: %s", p.Func, places(n))
		}
	case len(addrs) == 0:
		m.noReturn(c, &probe.Refusal{
			Reason: "it ends in tail calls only: its results are those of the functions that it jumps to",
			Way:    "probe the return of these, or leave out retval: then the return is seen at the jump",
		})
		return nil
	case c.pattern:
		m.tails++
	case !m.listing:
		m.diags.Add(diag.Info, c.s.ap.Span, "where %s ends in a tail call, "+
			"its result is not seen: %s", p.Func, places(n))
	}
	points := make([]*probe.Point, 0, len(addrs))
	for _, addr := range addrs {
		q := *p
		q.AtReturn, q.Entry, q.Start, q.Skip = true, false, c.fn.Addr, 0
		q.Tail = m.needs.Given && slices.Contains(found.Tails, addr) // what is in registers there is no result
		if m.place(&q, c.b, addr) != nil {
			points = append(points, &q)
		}
	}
	return points
}

// known is what debug information tells of a candidate.
func (m *matcher) known(c *candidate) Known {
	k := Known{File: c.b.obj, Frames: c.b.im.Frames(), codes: c.b.runtimes}
	if info, err := c.b.debug(); err == nil {
		if f, err := info.FunctionAt(c.fn.Addr); err == nil && f.Entry == c.fn.Addr {
			k.Info, k.Func = info, f
		}
	}
	return k
}
