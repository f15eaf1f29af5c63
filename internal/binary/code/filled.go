package code

import (
	"encoding/binary"
	"slices"

	"trocar/internal/binary/abi"
)

const (
	// maxFilledCode bounds the code of a caller that is looked at.
	maxFilledCode = 1 << 16
	// maxFilledSteps bounds the instructions that are looked at on the ways back from a call.
	maxFilledSteps = 1 << 14
)

// Object is one that callers pass the address of, as far as it has to be filled.
type Object struct {
	Given
	Size int
	// Kept are bytes that are always stored when it is made: the function reads them, or its end needs them.
	Kept func(off int) bool
	// Needed are the others that have to be proven.
	Needed func(off int) bool
}

// Filled tells whether a function, of which fn is the code, is seen to store all that is needed of an object of its own
// frame before it calls another one with its address, at the offset call. False says nothing. Frames give memory to one
// object after the other; so a store counts only if it is this object's: behind one of what is always stored of it, or
// directly before that, or in a call that is given the address. called tells what such a call does there; nil: that is
// not known, and so the compiler did not know it either.
func Filled(arch *abi.Arch, fn []byte, call int, o Object, called Callee) bool {
	if arch != abi.AMD64 || len(fn) > maxFilledCode || o.Size > maxObject {
		return false
	}
	w := frameWalk{arch: arch, fn: fn, seen: map[int]*frameState{}, before: map[int][]int{}}
	w.reach(0, &frameState{sp: atEntry, bases: 1})
	if !follow(&w.next, w.step) {
		return false
	}
	s := w.seen[call]
	if s == nil {
		return false
	}
	slot := frameBase{}
	if o.Stack {
		at := s.sp
		at.off += o.Off - 8 // the call stores the return address
		slot = s.word(at)
	} else {
		for n := range s.regs {
			if arch.Encoded(n) == o.Reg {
				slot = s.value(byte(n))
			}
		}
	}
	if !slot.known {
		return false
	}
	b := backWalk{w: &w, o: &o, slot: slot, called: called, seen: map[backPlace]bool{}}
	need := objectBytes{}
	for i := range o.Size {
		if o.Needed(i) {
			need.add(i, 1, new(objectBytes))
		}
	}
	return b.from(call, need, false, false)
}

// frameState is what is known of addresses in the frame where an instruction begins.
type frameState struct {
	sp, bp frameBase
	bases  int
	regs   [16]frameBase // but the two of the frame
	words  []frameAddr
}

// frameAddr is a word of the frame that has an address in the frame.
type frameAddr struct{ at, value frameBase }

func (s *frameState) value(r byte) frameBase {
	switch r {
	case 4:
		return s.sp
	case 5:
		if s.bp.known {
			return s.bp
		}
	}
	return s.regs[r]
}

func (s *frameState) word(at frameBase) frameBase {
	for _, w := range s.words {
		if w.at == at {
			return w.value
		}
	}
	return frameBase{}
}

// keep notes what a word of the frame has; words are shared by states, so they are never written to.
func (s *frameState) keep(at, value frameBase) {
	var list []frameAddr
	for _, w := range s.words {
		if w.at.from != at.from || w.at.off <= at.off-8 || w.at.off >= at.off+8 {
			list = append(list, w)
		}
	}
	if value.known {
		list = append(list, frameAddr{at, value})
	}
	s.words = list
}

// meet leaves in s what is known on both ways; true: that is less than before.
func (s *frameState) meet(o *frameState) (less bool) {
	same := func(a *frameBase, b frameBase) {
		if *a != b && a.known {
			*a, less = frameBase{}, true
		}
	}
	same(&s.sp, o.sp)
	same(&s.bp, o.bp)
	for i := range s.regs {
		same(&s.regs[i], o.regs[i])
	}
	var list []frameAddr
	for _, w := range s.words {
		if o.word(w.at) == w.value {
			list = append(list, w)
		}
	}
	less = less || len(list) < len(s.words)
	s.words = list
	return less
}

type frameWalk struct {
	arch   *abi.Arch
	fn     []byte
	seen   map[int]*frameState
	before map[int][]int // the instructions from which one is reached
	next   []int
}

// follow takes one step after another from the places that are next, which steps add to; false: they are too many.
func follow(next *[]int, step func(at int)) bool {
	for steps := 0; len(*next) > 0; steps++ {
		if steps > maxFilledSteps {
			return false
		}
		at := (*next)[len(*next)-1]
		*next = (*next)[:len(*next)-1]
		step(at)
	}
	return true
}

