package code

import (
	"encoding/binary"

	"trocar/internal/binary/abi"
)

const (
	// maxObject bounds the part of an object that is followed, in bytes.
	maxObject = 512
	// maxObjectSteps bounds the instructions that ReadObject looks at, each as often as it is reached.
	maxObjectSteps = 1 << 13
)

// ObjectUse is what a function is seen to do with an object of which it is passed the address.
type ObjectUse struct {
	read     objectBytes
	followed objectBytes
	written  objectBytes // as far as the instructions name what they write
}

// Reads tells whether the function reads bytes of the object that are still as they were passed, on one of the ways
// through it.
func (u *ObjectUse) Reads(off, size int) bool { return u.read.all(off, size) }

// ReadsAny tells whether the function reads something of the object.
func (u *ObjectUse) ReadsAny() bool { return u.read != (objectBytes{}) }

// Follows tells whether the function uses the word at an offset of the object as an address.
func (u *ObjectUse) Follows(off int) bool { return u.followed.all(off, 1) }

// objectBytes is a set of bytes of an object.
type objectBytes [maxObject / 64]uint64

func (o *objectBytes) all(off, size int) bool {
	if off < 0 || size < 0 || off+size > maxObject {
		return false
	}
	for i := off; i < off+size; i++ {
		if o[i/64]&(1<<(i%64)) == 0 {
			return false
		}
	}
	return true
}

func (o *objectBytes) add(off, size int, but *objectBytes) {
	for i := max(off, 0); i < min(off+size, maxObject); i++ {
		o[i/64] |= 1 << (i % 64) &^ but[i/64]
	}
}

// merge adds the bytes of another set, moved by off.
func (o *objectBytes) merge(from *objectBytes, off int, but *objectBytes) {
	for i := range maxObject {
		if from[i/64]&(1<<(i%64)) != 0 {
			o.add(off+i, 1, but)
		}
	}
}

// Given tells where a function is given the address of an object: in a register (by its DWARF number), or in a word on
// the stack, Off above the stack pointer at the entry.
type Given struct {
	Reg   int
	Stack bool
	Off   int64
}

// Callee tells what a function that is called does with an object of which a register has the address. at is where it
// begins, from the beginning of the code; direct: else it is the word at that place that has its address, or it is not
// known if that is 0. moved tells that the code has put the address into the register. nil: nothing is known of it.
type Callee func(at int64, direct bool, reg int, moved bool) *ObjectUse

// AllOfIt is the use of which everything is to be expected.
func AllOfIt() *ObjectUse {
	u := new(ObjectUse)
	u.read.add(0, maxObject, new(objectBytes))
	u.followed.add(0, maxObject, new(objectBytes))
	u.written = u.read
	return u
}

// ReadObject tells what a function, of which fn is the code, reads of an object before it writes there, as far as that
// is seen. What it is not seen to read it may read all the same. False: the CPU's instructions are not known here.
func ReadObject(arch *abi.Arch, fn []byte, given Given, callee Callee) (*ObjectUse, bool) {
	if arch != abi.AMD64 {
		return nil, false
	}
	w := objectWalk{arch: arch, fn: fn, callee: callee, seen: map[int]*objectState{}}
	s := objectState{sp: atEntry, bases: 1}
	if given.Stack {
		s.keep(frameBase{known: true, off: given.Off + atEntry.off}, held{is: addressOf})
	} else {
		for n := range s.regs {
			if arch.Encoded(n) == given.Reg {
				s.regs[n] = held{is: addressOf}
			}
		}
	}
	w.reach(0, &s)
	for steps := 0; len(w.next) > 0 && steps < maxObjectSteps; {
		at := w.next[len(w.next)-1]
		w.next = w.next[:len(w.next)-1]
		steps += w.run(at, *w.seen[at])
	}
	return &w.use, true
}

// held is what a register or a word of the frame has to do with the object.
type held struct {
	is    heldKind
	off   int32
	moved bool // not where it was passed
}

type heldKind uint8

const (
	nothing   heldKind = iota
	addressOf          // the object's address, and off
	loaded             // the word at off of the object, and perhaps something
)

type frameWord struct {
	at frameBase
	held
}

// objectState is what is known where an instruction begins.
type objectState struct {
	sp, bp frameBase
	bases  int
	regs   [16]held
	words  []frameWord
	gone   objectBytes // of the object: may have been written
}

func (s *objectState) word(at frameBase) held {
	for _, w := range s.words {
		if w.at == at {
			return w.held
		}
	}
	return held{}
}

// keep notes what a word of the frame has; the words are shared by states, so they are never written to.
func (s *objectState) keep(at frameBase, h held) {
	var list []frameWord
	for _, w := range s.words {
		if w.at.from != at.from || w.at.off <= at.off-8 || w.at.off >= at.off+8 {
			list = append(list, w)
		}
	}
	if h.is != nothing {
		list = append(list, frameWord{at, h})
	}
	s.words = list
}

