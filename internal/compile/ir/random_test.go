package ir

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/asm"
)

var (
	seed  = flag.Uint64("seed", 0, "seed of random programs (0: the time)")
	count = flag.Int("programs", 3000, "number of random programs")
)

// choices is where a generator takes its decisions from: random numbers, or the bytes of a fuzzer (then zeros).
type choices struct {
	random *rand.Rand
	data   []byte
}

func (c *choices) n(n int) int {
	if c.random != nil {
		return c.random.IntN(n)
	}
	if len(c.data) == 0 {
		return 0
	}
	v := int(c.data[0])
	c.data = c.data[1:]
	return v % n
}

// number is an interesting constant.
func (c *choices) number() int64 {
	switch c.n(8) {
	case 0:
		return int64(c.n(3)) - 1
	case 1:
		return 1<<31 - 1 + int64(c.n(3))
	case 2:
		return -1<<31 - 1 + int64(c.n(3))
	case 3:
		return -1 << 63
	case 4:
		return int64(c.n(256))<<56 | int64(c.n(256))<<24 | int64(c.n(256))
	}
	return int64(c.n(256)) - 64
}

// writer makes a random program that ends.
type writer struct {
	*choices
	prog   *Program
	b      *Builder
	regs   []Reg   // with a value
	slots  []int   // of 16 bytes, written
	out    []Label // labels further down
	budget int
	depth  int
	nested int
}

func (w *writer) reg() Reg { return w.regs[w.n(len(w.regs))] }

// written is a register to change, or a new one.
func (w *writer) dst() Reg {
	if w.n(3) == 0 && len(w.regs) < 40 {
		return w.b.Reg()
	}
	return w.reg()
}

func (w *writer) add(r Reg) {
	for _, x := range w.regs {
		if x == r {
			return
		}
	}
	w.regs = append(w.regs, r)
}

// place is 8 aligned bytes in a slot or map, for an access of size bytes.
func (w *writer) place(size int) (Reg, int) {
	at := w.n(16/size) * size
	if w.n(4) == 0 {
		return w.b.MapValue("m", 8*w.n(4)), at
	}
	return FP, w.slots[w.n(len(w.slots))] + at
}

func (w *writer) operand() Operand {
	switch w.n(8) {
	case 0:
		return I(w.number())
	case 1:
		return A(FP, w.slots[w.n(len(w.slots))])
	case 2:
		return MV("m", 8*w.n(4))
	case 3:
		return M("m")
	case 4:
		return A(w.reg(), w.n(64)-32)
	}
	return R(w.reg())
}

func (w *writer) statements(n int) {
	// Registers that first get a value in here have none behind.
	mark := len(w.regs)
	defer func() { w.regs = w.regs[:mark] }()
	frame, slots := w.b.Frame(), len(w.slots)
	defer func() { w.b.Release(frame); w.slots = w.slots[:slots] }()
	for range n {
		if w.budget--; w.budget < 0 {
			return
		}
		w.statement()
	}
}

func (w *writer) statement() {
	b := w.b
	sizes := [...]Size{1, 2, 4, 8}
	switch w.n(22) {
	case 0, 1:
		r := w.dst()
		b.SetImm(r, w.number())
		w.add(r)
	case 2:
		r := w.dst()
		b.Set(r, w.reg())
		w.add(r)
	case 3, 4:
		r := b.Op(Op(w.n(int(Neg))), w.reg(), w.reg())
		w.add(r)
	case 5:
		w.add(b.OpImm(Op(w.n(int(Neg))), w.reg(), w.number()))
	case 6:
		b.Apply(Op(w.n(int(Neg)+1)), w.reg(), w.reg())
	case 7:
		b.ApplyImm(Op(w.n(int(Neg))), w.reg(), w.number())
	case 8:
		w.add(b.Low32(w.reg()))
	case 9:
		b.Swap(w.reg(), 16<<w.n(3))
	case 10:
		b.Extend(w.reg(), 1<<w.n(4), w.n(2) == 0)
	case 11, 12:
		s := sizes[w.n(4)]
		base, off := w.place(int(s))
		r := w.dst()
		b.LoadTo(r, s, base, off)
		w.add(r)
	case 13:
		s := sizes[w.n(4)]
		base, off := w.place(int(s))
		if w.n(2) == 0 {
			b.Store(s, base, off, w.reg())
		} else {
			b.StoreImm(s, base, off, w.number())
		}
	case 14:
		base, off := w.place(8)
		if w.n(2) == 0 {
			b.AtomicAdd(8, base, off, w.reg())
		} else {
			w.add(b.Xchg(base, off, w.reg()))
		}
	case 15, 16:
		n := w.n(6)
		var args []Operand
		for range n {
			args = append(args, w.operand())
		}
		if w.n(4) == 0 {
			b.Do(asm.BuiltinFunc(n), args...)
		} else {
			w.add(b.Call(asm.BuiltinFunc(n), args...))
		}
	case 17:
		slot := w.slots[w.n(len(w.slots))]
		if w.n(2) == 0 {
			w.add(b.Call(helperSum, A(FP, slot), I(int64(1+w.n(16)))))
		} else {
			b.Do(helperFill, A(FP, slot), I(16), R(w.reg()))
		}
	case 18:
		w.branch()
	case 19:
		w.loop()
	case 20:
		w.leave()
	case 21:
		switch w.n(3) {
		case 0:
			w.callback()
		case 1:
			w.newSlot()
		case 2:
			w.add(b.Addr(w.reg(), int(w.number()&0xffff)))
		}
	}
}

