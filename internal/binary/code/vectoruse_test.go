package code

import (
	"testing"

	"trocar/internal/binary/abi"
)

func TestVectorUse(t *testing.T) {
	for _, c := range []struct {
		text string // by GNU as
		n    byte
		want use
	}{
		{"\xf2\x0f\x58\xc1", 0, takesIt},             // addsd %xmm1, %xmm0
		{"\xf2\x0f\x58\xc1", 1, takesIt},             //
		{"\xf2\x0f\x58\xc1", 2, leavesIt},            //
		{"\x0f\x57\xc0", 0, mayChangeIt},             // xorps %xmm0, %xmm0
		{"\x66\x0f\xef\xc9", 1, mayChangeIt},         // pxor %xmm1, %xmm1
		{"\x0f\x57\xc1", 0, takesIt},                 // xorps %xmm1, %xmm0
		{"\xf2\x0f\x10\x07", 0, mayChangeIt},         // movsd (%rdi), %xmm0
		{"\xf2\x0f\x11\x07", 0, takesIt},             // movsd %xmm0, (%rdi)
		{"\xf2\x0f\x10\xc8", 0, takesIt},             // movsd %xmm0, %xmm1
		{"\xf2\x0f\x10\xc8", 1, mayChangeIt},         //
		{"\x66\x44\x0f\x28\xc0", 0, takesIt},         // movapd %xmm0, %xmm8
		{"\x66\x44\x0f\x28\xc0", 8, mayChangeIt},     //
		{"\x66\x48\x0f\x7e\xc0", 0, takesIt},         // movq %xmm0, %rax
		{"\x66\x48\x0f\x6e\xc0", 0, mayChangeIt},     // movq %rax, %xmm0
		{"\xf2\x48\x0f\x2a\xc0", 0, mayChangeIt},     // cvtsi2sd %rax, %xmm0
		{"\xf2\x0f\x2c\xc1", 1, takesIt},             // cvttsd2si %xmm1, %eax
		{"\xf2\x0f\x2c\xc1", 0, leavesIt},            //
		{"\x66\x0f\x2e\xc1", 0, takesIt},             // ucomisd %xmm1, %xmm0
		{"\xc5\xfb\x58\xd1", 0, takesIt},             // vaddsd %xmm1, %xmm0, %xmm2
		{"\xc5\xfb\x58\xd1", 1, takesIt},             //
		{"\xc5\xfb\x58\xd1", 2, mayChangeIt},         //
		{"\xc5\xf8\x57\xc0", 0, mayChangeIt},         // vxorps %xmm0, %xmm0, %xmm0
		{"\xc5\xfb\x11\x07", 0, takesIt},             // vmovsd %xmm0, (%rdi)
		{"\xc4\x41\x3b\x58\xc9", 8, takesIt},         // vaddsd %xmm9, %xmm8, %xmm9
		{"\xc4\x41\x3b\x58\xc9", 9, takesIt},         //
		{"\xc4\x41\x3b\x58\xc9", 0, leavesIt},        //
		{"\xc5\x7b\x58\xc1", 0, takesIt},             // vaddsd %xmm1, %xmm0, %xmm8
		{"\xc5\x7b\x58\xc1", 8, mayChangeIt},         //
		{"\x62\xf1\xff\x08\x58\xc1", 0, mayChangeIt}, // vaddsd of EVEX: nothing is said
		{"\x48\x89\xc7", 0, leavesIt},                // mov %rax, %rdi
		{"\x0f\xb6\xc0", 0, leavesIt},                // movzbl %al, %eax
		{"\x66\x0f\x3a\x17\xc0\x01", 0, mayChangeIt}, // extractps: nothing is said
		{"\xf3\x0f\x5a\xc0", 0, takesIt},             // cvtss2sd %xmm0, %xmm0
		{"\xf3\x0f\x7e\xc8", 0, takesIt},             // movq %xmm0, %xmm1
		{"\xf3\x0f\x7e\xc8", 1, mayChangeIt},         //
		{"\xdd\x04\x24", 0, leavesIt},                // fldl (%rsp)
	} {
		if got := vectorUse([]byte(c.text), c.n); got != c.want {
			t.Errorf("%x, xmm%d: %d, want %d", c.text, c.n, got, c.want)
		}
	}
	fn := []byte("\x48\x89\xc7\xf2\x0f\x58\xc8\xc3") // mov %rax, %rdi; addsd %xmm0, %xmm1; ret
	for n, want := range []bool{true, true, false} {
		if got := EntryUsesVector(abi.AMD64, fn, n); got != want {
			t.Errorf("xmm%d: %v", n, got)
		}
	}
}
