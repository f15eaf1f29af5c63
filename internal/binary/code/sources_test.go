package code

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
)

func TestSources(t *testing.T) {
	for _, c := range []struct {
		name, code string
		at         int
		slot       Slot
		want       string
	}{
		// mov %rdi,-8(%rsp); mov %esi,-16(%rsp); ret
		{"eight bytes", "48897c24f8 897424f0 c3", 9, Slot{dwarfRSP, -8, 8}, "[{5 0 8}] true"},
		{"four bytes", "48897c24f8 897424f0 c3", 9, Slot{dwarfRSP, -16, 4}, "[{4 0 4}] true"},
		{"a part only", "48897c24f8 897424f0 c3", 9, Slot{dwarfRSP, -16, 8}, "[] false"},
		// mov %cl,%al; mov %al,-1(%rsp): what is stored is not what al had
		{"moved", "88c8 884424ff c3", 6, Slot{dwarfRSP, -1, 1}, "[] false"},
		// mov $1,%ah; mov %eax,-4(%rsp)
		{"the second byte", "b401 894424fc c3", 6, Slot{dwarfRSP, -4, 4}, "[] false"},
		// mov %dil,-1(%rsp)
		{"one byte", "40887c24ff c3", 5, Slot{dwarfRSP, -1, 1}, "[{5 0 1}] true"},
		// movl $1,-4(%rsp)
		{"a constant", "c74424fc01000000 c3", 8, Slot{dwarfRSP, -4, 4}, "[] false"},
	} {
		fn, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		p, _ := ReadPrologue(abi.AMD64, fn, false)
		list, ok := p.Sources(c.at, c.slot)
		if got := fmt.Sprint(list, ok); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
