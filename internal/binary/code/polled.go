package code

import (
	"errors"

	"trocar/internal/binary/abi"
)

var errPolled = errors.New("its code returns in a way that is not known")

// PolledReturns finds where code of HotSpot's compilers returns. Before that it compares the stack pointer with a word
// of its thread, and where the virtual machine wants all threads to stop it goes elsewhere, from where it returns to
// the caller by itself. So returns are seen at the comparison (C2SafepointPollStub): the frame is taken down there, and
// the result is in its register.
func PolledReturns(arch *abi.Arch, text []byte) (at []int, err error) {
	if arch != abi.AMD64 {
		return nil, errPolled
	}
	poll, jump := -1, -1 // where the comparison is, if it is the last instruction, and if a jump is that follows it
	for off := 0; off < len(text); {
		in, ok := Decode(arch, text[off:])
		if !ok || in.Len == 0 {
			return nil, ErrUndecodable
		}
		b := text[off : off+in.Len]
		switch {
		case in.Op == Ret && jump < 0:
			return nil, errPolled
		case in.Op == Ret:
			at = append(at, jump)
		}
		jump = -1
		if in.Op == CondJump {
			jump = poll
		}
		poll = -1
		if len(b) > 3 && b[0] == 0x49 && b[1] == 0x3b && b[2]&^0xc0 == 0x27 { // cmp rsp, [r15 + offset]
			poll = off
		}
		off += in.Len
	}
	return at, nil
}
