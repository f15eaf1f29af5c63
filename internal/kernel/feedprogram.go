package kernel

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"trocar/internal/binary/abi"
	"trocar/internal/process/probe"
)

// The programs of a feed are written as text, a line for each instruction: "r1 = [r2 8]" loads 8 bytes, "[r2 8] = r1"
// stores them, "if r1 < r2 NAME" jumps to the line that begins with "NAME:". r6 has the context or a counter, r7 a
// number, r8 a text and then the state, r9 the record.

// Constants that are put in.
const (
	theRing, theState, theCallback = "ring", "state", "held"
	theRoom, theSources, theCalls  = "room", "sources", "calls"
)

// feedProgram is the program at write(fd, text, size).
func feedProgram(host *abi.Arch, fd int, words []string) string {
	args := argumentsOf(host)
	var b strings.Builder
	fmt.Fprintf(&b, `
r7 = [r1 %d]
r7 <<= 32
r7 >>= 32
if r7 != %d exit
r8 = [r1 %d]
[r10 %[9]d] = r8
r7 = [r1 %[4]d]
if r7 < 2 exit
if r7 <= %[5]d short
r7 = %[5]d
short: r1 = 0
[r10 -8] = r1
r1 = @room
r2 = r10
r2 += -8
call %[6]d
if r0 == 0 exit
r9 = r0
[r9 8] = r7
r1 = r9
r1 += %[7]d
r2 = r7
r3 = r8
call %[8]d
if r0 != 0 exit
`, args[0], fd, args[1], args[2], feedLine, asm.FnMapLookupElem, feedText, asm.FnProbeReadUser, heldAt)
	if len(words) > 0 {
		fmt.Fprintf(&b, "r6 = 0\nnext: r1 = r9\nr1 += r6\nr2 = [r1 %d]\nr3 = [r1 %d]\n", feedText, feedText+8)
	}
	for w, word := range words {
		var want, mask [16]byte
		for j := range min(len(word), len(want)) {
			want[j], mask[j] = word[j], 0xff
		}
		for half := range 2 {
			number := func(b *[16]byte) uint64 { return binary.NativeEndian.Uint64(b[8*half:]) }
			if mask[8*half] != 0 {
				fmt.Fprintf(&b, "r4 = %#x\nr4 &= r%d\nr5 = %#x\nif r4 != r5 word%d\n", number(&mask), 2+half, number(&want), w)
			}
		}
		fmt.Fprintf(&b, "goto found\nword%d: r0 = r9\n", w)
	}
	if len(words) > 0 {
		fmt.Fprintf(&b, "r6 += 1\nif r6 >= %d exit\nif r6 < r7 next\ngoto exit\n", feedLine)
	}
	return b.String()
}

// Of a thread that is held, below the frame pointer: any address of its that can be read, the number of its line, and
// until when.
const heldAt, heldLine, heldUntil = -32, -16, -8

// held is the end of programs that have made a record of a size: it is handed over, and who runs is held until it is
// done with. most is how many are held at a time: further ones go on at once, late. The function ends the waiting with
// 1: held(round, what is at heldAt). Where any number are held (0) it has others run: no kernel that is not preempted
// does so on its own, and a helper that reads a process's memory asks it to.
func held(size, most int) string {
	const rounds = 1 << 20 // of some 30 ns at least
	done := fmt.Sprintf(`r3 = r2
r3 &= %d
r3 <<= 3
r1 = @state
r1 += r3
r1 = [r1 %d]
`, feedSlots-1, feedDone)
	limit, leave, full, yield := "", "", "", ""
	if most == 0 {
		yield = fmt.Sprintf("call %d\nr4 = r0\nr1 = r10\nr1 += -8\nr2 = 1\nr3 = [r6 0]\nr5 = 0\ncall %d\n",
			asm.FnGetCurrentTaskBtf, asm.FnCopyFromUserTask)
	} else {
		limit = fmt.Sprintf("r1 = 1\n[r8 %d] fetch r1\nif r1 >= %d full\n", feedHeld, most)
		leave = fmt.Sprintf("r1 = -1\n[r8 %d] add r1\n", feedHeld)
		full = "goto missed\nfull: r8 = @state\n" + leave
	}
	return fmt.Sprintf(`
found: r8 = @state
r7 = 1
[r8 %[1]d] fetch r7
r7 += 1
[r9 0] = r7
[r10 %[2]d] = r7
r1 = @ring
r2 = r9
r3 = %[3]d
r4 = 2
call %[4]d
if r0 != 0 missed
%[12]scall %[5]d
r0 += %[6]d
[r10 %[7]d] = r0
r1 = %[8]d
r2 = @held
r3 = r10
r3 += %[9]d
r4 = 0
call %[10]d
%[13]sr2 = r7
%[15]sif r1 == r2 exit
if r1 == -1 exit
%[18]smissed: r8 = @state
r1 = 1
[r8 %[11]d] add r1
exit: r0 = 0
return
held: r6 = r2
r2 = [r6 %[16]d]
%[15]sif r1 == r2 go
if r1 == -1 go
call %[5]d
r1 = [r6 %[17]d]
if r0 > r1 go
%[14]sr0 = 0
return
go: r0 = 1
return
`, feedAsked, heldLine, size, asm.FnRingbufOutput, asm.FnKtimeGetNs, int(MostHeld), heldUntil, rounds, heldAt,
		asm.FnLoop, feedLate, limit, leave, yield, done, heldLine-heldAt, heldUntil-heldAt, full)
}

