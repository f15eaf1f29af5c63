package code_test

import (
	"slices"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
)

// TestPolledReturns: returns are where the stack pointer is compared right before, and nowhere else.
func TestPolledReturns(t *testing.T) {
	const (
		frame = "\x48\x83\xc4\x30\x5d"                     // add rsp, 48; pop rbp
		poll  = "\x49\x3b\xa7\x48\x03\x00\x00"             // cmp rsp, [r15 + 840]
		short = "\x49\x3b\x67\x28"                         // cmp rsp, [r15 + 40]
		rest  = "\x0f\x87\x01\x00\x00\x00\xc3"             // ja; ret
		other = "\x4d\x3b\xa7\x48\x03\x00\x00" + rest      // cmp r12, [r15 + 840]
		loop  = "\x49\x8b\x8f\x50\x03\x00\x00\x85\x01\x90" // mov rcx, [r15 + 848]; test [rcx], eax; nop
	)
	for _, c := range []struct {
		text string
		want []int
		ok   bool
	}{
		{frame + poll + rest, []int{5}, true},
		{loop + frame + short + rest + frame + poll + rest, []int{15, 31}, true},
		{loop + "\xeb\xf4", nil, true}, // it never returns
		{frame + "\xc3", nil, false},
		{frame + poll + "\x90" + rest, nil, false},
		{other, nil, false},
		{poll + rest + "\x0f\xff", nil, false},
	} {
		at, err := code.PolledReturns(abi.AMD64, []byte(c.text))
		if (err == nil) != c.ok || c.ok && !slices.Equal(at, c.want) {
			t.Errorf("% x: %v, %v; want %v, %v", c.text, at, err, c.want, c.ok)
		}
	}
	if _, err := code.PolledReturns(abi.ARM64, nil); err == nil {
		t.Error("arm64 is known")
	}
}
