package ir

import "math/bits"

// uses calls f for each register that the instruction reads.
func (i *inst) uses(f func(Reg)) {
	switch i.kind {
	case kMov, kLoad:
		f(i.a)
	case kALU:
		f(i.dst)
		if i.op != Neg {
			f(i.a)
		}
	case kALUImm, kEnd:
		f(i.dst)
	case kStore, kAtomicAdd:
		f(i.a)
		f(i.b)
	case kStoreImm:
		f(i.a)
	case kXchg, kFetchAdd:
		f(i.dst)
		f(i.a)
	case kJumpIf:
		f(i.a)
		f(i.b)
	case kJumpIfImm, kExit:
		f(i.a)
	case kCall:
		for _, a := range i.args {
			if a.kind == opReg || a.kind == opAddr {
				f(a.reg)
			}
		}
	}
}

// def is the register that the instruction writes, NoReg if none.
func (i *inst) def() Reg {
	switch i.kind {
	case kMovImm, kMov, kALU, kALUImm, kEnd, kLoad, kXchg, kFetchAdd, kMapValue, kCall, kParam:
		return i.dst
	}
	return NoReg
}

// pure tells whether the instruction has no effect besides its register.
func (i *inst) pure() bool {
	switch i.kind {
	case kMovImm, kMov, kALU, kALUImm, kEnd, kLoad, kMapValue, kParam:
		return true
	}
	return false
}

type bitset []uint64

func newBitset(n int32) bitset { return make(bitset, (n+63)/64) }
func (s bitset) has(r Reg) bool {
	return r >= 0 && s[r/64]>>(uint(r)%64)&1 != 0
}

func (s bitset) set(r Reg) {
	if r >= 0 {
		s[r/64] |= 1 << (uint(r) % 64)
	}
}

func (s bitset) clear(r Reg) {
	if r >= 0 {
		s[r/64] &^= 1 << (uint(r) % 64)
	}
}

// or adds t and tells whether s grew.
func (s bitset) or(t bitset) bool {
	grew := false
	for i, w := range t {
		if w&^s[i] != 0 {
			s[i] |= w
			grew = true
		}
	}
	return grew
}

func (s bitset) each(f func(Reg)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(Reg(64*i + bits.TrailingZeros64(w)))
		}
	}
}

// block is a stretch of instructions [start, end) entered at its start only.
type block struct {
	start, end int
	next       []int // successors
	in, out    bitset
}

// blocks cuts a function at labels and jumps and drops what can't be reached (the kernel refuses dead code).
func (b *Builder) blocks() []block {
	for {
		bs := b.cut()
		seen := make([]bool, len(bs))
		work := []int{0}
		for len(work) > 0 {
			n := work[len(work)-1]
			work = work[:len(work)-1]
			if seen[n] {
				continue
			}
			seen[n] = true
			work = append(work, bs[n].next...)
		}
		kept, all := make([]inst, 0, len(b.ins)), true
		for n := range bs {
			if seen[n] {
				kept = append(kept, b.ins[bs[n].start:bs[n].end]...)
			} else {
				all = false
			}
		}
		// A jump to the very next instruction is none.
		for i := 0; i+1 < len(kept); i++ {
			if kept[i].kind != kJump {
				continue
			}
			for j := i + 1; j < len(kept) && (kept[j].kind == kLabel || kept[j].kind == kComment); j++ {
				if kept[j].kind == kLabel && kept[j].label == kept[i].label {
					kept = append(kept[:i], kept[i+1:]...)
					all = false
					break
				}
			}
		}
		b.ins = kept
		if all {
			return bs
		}
	}
}

func (b *Builder) cut() []block {
	var bs []block
	at := map[Label]int{}
	start := 0
	flush := func(end int) {
		if end > start {
			bs = append(bs, block{start: start, end: end})
			start = end
		}
	}
	for i := range b.ins {
		switch b.ins[i].kind {
		case kLabel:
			flush(i)
			at[b.ins[i].label] = len(bs)
		case kJump, kJumpIf, kJumpIfImm, kExit:
			flush(i + 1)
		}
	}
	flush(len(b.ins))
	for n := range bs {
		last := &b.ins[bs[n].end-1]
		switch last.kind {
		case kJump:
			bs[n].next = []int{at[last.label]}
			continue
		case kJumpIf, kJumpIfImm:
			bs[n].next = []int{at[last.label]}
		case kExit:
			continue
		}
		if n+1 < len(bs) {
			bs[n].next = append(bs[n].next, n+1)
		}
	}
	return bs
}

// liveness fills in and out of each block.
func (b *Builder) liveness(bs []block) {
	for n := range bs {
		bs[n].in, bs[n].out = newBitset(b.regs), newBitset(b.regs)
	}
	live := newBitset(b.regs)
	for changed := true; changed; {
		changed = false
		for n := len(bs) - 1; n >= 0; n-- {
			for _, s := range bs[n].next {
				bs[n].out.or(bs[s].in)
			}
			copy(live, bs[n].out)
			for i := bs[n].end - 1; i >= bs[n].start; i-- {
				live.clear(b.ins[i].def())
				b.ins[i].uses(live.set)
			}
			if bs[n].in.or(live) {
				changed = true
			}
		}
	}
}

// sweep removes instructions whose result is never used, and says whether there were any.
func (b *Builder) sweep(bs []block) bool {
	found := false
	live := newBitset(b.regs)
	dead := make([]bool, len(b.ins))
	for n := range bs {
		copy(live, bs[n].out)
		for i := bs[n].end - 1; i >= bs[n].start; i-- {
			in := &b.ins[i]
			d := in.def()
			if d != NoReg && !live.has(d) {
				if in.pure() {
					dead[i], found = true, true
					continue
				}
				if in.kind == kCall {
					in.dst = NoReg
				}
			}
			if in.kind == kMov && in.wide && in.dst == in.a {
				dead[i], found = true, true
				continue
			}
			live.clear(d)
			in.uses(live.set)
		}
	}
	kept := b.ins[:0]
	for i := range b.ins {
		if !dead[i] {
			kept = append(kept, b.ins[i])
		}
	}
	b.ins = kept
	return found
}
