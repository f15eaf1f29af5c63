package code

import (
	"encoding/binary"
	"errors"

	"trocar/internal/binary/abi"
)

// Epilogue is where a function of .NET's compiler begins to leave: the instructions from there on give the stack back
// and return, or jump to another function in whose place it returns. The runtime reads them to find the caller of a
// thread that it has stopped there, so that only the first one may be changed by a probe.
type Epilogue struct {
	At, End int // of its first instruction, and behind the last, from the function's start
	// The address of the return address is there what Reg has (a DWARF number), plus Offset.
	Reg    int
	Offset int64
	Tail   bool // it goes on in another function
}

// Reasons for which epilogues are not known.
var (
	errFrame       = errors.New("how it sets up its frame is not known")
	errConditional = errors.New("it ends in a conditional tail call")
)

// Epilogues finds the epilogues of a function whose code is body. All of it must be decoded, and each epilogue must
// undo what the function does to the stack at its start.
func Epilogues(arch *abi.Arch, body []byte) (list []Epilogue, err error) {
	if arch != abi.AMD64 {
		return nil, errFrame
	}
	var starts []int
	for at := 0; at < len(body); {
		in, ok := Decode(arch, body[at:])
		if !ok || in.Len == 0 {
			return nil, ErrUndecodable
		}
		starts = append(starts, at)
		target := at + int(in.Target)
		outside := target < 0 || target >= len(body)
		tail := in.Op == Jump && (in.Direct && outside || !in.Direct && tailJump(body[at:at+in.Len]))
		switch {
		case in.Op == CondJump && outside:
			return nil, errConditional
		case in.Op == Ret || tail:
			e, ok := epilogue(body, starts, frameOf(body))
			if !ok {
				return nil, errFrame
			}
			e.Tail, e.End = tail, at+in.Len
			list = append(list, e)
		}
		at += in.Len
	}
	return list, nil
}

// Exits finds the instructions with which a method of .NET's compiler returns, and the jumps to others that return in
// its place, in code of which only the begin and the whole size are known: the parts that handle exceptions, which
// follow the method's own code, begin by saving a register, as no code behind a jump does otherwise.
func Exits(arch *abi.Arch, body []byte) (returns, tails []int, err error) {
	if arch != abi.AMD64 {
		return nil, nil, errFrame
	}
	gone := false // the instruction before does not go on with the next
	for at := 0; at < len(body); {
		in, ok := Decode(arch, body[at:])
		if !ok || in.Len == 0 {
			return nil, nil, ErrUndecodable
		}
		text := body[at : at+in.Len]
		if gone && in.Op == Push && text[len(text)-1]&0xf8 == pushReg {
			break
		}
		target := at + int(in.Target)
		outside := target < 0 || target >= len(body)
		switch {
		case in.Op == CondJump && outside:
			return nil, nil, errConditional
		case in.Op == Ret:
			returns = append(returns, at)
		case in.Op == Jump && (in.Direct && outside || !in.Direct && tailJump(text)):
			tails = append(tails, at)
		}
		padding := text[0] == 0xcc || text[0] == 0x90 || text[0] == 0x0f && len(text) > 1 && text[1] == 0x1f
		gone = in.Op == Ret || in.Op == Jump || text[0] == 0xcc || gone && padding
		at += in.Len
	}
	return returns, tails, nil
}

// tailJump tells an indirect jump out of a function from those of a switch: the runtime's rules for epilogues want it
// to have REX.W, or its target in memory at a fixed address.
func tailJump(in []byte) bool {
	return len(in) >= 3 && in[0]&0xf8 == 0x48 && in[1] == 0xff || len(in) >= 2 && in[0] == 0xff && in[1] == 0x25
}

// frame is what a function does to the stack at its start: how far below the return address the stack pointer is then,
// and the frame pointer, 0: it has none.
type frame struct{ sp, fp int64 }

// Encodings of x86-64 (Intel SDM, volume 2).
const (
	rexW, rexB     = 0x48, 0x41
	popReg         = 0x58 // and the seven behind
	pushReg        = 0x50
	addSub8        = 0x83
	addSub32       = 0x81
	addRSP, subRSP = 0xc4, 0xec
	leaOp          = 0x8d
	dwarfBP        = 6
	dwarfSP        = 7
)

func frameOf(body []byte) (f frame) {
	for len(body) > 0 {
		in, ok := Decode(abi.AMD64, body)
		if !ok {
			return f
		}
		b := body[:in.Len]
		switch imm, isSub := stackStep(b, subRSP); {
		case in.Op == Push && (len(b) == 1 && b[0]&0xf8 == pushReg || len(b) == 2 && b[0] == rexB && b[1]&0xf8 == pushReg):
			f.sp += 8
		case isSub:
			f.sp += imm
		case len(b) == 3 && b[0] == rexW && (b[1] == 0x8b && b[2] == 0xec || b[1] == 0x89 && b[2] == 0xe5): // mov rbp,rsp
			f.fp = f.sp
		case len(b) == 5 && b[0] == rexW && b[1] == leaOp && b[2] == 0x6c && b[3] == 0x24: // lea rbp,[rsp+imm8]
			f.fp = f.sp - int64(int8(b[4]))
		case len(b) == 8 && b[0] == rexW && b[1] == leaOp && b[2] == 0xac && b[3] == 0x24: // lea rbp,[rsp+imm32]
			f.fp = f.sp - int64(int32(binary.LittleEndian.Uint32(b[4:])))
		default:
			return f
		}
		body = body[in.Len:]
	}
	return f
}

// stackStep is by how much an instruction adds to the stack pointer or takes off it.
func stackStep(b []byte, modrm byte) (n int64, ok bool) {
	switch {
	case len(b) == 4 && b[0] == rexW && b[1] == addSub8 && b[2] == modrm:
		return int64(int8(b[3])), true
	case len(b) == 7 && b[0] == rexW && b[1] == addSub32 && b[2] == modrm:
		return int64(int32(binary.LittleEndian.Uint32(b[3:]))), true
	}
	return 0, false
}

// epilogue walks back from the last of the instructions that begin at starts, with which a function is left.
func epilogue(body []byte, starts []int, f frame) (e Epilogue, ok bool) {
	i := len(starts) - 1
	before := func() []byte {
		if i == 0 {
			return nil
		}
		return body[starts[i-1]:starts[i]]
	}
	pops := int64(0)
	for {
		b := before()
		if !(len(b) == 1 && b[0]&0xf8 == popReg || len(b) == 2 && b[0] == rexB && b[1]&0xf8 == popReg) {
			break
		}
		pops += 8
		i--
	}
	e.Reg, e.Offset = dwarfSP, pops
	b := before()
	switch n, isAdd := stackStep(b, addRSP); {
	case isAdd:
		e.Offset += n
		i--
	case len(b) == 4 && b[0] == rexW && b[1] == leaOp && b[2] == 0x65: // lea rsp,[rbp+imm8]
		e.Reg, e.Offset = dwarfBP, pops+int64(int8(b[3]))
		i--
	case len(b) == 7 && b[0] == rexW && b[1] == leaOp && b[2] == 0xa5: // lea rsp,[rbp+imm32]
		e.Reg, e.Offset = dwarfBP, pops+int64(int32(binary.LittleEndian.Uint32(b[3:])))
		i--
	}
	e.At = starts[i]
	if e.Reg == dwarfBP {
		return e, f.fp != 0 && e.Offset == f.fp
	}
	return e, e.Offset == f.sp
}