// Of a call of a compiler, below the frame pointer: where it is, what is known of it, and the record of that.
const (
	callRecord                     = -80
	callThread, callSP             = -40, heldAt
	callSource, callCode, callSize = -24, -16, -8
)

// callKey tells a call by its thread and its stack pointer, and has the map of calls and that ready for a helper.
func callKey(host *abi.Arch) string {
	sp, _ := host.Offset(host.SP)
	return fmt.Sprintf("call %d\n[r10 %d] = r0\nr7 = [r6 %d]\n[r10 %d] = r7\nr1 = @calls\nr2 = r10\nr2 += %[2]d\n",
		asm.FnGetCurrentPidTgid, callThread, sp, callSP)
}

// compilingProgram is the program where a compiler begins: it keeps the calls for what is looked for. If there is no
// room the note of the code will not have been expected, which is told.
func compilingProgram(host *abi.Arch, c *probe.Compiler) string {
	args := argumentsOf(host)
	return fmt.Sprintf(`
r6 = r1
r3 = [r6 %d]
r3 += %d
r1 = r10
r1 += %d
r2 = 8
call %d
if r0 != 0 exit
r1 = @sources
r2 = r10
r2 += %[3]d
call %[5]d
if r0 == 0 exit
r7 = [r6 %d]
[r10 %d] = r7
r7 = [r6 %d]
[r10 %d] = r7
%sr3 = r10
r3 += %[3]d
r4 = 0
call %[11]d
exit: r0 = 0
return
`, args[c.Request], c.SourceAt, callSource, asm.FnProbeReadUser, asm.FnMapLookupElem, args[c.Code], callCode,
		args[c.Size], callSize, callKey(host), asm.FnMapUpdateElem)
}

// compiledProgram is the one where it returns, which hands over where the code is, unless it has failed.
func compiledProgram(host *abi.Arch) string {
	result, _ := host.Offset(host.C.Result)
	return fmt.Sprintf(`
r6 = r1
%scall %d
if r0 == 0 exit
r7 = [r0 0]
[r10 %d] = r7
r7 = [r0 8]
[r10 %d] = r7
r7 = [r0 16]
[r10 %d] = r7
r1 = @calls
r2 = r10
r2 += %d
call %d
r7 = [r6 %d]
r7 <<= 32
if r7 != 0 exit
r9 = r10
r9 += %d
r7 = -1
[r9 8] = r7
r7 = [r10 %[3]d]
[r9 16] = r7
r1 = r9
r1 += 24
r2 = 8
r3 = [r10 %[4]d]
call %[10]d
if r0 != 0 exit
[r9 32] = r0
r1 = r9
r1 += 32
r2 = 4
r3 = [r10 %[5]d]
call %[10]d
if r0 != 0 exit
`, callKey(host), asm.FnMapLookupElem, callSource, callCode, callSize, callThread, asm.FnMapDeleteElem, result,
		callRecord, asm.FnProbeReadUser)
}