func (w *frameWalk) reach(at int, s *frameState) {
	if at >= 0 && at < len(w.fn) && reached(w.seen, at, s) {
		w.next = append(w.next, at)
	}
}

func (w *frameWalk) edge(from, to int, s *frameState) {
	if !slices.Contains(w.before[to], from) {
		w.before[to] = append(w.before[to], from)
	}
	w.reach(to, s)
}

// step goes on from an instruction.
func (w *frameWalk) step(at int) {
	in, ok := Decode(w.arch, w.fn[at:])
	if !ok {
		return
	}
	s := *w.seen[at]
	end := at + in.Len
	switch in.Op {
	case Ret, Trap:
		return
	case Jump:
		if in.Direct {
			w.edge(at, at+int(in.Target), &s)
		}
		return
	case CondJump:
		w.edge(at, at+int(in.Target), &s)
	case Call:
		for n := range s.regs {
			if callerSaved&(1<<n) != 0 {
				s.regs[n] = frameBase{}
			}
		}
	case Nop, Landing:
	default:
		w.effect(&s, w.fn[at:end])
	}
	w.edge(at, end, &s)
}

// effect is what an instruction does to addresses.
func (w *frameWalk) effect(s *frameState, b []byte) {
	x := x86{b: b, long: true}
	what, ok := x.opcode()
	if !ok {
		*s = frameState{bases: s.bases}
		return
	}
	plain := x.opMap == 0 && !x.vector
	wide := plain && x.rex&8 != 0
	reg, rm, direct := byte(0), byte(0), true
	frame, inFrame := frameBase{}, false
	if (what&m != 0 || x.vector && what != none) && x.at < len(b) {
		reg, rm, direct = b[x.at]>>3&7|x.rex&4<<1, b[x.at]&7|x.rex&1<<3, b[x.at]>>6 == 3
		if !direct {
			frame, inFrame = w.memory(s, &x)
		}
	}
	to, into := -1, frameBase{}
	switch {
	case plain && x.op&0xf8 == 0x50 && s.sp.known: // push
		at := s.sp
		at.off -= 8
		s.keep(at, s.value(x.op&7|x.rex&1<<3))
	case plain && x.op&0xf8 == 0x58 && s.sp.known: // pop
		to, into = int(x.op&7|x.rex&1<<3), s.word(s.sp)
	case wide && direct && x.op == 0x89:
		to, into = int(rm), s.value(reg)
	case wide && direct && x.op == 0x8b:
		to, into = int(reg), s.value(rm)
	case wide && x.op == 0x8d && inFrame:
		to, into = int(reg), frame
	case wide && direct && (x.op == 0x81 || x.op == 0x83) && b[x.at]>>3&7 == 0:
		to, into = int(rm), s.value(rm)
		if x.op == 0x83 {
			into.off += int64(int8(b[len(b)-1]))
		} else {
			into.off += int64(int32(binary.LittleEndian.Uint32(b[len(b)-4:])))
		}
	case wide && inFrame && x.op == 0x8b:
		to, into = int(reg), s.word(frame)
	case wide && inFrame && x.op == 0x89:
		s.keep(frame, s.value(reg))
	case inFrame && mayStore(b):
		for at := 0; at < max(accessWidth(&x, b), 1); at += 8 {
			f := frame
			f.off += int64(at)
			s.keep(f, frameBase{})
		}
	}
	var wrote uint16
	_, s.sp, s.bp, s.bases, wrote = frameEffect(b, s.sp, s.bp, s.bases)
	for n := range s.regs {
		if wrote&(1<<n) != 0 {
			s.regs[n] = frameBase{}
		}
	}
	if to >= 0 && to != 4 && (to != 5 || !s.bp.known) {
		s.regs[to] = into
	}
}

// memory is where in the frame an operand is, without an index.
func (w *frameWalk) memory(s *frameState, x *x86) (at frameBase, ok bool) {
	if !x.vector {
		if at, ok = frameAddress(x.b, x.at, x.rex, s.sp, s.bp); ok {
			return at, !x.seg && !x.adSize
		}
	}
	o := x.memoryOperand()
	if o.base < 0 || o.index >= 0 {
		return at, false
	}
	at = s.value(byte(o.base))
	at.off += int64(o.disp)
	return at, at.known
}

// backWalk goes back from a call.
type backWalk struct {
	w      *frameWalk
	o      *Object
	slot   frameBase
	called Callee
	seen   map[backPlace]bool
	steps  int
}

