package probe

import (
	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
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

// maxExits bounds the instructions with which one function returns.
const maxExits = 256

// exits finds the instructions with which a function returns. why says why they are not known: a function that goes on in
// another one by a jump returns from there.
func exits(obj *objfile.File, start uint64, ranges []debuginfo.Range) (addrs []uint64, why string) {
	var err error
	defer objfile.Guard(&err)()
	if len(ranges) == 0 {
		ranges = []debuginfo.Range{{Low: start, High: start + obj.CodeSize(start)}}
	}
	inside := func(addr uint64) bool {
		for _, r := range ranges {
			if r.Contains(addr) {
				return true
			}
		}
		return false
	}
	why = "its code cannot be read" // unless the end is reached
	for _, r := range ranges {
		if r.High <= r.Low || r.High-r.Low > code.MaxFunction {
			return nil, "it is too large to find where it returns"
		}
		body := obj.Bytes(r.Low, int(r.High-r.Low))
		for at := 0; at < len(body); {
			in, ok := code.Decode(obj.Arch(), body[at:])
			if !ok || in.Len == 0 {
				return nil, "not all of its code is known"
			}
			addr := r.Low + uint64(at)
			at += in.Len
			switch {
			case in.Op == code.Ret:
				addrs = append(addrs, addr)
			case in.Op == code.Jump && !in.Direct:
				return nil, "it jumps to places that are computed, which may be in functions that return in its place"
			case (in.Op == code.Jump || in.Op == code.CondJump) && !inside(addr+uint64(in.Target)):
				return nil, "it ends in a jump to another function, which returns in its place"
			}
		}
	}
	switch {
	case len(addrs) == 0:
		return nil, "no instruction in it returns"
	case len(addrs) > maxExits:
		return nil, "it returns in too many places"
	}
	return addrs, ""
}

// exitPoints makes the points of a function's returns of the point of its return probe, which stands if they are not
// known.
func (m *matcher) exitPoints(s *spec, b *binary, fn *objfile.Func, p *Point) []*Point {
	if b.unwinds == nil {
		found := unwinds(b.obj)
		b.unwinds = &found
	}
	if !*b.unwinds {
		return []*Point{p}
	}
	k := Known{File: b.obj}
	if info, err := b.debug(); err == nil {
		if f, err := info.FunctionAt(fn.Addr); err == nil && f.Entry == fn.Addr {
			k.Info, k.Func = info, f
		}
	}
	if k.Func != nil && !k.Throws() {
		return []*Point{p}
	}
	var ranges []debuginfo.Range
	if k.Func != nil {
		ranges = k.Func.Ranges
	} else if fn.Size > 0 {
		ranges = []debuginfo.Range{{Low: fn.Addr, High: fn.Addr + fn.Size}}
	}
	addrs, why := exits(b.obj, fn.Addr, ranges)
	if why != "" {
		if !hasWildcard(s.fn) && !m.listing {
			m.diags.Warnf(s.ap.Span, "an exception or panic that passes %s will end the program while its return is probed", p.Func).
				Note(diag.Span{}, "the instructions that return cannot be probed instead: %s", why)
		}
		return []*Point{p}
	}
	points := make([]*Point, 0, len(addrs))
	for _, addr := range addrs {
		q := *p
		q.AtReturn, q.Start, q.Skip = true, fn.Addr, 0
		if m.place(&q, b, addr) != nil {
			points = append(points, &q)
		}
	}
	return points
}