// meet leaves in s what is known on both ways; true: that is less than before.
func (s *objectState) meet(o *objectState) (less bool) {
	if s.sp != o.sp && s.sp.known {
		s.sp, less = frameBase{}, true
	}
	if s.bp != o.bp && s.bp.known {
		s.bp, less = frameBase{}, true
	}
	for i := range s.regs {
		if s.regs[i] != o.regs[i] && s.regs[i].is != nothing {
			s.regs[i], less = held{}, true
		}
	}
	var list []frameWord
	for _, w := range s.words {
		if o.word(w.at) == w.held {
			list = append(list, w)
		}
	}
	less = less || len(list) < len(s.words)
	s.words = list
	for i := range s.gone {
		if more := s.gone[i] | o.gone[i]; more != s.gone[i] {
			s.gone[i], less = more, true
		}
	}
	return less
}

type objectWalk struct {
	arch   *abi.Arch
	fn     []byte
	callee Callee
	use    ObjectUse
	seen   map[int]*objectState
	next   []int
}

// reach notes that code goes on at a place.
func (w *objectWalk) reach(at int, s *objectState) {
	if at >= 0 && at < len(w.fn) && reached(w.seen, at, s) {
		w.next = append(w.next, at)
	}
}

// met is what a walk through code knows at a place. It takes in what holds on another way there, and tells whether that
// changes it.
type met[S any] interface {
	*S
	meet(other *S) bool
}

// reached notes what holds on a way to a place, and tells whether the walk has to go on from there.
func reached[S any, P met[S]](seen map[int]P, at int, s P) bool {
	old, ok := seen[at]
	if !ok {
		c := *s
		seen[at] = &c
		return true
	}
	return old.meet(s)
}

// run follows the code from a place to where it branches.
func (w *objectWalk) run(at int, s objectState) (steps int) {
	for ; at < len(w.fn); steps++ {
		in, ok := Decode(w.arch, w.fn[at:])
		if !ok {
			return steps + 1
		}
		end := at + in.Len
		switch in.Op {
		case Ret, Trap:
			return steps + 1
		case Jump:
			if to := at + int(in.Target); in.Direct && to >= 0 && to < len(w.fn) {
				w.reach(to, &s)
			} else {
				w.called(&s, at, &in)
			}
			return steps + 1
		case CondJump:
			w.reach(at+int(in.Target), &s)
			w.reach(end, &s)
			return steps + 1
		case Call:
			w.called(&s, at, &in)
		case Nop, Landing:
		default:
			w.step(&s, w.fn[at:end])
		}
		at = end
		if _, met := w.seen[at]; met {
			w.reach(at, &s)
			return steps + 1
		}
	}
	return steps
}

// argumentRegisters are those of the System V ABI, by their numbers in instructions: rdi, rsi, rdx, rcx, r8, r9.
var argumentRegisters = [...]byte{7, 6, 2, 1, 8, 9}

// called is a call, or a jump to another function.
func (w *objectWalk) called(s *objectState, at int, in *Inst) {
	to := int64(0)
	switch {
	case in.Direct:
		to = int64(at) + in.Target
	case in.RIP:
		to = int64(at) + in.Mem
	}
	passed := false
	for _, r := range argumentRegisters {
		h := s.regs[r]
		if h.is == nothing {
			continue
		}
		use := w.callee(to, in.Direct, w.arch.Encoded(int(r)), h.moved)
		if use == nil {
			continue
		}
		switch h.is {
		case addressOf:
			w.use.read.merge(&use.read, int(h.off), &s.gone)
			w.use.followed.merge(&use.followed, int(h.off), &s.gone)
			w.use.written.merge(&use.written, int(h.off), new(objectBytes))
			passed = true
		case loaded:
			if use.read != (objectBytes{}) {
				w.use.followed.add(int(h.off), 1, &s.gone)
			}
		}
	}
	for _, word := range s.words { // an address on the stack may be an argument too
		passed = passed || word.is == addressOf && s.sp.known && word.at == s.sp
	}
	for n := range s.regs {
		if callerSaved&(1<<n) != 0 {
			s.regs[n] = held{}
		}
	}
	if passed {
		s.gone.add(0, maxObject, new(objectBytes)) // it may be written there
	}
}

