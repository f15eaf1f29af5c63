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
	case kMovImm, kMov, kALU, kALUImm, kEnd, kLoad, kXchg, kFetchAdd, kMapValue, kKernelVar, kCall, kParam:
		return i.dst
	}
	return NoReg
}

// pure tells whether the instruction has no effect besides its register.
func (i *inst) pure() bool {
	switch i.kind {
	case kMovImm, kMov, kALU, kALUImm, kEnd, kLoad, kMapValue, kKernelVar, kParam:
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

// crossing are the registers that live beyond a block; most are used in the one where they are set. They are numbered,
// so that what is live at the ends of blocks takes a bit for each of them only.
type crossing struct {
	number []int32 // by register; -1: lives within one block
	regs   []Reg   // by number
}

// findCrossing finds the registers that are in several blocks, or read in one before they are set there.
func (b *Builder) findCrossing(bs []block) *crossing {
	const unseen, within = -2, -1
	c := &crossing{number: make([]int32, b.regs)}
	home := make([]int32, b.regs) // the block that a register was seen in
	for r := range c.number {
		c.number[r] = unseen
	}
	cross := func(r Reg) {
		c.number[r] = int32(len(c.regs))
		c.regs = append(c.regs, r)
	}
	for n := range bs {
		see := func(r Reg, set bool) {
			switch {
			case r < 0 || c.number[r] >= 0:
			case c.number[r] == unseen && set:
				c.number[r], home[r] = within, int32(n)
			case c.number[r] == unseen, home[r] != int32(n):
				cross(r)
			}
		}
		for i := bs[n].start; i < bs[n].end; i++ {
			b.ins[i].uses(func(r Reg) { see(r, false) })
			see(b.ins[i].def(), true)
		}
	}
	for r := range c.number {
		c.number[r] = max(c.number[r], within)
	}
	return c
}

// live is what is live at some place: registers that cross blocks, and those that do not.
type live struct {
	*crossing
	across bitset
	within bitset // of a block: empty at its ends, nil if it is not wanted
}

func (l *live) has(r Reg) bool {
	if n := l.number[r]; n >= 0 {
		return l.across.has(Reg(n))
	}
	return l.within.has(r)
}

func (l *live) set(r Reg) {
	switch {
	case r < 0:
	case l.number[r] >= 0:
		l.across.set(Reg(l.number[r]))
	case l.within != nil:
		l.within.set(r)
	}
}

func (l *live) clear(r Reg) {
	switch {
	case r < 0:
	case l.number[r] >= 0:
		l.across.clear(Reg(l.number[r]))
	case l.within != nil:
		l.within.clear(r)
	}
}

// liveness fills in and out of each block, by the numbers of the registers that cross. False: that would take too much.
func (b *Builder) liveness(bs []block) bool {
	b.cross = b.findCrossing(bs)
	size := int32(len(b.cross.regs))
	if len(bs)*int(size/64+1) > maxLive/(2*8) {
		return false
	}
	for n := range bs {
		bs[n].in, bs[n].out = newBitset(size), newBitset(size)
	}
	l := live{crossing: b.cross, across: newBitset(size)}
	for changed := true; changed; {
		changed = false
		for n := len(bs) - 1; n >= 0; n-- {
			for _, s := range bs[n].next {
				bs[n].out.or(bs[s].in)
			}
			copy(l.across, bs[n].out)
			for i := bs[n].end - 1; i >= bs[n].start; i-- {
				l.clear(b.ins[i].def())
				b.ins[i].uses(l.set)
			}
			if bs[n].in.or(l.across) {
				changed = true
			}
		}
	}
	return true
}

// sweep removes instructions whose result is never used, and says whether there were any.
func (b *Builder) sweep(bs []block) bool {
	found := false
	l := live{crossing: b.cross, across: newBitset(int32(len(b.cross.regs))), within: newBitset(b.regs)}
	dead := make([]bool, len(b.ins))
	for n := range bs {
		copy(l.across, bs[n].out)
		for i := bs[n].end - 1; i >= bs[n].start; i-- {
			in := &b.ins[i]
			d := in.def()
			if d != NoReg && !l.has(d) {
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
			l.clear(d)
			in.uses(l.set)
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
