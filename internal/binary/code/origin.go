package code

import (
	"slices"

	"trocar/internal/binary/abi"
)

// Origins tells where a function has what it was given: in which of its registers and words of its frame are values
// that its caller passed in registers, or above the frame.
type Origins struct {
	w      frameWalk
	seen   map[int]*originState
	next   []int
	stores map[int]originStore // by the instruction
	joins  []int
}

// origin is what a register or a word of memory holds; the zero value is something else.
type origin struct {
	from   originKind
	masked bool  // all bits but the lowest were cleared
	reg    uint8 // by its number in instructions
	size   uint8 // how many bytes of it are still the same
	off    int32 // of what was passed on the stack, from the CFA
}

type originKind uint8

const (
	elsewhere originKind = iota
	inRegister
	onStack
)

// narrow is what is left of a value of which n bytes are moved.
func (o origin) narrow(n int64) origin {
	o.size = uint8(min(int64(o.size), n))
	return o
}

type originWord struct {
	at    frameBase
	size  int64
	value origin
}

type originState struct {
	regs  [16]origin
	words []originWord
	above bool // something may have been stored where callers pass arguments
}

type originStore struct {
	to    frameBase
	size  int64
	value origin
}

func (s *originState) meet(o *originState) (less bool) {
	for i := range s.regs {
		if s.regs[i] != o.regs[i] && s.regs[i] != (origin{}) {
			s.regs[i], less = origin{}, true
		}
	}
	var list []originWord
	for _, w := range s.words {
		if slices.Contains(o.words, w) {
			list = append(list, w)
		}
	}
	less = less || len(list) < len(s.words) || o.above && !s.above
	s.words, s.above = list, s.above || o.above
	return less
}

// forget drops what is known of memory that a store overwrites.
func (s *originState) forget(at frameBase, size int64) {
	var list []originWord // words are shared by states
	for _, w := range s.words {
		if w.at.from != at.from || w.at.off+w.size <= at.off || at.off+size <= w.at.off {
			list = append(list, w)
		}
	}
	s.words = list
}

// ReadOrigins follows the code of a function; joins are offsets in it where the function goes on that come from
// elsewhere, so that nothing is known there. Nil: it is too long, or the CPU's instructions are not known here.
func ReadOrigins(arch *abi.Arch, fn []byte, joins []int) *Origins {
	if arch != abi.AMD64 || len(fn) > maxFilledCode {
		return nil
	}
	o := &Origins{
		w:    frameWalk{arch: arch, fn: fn, seen: map[int]*frameState{}, before: map[int][]int{}},
		seen: map[int]*originState{}, stores: map[int]originStore{},
	}
	o.w.reach(0, &frameState{sp: atEntry, bases: 1})
	if !follow(&o.w.next, o.w.step) {
		return nil
	}
	var in []int
	for _, at := range append(o.comeIn(), joins...) {
		if o.w.seen[at] != nil {
			o.w.reach(at, &frameState{bases: 1})
			in = append(in, at)
		}
	}
	if !follow(&o.w.next, o.w.step) {
		return nil
	}
	first := &originState{}
	for _, r := range argumentRegisters {
		first.regs[r] = origin{from: inRegister, reg: r, size: 8}
	}
	o.reach(0, first)
	for _, at := range in {
		o.reach(at, &originState{above: true})
	}
	o.joins = in
	if !follow(&o.next, o.step) {
		return nil
	}
	return o
}

// comeIn finds where code that is not reached from the entry, like that which an exception goes on in, leads back to
// code that is.
func (o *Origins) comeIn() (list []int) {
	for at := 0; at < len(o.w.fn); {
		in, ok := Decode(o.w.arch, o.w.fn[at:])
		if !ok {
			at++
			continue
		}
		if o.w.seen[at] == nil {
			if in.Direct && in.Op == Jump || in.Op == CondJump {
				list = append(list, at+int(in.Target))
			}
			if in.Op != Jump && in.Op != Ret && in.Op != Trap {
				list = append(list, at+in.Len)
			}
		}
		at += in.Len
	}
	return list
}

func (o *Origins) reach(at int, s *originState) {
	if at >= 0 && at < len(o.w.fn) && o.w.seen[at] != nil && reached(o.seen, at, s) {
		o.next = append(o.next, at)
	}
}

