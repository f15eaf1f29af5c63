package match

import (
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// Returns that exceptions may pass. A return probe puts an address of the kernel's on the stack in place of the
// return address. An exception of C++ or a panic of Rust that passes it finds nothing there that tells how to go on,
// and ends the program. So there the instructions that return are probed instead, which leaves the stack alone.

// Throws tells whether exceptions or panics may pass the function.
func (k *Known) Throws() bool {
	if k.Func != nil {
		switch k.Func.Lang {
		case types.C, types.Go:
			return false
		case types.UnknownLanguage:
		default:
			return true
		}
	}
	return k.File != nil && unwinds(k.File)
}

// unwinds tells whether a file has code that exceptions or panics pass.
func unwinds(obj *objfile.File) bool {
	if obj.IsGo() {
		return false
	}
	for _, name := range []string{
		"__cxa_throw", "__cxa_begin_catch", "__gxx_personality_v0", "_Unwind_Resume", "_Unwind_RaiseException",
	} {
		if obj.Imports(name) {
			return true
		}
		if _, ok := obj.SymbolAddr(name); ok {
			return true
		}
	}
	return false
}

// throws tells whether exceptions or panics may pass a function.
func (m *matcher) throws(c *candidate) bool {
	b := c.b
	if b.unwinds == nil {
		found := unwinds(b.obj)
		b.unwinds = &found
	}
	if !*b.unwinds {
		return false
	}
	k := m.known(c)
	return k.Func == nil || k.Throws()
}

// known is what debug information tells of a candidate.
func (m *matcher) known(c *candidate) Known {
	k := Known{File: c.b.obj}
	if info, err := c.b.debug(); err == nil {
		if f, err := info.FunctionAt(c.fn.Addr); err == nil && f.Entry == c.fn.Addr {
			k.Info, k.Func = info, f
		}
	}
	return k
}

// exitPoints makes the points of the instructions that return of the point of a function's return probe, which
// stands if they are not known.
func (m *matcher) exitPoints(c *candidate, p *probe.Point) []*probe.Point {
	var ranges []debuginfo.Range
	if k := m.known(c); k.Func != nil {
		ranges = k.Func.Ranges
	} else if c.fn.Size > 0 {
		ranges = []debuginfo.Range{{Low: c.fn.Addr, High: c.fn.Addr + c.fn.Size}}
	}
	found, refusal := ReturnsOf(c.b.obj, c.fn.Addr, ranges)
	addrs := found.At
	switch n := len(found.Tails); {
	case refusal != nil:
		m.breaksUnwinding(c, refusal)
		return []*probe.Point{p}
	case n > 0 && !m.needs.Typed():
		addrs = append(addrs, found.Tails...) // it is left there
	case n > 0 && len(addrs) == 0:
		m.breaksUnwinding(c, &probe.Refusal{Reason: "it ends in a tail call"})
		return []*probe.Point{p}
	case n > 0 && !hasWildcard(c.s.fn) && !m.listing:
		m.diags.Add(diag.Info, c.s.ap.Span, "where %s ends in a tail call, "+
			"its result is not seen: %s", p.Func, places(n))
	}
	points := make([]*probe.Point, 0, len(addrs))
	for _, addr := range addrs {
		q := *p
		q.AtReturn, q.Start, q.Skip = true, c.fn.Addr, 0
		if m.place(&q, c.b, addr) != nil {
			points = append(points, &q)
		}
	}
	return points
}

// breaksUnwinding warns of a return probe that exceptions cannot pass.
func (m *matcher) breaksUnwinding(c *candidate, r *probe.Refusal) {
	if hasWildcard(c.s.fn) || m.listing {
		return
	}
	m.diags.Warnf(c.s.ap.Span, "an exception or panic that passes %s will end the program while its return is probed",
		c.shown).
		Note(diag.Span{}, "the instructions that return cannot be probed instead: %s", r.Reason)
}
