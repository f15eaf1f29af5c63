package code

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"trocar/internal/binary/abi"
)

// Trial is a program as a file, and the offsets in it where it is probed.
type Trial struct {
	File    []byte
	Offsets []uint64
}

const (
	// Undumpable keeps a trial that fails from leaving a core: prctl(PR_SET_DUMPABLE, 0).
	Undumpable = "b89d000000 bf04000000 31f6 0f05"
	// Leave is exit(0).
	Leave = "31ff b83c000000 0f05"
	// Sure ends the program by an invalid instruction if a comparison before it found a difference.
	Sure = "7402 0f0b"
	// sameAs0, 1 and 7 compare the lower half of xmm2 with that of another.
	sameAs0 = "66480f7ed3 66480f7ec5 4839dd" + Sure
	sameAs1 = "66480f7ed3 66480f7ecd 4839dd" + Sure
	sameAs7 = "66480f7ed3 66480f7efd 4839dd" + Sure
)

// VectorTrial has one instruction of each opcode, or range of them, that kernels mistake or refuse (Hazard.Vector), nil
// if the CPU has no such. It ends with status 0 if all gave what they should.
func VectorTrial(arch *abi.Arch) *Trial {
	if arch != abi.AMD64 {
		return nil
	}
	return NewTrial(
		Undumpable,
		"b841414141 660f6ec0 660f70c000", // xmm0: 41 everywhere
		"660f76c9 660fefff 660fefd2",     // xmm1: ones, xmm7 and xmm2: zero
		"*c5f9ebd0", sameAs0,             // vpor: jmp
		"*c5f974d0", sameAs1, // vpcmpeqb: je
		"*c5f9e8d0", sameAs7, // vpsubsb: call
		"660f6fd1", "*c5f9e9d0", sameAs7, // vpsubsw: jmp
		"*c5f97ec3", "39c3"+Sure, // vmovd to ebx: jle
		"f30f7f4c24c0", "*c5fa7f4424c0", // vmovdqu to the stack: jg
		"*c5fa6f5424c0", sameAs0, // vmovdqu from there: outs
		"*c5f970d14e", sameAs1, // vpshufd: jo
		"*c5e972d010 660f72d010", sameAs0, // vpsrld: jb
		"*c5c0c2d700", sameAs1, // vcmpps: ret
		"*c5c1ead1", sameAs1, // vpminsw: far jump
		"*c4e2419aff", "*c4e2419dff", // vfmsub132ps: far call, vfnmadd132ss: popf
		"660f6ed0", "*c5c16cd7", sameAs7, // vpunpcklqdq: ins
		"*c5f877", Leave, // vzeroupper: ja
	)
}

// StepTrial is a program that executes an instruction a number of times, which the kernel steps over or emulates, nil
// if there is none for the CPU.
func StepTrial(arch *abi.Arch, times uint32, stepped bool) *Trial {
	if arch != abi.AMD64 {
		return nil
	}
	loop := "*90" // nop
	if stepped {
		loop = "*f8" // clc
	}
	count := hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, times))
	return NewTrial("b9"+count, loop, "ffc9 75fb", Leave) // dec %ecx, jne
}

// NewTrial makes an ELF file for x86-64 of instructions in hexadecimal; before a step whose first one is probed stands
// a star.
func NewTrial(steps ...string) *Trial {
	const header, address = 64 + 56, 0x400000
	t := &Trial{File: make([]byte, header)}
	for _, s := range steps {
		code, err := hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(s, "*"), " ", ""))
		if err != nil {
			panic(err) // they are constants
		}
		if strings.HasPrefix(s, "*") {
			t.Offsets = append(t.Offsets, uint64(len(t.File)))
		}
		t.File = append(t.File, code...)
	}
	h := t.File
	copy(h, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(h[16:], 2)  // ET_EXEC
	le.PutUint16(h[18:], 62) // EM_X86_64
	le.PutUint32(h[20:], 1)
	le.PutUint64(h[24:], address+header)
	le.PutUint64(h[32:], 64) // program headers
	le.PutUint16(h[52:], 64)
	le.PutUint16(h[54:], 56)
	le.PutUint16(h[56:], 1)
	p := h[64:]
	le.PutUint32(p, 1)     // PT_LOAD
	le.PutUint32(p[4:], 5) // readable, executable
	le.PutUint64(p[16:], address)
	le.PutUint64(p[24:], address)
	le.PutUint64(p[32:], uint64(len(t.File)))
	le.PutUint64(p[40:], uint64(len(t.File)))
	le.PutUint64(p[48:], 0x1000)
	return t
}
