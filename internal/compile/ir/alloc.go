package ir

import (
	"sort"

	"github.com/cilium/ebpf/asm"
)

// interval is the life of a register, in positions: instruction i reads at 2i and writes at 2i+1.
type interval struct {
	reg        Reg
	start, end int
	crosses    bool // a call happens in between
	hint       Reg  // take the same machine register as this one if it ends where we start
	arg        int  // 1-5: dies as this argument of a call
	uses       int  // how many instructions read or write it
}

// home is where a virtual register lives.
type home struct {
	spilled  bool
	constant bool // spilled, and nowhere: it is made anew for each use
	reg      asm.Register
	slot     int   // offset from R10 if spilled
	imm      int64 // if constant
}

var (
	lostByCalls = []asm.Register{asm.R5, asm.R4, asm.R3, asm.R2}
	keptByCalls = []asm.Register{asm.R6, asm.R7, asm.R8, asm.R9}
)

// allocate assigns a home to each register and returns the size of the frame.
func (b *Builder) allocate(bs []block) ([]home, int) {
	ivs := b.intervals(bs)
	homes := make([]home, b.regs)
	at := make([]*interval, b.regs)
	constants := b.constants()
	for i := range ivs {
		at[ivs[i].reg] = &ivs[i]
		if constants[ivs[i].reg] != nil {
			ivs[i].uses = (ivs[i].uses + 1) / 2 // what it costs without a register, beside memory
		}
	}

	var active []*interval // ordered by end
	var busy [11]bool
	var spilled []*interval
	spill := func(iv *interval) {
		if in := constants[iv.reg]; in != nil {
			homes[iv.reg] = home{spilled: true, constant: true, imm: in.imm}
			return
		}
		homes[iv.reg] = home{spilled: true}
		spilled = append(spilled, iv)
	}
	insert := func(iv *interval) {
		n := sort.Search(len(active), func(i int) bool { return active[i].end > iv.end })
		active = append(active, nil)
		copy(active[n+1:], active[n:])
		active[n] = iv
		busy[homes[iv.reg].reg] = true
	}
	for i := range ivs {
		iv := &ivs[i]
		for len(active) > 0 && active[0].end < iv.start {
			busy[homes[active[0].reg].reg] = false
			active = active[1:]
		}
		if r, ok := pick(iv, homes, at, busy); ok {
			homes[iv.reg].reg = r
			insert(iv)
			continue
		}
		// The one that is used least gives way, if its register suits; of several, that which lives longest.
		victim := -1
		for n := len(active) - 1; n >= 0; n-- {
			if (!iv.crosses || kept(homes[active[n].reg].reg)) && (victim < 0 || active[n].uses < active[victim].uses) {
				victim = n
			}
		}
		if victim >= 0 {
			if v := active[victim]; v.uses > iv.uses || v.uses == iv.uses && v.end <= iv.end {
				victim = -1
			}
		}
		if victim < 0 {
			spill(iv)
			continue
		}
		v := active[victim]
		active = append(active[:victim], active[victim+1:]...)
		homes[iv.reg].reg = homes[v.reg].reg
		spill(v)
		insert(iv)
	}
	return homes, b.slots(spilled, homes)
}

// constants are, by register, the instructions that give those their value which have one value only.
func (b *Builder) constants() []*inst {
	defs := make([]*inst, b.regs)
	several := newBitset(b.regs)
	for i := range b.ins {
		in := &b.ins[i]
		d := in.def()
		switch {
		case d < 0:
		case defs[d] != nil || several.has(d) || in.kind != kMovImm:
			several.set(d)
			defs[d] = nil
		default:
			defs[d] = in
		}
	}
	return defs
}

func kept(r asm.Register) bool { return r >= asm.R6 && r <= asm.R9 }

// pick chooses a free register: the hint's, that of the argument it becomes, else any that suits.
func pick(iv *interval, homes []home, at []*interval, busy [11]bool) (asm.Register, bool) {
	if iv.hint >= 0 && at[iv.hint] != nil && !homes[iv.hint].spilled && at[iv.hint].end < iv.start {
		if r := homes[iv.hint].reg; r != 0 && !busy[r] && (!iv.crosses || kept(r)) {
			return r, true
		}
	}
	if !iv.crosses {
		if iv.arg >= 2 {
			if r := asm.Register(iv.arg); !busy[r] {
				return r, true
			}
		}
		for _, r := range lostByCalls {
			if !busy[r] {
				return r, true
			}
		}
	}
	for _, r := range keptByCalls {
		if !busy[r] {
			return r, true
		}
	}
	return 0, false
}

// slots gives each spilled register 8 bytes of the frame; lives that don't overlap share.
func (b *Builder) slots(spilled []*interval, homes []home) int {
	sort.Slice(spilled, func(i, j int) bool { return spilled[i].start < spilled[j].start })
	frame := b.deep
	type slot struct{ off, until int }
	var used []slot
next:
	for _, iv := range spilled {
		for i := range used {
			if used[i].until < iv.start {
				used[i].until = iv.end
				homes[iv.reg].slot = used[i].off
				continue next
			}
		}
		frame += 8
		used = append(used, slot{-frame, iv.end})
		homes[iv.reg].slot = -frame
	}
	return frame
}

func (b *Builder) intervals(bs []block) []interval {
	ivs := make([]interval, b.regs)
	for i := range ivs {
		ivs[i] = interval{reg: Reg(i), start: -1, hint: NoReg}
	}
	extend := func(r Reg, pos int) {
		if r < 0 {
			return
		}
		iv := &ivs[r]
		if iv.start < 0 || pos < iv.start {
			iv.start = pos
		}
		iv.end = max(iv.end, pos)
	}
	var calls []int
	for n := range bs {
		bs[n].in.each(func(r Reg) { extend(b.cross.regs[r], 2*bs[n].start) })
		bs[n].out.each(func(r Reg) { extend(b.cross.regs[r], 2*bs[n].end) })
		for i := bs[n].start; i < bs[n].end; i++ {
			in := &b.ins[i]
			in.uses(func(r Reg) {
				extend(r, 2*i)
				if r >= 0 {
					ivs[r].uses++
				}
			})
			if d := in.def(); d >= 0 {
				extend(d, 2*i+1)
				ivs[d].uses++
				if in.kind == kMov && in.a >= 0 && ivs[d].hint == NoReg {
					ivs[d].hint = in.a
				}
			}
			if in.kind == kCall {
				calls = append(calls, 2*i)
				for n, a := range in.args {
					if a.kind == opReg && a.reg >= 0 {
						ivs[a.reg].arg = n + 1
					}
				}
			}
		}
	}
	out := ivs[:0]
	for _, iv := range ivs {
		if iv.start < 0 {
			continue
		}
		// A life that begins with a use (an even position) came in from another block, also if the use is the call's.
		n := sort.SearchInts(calls, iv.start)
		iv.crosses = n < len(calls) && calls[n] < iv.end
		out = append(out, iv)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].start < out[j].start })
	return out
}