// step is an instruction that goes on at the next one.
func (w *objectWalk) step(s *objectState, b []byte) {
	x := x86{b: b, long: true}
	what, ok := x.opcode()
	if !ok {
		*s = objectState{bases: s.bases, gone: s.gone}
		return
	}
	wide := x.rex&8 != 0 && !x.vector
	plain := x.opMap == 0 && !x.vector
	reg, rm, direct := byte(0), byte(0), true
	var mem memoryOperand
	frame, inFrame := frameBase{}, false
	if hasOperand := what&m != 0 || x.vector && what != none; hasOperand && x.at < len(b) {
		reg, rm, direct = b[x.at]>>3&7|x.rex&4<<1, b[x.at]&7|x.rex&1<<3, b[x.at]>>6 == 3
		if !direct {
			mem = x.memoryOperand()
			frame, inFrame = frameAddress(b, x.at, x.rex, s.sp, s.bp)
			inFrame = inFrame && !x.vector
		}
	}
	var into held // what register to gets
	to := -1
	switch {
	case plain && x.op&0xf8 == 0x50: // push
		if s.sp.known {
			at := s.sp
			at.off -= 8
			s.keep(at, s.moving(x.op&7|x.rex&1<<3))
		}
	case plain && x.op&0xf8 == 0x58: // pop
		if s.sp.known {
			to, into = int(x.op&7|x.rex&1<<3), s.word(s.sp)
		}
	case plain && direct && wide && x.op == 0x89:
		to, into = int(rm), s.moving(reg)
	case plain && direct && wide && x.op == 0x8b:
		to, into = int(reg), s.moving(rm)
	case plain && !direct && wide && x.op == 0x8d:
		to, into = int(reg), s.address(&mem)
	case plain && direct && wide && (x.op == 0x81 || x.op == 0x83) && b[x.at]>>3&7 == 0:
		to, into = int(rm), s.moving(rm)
		if x.op == 0x83 {
			into.off += int32(int8(b[len(b)-1]))
		} else {
			into.off += int32(binary.LittleEndian.Uint32(b[len(b)-4:]))
		}
		if h := s.regs[rm]; h.is == loaded {
			into.off = h.off
		}
	case plain && direct && wide && (x.op == 0x01 || x.op == 0x03): // an index is added
		if x.op == 0x03 {
			reg, rm = rm, reg
		}
		to, into = int(rm), s.moving(rm)
		if into.is != loaded {
			into = s.moving(reg)
		}
		if into.is != loaded {
			into = held{}
		}
	case !direct:
		to, into = w.accesses(s, &x, b, &mem, reg, frame, inFrame, plain && wide)
	}
	var wrote uint16
	_, s.sp, s.bp, s.bases, wrote = frameEffect(b, s.sp, s.bp, s.bases)
	for n := range s.regs {
		if wrote&(1<<n) != 0 {
			s.regs[n] = held{}
		}
	}
	if to >= 0 {
		s.regs[to] = into
	}
}

// moving is what a register has, as another place will have it.
func (s *objectState) moving(reg byte) held {
	h := s.regs[reg]
	h.moved = h.is != nothing
	return h
}

// address is what an address that is taken has to do with the object.
func (s *objectState) address(mem *memoryOperand) held {
	base, index := held{}, held{}
	if mem.base >= 0 {
		base = s.regs[mem.base]
	}
	if mem.index >= 0 {
		index = s.regs[mem.index]
	}
	switch {
	case base.is == loaded:
		return held{is: loaded, off: base.off, moved: true}
	case index.is == loaded:
		return held{is: loaded, off: index.off, moved: true}
	case base.is == addressOf && mem.index < 0:
		return held{is: addressOf, off: base.off + mem.disp, moved: true}
	}
	return held{}
}

// accesses is an instruction with an operand in memory. What it loads into a register is given back.
func (w *objectWalk) accesses(
	s *objectState, x *x86, b []byte, mem *memoryOperand, reg byte, frame frameBase, inFrame, wide bool,
) (to int, into held) {
	stores := mayStore(b)
	width := accessWidth(x, b)
	if inFrame {
		switch {
		case wide && x.op == 0x8b:
			return int(reg), s.word(frame)
		case wide && x.op == 0x89:
			s.keep(frame, s.moving(reg))
		case stores:
			for at := int64(0); at < int64(max(width, 1)); at += 8 {
				f := frame
				f.off += at
				s.keep(f, held{})
			}
		}
		return -1, held{}
	}
	at := s.address(mem)
	switch at.is {
	case loaded:
		w.use.followed.add(int(at.off), 1, new(objectBytes))
	case addressOf:
		switch {
		case x.opMap == 1 && (x.op == 0x0d || x.op == 0x18 || x.op == 0x1f): // prefetch, nop
		case !stores:
			w.use.read.add(int(at.off), width, &s.gone)
			if wide && x.op == 0x8b && !s.gone.any(int(at.off), 8) {
				return int(reg), held{is: loaded, off: at.off, moved: true}
			}
		case width == 0:
			s.gone.add(0, maxObject, new(objectBytes))
		default:
			if readsToo(x) {
				w.use.read.add(int(at.off), width, &s.gone)
			}
			s.gone.add(int(at.off), width, new(objectBytes))
			w.use.written.add(int(at.off), width, new(objectBytes))
		}
		return -1, held{}
	}
	if stores && mem.base >= 0 && s.regs[mem.base].is == addressOf { // somewhere in the object
		s.gone.add(0, maxObject, new(objectBytes))
	}
	if wide && x.op == 0x89 {
		switch h := s.regs[reg]; h.is { // it is given to whoever looks there
		case addressOf:
			w.use.read.add(0, maxObject, &s.gone)
			w.use.followed.add(0, maxObject, &s.gone)
		case loaded:
			w.use.followed.add(int(h.off), 1, new(objectBytes))
		}
	}
	return -1, held{}
}

func (o *objectBytes) any(off, size int) bool {
	for i := max(off, 0); i < min(off+size, maxObject); i++ {
		if o[i/64]&(1<<(i%64)) != 0 {
			return true
		}
	}
	return false
}
