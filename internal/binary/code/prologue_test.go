package code

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
)

func TestPrologue(t *testing.T) {
	rsp, rbp := dwarfRSP, dwarfRBP
	for _, c := range []struct {
		name, code string
		at         int // a place to look at
		slot       Slot
		want       bool
	}{
		// sub $0x78,%rsp; mov %cl,7(%rsp); mov %rsi,0x18(%rsp); mov %edi,8(%rsp); ret
		{"stored later", "4883ec78 884c2407 4889742418 897c2408 c3", 4, Slot{rsp, 8, 4}, false},
		{"stored", "4883ec78 884c2407 4889742418 897c2408 c3", 17, Slot{rsp, 8, 4}, true},
		{"one byte", "4883ec78 884c2407 4889742418 897c2408 c3", 8, Slot{rsp, 7, 1}, true},
		{"a part only", "4883ec78 884c2407 4889742418 897c2408 c3", 17, Slot{rsp, 8, 8}, false},
		{"of the caller", "4883ec78 884c2407 c3", 4, Slot{rsp, 0x80, 16}, true},
		// push %rbp; mov %rsp,%rbp; mov %edi,-4(%rbp); ret
		{"frame pointer", "55 4889e5 897dfc c3", 7, Slot{rbp, -4, 4}, true},
		{"through the other register", "55 4889e5 897dfc c3", 7, Slot{rsp, -4, 4}, true},
		{"above the frame", "55 4889e5 897dfc c3", 7, Slot{rbp, 16, 32}, true},
		{"the return address", "55 4889e5 897dfc c3", 7, Slot{rbp, 8, 8}, false},
		// push %rbp; mov %rsp,%rbp; test %al,%al; je +4; movaps %xmm0,-0x40(%rbp); mov %edi,-4(%rbp); ret
		{"over the branch", "55 4889e5 84c0 7404 0f2945c0 897dfc c3", 15, Slot{rbp, -4, 4}, true},
		{"on one way only", "55 4889e5 84c0 7404 0f2945c0 897dfc c3", 15, Slot{rbp, -64, 16}, false},
		// mov %edi,-4(%rsp); and $1,%r10b; ret: four is no register there
		{"the number of an operation", "897c24fc 4180e201 c3", 8, Slot{rsp, -4, 4}, true},
		// mov %edi,-4(%rsp); mov %esi,-4(%rsp): who knows which is meant
		{"stored twice", "897c24fc 897424fc c3", 8, Slot{rsp, -4, 4}, false},
		// push %rbp; mov %rsp,%rbp; and $-32,%rsp; mov %edi,4(%rsp)
		{"aligned", "55 4889e5 4883e4e0 897c2404 c3", 12, Slot{rsp, 4, 4}, true},
		{"aligned, from the frame pointer", "55 4889e5 4883e4e0 897c2404 c3", 12, Slot{rbp, 4, 4}, false},
		// mov %rdi,%rbp; mov %esi,-4(%rbp): the frame pointer is none
		{"no frame pointer", "4889fd 8975fc c3", 6, Slot{rbp, -4, 4}, false},
		// vmovups %ymm0,-0x28(%rsp); vmovss %xmm1,-4(%rsp)
		{"vector", "c5fc114424d8 c5fa114c24fc c3", 12, Slot{rsp, -40, 32}, true},
		{"vector of one", "c5fc114424d8 c5fa114c24fc c3", 12, Slot{rsp, -4, 4}, true},
	} {
		fn, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		p, ok := ReadPrologue(abi.AMD64, fn, false)
		if !ok {
			t.Fatalf("%s: not read", c.name)
		}
		if got := p.Stores(c.at, c.slot); got != c.want {
			t.Errorf("%s: stored is %v at +%d", c.name, got, c.at)
		}
	}
	// Behind a branch that does not come back no place is one that all calls pass.
	p, _ := ReadPrologue(abi.AMD64, []byte{0x85, 0xff, 0x74, 0x05, 0x89, 0x7c, 0x24, 0xfc, 0xc3, 0x31, 0xc0, 0xc3}, false)
	if len(p.Ends) != 1 {
		t.Errorf("places behind a branch: %v", p.Ends)
	}
}

// TestHomes: where callers leave room for what is passed in registers, it has that only once it is stored.
func TestHomes(t *testing.T) {
	// mov %r9d,%eax; mov %ax,0x20(%rsp); mov %ecx,8(%rsp); movl $0,0x10(%rsp); movl $0,0x28(%rsp); ret
	fn, err := hex.DecodeString("4489c8" + "6689442420" + "894c2408" + "c744241000000000" + "c744242800000000" + "c3")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := ReadPrologue(abi.AMD64, fn, true)
	p.Homes, p.Begun = true, 12
	for _, c := range []struct {
		name string
		at   int
		slot Slot
		want bool
	}{
		{"stored from a register", 12, Slot{dwarfRSP, 8, 4}, true},
		{"stored from a copy", 12, Slot{dwarfRSP, 0x20, 2}, true},
		{"not stored", 12, Slot{dwarfRSP, 0x18, 4}, false},
		{"set by a statement", 20, Slot{dwarfRSP, 0x10, 4}, false},
		{"passed there", 20, Slot{dwarfRSP, 0x28, 4}, true},
		{"passed there and changed", 28, Slot{dwarfRSP, 0x28, 4}, false},
	} {
		if got := p.Stores(c.at, c.slot); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestEntryReads(t *testing.T) {
	for code, want := range map[string][]int{
		"4889c8 c3":                 {2},    // mov %rcx,%rax
		"51 31c9 89ca c3":           nil,    // push %rcx; xor %ecx,%ecx; mov %ecx,%edx
		"0f6f02 450fbec9 7402 8901": {1, 9}, // movq (%rdx),%mm0; movsbl %r9b,%r9d; je; mov %eax,(%rcx)
	} {
		fn, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := EntryReads(abi.AMD64, fn); !slices.Equal(got, want) {
			t.Errorf("%s: %v", code, got)
		}
	}
}
