package match

import (
	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/process/runtimes/native"
)

// Onward is where a function goes on in another one, which returns in its place.
type Onward struct {
	Names   []string // of the other function; none: not known
	Returns []uint64 // where that returns, and what it goes on in itself
	Open    bool     // not all of those are known
}

// maxOnward bounds how many tail calls are followed one behind the other.
const maxOnward = 4

// Onward finds out where the tail call at an address leads.
func (k *Known) Onward(at uint64) (on Onward) {
	on.Open = k.onward(at, maxOnward, &on, map[uint64]bool{})
	return on
}

// onward adds where the function returns to which a jump leads. It tells whether some of that is not known.
func (k *Known) onward(at uint64, most int, on *Onward, seen map[uint64]bool) (open bool) {
	target, ok := k.jumpsTo(at)
	switch {
	case !ok || most == 0:
		return true
	case seen[target]:
		return false
	}
	seen[target] = true
	first := most == maxOnward
	if names, late := k.stub(target); len(names) > 0 { // it is the linker's, not a function
		if first {
			on.Names = names
		}
		// A name that other files see may mean one of those, but a library that has it itself is hardly ever built for that.
		if target, ok = k.File.SymbolAddr(names[0]); late || !ok || seen[target] {
			return late || !ok
		}
		seen[target] = true
	}
	body := Known{File: k.File, Frames: k.Frames, codes: k.codes}
	code := body.Code(target)
	if sym, ok := k.File.Lookup(target); ok && sym.Addr == target {
		if first {
			on.Names = []string{sym.Name}
		}
	} else if r, ok := k.Frames.Function(target); ok && r.Low == target { // it has no name
		code = []debuginfo.Range{{Low: r.Low, High: r.High}}
	} else {
		return true
	}
	found, refusal := native.ReturnsOf(k.File, k.Frames, target, code, body.owned(target))
	if refusal != nil {
		return true
	}
	on.Returns = append(on.Returns, found.At...)
	for _, tail := range found.Tails {
		open = body.onward(tail, most-1, on, seen) || open
	}
	return open
}

// stub names the function to which a stub of the linker leads (procedure linkage table).
func (k *Known) stub(addr uint64) (names []string, late bool) {
	const most = 2 // endbr64 and the jump
	for range most {
		body, err := readCode(k.File, addr, maxJump)
		if err != nil {
			return nil, false
		}
		in, ok := code.Decode(k.File.Arch(), body)
		switch {
		case !ok:
			return nil, false
		case in.Op == code.Jump && !in.Direct && in.RIP:
			return k.File.Slot(addr + uint64(in.Mem))
		case in.Op != code.Landing:
			return nil, false
		}
		addr += uint64(in.Len)
	}
	return nil, false
}
