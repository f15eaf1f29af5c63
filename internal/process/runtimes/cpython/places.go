package cpython

import (
	"errors"
	"fmt"
	"slices"

	"trocar/internal/binary/code"
)

// longest is how much code of an instruction of Python is looked at.
const longest = 256

// least is how many instructions of Python must agree on the register that has the frame.
const least = 8

var errUnusual = errors.New("the interpreter's main loop was compiled in an unusual way")

// places finds where a function's first instruction is executed. Each instruction of Python begins by noting in the
// frame which it is; where that is the first thing that it does, the registers are those that all begin with.
func (in *Interpreter) places(table []uint64, low, size uint64) error {
	arch := in.file.Arch()
	if _, known := code.ReadPrologue(arch, nil, false); !known {
		return fmt.Errorf("code for %s is not looked at closely enough yet", in.file.CPU())
	}
	type registers struct{ from, frame int }
	votes := map[registers]int{}
	targets := slices.Compact(slices.Sorted(slices.Values(table)))
	for _, at := range targets {
		if from, base, off, ok := code.StoredAt(arch, in.file.Bytes(at, code.MaxInstruction)); ok &&
			off == in.lay.instruction {
			votes[registers{from, base}]++
		}
	}
	var of registers
	for of = range votes {
		break
	}
	if len(votes) != 1 || votes[of] < least {
		return errUnusual
	}
	in.Frame = of.frame
	direct, through := in.entered(low, size)
	jumps := slices.Concat(targets, direct)
	slices.Sort(jumps)
	find := func(opcodes []int) (places []uint64) {
		for _, opcode := range opcodes {
			begin := table[opcode]
			if n := slices.Index(table, begin); n != opcode && !slices.Contains(opcodes, n) {
				return nil
			}
			if slices.Contains(direct, begin) || !slices.Contains(through, begin) {
				return nil // one instruction goes on in another from its beginning
			}
			at, ok := in.place(begin, of.from, jumps)
			if !ok {
				return nil
			}
			places = append(places, at)
		}
		return places
	}
	in.Places, in.Returns, in.Constants = find(in.lay.resumes), find(in.lay.returns), find(in.lay.constants)
	if in.Places == nil {
		return errUnusual
	}
	return nil
}

// Ends tells whether the places are known where functions return.
func (in *Interpreter) Ends() bool {
	return in.Returns != nil && (in.Constants != nil || len(in.lay.constants) == 0)
}

// place finds the place of an instruction of Python that begins at an address: behind where it is noted in the frame,
// and if possible where a probe is cheap, at a jump. Nothing may come by there that has not come by at the beginning.
func (in *Interpreter) place(begin uint64, from int, jumps []uint64) (uint64, bool) {
	arch, text := in.file.Arch(), in.file.Bytes(begin, longest)
	run, ok := code.ReadPrologue(arch, text, false)
	if !ok {
		return 0, false
	}
	i, _ := slices.BinarySearch(jumps, begin+1)
	next := begin + longest // where something else comes in
	if i < len(jumps) {
		next = jumps[i]
	}
	noted := uint64(0)
	for _, end := range append([]int{0}, run.Ends...) {
		at := begin + uint64(end)
		if at >= next || end > 0 && !run.Kept(end, in.Frame) {
			break
		}
		inst, ok := code.Decode(arch, text[end:])
		if !ok {
			break
		}
		switch {
		case noted == 0:
			src, base, off, ok := code.StoredAt(arch, text[end:end+inst.Len])
			if ok && src == from && base == in.Frame && off == in.lay.instruction && (end == 0 || run.Kept(end, from)) {
				noted = at + uint64(inst.Len)
			} else if inst.Op == code.CondJump || inst.Op == code.Jump || inst.Op == code.Call {
				return 0, false
			}
		case inst.Op == code.CondJump, inst.Op == code.Jump && inst.Direct:
			return at, true
		}
	}
	return noted, noted != 0 && noted < next
}

// entered tells where something jumps into a function of the interpreter, also from parts of it that lie elsewhere, and
// which places nothing runs into from the instruction in front of them.
func (in *Interpreter) entered(low, size uint64) (jumps, apart []uint64) {
	jump := func(to uint64) { jumps = append(jumps, to) }
	arch, body := in.file.Arch(), in.file.Bytes(low, int(size))
	code.Targets(arch, body, low, jump)
	for _, s := range in.file.Segments() {
		if s.Exec {
			text := in.file.Bytes(s.Addr, int(s.FileSize))
			begin := min(low-min(low, s.Addr), uint64(len(text)))
			code.FarTargets(text[:begin], s.Addr, low, low+size, jump)
			if end := begin + size; end < uint64(len(text)) {
				code.FarTargets(text[end:], s.Addr+end, low, low+size, jump)
			}
		}
	}
	runs := false
	for at := 0; at < len(body); {
		inst, ok := code.Decode(arch, body[at:])
		if !ok {
			break
		}
		if !runs {
			apart = append(apart, low+uint64(at))
		}
		if inst.Op != code.Nop {
			runs = inst.Op != code.Jump && inst.Op != code.Ret && inst.Op != code.Trap
		}
		at += inst.Len
	}
	return jumps, apart
}
