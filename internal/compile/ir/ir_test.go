package ir

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
)

// assemble makes the instructions of a program that must be fine.
func assemble(t *testing.T, p *Program) asm.Instructions {
	t.Helper()
	code, err := p.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// result is what a program returns.
func result(t *testing.T, p *Program) uint64 {
	t.Helper()
	code := assemble(t, p)
	m, err := newMachine(code)
	if err != nil {
		t.Fatalf("%v\n%v", err, code)
	}
	res, err := m.run(0, contextAddr)
	if err != nil {
		t.Fatalf("%v\n%v", err, code)
	}
	return res
}

// shape lists the operations of a program in short.
func shape(code asm.Instructions) string {
	var s []string
	for _, i := range code {
		text := fmt.Sprint(i.OpCode)
		if i.IsBuiltinCall() {
			text = "call"
		}
		s = append(s, text)
	}
	return strings.Join(s, " ")
}

func TestUnneededCodeIsRemoved(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *Builder)
		want  string
	}{
		{"value not used", func(b *Builder) { b.Imm(1) }, "MovImm Exit"},
		{"chain of values not used", func(b *Builder) { b.OpImm(Add, b.Op(Mul, b.Imm(2), b.Imm(3)), 1) }, "MovImm Exit"},
		{"load not used", func(b *Builder) { b.Load(8, b.Param(0), 0) }, "MovImm Exit"},
		{"overwritten", func(b *Builder) { r := b.Imm(1); b.SetImm(r, 2); b.ExitReg(r) }, "MovImm MovReg Exit"},
		{"result of a call not used", func(b *Builder) { b.Call(0) }, "call MovImm Exit"},
		{"loop variable used by itself only", func(b *Builder) {
			i, top := b.Imm(0), b.Label()
			b.Bind(top)
			b.Do(0)
			b.ApplyImm(Add, i, 1)
			b.IfImm(LT, b.Load(8, b.Param(0), 0), 5, top)
		}, "MovReg MovImm call AddImm LdXMemDW JLTImm MovImm Exit"}, // liveness can't tell
		{"behind a jump", func(b *Builder) {
			l := b.Label()
			b.Jump(l)
			b.Do(0)
			b.Bind(l)
		}, "MovImm Exit"},
		{"behind exit", func(b *Builder) { b.Exit(3); b.Do(0) }, "MovImm Exit"},
		{"loop that is not reached", func(b *Builder) {
			b.Exit(3)
			top := b.Label()
			b.Bind(top)
			b.Do(0)
			b.Jump(top)
		}, "MovImm Exit"},
		{"jump to the next instruction", func(b *Builder) {
			l, m := b.Label(), b.Label()
			b.Jump(l)
			b.Bind(m)
			b.Comment("between")
			b.Bind(l)
			b.Do(0)
		}, "call MovImm Exit"},
		{"move to itself", func(b *Builder) { r := b.Call(0); b.Set(r, r); b.ExitReg(r) }, "call MovReg MovReg Exit"},
	} {
		p, b := New("main")
		c.build(b)
		if got := shape(assemble(t, p)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestUnusedCallbackIsLeftOut(t *testing.T) {
	p, b := New("main")
	f := p.Func("cb1", 2)
	f.Exit(0)
	b.Exit(1)
	b.Do(helperLoop, I(1), F(f), I(0))
	if got := shape(assemble(t, p)); got != "MovImm Exit" {
		t.Error(got)
	}
}

func TestFarLifeGivesWayToNearOnes(t *testing.T) {
	p, b := New("main")
	var far []Reg
	for i := range 12 {
		far = append(far, b.Call(0)) // nobody knows the value
		_ = i
	}
	near := b.Call(0)
	sum := b.Op(Add, near, near)
	for _, r := range far {
		b.Apply(Add, sum, r)
	}
	b.ExitReg(sum)
	code := assemble(t, p)
	m := &memory{}
	want, _ := m.helper(0, nil, nil)
	machine, err := newMachine(code)
	if err != nil {
		t.Fatal(err)
	}
	got, err := machine.run(0, contextAddr)
	if err != nil || got != 14*want {
		t.Errorf("got %d, %v, want %d\n%v", got, err, 14*want, code)
	}
	stores := 0
	for _, i := range code {
		if i.OpCode.Class() == asm.StXClass {
			stores++
		}
	}
	if stores == 0 || stores > 10 {
		t.Errorf("%d values are spilled:\n%v", stores, code)
	}
	if b.stack != 8*stores {
		t.Errorf("the stack has %d bytes for %d values", b.stack, stores)
	}
}

// TestSpilledConstants: an immediate store would make verifiers before 6.3 forget the value.
func TestSpilledConstants(t *testing.T) {
	p, b := New("main")
	var regs []Reg
	for i := range 12 {
		regs = append(regs, b.Imm(int64(i)))
	}
	b.Do(0)
	sum := b.Imm(0)
	for _, r := range regs {
		b.Apply(Add, sum, r)
	}
	b.ExitReg(sum)
	for _, i := range assemble(t, p) {
		if i.OpCode.Class() == asm.StClass {
			t.Errorf("%v", i)
		}
	}
}

func TestValuesCrossCalls(t *testing.T) {
	p, b := New("main")
	x := b.Load(8, b.MapValue("m", 0), 0)
	over := b.Label()
	b.IfImm(EQ, x, 1, over)
	b.Do(5, R(x), R(x), R(x), R(x), R(x)) // a block that begins with a call
	b.Bind(over)
	b.ApplyImm(Add, x, 7)
	b.ExitReg(x)
	if got := result(t, p); got != 7 {
		t.Errorf("got %d", got)
	}
}

// TestMoves tries all ways to pass four values as arguments, each in a register, spilled, a constant or an address.
func TestMoves(t *testing.T) {
	sources := []asm.Register{asm.R2, asm.R3, asm.R4, asm.R5, asm.R6}
	// Kinds: 0-4 a register, 5 spilled, 6 a constant, 7-8 an address based on a register.
	value := func(k int) uint64 {
		switch k {
		case 5:
			return 500
		case 6:
			return 600
		case 7, 8:
			return uint64(100*(k-7)) + 16 + 100
		}
		return uint64(100 * (k + 1))
	}
	n := 0
	for k := range 9 * 9 * 9 * 9 {
		kinds := [4]int{k % 9, k / 9 % 9, k / 81 % 9, k / 729}
		e := &emitter{}
		for _, r := range sources {
			e.homes = append(e.homes, home{reg: r})
		}
		e.homes = append(e.homes, home{spilled: true, slot: -8})
		for i, r := range sources {
			e.add(asm.Mov.Imm(r, int32(100*(i+1))))
		}
		e.add(storeImm(asm.RFP, -8, 500, 8))
		var ms []move
		for i, kind := range kinds {
			o := R(Reg(kind))
			switch kind {
			case 6:
				o = I(600)
			case 7, 8:
				o = A(Reg(kind-7), 16)
			}
			ms = append(ms, move{to: home{reg: asm.Register(2 + i)}, from: o})
		}
		e.moves(ms)
		// r0 = r2 * 10^9 + r3 * 10^6 …
		e.add(asm.Mov.Imm(asm.R0, 0))
		for i := range kinds {
			e.add(asm.Mul.Imm(asm.R0, 1000))
			e.add(asm.Add.Reg(asm.R0, asm.Register(2+i)))
		}
		e.add(asm.Return())
		m, err := newMachine(e.out)
		if err != nil {
			t.Fatal(err)
		}
		want := uint64(0)
		for _, kind := range kinds {
			want = 1000*want + value(kind)
		}
		if got, err := m.run(0); err != nil || got != want {
			t.Fatalf("%v: got %d, %v, want %d\n%v", kinds, got, err, want, e.out)
		}
		n++
	}
}

// TestParameters: they come in R1 to R5, where other values may want to live.
func TestParameters(t *testing.T) {
	p, b := New("main")
	f := p.Func("cb1", 5)
	sum := f.Imm(0)
	for i := range 5 {
		f.ApplyImm(Mul, sum, 10)
		f.Apply(Add, sum, f.Param(4-i))
	}
	for i := range 5 {
		f.Apply(Add, f.Param(i), sum) // they may be assigned
	}
	f.ExitReg(f.Param(2))
	b.Do(helperLoop, I(1), F(f), I(0))
	code := assemble(t, p)
	m, err := newMachine(code)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.run(m.symbols["cb1"], 1, 2, 3, 4, 5); err != nil || got != 54321+3 {
		t.Errorf("got %d, %v\n%v", got, err, code)
	}
}

func TestConstantsThatInstructionsRefuse(t *testing.T) {
	for _, c := range []struct {
		op        Op
		x, y      int64
		want      uint64
		immediate bool
	}{
		{Div, 7, 0, 0, false},
		{Mod, 7, 0, 7, false},
		{Shl, 1, 64, 1, true},
		{Shl, 1, -1, 1 << 63, true},
		{Shr, -1, 65, math.MaxInt64, true},
		{Sar, -8, 65, math.MaxUint64 - 3, true},
		{Add, 1, 1 << 40, 1<<40 + 1, false},
		{And, -1, 1<<32 - 1, 1<<32 - 1, false},
	} {
		p, b := New("main")
		x := b.Load(8, b.MapValue("m", 0), 0)
		b.ApplyImm(Add, x, c.x)
		b.ExitReg(b.OpImm(c.op, x, c.y))
		if got := result(t, p); got != c.want {
			t.Errorf("%d %s %d: got %d, want %d", c.x, opNames[c.op], c.y, int64(got), int64(c.want))
		}
	}
}

func TestLabels(t *testing.T) {
	t.Run("two at one place", func(t *testing.T) {
		p, b := New("main")
		l, m := b.Label(), b.Label()
		x := b.Load(8, b.MapValue("m", 0), 0)
		b.IfImm(EQ, x, 1, l)
		b.IfImm(EQ, x, 0, m)
		b.Exit(1)
		b.Bind(l)
		b.Bind(m)
		b.Exit(2)
		if got := result(t, p); got != 2 {
			t.Errorf("got %d", got)
		}
	})
	t.Run("with a move between that needs no instruction", func(t *testing.T) {
		p, b := New("main")
		l, m := b.Label(), b.Label()
		x := b.Load(8, b.MapValue("m", 0), 0)
		y := b.Reg()
		b.IfImm(EQ, x, 0, l)
		b.SetImm(x, 5)
		b.Bind(l)
		b.Set(y, x)
		b.Bind(m)
		b.ApplyImm(Add, y, 1)
		b.IfImm(LT, y, 3, m)
		b.ExitReg(y)
		if got := result(t, p); got != 3 {
			t.Errorf("got %d", got)
		}
	})
	t.Run("first in a callback", func(t *testing.T) {
		p, b := New("main")
		f := p.Func("cb1", 2)
		top := f.Label()
		f.Bind(top)
		f.IfImm(EQ, f.Call(0), 0, top)
		b.Do(helperLoop, I(1), F(f), I(0))
		if got := result(t, p); got != 0 {
			t.Errorf("got %d", got)
		}
	})
	t.Run("without a place", func(t *testing.T) {
		p, b := New("main")
		b.IfImm(EQ, b.Call(0), 0, b.Label())
		if _, err := p.Assemble(); err == nil || !strings.Contains(err.Error(), "no place") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("too far", func(t *testing.T) {
		p, b := New("main")
		end := b.Label()
		b.IfImm(EQ, b.Call(0), 0, end)
		for range 20000 { // two units each
			b.Store(8, b.MapValue("m", 0), 0, b.Param(0))
		}
		b.Bind(end)
		_, err := p.Assemble()
		var far *JumpError
		if !errors.As(err, &far) || far.Distance < 40000 {
			t.Errorf("got %v", err)
		}
	})
}

func TestMove(t *testing.T) {
	p, b := New("main")
	x := b.Imm(1)
	start := b.Len()
	b.ApplyImm(Mul, x, 10)
	mark := b.Len()
	b.ApplyImm(Add, x, 2)
	b.Move(mark, start)
	b.ExitReg(x)
	if got := result(t, p); got != 30 {
		t.Errorf("got %d", got)
	}
}

func TestDump(t *testing.T) {
	p, b := New("main")
	f := p.Func("cb1", 2)
	f.Exit(1)
	slot, l := b.Slot(16), b.Label()
	b.Comment("line %d", 1)
	x := b.Imm(-1)
	y := b.Low32(x)
	b.Apply(Sar, y, x)
	b.Apply(Neg, y, y)
	b.ApplyImm(Mod, y, 3)
	b.Swap(y, 32)
	b.Store(4, FP, slot, y)
	b.StoreImm(2, FP, slot+4, 7)
	b.AtomicAdd(8, FP, slot, x)
	b.Xchg(b.MapValue("m", 8), 0, x)
	b.FetchAdd(b.MapValue("m", 8), 0, x)
	b.If(SGT, x, y, l)
	b.IfImm(Set, x, 4, l)
	b.Call(asm.FnMapLookupElem, M("m"), A(FP, slot))
	b.Do(asm.FnLoop, I(3), F(f), R(x), MV("m", 4))
	b.Kfunc(77, R(x))
	b.LoadTo(x, 1, b.MapValue("m", 0), 3)
	b.Jump(l)
	b.Bind(l)
	b.ExitReg(x)
	var got strings.Builder
	p.Dump(&got)
	const want = `func main (frame 16)
    v0 = param 0
    ; line 1
    v1 = -1
    v2 = v1 (32)
    v2 s>>= v1
    v2 = -v2
    v2 %= 3
    v2 = swap32 v2
    u32[fp-16] = v2
    u16[fp-12] = 7
    atomic u64[fp-16] += v1
    v3 = map m[0]+8
    v4 = v1
    v4 = xchg u64[v3+0]
    v5 = map m[0]+8
    v6 = v1
    v6 = fetch u64[v5+0] += v6
    if v1 s> v2 goto L0
    if v1 & 4 goto L0
    v7 = FnMapLookupElem(map m, fp-16)
    _ = FnLoop(3, func cb1, v1, map m[0]+4)
    v8 = kfunc#77(v1)
    v9 = map m[0]+0
    v1 = u8[v9+3]
    goto L0
  L0:
    exit v1
func cb1 (frame 0)
    v0 = param 0
    v1 = param 1
    exit 1
`
	if got.String() != want {
		t.Errorf("got\n%s", got.String())
	}
}

// BenchmarkAssemble: a script of some hundred statements must not be felt at the start.
func BenchmarkAssemble(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				p, f := New("main")
				for range n {
					skip := f.Label()
					at := f.Slot(8)
					f.StoreImm(8, FP, at, 1)
					r := f.Call(1, A(FP, at))
					f.IfImm(EQ, r, 0, skip)
					f.AtomicAdd(8, r, 0, f.Imm(1))
					f.Bind(skip)
					f.Release(0)
				}
				if _, err := p.Assemble(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestTooLong: what is live is not worked out for what no kernel takes.
func TestTooLong(t *testing.T) {
	p, b := New("p0")
	for range MaxLen + 1 {
		b.Imm(1)
	}
	var long *LengthError
	if _, err := p.Assemble(); !errors.As(err, &long) || long.Len <= MaxLen {
		t.Errorf("%v", err)
	}
	p, b = New("p0")
	var regs []Reg // all live from the first branch to the last
	for range 60_000 {
		regs = append(regs, b.Imm(1))
	}
	for i := range 30_000 {
		end := b.Label()
		b.IfImm(EQ, regs[i], 0, end)
		b.Bind(end)
	}
	for _, r := range regs {
		b.Apply(Add, regs[0], r)
	}
	b.ExitReg(regs[0])
	if _, err := p.Assemble(); !errors.As(err, &long) || long.Blocks == 0 {
		t.Errorf("%v", err)
	}
}

// TestConstantsWithoutRegisters: a constant for which no register is left is made anew where it is used.
func TestConstantsWithoutRegisters(t *testing.T) {
	const constant = 0x1234_5678_9abc
	p, b := New("p")
	c := b.Imm(constant)
	var others []Reg
	for range 8 {
		others = append(others, b.Call(0))
	}
	sum := b.Op(Add, c, others[0])
	for range 3 {
		for _, r := range others {
			b.Apply(Add, sum, r)
		}
	}
	b.Apply(Xor, sum, c)
	b.ExitReg(sum)
	code := assemble(t, p)
	loads := 0
	for i, in := range code {
		if in.OpCode.IsDWordLoad() {
			loads++
			if code[i+1].OpCode.Class() == asm.StXClass {
				t.Errorf("the constant is stored:\n%v", code)
			}
		}
	}
	if loads != 2 {
		t.Errorf("the constant is made %d times, want 2:\n%v", loads, code)
	}
	m := &memory{}
	one, err := m.helper(0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := newMachine(code)
	if err != nil {
		t.Fatal(err)
	}
	want := (constant + 25*one) ^ constant
	if got, err := machine.run(0, contextAddr); err != nil || got != want {
		t.Errorf("got %#x, %v, want %#x", got, err, want)
	}
}