// step goes on from an instruction.
func (o *Origins) step(at int) {
	in, ok := Decode(o.w.arch, o.w.fn[at:])
	if !ok {
		return
	}
	s := *o.seen[at]
	end := at + in.Len
	switch in.Op {
	case Ret, Trap:
		return
	case Jump:
		if in.Direct {
			o.reach(at+int(in.Target), &s)
		}
		return
	case CondJump:
		o.reach(at+int(in.Target), &s)
	case Call:
		s.words, s.above = nil, true
		for n := range s.regs {
			if callerSaved&(1<<n) != 0 {
				s.regs[n] = origin{}
			}
		}
	case Nop, Landing:
	default:
		o.effect(&s, at, o.w.fn[at:end])
	}
	o.reach(end, &s)
}

// effect is what an instruction does to values.
func (o *Origins) effect(s *originState, at int, b []byte) {
	x := x86{b: b, long: true}
	what, ok := x.opcode()
	if !ok {
		*s = originState{above: true}
		return
	}
	plain := !x.vector && (x.opMap == 0 || x.opMap == 1) && !x.seg && !x.adSize && !x.badPrefix
	word := int64(4)
	switch {
	case x.rex&8 != 0:
		word = 8
	case x.opSize:
		word = 2
	}
	reg, rm, direct := byte(0), byte(0), true
	frame, inFrame := frameBase{}, false
	if (what&m != 0 || x.vector && what != none) && x.at < len(b) {
		reg, rm, direct = b[x.at]>>3&7|x.rex&4<<1, b[x.at]&7|x.rex&1<<3, b[x.at]>>6 == 3
		if !direct {
			frame, inFrame = o.w.memory(o.w.seen[at], &x)
		}
	}
	low := func(r byte) origin { // the lowest byte of a register
		if x.rex == 0 && r >= 4 {
			return origin{} // the second one, like ah
		}
		return s.regs[r].narrow(1)
	}
	to, into := -1, origin{}
	load := func(size int64) {
		to = int(reg)
		if direct && size == 1 {
			into = low(rm)
		} else if direct {
			into = s.regs[rm].narrow(size)
		} else if inFrame {
			into = s.word(frame, size)
		}
	}
	st := originStore{}
	store := func(at frameBase, size int64, v origin) { st = originStore{to: at, size: size, value: v} }
	op := int(x.opMap)<<8 | int(x.op)
	sp := o.w.seen[at].sp
	switch {
	case !plain:
	case op&^7 == 0x50:
		if sp.known && !x.opSize {
			sp.off -= 8
			store(sp, 8, s.regs[x.op&7|x.rex&1<<3])
		}
	case op&^7 == 0x58:
		if sp.known && !x.opSize {
			to, into = int(x.op&7|x.rex&1<<3), s.word(sp, 8)
		}
	case op == 0x8b:
		load(word)
	case op == 0x8a:
		load(1)
	case op == 0x1b6, op == 0x1be: // movzx, movsx
		load(1)
	case op == 0x1b7, op == 0x1bf:
		load(2)
	case op == 0x63: // movsxd
		load(4)
	case op == 0x89 && direct:
		to, into = int(rm), s.regs[reg].narrow(word)
	case op == 0x88 && direct && (x.rex != 0 || rm < 4):
		to, into = int(rm), low(reg)
	case op == 0x89 && inFrame:
		store(frame, word, s.regs[reg].narrow(word))
	case op == 0x88 && inFrame:
		store(frame, 1, low(reg))
	case (op == 0x80 || op == 0x83) && direct && b[x.at]>>3&7 == 4 && b[len(b)-1] == 1 && (op == 0x83 || x.rex != 0 ||
		rm < 4):
		to, into = int(rm), s.regs[rm].narrow(1)
		into.masked = into != origin{} // and $1
	case op == 0x24 && b[len(b)-1] == 1:
		to, into = 0, s.regs[0].narrow(1)
		into.masked = into != origin{}
	case inFrame && mayStore(b):
		store(frame, int64(max(accessWidth(&x, b), 1)), origin{})
	}
	if !plain && inFrame && mayStore(b) {
		store(frame, int64(max(accessWidth(&x, b), 1)), origin{})
	}
	if into.size == 0 {
		into = origin{}
	}
	_, _, _, _, wrote := frameEffect(b, frameBase{}, frameBase{}, 1)
	for n := range s.regs {
		if wrote&(1<<n) != 0 {
			s.regs[n] = origin{}
		}
	}
	if to >= 0 {
		s.regs[to] = into
	}
	switch {
	case st.size > 0:
		o.stores[at] = st
		s.forget(st.to, st.size)
		s.above = s.above || st.to.from == 0 && st.to.off+st.size > 0
		if st.value != (origin{}) {
			s.words = append(slices.Clip(s.words), originWord{st.to, st.size, st.value})
		}
	case !inFrame && mayStore(b) && !(what&m != 0 && x.global()):
		s.words, s.above = nil, true
	}
}

