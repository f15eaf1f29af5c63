package code

import (
	"testing"

	"trocar/internal/binary/abi"
)

func TestStoresAhead(t *testing.T) {
	for _, c := range []struct {
		name string
		text []byte
		want bool
	}{
		{"mov (%rax),%rcx; ret", []byte{0x48, 0x8b, 0x08, 0xc3}, false},
		{"mov %rcx,(%rax); ret", []byte{0x48, 0x89, 0x08, 0xc3}, true},
		{"movaps (%rax),%xmm3; movaps %xmm3,0x10(%rsp)", []byte{0x0f, 0x28, 0x18, 0x0f, 0x29, 0x5c, 0x24, 0x10}, true},
		{
			"movss (%rax),%xmm0; jp; movss %xmm0,(%rax)",
			[]byte{0xf3, 0x0f, 0x10, 0x00, 0x7a, 0x00, 0xf3, 0x0f, 0x11, 0x00},
			false,
		},
		{"cmp $1,(%rax); ret", []byte{0x83, 0x38, 0x01, 0xc3}, false},
		{"add $1,(%rax)", []byte{0x83, 0x00, 0x01}, true},
		{"fldt (%rax); ret", []byte{0xdb, 0x28, 0xc3}, true}, // not known
		{"mov $1,%eax; add %eax,%ecx; ret", []byte{0xb8, 1, 0, 0, 0, 0x01, 0xc1, 0xc3}, false},
		{"movups %ymm0,(%rax)", []byte{0xc5, 0xfc, 0x11, 0x00}, true},
		{"stos", []byte{0xaa}, true},
		{"", nil, true},
	} {
		if got := StoresAhead(abi.AMD64, c.text); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
