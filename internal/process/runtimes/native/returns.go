package native

import (
	le "encoding/binary"
	"slices"
	"strings"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/cfi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
)

// Where a function ends. Its code is decoded: all of it, with the parts that the compiler has moved away.

// maxReturns bounds the instructions with which one function ends. Compilers copy them freely.
const maxReturns = 4096

// maxParts bounds the pieces that the code of one function is in.
const maxParts = 64

// Returns are the instructions with which a function ends.
type Returns struct {
	At []uint64 // those that return
	// Tails are jumps with which it goes on in another function, which returns in its place.
	Tails []uint64
}

// Reasons for which it is not known where a function returns.
const (
	whyUnreadable  = "its code cannot be read"
	whyLarge       = "it is too large to find where it returns"
	whyUndecoded   = "not all of its instructions can be decoded"
	whyComputed    = "it has indirect jumps, which may be tail calls"
	whyConditional = "it ends in a conditional tail call"
	whyNoReturn    = "it has no return instruction: it ends in a tail call, or never"
	whyLeaves      = "it may also end in a tail call"
	whyMany        = "it has too many return instructions"
	whyElsewhere   = "it jumps to code that is not known to be its own, with its frame on the stack"
	NothingFound   = "it has no return instruction"
)

// ReturnsOf finds the instructions with which a function ends, which begins at start and has its code in ranges
// (nil: behind start, as far as the file tells). frames tells which jumps leave it (nil: not known). A refusal says
// why they are not known.
func ReturnsOf(
	obj *objfile.File, frames *cfi.Table, start uint64, ranges []debuginfo.Range, owned bool,
) (Returns, *probe.Refusal) {
	if len(ranges) == 0 {
		ranges = []debuginfo.Range{{Low: start, High: start + obj.CodeSize(start)}}
	}
	f := returnFinder{arch: obj.Arch(), read: obj.Bytes, start: start, ranges: slices.Clone(ranges)}
	f.entry = func(t code.Table) uint64 { return tableEntry(obj, t) }
	f.owned, f.fixed = owned, obj.Type() == objfile.TypeExec
	f.part = func(at, target uint64) (debuginfo.Range, bool) { return partOf(obj, frames, start, at, target) }
	f.function = func(a uint64) bool { return beginsFunction(obj, frames, a) }
	f.framed = func(at uint64) bool { return framed(obj.Arch(), frames, at) }
	if why := f.find(); why != "" {
		return Returns{}, &probe.Refusal{Reason: why}
	}
	n := len(f.found.At) + len(f.found.Tails)
	why := ""
	switch {
	case f.owned && len(f.found.At) == 0:
		why = whyNoReturn
	case f.owned && len(f.found.Tails) > 0:
		why = whyLeaves // what such compilers make of wrappers: where these return is not seen
	case n == 0:
		why = NothingFound
	case n > maxReturns:
		why = whyMany
	}
	if why != "" {
		return Returns{}, &probe.Refusal{Reason: why}
	}
	return f.found, nil
}

// partOf tells whether a jump at an address of a function leads to a part of it that lies elsewhere: code that is
// rarely used, which GCC and LLVM move away and give a symbol of its own, which may be stripped. The frame tells then:
// a function is jumped to in place of a return, with nothing but the return address on the stack.
func partOf(obj *objfile.File, frames *cfi.Table, start, at, target uint64) (r debuginfo.Range, ok bool) {
	if sym, found := obj.Lookup(target); found && strings.Contains(sym.Name, ".cold") {
		own, _ := obj.Lookup(start)
		name, _, _ := strings.Cut(sym.Name, ".cold")
		if base, _, _ := strings.Cut(own.Name, ".cold"); name == base && sym.Size > 0 {
			return debuginfo.Range{Low: sym.Addr, High: sym.Addr + sym.Size}, true
		}
	}
	if !framed(obj.Arch(), frames, at) {
		return r, false
	}
	from, err := frames.At(at)
	if err != nil {
		return r, false
	}
	to, err := frames.At(target)
	if err != nil || to.CFA.Expr != nil || to.CFA.Reg != from.CFA.Reg || to.CFA.Offset != from.CFA.Offset {
		return r, false
	}
	found, ok := frames.Function(target)
	return debuginfo.Range{Low: found.Low, High: found.High}, ok
}

// framed tells whether a function's frame is certain to be on the stack at an address: a jump there is none that leaves
// the function.
func framed(arch *abi.Arch, frames *cfi.Table, at uint64) bool {
	if frames == nil || arch == nil {
		return false
	}
	row, err := frames.At(at)
	if err != nil || row.CFA.Expr != nil {
		return false
	}
	return row.CFA.Reg != arch.SP || row.CFA.Offset != int64(arch.C.StackArgs)
}

