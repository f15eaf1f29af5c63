package code

import (
	"testing"

	"trocar/internal/binary/abi"
)

func TestUsesArgument(t *testing.T) {
	const rsi, rdi, r9 = 4, 5, 9
	for _, c := range []struct {
		name string
		text []byte
		reg  int
		want bool
	}{
		{"mov (%rsi),%rax; ret", []byte{0x48, 0x8b, 0x06, 0xc3}, rsi, true},
		{"mov (%rsi),%rax; ret", []byte{0x48, 0x8b, 0x06, 0xc3}, rdi, false},
		{"mov %rsi,%rbx; ret", []byte{0x48, 0x89, 0xf3, 0xc3}, rsi, true},
		{"xor %esi,%esi; mov (%rsi),%rax", []byte{0x31, 0xf6, 0x48, 0x8b, 0x06, 0xc3}, rsi, false},
		{"call; mov (%rsi),%rax", []byte{0xe8, 0, 0, 0, 0, 0x48, 0x8b, 0x06, 0xc3}, rsi, false},
		{"je +1; ret; mov (%rsi),%rax; ret", []byte{0x74, 0x01, 0xc3, 0x48, 0x8b, 0x06, 0xc3}, rsi, true},
		{"vmovdqu (%rsi),%ymm0; ret", []byte{0xc5, 0xfe, 0x6f, 0x06, 0xc3}, rsi, true},
		{"mov (%r9),%rax; ret", []byte{0x49, 0x8b, 0x01, 0xc3}, r9, true},
		{"mov (%rcx),%rax; ret", []byte{0x48, 0x8b, 0x01, 0xc3}, r9, false},
	} {
		if got := UsesArgument(abi.AMD64, c.text, c.reg); got != c.want {
			t.Errorf("%s: register %d: %v", c.name, c.reg, got)
		}
	}
}
