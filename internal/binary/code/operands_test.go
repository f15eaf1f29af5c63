package code

import (
	"fmt"
	"testing"

	"trocar/internal/binary/abi"
)

func TestFrameOperands(t *testing.T) {
	for _, c := range []struct {
		text []byte
		want string
	}{
		// mov 0x10(%rsp),%rax; push; mov -8(%rbp),%eax
		{[]byte{0x48, 0x8b, 0x44, 0x24, 0x10, 0x53, 0x8b, 0x45, 0xf8, 0xc3}, "0:7+16 6:6-8 "},
		// (%r12), RIP, a register
		{[]byte{0x49, 0x8b, 0x44, 0x24, 0x10, 0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x89, 0xe5}, ""},
		// lea 0x80(%rsp),%rax; vmovups %xmm0,(%rsp)
		{[]byte{0x48, 0x8d, 0x84, 0x24, 0x80, 0, 0, 0, 0xc5, 0xf8, 0x11, 0x04, 0x24}, "0:7+128 8:7+0 "},
	} {
		got := ""
		if !FrameOperands(abi.AMD64, c.text, func(at, reg int, disp int64) {
			got += fmt.Sprintf("%d:%d%+d ", at, reg,
				disp)
		}) || got != c.want {
			t.Errorf("% x: %q, want %q", c.text, got, c.want)
		}
	}
}