func (w *writer) newSlot() {
	if len(w.slots) > 8 {
		return
	}
	at := w.b.Slot(16)
	w.b.StoreImm(8, FP, at, w.number())
	w.b.StoreImm(8, FP, at+8, w.number())
	w.slots = append(w.slots, at)
}

// jumpIf goes to l on a random condition.
func (w *writer) jumpIf(l Label) {
	if w.n(2) == 0 {
		w.b.If(Cond(w.n(int(Set)+1)), w.reg(), w.reg(), l)
	} else {
		w.b.IfImm(Cond(w.n(int(Set)+1)), w.reg(), w.number(), l)
	}
}

func (w *writer) branch() {
	if w.depth > 5 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	els, end := w.b.Label(), w.b.Label()
	w.jumpIf(els)
	w.out = append(w.out, end)
	w.statements(1 + w.n(4))
	if w.n(2) == 0 {
		w.b.Jump(end)
		if w.n(4) == 0 {
			w.statements(2) // can't be reached
		}
		w.b.Bind(els)
		w.statements(1 + w.n(4))
	} else {
		w.b.Bind(els)
	}
	w.out = w.out[:len(w.out)-1]
	w.b.Bind(end)
}

func (w *writer) loop() {
	if w.depth > 3 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	b := w.b
	// The counter is not among the registers that others write.
	i, top, end := b.Imm(0), b.Label(), b.Label()
	b.Bind(top)
	w.out = append(w.out, end)
	w.statements(1 + w.n(6))
	w.out = w.out[:len(w.out)-1]
	b.ApplyImm(Add, i, 1)
	b.IfImm(LT, i, int64(1+w.n(3)), top)
	b.Bind(end)
}

// leave jumps out of what is around, or returns.
func (w *writer) leave() {
	if len(w.out) == 0 {
		return
	}
	switch w.n(4) {
	case 0:
		w.b.Comment("leaves")
		w.jumpIf(w.out[w.n(len(w.out))])
	case 1:
		w.b.Jump(w.out[w.n(len(w.out))])
	case 2:
		w.b.ExitReg(w.reg())
	case 3:
		skip := w.b.Label()
		w.jumpIf(skip)
		w.b.Exit(int64(w.n(100)))
		w.b.Bind(skip)
	}
}

func (w *writer) callback() {
	if w.nested > 2 {
		return
	}
	slot := w.slots[w.n(len(w.slots))]
	outer := *w
	f := w.prog.Func(fmt.Sprintf("cb%d", len(w.prog.Funcs)), 2)
	w.b, w.nested, w.depth, w.out, w.slots = f, w.nested+1, 2, nil, nil
	w.regs = []Reg{f.Param(0)}
	w.newSlot()
	w.add(f.Load(8, f.Param(1), 0)) // the caller's slot
	w.statements(1 + w.n(8))
	f.Store(8, f.Param(1), 8, w.reg())
	if w.n(2) == 0 {
		f.ExitReg(f.OpImm(And, w.reg(), 1))
	}
	outer.budget = w.budget
	*w = outer
	w.add(w.b.Call(helperLoop, I(int64(w.n(4))), F(f), A(FP, slot), I(0)))
}

// program makes a random program.
func program(c *choices) *Program {
	p, b := New("main")
	w := &writer{choices: c, prog: p, b: b, budget: 120}
	w.regs = []Reg{b.Param(0)}
	w.newSlot()
	for range w.n(12) {
		w.add(b.Imm(w.number()))
	}
	w.statements(5 + w.n(60))
	// All that is left counts.
	sum := b.Imm(1)
	for _, r := range w.regs {
		b.ApplyImm(Mul, sum, 31)
		b.Apply(Add, sum, r)
	}
	b.ExitReg(sum)
	return p
}

// differ runs a program both ways and tells how the results differ.
func differ(p *Program) (ran bool, err error) {
	var text strings.Builder
	p.Dump(&text)
	e := &evaluator{prog: p}
	want, err := e.run(p.Funcs[0], contextAddr)
	if err != nil {
		return false, nil // the program does what none may: reads a slot of a branch not taken, runs on
	}
	code, err := p.Assemble()
	var frame *FrameError
	if errors.As(err, &frame) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w\n%s", err, text.String())
	}
	explain := func(format string, args ...any) error {
		return fmt.Errorf("%s\n%s\n%v", fmt.Sprintf(format, args...), text.String(), code)
	}
	defer func() {
		if r := recover(); r != nil {
			err = explain("%v", r)
		}
	}()
	m, err := newMachine(code)
	if err != nil {
		return false, explain("%v", err)
	}
	got, err := m.run(0, contextAddr)
	switch {
	case err != nil:
		return false, explain("%v", err)
	case got != want:
		return false, explain("got %#x, want %#x", got, want)
	case m.value != e.value:
		return false, explain("the map is %x, want %x", m.value, e.value)
	}
	return true, nil
}

// TestRandom compares what random programs do as built with what they do when assembled.
func TestRandom(t *testing.T) {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", s)
	ran := 0
	for i := range *count {
		ok, err := differ(program(&choices{random: rand.New(rand.NewPCG(s, uint64(i)))}))
		if err != nil {
			t.Fatalf("program %d of seed %d: %v", i, s, err)
		}
		if ok {
			ran++
		}
	}
	if ran < *count*9/10 {
		t.Errorf("only %d of %d programs could be compared", ran, *count)
	}
}

// FuzzAssemble does the same, led by a fuzzer.
func FuzzAssemble(f *testing.F) {
	f.Add([]byte{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := differ(program(&choices{data: data})); err != nil {
			t.Fatal(err)
		}
	})
}
