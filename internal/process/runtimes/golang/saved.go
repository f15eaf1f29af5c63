package golang

import (
	"trocar/internal/binary/code"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// saved is a register that an argument is passed in.
type saved struct {
	reg   int // DWARF's number; of a floating-point register, its own
	float bool
	size  int
}

// saves reads the code with which a function saves its arguments before the stack grows: each in the place that the
// caller has left for it. A function has that if it checks its stack; it names all registers that arguments come in
// which it uses. grows tells that the function checks its stack; nil: it does not, or what it saves is not known.
func saves(f *objfile.File, entry, end uint64) (found map[int]saved, grows bool) {
	if end <= entry || end-entry > code.MaxFunction || f.Arch().Go() == nil {
		return nil, true
	}
	body := f.Bytes(entry, int(end-entry))
	arch := f.Arch()
	site := code.CheckedEntry(arch, body)
	if site == 0 {
		return nil, false
	}
	// The jump in front of the site leads there.
	at := -1
	for i := 0; i < site; {
		in, ok := code.Decode(arch, body[i:])
		if !ok {
			return nil, true
		}
		if in.Op == code.CondJump {
			at = i + int(in.Target)
		}
		i += in.Len
	}
	if at < site || at >= len(body) {
		return nil, true
	}
	found = map[int]saved{}
	for range 32 {
		if at >= len(body) {
			return nil, true
		}
		in, ok := code.Decode(arch, body[at:])
		if !ok {
			return nil, true
		}
		if in.Op == code.Call {
			return found, true
		}
		if in.Op != code.Nop {
			s, ok := code.StackStore(arch, body[at:at+in.Len])
			off := s.Off - arch.Go().Frame
			if !ok || off < 0 {
				return nil, true
			}
			if _, twice := found[off]; twice {
				return nil, true
			}
			found[off] = saved{reg: s.Reg, float: s.Float, size: s.Size}
		}
		at += in.Len
	}
	return nil, true
}

const whyLost = "the function does not use it, and loses it where its stack grows before the probe"

// lost are the registers of arguments that a function has lost at the place that stands for its entry, after its stack
// has grown, or the goroutine was preempted there: it comes back with those only that it saved. Where it is not known
// which these are, all are lost.
func lost(f *objfile.File, entry, end uint64) func(reg int, float bool) bool {
	found, grows := saves(f, entry, end)
	return func(reg int, float bool) bool {
		for _, s := range found {
			if s.float == float && s.reg == reg {
				return false
			}
		}
		return grows
	}
}

// keep takes places away that are in registers which are lost.
func keep(p *types.Place, lost func(reg int, float bool) bool) {
	switch p.Kind {
	case types.InRegister:
		if lost(p.Reg, false) {
			*p = types.Place{Kind: types.Unavailable, Why: whyLost}
		}
	case types.Unavailable:
		if p.Vector > 0 && lost(p.Vector-1, true) {
			p.Vector = 0
		}
	case types.InPieces:
		pieces := append([]types.Piece(nil), p.Pieces...)
		for i := range pieces {
			keep(&pieces[i].Place, lost)
		}
		p.Pieces = pieces
	case types.InMemory, types.Constant, types.Computed, types.InContext:
	}
}