// global tells an operand in memory that is relative to the instruction pointer, or at an address in the instruction.
func (x *x86) global() bool {
	o := x.memoryOperand()
	return o.base < 0 && o.index < 0 && !x.evexPrefix && !x.xopPrefix && !x.seg && !x.adSize
}

// word is what was stored in memory, or passed there.
func (s *originState) word(at frameBase, size int64) origin {
	for _, w := range s.words {
		if w.at == at && w.size >= size {
			return w.value.narrow(size)
		}
	}
	if at.known && at.from == 0 && at.off >= 0 && at.off < 1<<16 && !s.above {
		return origin{from: onStack, size: uint8(size), off: int32(at.off)}
	}
	return origin{}
}

// Passed are bytes of a value, and where the caller passed them: in a register, or on the stack at a distance from the
// stack pointer at the entry.
type Passed struct {
	Off, Size int
	Stack     bool
	Reg       int // its DWARF number
	At        int64
	Masked    bool // only the lowest bit of it was kept
}

// Stored are the places from which a slot of the frame got all its bytes in the first instructions that store there, on
// whatever way. The slot is named as it is at an instruction. False: they got there otherwise.
func (o *Origins) Stored(at int, s Slot) (list []Passed, ok bool) {
	low := o.base(at, s.Reg)
	if !low.known || s.Size < 1 || s.Size > 64 {
		return nil, false
	}
	low.off += s.Off
	sources := make([]origin, s.Size)
	// open are the bytes that may not have been stored yet where an instruction begins.
	open, next := map[int]uint64{}, append(slices.Clone(o.joins), 0)
	for _, at := range next {
		open[at] = ^uint64(0) >> (64 - s.Size)
	}
	for len(next) > 0 {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		left := open[at]
		if st, ok := o.stores[at]; ok && st.to.from == low.from {
			for i := max(st.to.off, low.off); i < min(st.to.off+st.size, low.off+s.Size); i++ {
				bit, n := uint64(1)<<(i-low.off), i-st.to.off
				if left&bit == 0 {
					continue
				}
				left &^= bit
				one, was := st.value, &sources[i-low.off]
				if n >= int64(one.size) || one.masked && n > 0 {
					return nil, false
				}
				one.off, one.size = one.off+int32(n), 1
				if *was != one && *was != (origin{}) {
					return nil, false
				}
				*was = one
			}
		}
		for _, to := range o.after(at) {
			if open[to]|left != open[to] {
				open[to] |= left
				next = append(next, to)
			}
		}
	}
	return o.passed(sources)
}

// Register is where the value comes from that a register, by its DWARF number, has at an instruction.
func (o *Origins) Register(at, reg int) (p Passed, ok bool) {
	s := o.seen[at]
	for n := range uint8(16) {
		if s != nil && o.w.arch.Encoded(int(n)) == reg && s.regs[n].from != elsewhere {
			list, ok := o.passed([]origin{s.regs[n]})
			if ok {
				list[0].Size = int(s.regs[n].size)
				return list[0], true
			}
		}
	}
	return p, false
}

// base is what one of the two registers of the frame has at an instruction.
func (o *Origins) base(at, reg int) frameBase {
	s := o.w.seen[at]
	switch {
	case s != nil && reg == dwarfRSP:
		return s.sp
	case s != nil && reg == dwarfRBP:
		return s.bp
	}
	return frameBase{}
}

// after are the instructions that may follow one.
func (o *Origins) after(at int) (list []int) {
	in, ok := Decode(o.w.arch, o.w.fn[at:])
	switch {
	case !ok, in.Op == Ret, in.Op == Trap:
		return nil
	case in.Op == CondJump, in.Op == Jump && in.Direct:
		list = append(list, at+int(in.Target))
	}
	if in.Op != Jump {
		list = append(list, at+in.Len)
	}
	return slices.DeleteFunc(list, func(at int) bool { return o.w.seen[at] == nil })
}

// passed puts the bytes together that were passed together.
func (o *Origins) passed(bytes []origin) (list []Passed, ok bool) {
	for i := 0; i < len(bytes); {
		first, n := bytes[i], 1
		switch {
		case first == (origin{}), first.from == inRegister && first.off != 0:
			return nil, false
		}
		for next := first; i+n < len(bytes) && !first.masked; n++ {
			if next.off++; bytes[i+n] != next {
				break
			}
		}
		p := Passed{Off: i, Size: n, Masked: first.masked}
		if first.from == onStack {
			p.Stack, p.At = true, int64(first.off)+8 // behind the return address
		} else {
			p.Reg = o.w.arch.Encoded(int(first.reg))
		}
		list = append(list, p)
		i += n
	}
	return list, true
}
