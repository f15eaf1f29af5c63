package ir

import (
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
