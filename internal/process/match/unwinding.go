package match

import (
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// Returns that exceptions may pass. A return probe puts an address of the kernel's on the stack in place of the return
// address. An exception of C++ or a panic of Rust that passes it finds nothing there that tells how to go on, and ends the
// program. So there the instructions that return are probed instead, which leaves the stack alone.

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
	for _, name := range []string{"__cxa_throw", "__cxa_begin_catch", "__gxx_personality_v0", "_Unwind_Resume", "_Unwind_RaiseException"} {
		if obj.Imports(name) {
			return true
		}
		if _, ok := obj.SymbolAddr(name); ok {
			return true
		}
	}
	return false
}

// exitPoints makes the points of a function's returns of the point of its return probe, which stands if they are not
// known.
func (m *matcher) exitPoints(s *spec, b *binary, fn *objfile.Func, p *probe.Point) []*probe.Point {
	if b.unwinds == nil {
		found := unwinds(b.obj)
		b.unwinds = &found
	}
	if !*b.unwinds {
		return []*probe.Point{p}
	}
	k := Known{File: b.obj}
	if info, err := b.debug(); err == nil {
		if f, err := info.FunctionAt(fn.Addr); err == nil && f.Entry == fn.Addr {
			k.Info, k.Func = info, f
		}
	}
	if k.Func != nil && !k.Throws() {
		return []*probe.Point{p}
	}
	var ranges []debuginfo.Range
	if k.Func != nil {
		ranges = k.Func.Ranges
	} else if fn.Size > 0 {
		ranges = []debuginfo.Range{{Low: fn.Addr, High: fn.Addr + fn.Size}}
	}
	x, why := ExitsOf(b.obj, fn.Addr, ranges)
	addrs := x.Returns
	switch n := len(x.Tails); {
	case why != "":
		m.breaksUnwinding(s, p.Func, why)
		return []*probe.Point{p}
	case n > 0 && !m.needs.Typed():
		addrs = append(addrs, x.Tails...) // it is left there
	case n > 0 && len(addrs) == 0:
		m.breaksUnwinding(s, p.Func, "it ends in a jump to another function, which returns in its place")
		return []*probe.Point{p}
	case n > 0 && !hasWildcard(s.fn) && !m.listing:
		m.diags.Add(diag.Info, s.ap.Span, "where %s ends in a jump to another function, which returns in its place, its result is not seen: %s",
			p.Func, places(n))
	}
	points := make([]*probe.Point, 0, len(addrs))
	for _, addr := range addrs {
		q := *p
		q.AtReturn, q.Start, q.Skip = true, fn.Addr, 0
		if m.place(&q, b, addr) != nil {
			points = append(points, &q)
		}
	}
	return points
}

// breaksUnwinding warns of a return probe that exceptions cannot pass.
func (m *matcher) breaksUnwinding(s *spec, name, why string) {
	if hasWildcard(s.fn) || m.listing {
		return
	}
	m.diags.Warnf(s.ap.Span, "an exception or panic that passes %s will end the program while its return is probed", name).
		Note(diag.Span{}, "the instructions that return cannot be probed instead: %s", why)
}
