package match

import (
	"slices"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// LLVM forgets an indirection: of a value of which the caller passes the address on the stack it says that the value is
// where the address is. C++ says which classes are passed by address (Itanium C++ ABI, 3.1.2.3). Rust's functions take
// everything larger than a register by address, those that are extern "C" take it from the stack, and debug information
// does not tell which ones they are: there the next parameter tells, whose place leaves room for an address only, or
// the instructions.

// Callers in the same file do not store what a function does not look at, though they leave room for it.
const whyUnused = "the function does not use it, and its callers may not pass it"

const whyWhichOnStack = "whether the value or its address is on the stack is not known"

// indirect corrects the places of such parameters at a function's entry.
func (b *binary) indirect(fn *debuginfo.Function, vars []debuginfo.Var) {
	if gnu(fn) || fn.Lang.OwnABI() {
		return
	}
	for i := range vars {
		v := &vars[i]
		word := v.Type != nil && v.Type.Size <= 8 && !v.Type.ByAddress()
		// Conventions of others pass values by address that C's does not, of which callers then store nothing either.
		if fn.Optimized && fn.Foreign && b.addressed(&v.Place) && !b.usesRegister(fn, v.Place.Reg) {
			v.Place = types.Unknown(whyUnused)
			continue
		}
		if !b.onStack(v) || word && v.Type.Complete().Kind != types.Struct {
			continue
		}
		if fn.Optimized && !b.touches(fn, v.Place.Offset, int64(v.Type.Size)) {
			v.Place = types.Unknown(whyUnused)
			continue
		}
		switch {
		case v.Type.ByAddress():
		case word:
			continue
		case fn.Lang != types.Rust, v.Type.Kind == types.Int, b.roomFor(fn, vars, i):
			continue
		default:
			switch b.addressOnStack(fn, vars, i) {
			case no:
				continue
			case unknown:
				v.Place = types.Unknown(whyWhichOnStack)
				continue
			}
		}
		v.Place.Derefs = []int64{0}
	}
}

// usesRegister tells whether a function is seen to look at what was passed in a register, or that this is not known.
func (b *binary) usesRegister(fn *debuginfo.Function, reg int) bool {
	o := b.origins(fn)
	return o == nil || o.Uses(reg)
}

// roomFor tells whether a register is left for the address of a parameter, at least: then the value itself is on the
// stack, since an address would not be.
func (b *binary) roomFor(fn *debuginfo.Function, vars []debuginfo.Var, i int) bool {
	used := 1 // the address of the result
	for j := range vars[:i] {
		v := &vars[j]
		switch n := len(slices.DeleteFunc(registersOf(&v.Place), func(reg int) bool { return reg == b.obj.Arch().SP })); {
		case v.Type == nil:
			return false
		case b.onStack(v), v.Place.Kind == types.InMemory && n > 0:
			used += min(n, 1)
		case v.Type.Size <= 16:
			used += 2
		default:
			used += 4 // two numbers of 128 bits
		}
	}
	return used < len(b.obj.Arch().IntegerArgs())
}

// indirectLater does so at a place behind the function's first instructions.
func (b *binary) indirectLater(fn *debuginfo.Function, prologue *code.Prologue, end int, vars []debuginfo.Var) {
	atEntry := make([]debuginfo.Var, len(vars))
	for i, v := range vars {
		p := &v.Place
		off, ok := prologue.Above(end, code.Slot{Reg: p.Reg, Off: p.Offset})
		if ok && p.Kind == types.InMemory && len(p.Derefs)+len(p.Ops) == 0 {
			v.Place = types.Place{Kind: types.InMemory, Reg: b.obj.Arch().SP, Offset: off}
		} else {
			v.Place = types.Place{}
		}
		atEntry[i] = v
	}
	b.indirect(fn, atEntry)
	for i := range vars {
		switch at := &atEntry[i].Place; {
		case len(at.Derefs) > 0:
			vars[i].Place.Derefs = at.Derefs
		case at.Why == whyWhichOnStack, at.Why == whyUnused:
			vars[i].Place = *at
		}
	}
}

// touches tells whether the code of a function has an operand in the memory of an argument.
func (b *binary) touches(fn *debuginfo.Function, off, size int64) (found bool) {
	var err error
	defer objfile.Guard(&err)()
	arch, frames := b.obj.Arch(), b.im.Frames()
	for _, r := range fn.Ranges {
		text := b.obj.Bytes(r.Low, int(min(r.High-r.Low, code.MaxFunction)))
		code.FrameOperands(arch, text, func(at, reg int, disp int64) {
			row, err := frames.At(r.Low + uint64(at))
			if err != nil || found || row.CFA.Expr != nil || row.CFA.Reg != reg {
				return
			}
			o := disp - row.CFA.Offset + int64(arch.C.StackArgs)
			found = off <= o && o < off+size
		})
	}
	return found
}

// onStack tells a parameter that is said to be directly where callers put arguments.
func (b *binary) onStack(v *debuginfo.Var) bool {
	p := &v.Place
	return v.Type != nil && p.Kind == types.InMemory && p.Reg == b.obj.Arch().SP && p.Offset > 0 && len(p.Derefs)+
		len(p.Ops) == 0
}

// answer is that of a question to debug information and code.
type answer uint8

const (
	unknown answer = iota
	yes
	no
)

// addressOnStack tells whether it is an address that is passed on the stack for a parameter.
func (b *binary) addressOnStack(fn *debuginfo.Function, vars []debuginfo.Var, i int) (is answer) {
	var err error
	defer objfile.Guard(&err)()
	at := vars[i].Place.Offset
	for j := range vars {
		if next := &vars[j]; b.onStack(next) && next.Place.Offset > at {
			if next.Place.Offset < at+int64(vars[i].Type.Size) {
				return yes
			}
			break
		}
	}
	text := b.obj.Bytes(fn.Entry, int(min(b.obj.CodeSize(fn.Entry), code.MaxFunction)))
	address, value := code.StackArg(b.obj.Arch(), text, at, int64(vars[i].Type.Size))
	switch {
	case address:
		return yes
	case value && i == len(vars)-1: // else it may be the next parameter that is looked at
		return no
	}
	return unknown
}