// maxVector is the most that one instruction stores.
const maxVector = 64

type backPlace struct {
	at   int
	need objectBytes
	kept bool
	run  bool
}

// from tells whether what is needed is stored on all ways that lead to a place. kept tells that something was stored on
// the way from there which is always stored, run that there is no call or branch in between.
func (b *backWalk) from(at int, need objectBytes, kept, run bool) bool {
	for {
		if need == (objectBytes{}) {
			return true
		}
		place := backPlace{at, need, kept, run}
		if b.steps++; b.steps > maxFilledSteps {
			return false
		}
		if b.seen[place] {
			return true // the other ways there tell
		}
		b.seen[place] = true
		before := b.w.before[at]
		if at == 0 || len(before) == 0 || kept && !run {
			return false
		}
		if len(before) > 1 {
			if kept { // a store before it may be another object's
				return false
			}
			for _, p := range before {
				n, k, r := need, kept, false
				if !b.passes(p, &n, &k, &r) || !b.from(p, n, k, r) {
					return false
				}
			}
			return true
		}
		p := before[0]
		if !b.passes(p, &need, &kept, &run) {
			return false
		}
		at = p
	}
}

// passes goes back over an instruction; false: nothing before it can prove anything.
func (b *backWalk) passes(at int, need *objectBytes, kept, run *bool) bool {
	text := b.w.fn[at:]
	in, ok := Decode(b.w.arch, text)
	if !ok {
		return false
	}
	s := b.w.seen[at]
	switch in.Op {
	case Call:
		*run = false
		return b.call(s, at, &in, need, *kept)
	case Jump, CondJump:
		*run = false
		return true
	case Nop, Landing, Lea, Load, Push:
		return true
	}
	x := x86{b: text[:in.Len], long: true}
	what, ok := x.opcode()
	if !ok || what&m == 0 && !x.vector || x.at >= in.Len || x.b[x.at]>>6 == 3 || !mayStore(x.b) {
		return true
	}
	to, ok := b.w.memory(s, &x)
	if !ok || to.from != b.slot.from {
		return true
	}
	off, width := int(to.off-b.slot.off), accessWidth(&x, x.b)
	switch {
	case width == 0 && off > -maxVector && off < b.o.Size:
		return false
	case readsToo(&x) || off >= b.o.Size || off+width <= 0:
		return true
	}
	isKept := false
	for i := max(off, 0); i < min(off+width, b.o.Size); i++ {
		isKept = isKept || b.o.Kept(i)
	}
	reg := x.b[x.at]>>3&7 | x.rex&4<<1
	result := !x.vector && x.opMap == 0 && x.op == 0x89 && (reg == 0 || reg == 2) // rax, rdx
	if !*kept || isKept || *run && !result {
		for i := max(off, 0); i < min(off+width, b.o.Size); i++ {
			need[i/64] &^= 1 << (i % 64)
		}
	}
	if isKept {
		*kept, *run = true, true
	}
	return true
}

// call goes back over a call.
func (b *backWalk) call(s *frameState, at int, in *Inst, need *objectBytes, kept bool) bool {
	to := int64(0)
	switch {
	case in.Direct:
		to = int64(at) + in.Target
	case in.RIP:
		to = int64(at) + in.Mem
	}
	for _, r := range argumentRegisters {
		v := s.value(r)
		if !v.known || v.from != b.slot.from || v.off < b.slot.off || v.off >= b.slot.off+int64(b.o.Size) {
			continue
		}
		if kept {
			return false // perhaps another object's life ended there
		}
		use := b.called(to, in.Direct, b.w.arch.Encoded(int(r)), true)
		if use == nil {
			return false
		}
		stored := b.reach(use, int(v.off-b.slot.off))
		for i := range *need {
			need[i] &^= stored[i]
		}
		if *need != (objectBytes{}) {
			return false // it may have been another object's
		}
	}
	return true
}

// reach are the bytes that a call is sure to have made use of, or to have filled: it reads them, or writes them and
// what is always stored, as a constructor does.
func (b *backWalk) reach(use *ObjectUse, off int) (all objectBytes) {
	all.merge(&use.read, off, new(objectBytes))
	for i := range b.o.Size {
		if b.o.Kept(i) && (i < off || !use.written.all(i-off, 1)) {
			return all
		}
	}
	all.merge(&use.written, off, new(objectBytes))
	return all
}
