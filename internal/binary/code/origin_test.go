package code

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
)

// TestStored finds where functions were passed what they store in their frames.
func TestStored(t *testing.T) {
	const rsp, rbp = dwarfRSP, dwarfRBP
	for _, c := range []struct {
		name, code string
		at         int
		slot       Slot
		want       string // offset, size, whether on the stack, register, place on the stack, masked
	}{
		// mov %rdi,-8(%rsp); mov %esi,-16(%rsp); ret
		{"eight bytes", "48897c24f8 897424f0 c3", 9, Slot{rsp, -8, 8}, "[{0 8 false 5 0 false}] true"},
		{"four bytes", "48897c24f8 897424f0 c3", 9, Slot{rsp, -16, 4}, "[{0 4 false 4 0 false}] true"},
		{"a part only", "48897c24f8 897424f0 c3", 9, Slot{rsp, -16, 8}, "[] false"},
		{"not the lowest bytes", "48897c24f8 897424f0 c3", 9, Slot{rsp, -4, 4}, "[] false"},
		// mov %cl,%al; mov %al,-1(%rsp)
		{"moved", "88c8 884424ff c3", 6, Slot{rsp, -1, 1}, "[{0 1 false 2 0 false}] true"},
		// mov $1,%ah; mov %eax,-4(%rsp)
		{"the second byte", "b401 894424fc c3", 6, Slot{rsp, -4, 4}, "[] false"},
		// mov %dh,-1(%rsp)
		{"of the second byte", "887424ff c3", 4, Slot{rsp, -1, 1}, "[] false"},
		// movl $1,-4(%rsp)
		{"a constant", "c74424fc01000000 c3", 8, Slot{rsp, -4, 4}, "[] false"},
		// movzwl %di,%eax; mov %eax,-4(%rsp)
		{"cut", "0fb7c7 894424fc c3", 7, Slot{rsp, -4, 4}, "[] false"},
		{"cut, of which that is asked", "0fb7c7 894424fc c3", 7, Slot{rsp, -4, 2}, "[{0 2 false 5 0 false}] true"},
		// mov %dl,%r10b; and $1,%r10b; mov %r10b,-1(%rsp)
		{"masked", "4188d2 4180e201 44885424ff c3", 12, Slot{rsp, -1, 1}, "[{0 1 false 1 0 true}] true"},
		// mov 8(%rsp),%al; mov %al,-1(%rsp)
		{"of the stack", "8a442408 884424ff c3", 8, Slot{rsp, -1, 1}, "[{0 1 true 0 8 false}] true"},
		// movb $5,8(%rsp); mov 8(%rsp),%al; mov %al,-1(%rsp)
		{"changed on the stack", "c644240805 8a442408 884424ff c3", 13, Slot{rsp, -1, 1}, "[] false"},
		// test %eax,%eax; je 1f; mov %edi,-4(%rsp); ret; 1: mov %edi,-4(%rsp); ret
		{"behind a branch", "85c0 7405 897c24fc c3 897c24fc c3", 0, Slot{rsp, -4, 4}, "[{0 4 false 5 0 false}] true"},
		// test %eax,%eax; je 1f; mov %edi,-4(%rsp); ret; 1: mov %esi,-4(%rsp); ret
		{"on two ways", "85c0 7405 897c24fc c3 897424fc c3", 0, Slot{rsp, -4, 4}, "[] false"},
		// mov %edi,-4(%rsp); mov %esi,-4(%rsp): the second is an assignment
		{"assigned later", "897c24fc 897424fc c3", 0, Slot{rsp, -4, 4}, "[{0 4 false 5 0 false}] true"},
		// push %rbx; mov %edi,%ebx; call; mov %ebx,-4(%rsp); pop %rbx; ret
		{"kept over a call", "53 89fb e800000000 895c24fc 5b c3", 1, Slot{rsp, -4, 4}, "[{0 4 false 5 0 false}] true"},
		// call; mov %edi,-4(%rsp)
		{"lost in a call", "e800000000 897c24fc c3", 0, Slot{rsp, -4, 4}, "[] false"},
		// lea -0x18(%rsp),%rax; mov %sil,(%rax); ret
		{"through an address", "488d4424e8 408830 c3", 0, Slot{rsp, -24, 1}, "[{0 1 false 4 0 false}] true"},
		// push %rbp; mov %rsp,%rbp; mov %edi,-4(%rbp); ret
		{"frame pointer", "55 4889e5 897dfc c3", 4, Slot{rbp, -4, 4}, "[{0 4 false 5 0 false}] true"},
		// jmp 2f; 1: mov %edi,-4(%rsp); ret; (not reached) mov %esi,%edi; jmp 1b; 2: jmp 1b
		{"code comes in", "eb0a 897c24fc c3 89f7 ebf7 90 ebf4", 0, Slot{rsp, -4, 4}, "[] false"},
		// rdtscp; mov %edx,-4(%rsp)
		{"counted", "0f01f9 895424fc c3", 0, Slot{rsp, -4, 4}, "[] false"},
		// rdpmc; mov %edx,-4(%rsp)
		{"read of a counter", "0f33 895424fc c3", 0, Slot{rsp, -4, 4}, "[] false"},
		// pextrd $1,%xmm0,%esi; mov %esi,-4(%rsp)
		{"out of a vector", "660f3a16c601 897424fc c3", 0, Slot{rsp, -4, 4}, "[] false"},
		// pcmpistri $0,%xmm1,%xmm0; mov %ecx,-4(%rsp)
		{"of a comparison", "660f3a63c100 894c24fc c3", 0, Slot{rsp, -4, 4}, "[] false"},
		// kmovd %k0,%esi; mov %esi,-4(%rsp)
		{"out of a mask", "c5fb93f0 897424fc c3", 0, Slot{rsp, -4, 4}, "[] false"},
		// rdsspq %rsi; mov %esi,-4(%rsp)
		{"the shadow stack", "f3480f1ece 897424fc c3", 0, Slot{rsp, -4, 4}, "[] false"},
		{"damaged", "0f", 0, Slot{rsp, -4, 4}, "[] false"},
	} {
		fn, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		list, ok := ReadOrigins(abi.AMD64, fn, nil).Stored(c.at, c.slot)
		if got := fmt.Sprint(list, ok); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if ReadOrigins(abi.ARM64, []byte{0xc0, 0x03, 0x5f, 0xd6}, nil) != nil {
		t.Error("it says something of another CPU's code")
	}
}

// FuzzStored gives it any bytes.
func FuzzStored(f *testing.F) {
	f.Add([]byte{0x48, 0x89, 0x7c, 0x24, 0xf8, 0x74, 0xf0, 0xc3}, 4)
	f.Fuzz(func(_ *testing.T, b []byte, at int) {
		if o := ReadOrigins(abi.AMD64, b, []int{at}); o != nil {
			o.Stored(at, Slot{dwarfRSP, -8, 8})
			o.Stored(0, Slot{dwarfRBP, 16, 64})
			o.Register(at, 3)
			o.Uses(5)
			o.UsesStack(8, 16)
		}
	})
}

// TestRegister tells where values in registers come from.
func TestRegister(t *testing.T) {
	for _, c := range []struct {
		name, code string
		at, reg    int
		want       string
	}{
		// push %rbx; mov %rdi,%rbx; call; ret
		{"moved and kept", "53 4889fb e800000000 c3", 9, 3, "{0 8 false 5 0 false} true"},
		// mov %edi,%ebx; ret
		{"a part", "89fb c3", 2, 3, "{0 4 false 5 0 false} true"},
		// push %rbp; mov %rsp,%rbp; mov 0x10(%rbp),%r14; ret
		{"of the stack", "55 4889e5 4c8b7510 c3", 8, 14, "{0 8 true 0 8 false} true"},
		{"at the entry", "c3", 0, 4, "{0 8 false 4 0 false} true"},
		// add $1,%rdi; ret
		{"changed", "4883c701 c3", 4, 5, "{0 0 false 0 0 false} false"},
		{"no argument", "c3", 0, 3, "{0 0 false 0 0 false} false"},
	} {
		fn, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		p, ok := ReadOrigins(abi.AMD64, fn, nil).Register(c.at, c.reg)
		if got := fmt.Sprint(p, ok); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestUses finds which arguments code is seen to use.
func TestUses(t *testing.T) {
	const rdi, rsi, rcx, rdx = 5, 4, 2, 1
	for _, c := range []struct {
		name, code string
		reg        int
		want       bool
	}{
		{"mov %edi,%eax", "89f8 c3", rdi, true},
		{"an address: mov (%rsi),%eax", "8b06 c3", rsi, true},
		{"another register", "89f8 c3", rsi, false},
		{"saved only: push %rcx", "51 59 c3", rcx, false},
		{"xor %edi,%edi; mov %edi,%eax", "31ff 89f8 c3", rdi, false},
		{"mov $1,%edi; mov %edi,%eax", "bf01000000 89f8 c3", rdi, false},
		{"test %dil,%dil", "4084ff c3", rdi, true},
		{"of another: test %bh,%bh", "84ff c3", rdi, false},
		{"mov %dh,%al is no rsi", "88f0 c3", rsi, false},
		{"cmp %edx,%ecx", "39d1 c3", rdx, true},
		{"nopw 0(%rdi)", "0f1f07 c3", rdi, false},
		{"movd %edi,%xmm0", "660f6ec7 c3", rdi, true},
		{"vmovups %xmm0,(%rdi)", "c5f81107 c3", rdi, true},
	} {
		fn, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := ReadOrigins(abi.AMD64, fn, nil).Uses(c.reg); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	for _, c := range []struct {
		name, code string
		off, size  int64
		want       bool
	}{
		{"mov 8(%rsp),%eax", "8b442408 c3", 8, 8, true},
		{"what is behind it", "8b442408 c3", 16, 8, false},
		{"movl $1,8(%rsp)", "c744240801000000 c3", 8, 8, false},
		{"add %eax,8(%rsp)", "01442408 c3", 8, 8, true},
		{"lea 8(%rsp),%rax", "488d442408 c3", 8, 8, false},
		{"fldt 16(%rsp)", "db6c2410 c3", 16, 16, true},
	} {
		fn, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := ReadOrigins(abi.AMD64, fn, nil).UsesStack(c.off, c.size); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
