package match

import (
	"slices"
	"strings"

	"trocar/internal/binary/cfi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/runtimes/native"
	"trocar/internal/script/diag"
)

// Known is what the debug information tells of the function that a point lies in.
type Known struct {
	File   *objfile.File
	Frames *cfi.Table
	Info   *debuginfo.Info     // nil: there is none
	Func   *debuginfo.Function // nil: not in it

	codes   func() []runtimes.Code // of runtimes in the file; nil: not asked yet
	unwinds func() bool            // tells whether the file has code that exceptions pass; nil: not asked yet
}

// Known looks up the function of a point. It is good until the result is closed.
func (r *Result) Known(p *probe.Point) Known {
	k := r.InFile(p)
	if k.Info != nil {
		if fn, err := k.Info.FunctionAt(p.Addr); err == nil {
			k.Func = fn
		}
	}
	return k
}

// InFile is what is known of the file that a point lies in, and nothing of the function.
func (r *Result) InFile(p *probe.Point) (k Known) {
	if r.files == nil || p.Path == "" {
		return k
	}
	b := r.files.byPath(p.Path)
	if b == nil {
		return k
	}
	k.File, k.Frames, k.codes, k.unwinds = b.obj, b.im.Frames(), b.runtimes, b.unwinds
	if info, err := b.debug(); err == nil {
		k.Info = info
	}
	return k
}

// Code is where the code of the function is that begins at an address: as the debug information tells, else its symbol,
// else up to the next symbol; in stripped files that may be behind functions that have none.
func (k *Known) Code(start uint64) []debuginfo.Range {
	if k.Func != nil && k.Func.Entry == start && len(k.Func.Ranges) > 0 {
		return k.Func.Ranges
	}
	size := k.File.CodeSize(start)
	if sym, ok := k.File.Lookup(start); ok && sym.Addr == start && sym.Size > 0 {
		size = sym.Size
	}
	return []debuginfo.Range{{Low: start, High: start + size}}
}

// Returns are the instructions with which the function that begins at an address ends. A refusal says why they are not
// known.
func (k *Known) Returns(start uint64) (native.Returns, *probe.Refusal) {
	return native.ReturnsOf(k.File, k.Frames, start, k.Code(start), k.owned(start))
}

// owned tells whether a runtime's compiler or assembler made the code at an address.
func (k *Known) owned(addr uint64) bool {
	if k.codes != nil {
		return owned(k.codes(), addr)
	}
	return owned(codesIn(runtimes.File{Object: k.File}), addr)
}

// PartMark is the mark behind the name of a function in that of a part of it which the compiler has made a function of
// its own, since callers do the rest themselves (GCC's partial inlining).
const PartMark = ".part."

// WholeOf is the name of the function that a symbol names a part of, "" if it does not.
func WholeOf(symbol string) string {
	whole, _, ok := strings.Cut(symbol, PartMark)
	if !ok {
		return ""
	}
	return whole
}

// ThroughParts follows the tail calls of the function at an address to its own parts: what ends there ends the
// function. parts tells whether there are some.
func (k *Known) ThroughParts(start uint64, ends native.Returns) (all native.Returns, parts bool) {
	own, ok := k.File.Lookup(start)
	if !ok || own.Addr != start {
		return ends, false
	}
	all.At = slices.Clone(ends.At)
	seen := map[uint64]bool{}
	for _, at := range ends.Tails {
		target, ok := k.jumpsTo(at)
		sym, named := k.File.Lookup(target)
		if !ok || !named || sym.Addr != target || WholeOf(sym.Name) != own.Name {
			all.Tails = append(all.Tails, at)
			continue
		}
		part := Known{File: k.File, Frames: k.Frames, codes: k.codes}
		found, refusal := part.Returns(target)
		if refusal != nil {
			all.Tails = append(all.Tails, at)
			continue
		}
		if parts = true; !seen[target] {
			seen[target] = true
			all.At, all.Tails = append(all.At, found.At...), append(all.Tails, found.Tails...)
		}
	}
	return all, parts
}

// jumpsTo is where a jump leads whose target is in the instruction.
func (k *Known) jumpsTo(at uint64) (target uint64, ok bool) {
	body, err := readCode(k.File, at, maxJump)
	if err != nil {
		return 0, false
	}
	in, ok := code.Decode(k.File.Arch(), body)
	return at + uint64(in.Target), ok && in.Op == code.Jump && in.Direct
}

// maxJump is how long an instruction may be.
const maxJump = 15

// function is what the debug information tells of a function for a list.
type function struct {
	declared *Declared // if it was asked for and is known
	params   []string  // else
}

// describe looks up the functions of a list.
func (m *matcher) describe(list []listing) []function {
	told := make([]function, len(list))
	byFile := map[*binary][]int{}
	var files []*binary
	for i, l := range list {
		if l.fn == nil {
			continue
		}
		if byFile[l.in] == nil {
			files = append(files, l.in)
		}
		byFile[l.in] = append(byFile[l.in], i)
	}
	for _, b := range files {
		info, err := b.debug()
		if err != nil {
			bare := m.describeBare(b, list, byFile[b], told)
			if !m.describeLibrary(b, list, byFile[b], told) && !bare && !b.noDebug {
				b.noDebug = true
				m.diags.Warnf(diag.Span{}, "No DWARF found for %q, cannot show parameter info", b.name)
			}
			continue
		}
		var addrs []uint64
		at := map[uint64][]int{} // the names of one address
		for _, i := range byFile[b] {
			addr := list[i].fn.Addr
			if at[addr] == nil {
				addrs = append(addrs, addr)
			}
			at[addr] = append(at[addr], i)
		}
		err = info.Each(addrs, func(info *debuginfo.Info, n int, f *debuginfo.Function) {
			if m.done() || f.Lang == types.Assembler {
				return
			}
			var one function
			if m.opts.Declared {
				one.declared = declaration(info, f)
			}
			if one.declared == nil {
				one.params = params(info, f)
			}
			for _, i := range at[addrs[n]] {
				told[i] = one
			}
		})
		if err == nil {
			err = info.Damage()
		}
		if err != nil { // what was read before counts
			m.diags.Warnf(diag.Span{}, "not all that is known of functions of %s can be read: %s", b.name, err)
		}
		m.describeBare(b, list, byFile[b], told)
		m.describeLibrary(b, list, byFile[b], told)
	}
	return told
}

// declaration is a function as its source has it; nil: it cannot be read.
func declaration(info *debuginfo.Info, f *debuginfo.Function) *Declared {
	d := &Declared{File: f.File, Line: f.Line}
	var err error
	if d.Text, err = info.Prototype(f); err != nil {
		return nil
	}
	if f.Inlined {
		if d.Copies, err = info.CopyCount(f); err != nil {
			d.Copies = 0
		}
	}
	return d
}

// params are a function's parameters as declarations.
func params(info *debuginfo.Info, f *debuginfo.Function) (out []string) {
	sig, err := info.Signature(f)
	if err != nil {
		return nil
	}
	for _, v := range sig.Params {
		out = append(out, declared(v.Type, v.Name))
	}
	if sig.Vararg {
		out = append(out, "...")
	}
	return out
}