// argumentsOf are the places of arguments in the registers that a program is given.
func argumentsOf(host *abi.Arch) (args []int) {
	for _, reg := range host.C.Args {
		off, _ := host.Offset(reg)
		args = append(args, off)
	}
	return args
}

// assemble makes instructions of a text.
func assemble(text string, maps map[string]int) (insns asm.Instructions) {
	// The verifier wants to know what functions take where one is given to a helper.
	long := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	proto := &btf.FuncProto{Return: long, Params: []btf.FuncParam{
		{Name: "ctx", Type: &btf.Pointer{Target: &btf.Void{}}},
	}}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		name, rest, ok := strings.Cut(line, ": ")
		if !ok {
			name, rest = "", line
		}
		words := strings.Fields(rest)
		if len(words) == 0 {
			continue
		}
		in := instruction(words, maps)
		switch {
		case len(insns) == 0:
			in = btf.WithFuncMetadata(in.WithSymbol("feed"), &btf.Func{Name: "feed", Linkage: btf.GlobalFunc, Type: proto})
		case name == theCallback:
			held := &btf.FuncProto{Return: long, Params: []btf.FuncParam{{Name: "round", Type: long}, proto.Params[0]}}
			in = btf.WithFuncMetadata(in.WithSymbol(name), &btf.Func{Name: name, Type: held})
		case name != "":
			in = in.WithSymbol(name)
		}
		insns = append(insns, in)
	}
	return insns
}

// operations are those that have a register or, with 8 less, a number behind them (include/uapi/linux/bpf.h).
var operations = map[string]asm.OpCode{
	"=": 0xbf, "+=": 0x0f, "&=": 0x5f, "<<=": 0x6f, ">>=": 0x7f,
	"!=": 0x5d, "==": 0x1d, "<": 0xad, "<=": 0xbd, ">=": 0x3d, ">": 0x2d,
}

// instruction makes one of the words of a line.
func instruction(w []string, maps map[string]int) (in asm.Instruction) {
	const load, store, call, jump, exit = 0x79, 0x7b, 0x85, 0x05, 0x95
	number := func(s string) int64 {
		n, _ := strconv.ParseInt(strings.TrimRight(s, "]"), 10, 64)
		return n
	}
	reg := func(s string) asm.Register { return asm.Register(number(strings.TrimLeft(s, "[r"))) }
	to := func(name string) {
		in.Offset = -1 // until it is known where that is
		in = in.WithReference(name)
	}
	switch first := w[0]; {
	case first == "return":
		in.OpCode = exit
	case first == "call":
		in.OpCode, in.Constant = call, number(w[1])
	case first == "goto":
		in.OpCode = jump
		to(w[1])
	case first == "if":
		in = instruction(w[1:4], maps)
		to(w[4])
	case first[0] == '[' && w[2] == "=":
		in.OpCode, in.Dst, in.Offset, in.Src = store, reg(first), int16(number(w[1])), reg(w[3])
	case first[0] == '[':
		// cilium/ebpf 0.22 encodes the constant before it computes it.
		fetch := int64(0)
		if w[2] == "fetch" {
			fetch = 1
		}
		in = asm.AtomicOp(asm.AddAtomic|asm.AtomicOp(fetch)<<8).Mem(reg(first), reg(w[3]), asm.DWord, int16(number(w[1])))
		in.Constant = fetch
	case w[2][0] == '[':
		in.OpCode, in.Dst, in.Src, in.Offset = load, reg(first), reg(w[2]), int16(number(w[3]))
	case w[2] == "@"+theState:
		in = asm.LoadMapValue(reg(first), maps[theState], 0)
	case w[2] == "@"+theCallback:
		in = asm.LoadImm(reg(first), -1, asm.DWord).WithReference(theCallback)
		in.Src = asm.PseudoFunc
	case w[2][0] == '@':
		in = asm.LoadMapPtr(reg(first), maps[w[2][1:]])
	case strings.HasPrefix(w[2], "0x"):
		n, _ := strconv.ParseUint(w[2], 0, 64)
		in = asm.LoadImm(reg(first), int64(n), asm.DWord)
	case w[2][0] == 'r':
		in.OpCode, in.Dst, in.Src = operations[w[1]], reg(first), reg(w[2])
	default:
		in.OpCode, in.Dst, in.Constant = operations[w[1]]-8, reg(first), number(w[2])
	}
	return in
}
