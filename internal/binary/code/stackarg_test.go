package code

import (
	"testing"

	"trocar/internal/binary/abi"
)

func TestStackArg(t *testing.T) {
	for _, c := range []struct {
		name           string
		text           []byte
		address, value bool
	}{
		{
			"push %rbx; mov 0x10(%rsp),%rax; movzbl (%rax),%ecx; ret",
			[]byte{0x53, 0x48, 0x8b, 0x44, 0x24, 0x10, 0x0f, 0xb6, 0x08, 0xc3},
			true, false,
		},
		{"mov 0x10(%rsp),%rax; ret", []byte{0x48, 0x8b, 0x44, 0x24, 0x10, 0xc3}, false, true},
		{
			"mov 0x8(%rsp),%rax; mov $0,%eax; mov (%rax),%ecx",
			[]byte{0x48, 0x8b, 0x44, 0x24, 0x08, 0xb8, 0, 0, 0, 0, 0x8b, 0x08, 0xc3},
			false, false,
		},
		{"mov 0x18(%rsp),%rax; ret", []byte{0x48, 0x8b, 0x44, 0x24, 0x18, 0xc3}, false, true},
		{"mov 0x20(%rsp),%rax; ret", []byte{0x48, 0x8b, 0x44, 0x24, 0x20, 0xc3}, false, false},
		{"nothing", nil, false, false},
	} {
		address, value := StackArg(abi.AMD64, c.text, 8, 24)
		if address != c.address || value != c.value {
			t.Errorf("%s: %v, %v", c.name, address, value)
		}
	}
}