// returnFinder is one search for the instructions with which a function ends.
type returnFinder struct {
	arch   *abi.Arch
	read   func(addr uint64, n int) []byte
	entry  func(code.Table) uint64 // the address that the first entry of a table stands for
	start  uint64
	ranges []debuginfo.Range
	fixed  bool // the file has a fixed place: constants may be addresses
	owned  bool // a runtime's compiler made it: it jumps to computed places only for switches
	// part tells whether a jump leads to a part of the function that is not in ranges; nil: there are none.
	part func(at, target uint64) (debuginfo.Range, bool)
	// framed tells whether the function's frame is on the stack at an address; nil: it is not known.
	framed func(at uint64) bool
	// function tells whether a function begins at an address; nil: it is not known.
	function func(at uint64) bool
	found    Returns
}

func (f *returnFinder) inside(addr uint64) bool {
	return slices.ContainsFunc(f.ranges, func(r debuginfo.Range) bool { return r.Contains(addr) })
}

// pastEnd tells whether an address is just behind the function's code.
func (f *returnFinder) pastEnd(addr uint64) bool {
	return !f.inside(addr) && slices.ContainsFunc(f.ranges, func(r debuginfo.Range) bool { return r.High == addr })
}

// find looks through the code. why says what is in the way.
func (f *returnFinder) find() (why string) {
	var err error
	defer objfile.Guard(&err)()
	why = whyUnreadable                  // unless the end is reached
	for i := 0; i < len(f.ranges); i++ { // grows by the parts that are found
		r := f.ranges[i]
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
	if (in.Op == code.Jump && in.Direct || in.Op == code.CondJump) && !f.inside(target) && !f.owned && f.part != nil {
		if r, ok := f.part(addr, target); ok && r.Contains(target) {
			if len(f.ranges) == maxParts {
				return whyLarge
			}
			f.ranges = append(f.ranges, r)
		}
	}
	switch {
	case (in.Op == code.Jump && in.Direct || in.Op == code.CondJump) && !f.owned && f.pastEnd(target) && f.framed != nil &&
		f.framed(addr): // LLVM's, behind what does not come back: it is never executed
	case in.Op == code.Ret:
		f.found.At = append(f.found.At, addr)
	case in.Op == code.Jump && !in.Direct && f.owned:
	case in.Op == code.Jump && !in.Direct:
		tables, ok := code.Switch(f.arch, body, low, starts, at)
		switch {
		case ok && slices.ContainsFunc(tables, f.within):
		case f.framed != nil && f.framed(addr):
			// A computed goto, as interpreters have them: it stays in the function. Where a label is in a part that no
			// direct jump leads to, that part is not known.
		case ok && len(tables) == 1 && !tables[0].Relative && f.outside(f.entry(tables[0])):
			f.found.Tails = append(f.found.Tails, addr) // through a table of functions
		case ok && len(tables) > 0 && (tables[0].Relative || len(tables) == 1), f.labels(body, low):
			return whyComputed
		default:
			f.found.Tails = append(f.found.Tails, addr)
		}
	case in.Op == code.Jump && !f.inside(target) && !f.owned && f.framed != nil && f.framed(addr):
		return whyElsewhere
	case in.Op == code.Jump && !f.inside(target):
		f.found.Tails = append(f.found.Tails, addr)
	case in.Op == code.CondJump && !f.inside(target) && f.owned:
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

// outside tells whether what a table begins with is a function of its own, or filled in when the program runs, which
// labels are not: then the table is one of functions.
func (f *returnFinder) outside(a uint64) bool {
	return a == 0 || !f.inside(a) && f.function != nil && f.function(a)
}

// labels tells whether code takes addresses in the function, or of tables of such: a jump may lead there.
func (f *returnFinder) labels(body []byte, low uint64) bool {
	return slices.ContainsFunc(code.AddressesTaken(f.arch, body, low, f.fixed), func(a uint64) bool {
		return a != f.start && f.inside(a) || f.within(code.Table{At: a})
	})
}

// beginsFunction tells whether an address is where a function begins.
func beginsFunction(obj *objfile.File, frames *cfi.Table, addr uint64) bool {
	if sym, ok := obj.Lookup(addr); ok {
		return sym.Addr == addr && !strings.Contains(sym.Name, ".cold")
	}
	if frames == nil {
		return false
	}
	found, ok := frames.Function(addr)
	return ok && found.Low == addr
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
