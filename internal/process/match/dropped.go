package match

import (
	"strconv"
	"strings"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// Results that no caller uses are left out by compilers: of functions all callers of which they know. Then whatever
// happens to be in the registers is no result. Code that calls the function proves that it has one.

// partial tells the parts of functions that GCC made functions of their own.
func (b *binary) partial(fn *debuginfo.Function) bool {
	sym, _ := b.obj.Lookup(fn.Entry)
	return (fn.Lang == types.C || fn.Lang == types.CPlusPlus) && strings.Contains(sym.Name, ".part.")
}

// mayDrop tells whether the compiler may have left out a function's result, or a part of it.
func (b *binary) mayDrop(fn *debuginfo.Function) bool {
	if fn.NoCall || b.unmarked(fn) {
		return fn.NoCall || !b.byAddress(fn)
	}
	if fn.Lang != types.C && fn.Lang != types.CPlusPlus {
		return false
	}
	sym, _ := b.obj.Lookup(fn.Entry)
	return strings.Contains(sym.Name, ".isra.") ||
		sym.Bind == objfile.Local && fn.Optimized && olderClang(fn.Producer) && !b.byAddress(fn)
}

// byAddress tells whether a function that only its own file can name is called by its address, too: then LLVM keeps to
// the calling convention, for all of its callers (DeadArgumentElimination, IPSCCP and ArgumentPromotion ask for
// hasAddressTaken).
func (b *binary) byAddress(fn *debuginfo.Function) (yes bool) {
	if fn.External || fn.Lang.OwnABI() || gnu(fn) {
		return false
	}
	var err error
	defer objfile.Guard(&err)()
	if sym, ok := b.obj.Lookup(fn.Entry); !ok || strings.Contains(sym.Name, ".llvm.") {
		return false // other files of a program can name it, after ThinLTO
	}
	if b.obj.HoldsPointer(fn.Entry) {
		return true
	}
	for _, s := range b.obj.Segments() {
		if s.Exec && code.Takes(b.obj.Arch(), b.obj.Bytes(s.Addr, int(s.FileSize)), s.Addr, fn.Entry) {
			return true
		}
	}
	return false
}

// keptResult is the place of a result that may have been left out: where callers take it from, or, if it is in memory
// of theirs, where the address says that Rust's functions are passed first.
func (m *matcher) keptResult(b *binary, info *debuginfo.Info, fn *debuginfo.Function, t *types.Type) types.Place {
	arch := b.obj.Arch()
	dropped := types.Unknown("the compiler may have left out the result of the function, and no caller is seen to use it")
	takes := func(r code.ResultRegister) bool { return m.takes(b, info, fn.Entry, r) }
	place := arch.Result(t, fn.Lang)
	if fn.Lang == types.Rust && !t.IsScalar() {
		place = arch.RustResult(t, true)
	}
	switch {
	case vectors(place) > 0:
		if gnu(fn) || !m.takesVectors(b, info, fn, &place) {
			return dropped
		}
		return place
	case place.Kind == types.Unavailable, t.Size == 0:
		return place
	case place.Kind == types.InMemory && fn.Lang == types.Rust:
		return place
	case place.Kind == types.InRegister && takes(code.FirstResult):
		return place
	// Where only one of two parts is left, it is in the first register, whichever it is.
	case place.Kind == types.InPieces && t.Size > 0 && takes(lastResult(&place)):
		return place
	}
	return dropped
}

// lastResult is the last of the general registers that a result is in.
func lastResult(p *types.Place) code.ResultRegister {
	for i := range p.Pieces {
		if one := &p.Pieces[i].Place; one.Kind == types.InRegister && one.Reg == dwarfRDX {
			return code.SecondResult
		}
	}
	return code.FirstResult
}

// takesVectors tells whether callers are seen to take all of a result of which a part is in vector registers. Compilers
// that let functions know which registers others leave alone (GCC's -fipa-ra) are not for it.
func (m *matcher) takesVectors(b *binary, info *debuginfo.Info, fn *debuginfo.Function, p *types.Place) bool {
	pieces := p.Pieces
	if p.Kind != types.InPieces {
		pieces = []types.Piece{{Place: *p}}
	}
	for i := range pieces {
		one := &pieces[i].Place
		taken := one.Kind == types.Constant
		switch {
		case one.Vector > 0:
			taken = m.taken(b, info, fn.Entry, func(behind []byte) bool {
				return code.TakesVector(b.obj.Arch(), behind, one.Vector-1)
			})
		case one.Kind == types.InRegister:
			where := code.FirstResult
			if one.Reg == dwarfRDX {
				where = code.SecondResult
			}
			taken = m.takes(b, info, fn.Entry, where)
		}
		if !taken {
			return false
		}
	}
	return true
}

// dwarfRDX is the number of the second register of results in debug information.
const dwarfRDX = 1

// unmarked tells the functions whose signature LLVM may have changed without the mark for that: it writes
// DW_CC_nocall only into entries that complete no declaration, so none of a method has it. What may change is what
// only the file itself calls.
func (b *binary) unmarked(fn *debuginfo.Function) bool {
	if !fn.Optimized || !fn.Completes || gnu(fn) || fn.Lang.OwnABI() {
		return false
	}
	sym, ok := b.obj.Lookup(fn.Entry)
	return !ok || sym.Bind == objfile.Local
}

// inRegister tells a result that all conventions return in the first register for results.
func inRegister(arch *abi.Arch, t *types.Type, lang types.Language) bool {
	return t.IsScalar() && t.Size <= 8 && arch.Result(t, lang).Kind == types.InRegister
}

// olderClang tells a compiler that changes functions without a word: LLVM before 16 had no mark for them.
func olderClang(producer string) bool {
	version, ok := clangVersion(producer)
	return ok && version < 16
}

// clangVersion is the version of clang in the name of a compiler.
func clangVersion(producer string) (major int, ok bool) {
	_, version, ok := strings.Cut(producer, "clang version ")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(version, ".")
	major, err := strconv.Atoi(digits)
	return major, err == nil
}
