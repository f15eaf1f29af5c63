package code

import (
	"errors"

	"trocar/internal/binary/abi"
)

// InterpretedEntry gives the length of the instruction with which HotSpot's interpreter begins a call, which reads a
// word at an offset of the method's description (TemplateInterpreterGenerator::generate_normal_entry); 0: it does not.
func InterpretedEntry(arch *abi.Arch, text []byte, offset uint64) int {
	const n = 4
	if arch != abi.AMD64 || len(text) < n || offset > 127 || string(text[:n]) != "\x48\x8b\x53"+string(rune(offset)) {
		return 0 // mov rdx, [rbx + offset]
	}
	return n
}

// NotEntrant is what HotSpot makes of the first byte of compiled code that is to be called no more: a jump
// (NativeJump::patch_verified_entry). 0: it is not known.
func NotEntrant(arch *abi.Arch) byte {
	if arch != abi.AMD64 {
		return 0
	}
	return 0xe9
}

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
