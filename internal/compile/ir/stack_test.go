package ir

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cilium/ebpf/asm"
)

// TestOwnStack: a tail call keeps the kernel from sharing the program's stack, and is jumped over.
func TestOwnStack(t *testing.T) {
	p, b := New("main")
	p.OwnStack = true
	b.Exit(0)
	insns, err := p.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	if len(insns) < 5 || insns[1].OpCode.JumpOp() != asm.JEq || insns[1].Offset != 2 ||
		insns[2].Constant != int64(asm.FnTailCall) || insns[3].OpCode.JumpOp() != asm.Exit {
		t.Errorf("%v", insns)
	}
}

func TestSpilledValuesShareSlots(t *testing.T) {
	p, b := New("main")
	sum := b.Imm(0)
	for range 5 { // each time, twelve values live at once
		var regs []Reg
		for range 12 {
			regs = append(regs, b.Call(0))
		}
		for _, r := range regs {
			b.Apply(Add, sum, r)
		}
	}
	b.ExitReg(sum)
	result(t, p)
	if b.stack > 10*8 {
		t.Errorf("the stack has %d bytes", b.stack)
	}
}

func TestSlots(t *testing.T) {
	_, b := New("main")
	if at := b.Slot(1); at != -8 {
		t.Errorf("first slot at %d", at)
	}
	mark := b.Frame()
	if at := b.Slot(12); at != -24 {
		t.Errorf("second slot at %d", at)
	}
	b.Release(mark)
	if at := b.Slot(8); at != -16 {
		t.Errorf("slot after a release at %d", at)
	}
	if b.deep != 24 {
		t.Errorf("most in use: %d", b.deep)
	}
}

func TestStackIsCountedOverCallbacks(t *testing.T) {
	build := func(frames ...int) error {
		p, b := New("main")
		for i, size := range frames {
			at := b.Slot(size)
			b.StoreImm(8, FP, at, 1)
			if i == len(frames)-1 {
				break
			}
			f := p.Func(fmt.Sprintf("cb%d", i), 2)
			b.Do(helperLoop, I(1), F(f), A(FP, at))
			b = f
		}
		_, err := p.Assemble()
		return err
	}
	var frame *FrameError
	if err := build(512); err != nil {
		t.Errorf("512 bytes: %v", err)
	}
	if err := build(520); !errors.As(err, &frame) || frame.Size != 544 || frame.Func != "main" {
		t.Errorf("520 bytes: %v", err)
	}
	if err := build(8, 440, 8); err != nil { // 32 + 448 + 32
		t.Errorf("a chain of 512 bytes: %v", err)
	}
	if err := build(40, 440, 8); !errors.As(err, &frame) || frame.Size != 64+448+32 || frame.Func != "cb1" {
		t.Errorf("a chain of 544 bytes: %v", err)
	}
	var nesting *NestingError
	if err := build(8, 8, 8, 8, 8, 8, 8, 8); err != nil {
		t.Errorf("8 functions: %v", err)
	}
	if err := build(8, 8, 8, 8, 8, 8, 8, 8, 8); !errors.As(err, &nesting) || nesting.Calls != 9 {
		t.Errorf("9 functions: %v", err)
	}
}
