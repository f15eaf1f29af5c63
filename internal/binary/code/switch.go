package code

import (
	"encoding/binary"

	"trocar/internal/binary/abi"
)

// Jumps through tables: what compilers make of switch statements, and of computed goto. Their targets are labels of the
// same function, where a jump through a register or memory may otherwise go anywhere.

// Table is a place from which a jump of a function takes its target.
type Table struct {
	At       uint64
	Relative bool // entries are distances of 32 bits from the table, else addresses
}

// Switch tells whether the jump at offset at of a function's code at addr goes through a table, and which that may be:
// the table of the instruction, or any whose address the function takes. starts are the offsets of the instructions up
// to the jump, in order.
//
// Compilers make tables in three ways on amd64: `jmp *table(,%index,8)` in code that does not move, `jmp
// *(%base,%index,8)`, and, with distances, `add %base,%target; jmp *%target`. A tail call by pointer loads the target
// with a mov, as a computed goto does from a table of labels that the function names.
func Switch(arch *abi.Arch, fn []byte, addr uint64, starts []int, at int) (tables []Table, ok bool) {
	if arch != abi.AMD64 {
		return nil, false
	}
	b := fn[at:]
	if len(b) > 0 && b[0] == 0x3e { // notrack
		b = b[1:]
	}
	rex := byte(0)
	if len(b) > 0 && b[0]&0xf0 == 0x40 {
		rex, b = b[0], b[1:]
	}
	if len(b) < 2 || b[0] != 0xff || b[1]>>3&7 != 4 {
		return nil, false
	}
	x := x86{b: b[1:], at: 0, rex: rex, long: true}
	switch mod, rm := b[1]>>6, b[1]&7; {
	case mod == 3:
		reg := int(rm | rex&1<<3)
		load, straight := writer(arch, fn, starts, at, reg)
		if load < 0 {
			return nil, false
		}
		if addedTo(fn, starts, at, byte(reg)) {
			if tables = taken(arch, fn, addr, true); len(tables) == 0 {
				tables = []Table{{Relative: true}}
			}
			return tables, true
		}
		x = x86{b: fn[load:], long: true}
		if _, ok := x.opcode(); !ok || x.opMap != 0 || x.vector || x.rex&8 == 0 || x.seg || x.adSize {
			return nil, false
		}
		switch {
		case straight && x.op == 0x8d && x.b[x.at]&0xc7 == 4: // lea (%base,%distance),%target, as in libc's assembler
			return append(taken(arch, fn, addr, true), Table{Relative: true}), true
		case straight && (x.op == 0x05 || x.op == 0x8d && x.b[x.at]&0xc7 != 5 ||
			(x.op == 0x81 || x.op == 0x83) && x.b[x.at]>>3&7 == 0):
			return []Table{{Relative: true}}, true // an address is added that is in the instruction
		case x.op != 0x8b:
			return nil, false
		}
		at = load
	case rm != 4:
		return nil, false
	}
	t, known, ok := x.table(arch, fn, addr, starts, at)
	switch {
	case !ok || known && t.At == 0: // what the function was passed, or loads: no table of its own
	case known:
		tables = []Table{t}
	default:
		tables = taken(arch, fn, addr, false)
	}
	return tables, ok
}

// table is the table from which an instruction loads by an index, if its address is known. ok: it does so.
func (x *x86) table(arch *abi.Arch, fn []byte, addr uint64, starts []int, at int) (t Table, known, ok bool) {
	if len(x.b) < x.at+2 || x.b[x.at]>>6 == 3 || x.b[x.at]&7 != 4 || x.b[x.at+1]>>6 != 3 { // scaled by 8
		return t, false, false
	}
	o := x.memoryOperand()
	switch {
	case o.index < 0:
		return t, false, false
	case o.base < 0:
		if len(x.b) < x.at+6 {
			return t, false, false
		}
		return Table{At: uint64(int64(int32(binary.LittleEndian.Uint32(x.b[x.at+2:]))))}, true, true
	}
	base, straight := writer(arch, fn, starts, at, o.base)
	if base < 0 {
		return t, false, true
	}
	in, _ := Decode(arch, fn[base:])
	switch {
	case in.Op == Lea && in.RIP:
		t.At = addr + uint64(base) + uint64(in.Mem)
	case in.Op == MoveImm:
		t.At = uint64(in.Imm)
	default:
		return t, straight, true
	}
	return t, true, true
}

// addedTo tells whether the last instruction before the jump adds one 64-bit register to another, reg.
func addedTo(fn []byte, starts []int, at int, reg byte) bool {
	for i := len(starts) - 1; i >= 0; i-- {
		if starts[i] >= at {
			continue
		}
		in := fn[starts[i]:]
		if len(in) < 3 || in[0]&0xf8 != 0x48 || in[2]>>6 != 3 {
			return false
		}
		switch in[1] {
		case 0x01: // add r, r/m
			return in[2]&7|in[0]&1<<3 == reg
		case 0x03: // add r/m, r
			return in[2]>>3&7|in[0]&4<<1 == reg
		}
		return false
	}
	return false
}

// writer is the last instruction before one that writes a register, in the order of addresses; -1: there is none, or a
// call between. Compilers repeat the same jump behind each label, or jump to one of them. straight: the code goes on
// from there, where it does not branch.
func writer(arch *abi.Arch, fn []byte, starts []int, before, reg int) (at int, straight bool) {
	straight = true
	for i := len(starts) - 1; i >= 0; i-- {
		if starts[i] >= before {
			continue
		}
		in, ok := Decode(arch, fn[starts[i]:])
		switch {
		case !ok || in.Op == Call:
			return -1, false
		case in.Op == Jump, in.Op == Ret, in.Op == Trap:
			straight = false
			continue
		case in.Op == CondJump, in.Op == Nop, in.Op == Landing:
			continue // what writes no register
		}
		_, _, _, _, wrote := frameEffect(fn[starts[i]:starts[i]+in.Len], frameBase{}, frameBase{}, 1)
		if wrote&(1<<reg) != 0 {
			return starts[i], straight
		}
	}
	return -1, false
}

// AddressesTaken are those that instructions of a function at addr make relative to themselves, and, where the file has
// a fixed place, those that are constants of theirs.
func AddressesTaken(arch *abi.Arch, fn []byte, addr uint64, fixed bool) (addrs []uint64) {
	for at := 0; at < len(fn); {
		in, ok := Decode(arch, fn[at:])
		switch {
		case !ok:
			return addrs
		case in.Op == Lea && in.RIP:
			addrs = append(addrs, addr+uint64(at)+uint64(in.Mem))
		case in.Op == MoveImm && fixed:
			addrs = append(addrs, uint64(in.Imm))
		}
		at += in.Len
	}
	return addrs
}

// taken are the tables whose addresses a function takes.
func taken(arch *abi.Arch, fn []byte, addr uint64, relative bool) (tables []Table) {
	for _, a := range AddressesTaken(arch, fn, addr, false) {
		tables = append(tables, Table{At: a, Relative: relative})
	}
	return tables
}
