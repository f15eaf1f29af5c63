package code

import (
	"testing"

	"trocar/internal/binary/abi"
)

func TestStoredAt(t *testing.T) {
	const rax, rbx, rbp, r12, r15 = 0, 3, 6, 12, 15
	for _, c := range []struct {
		text       string
		from, base int
		off        int64
		ok         bool
	}{
		{"\x4c\x89\x7b\x38", r15, rbx, 0x38, true},                 // mov %r15,0x38(%rbx)
		{"\x4c\x89\x7d\x38\x90", r15, rbp, 0x38, true},             // mov %r15,0x38(%rbp)
		{"\x4d\x89\x7c\x24\x38", r15, r12, 0x38, true},             // mov %r15,0x38(%r12)
		{"\x48\x89\x43\xf8", rax, rbx, -8, true},                   // mov %rax,-8(%rbx)
		{"\x48\x8b\x43\x38", 0, 0, 0, false},                       // mov 0x38(%rbx),%rax
		{"\x89\x43\x38\x90", 0, 0, 0, false},                       // mov %eax,0x38(%rbx)
		{"\x4d\x89\x7c\x04\x38", 0, 0, 0, false},                   // mov %r15,0x38(%r12,%rax)
		{"\x4c\x89\xbb\x38\x00\x00\x00", 0, 0, 0, false},           // with 32 bits of distance
		{"\x4d\x89\x7c\x24", 0, 0, 0, false}, {"", 0, 0, 0, false}, // cut
	} {
		from, base, off, ok := StoredAt(abi.AMD64, []byte(c.text))
		if from != c.from || base != c.base || off != c.off || ok != c.ok {
			t.Errorf("% x: %d, %d, %d, %t", c.text, from, base, off, ok)
		}
	}
	if _, _, _, ok := StoredAt(abi.ARM64, []byte("\x4c\x89\x7b\x38")); ok {
		t.Error("of another CPU")
	}
}
