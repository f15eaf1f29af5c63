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
// with a mov.
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
	switch mod, rm := b[1]>>6, b[1]&7; {
	case mod == 3:
		if !addedTo(fn, starts, at, rm|rex&1<<3) {
			return nil, false
		}
		return taken(arch, fn, addr, starts, true), true
	case rm == 4 && mod == 0 && len(b) >= 3:
		sib := b[2]
		if sib>>6 != 3 || sib>>3&7|rex&2<<2 == 4 { // scaled by 8, with an index
			return nil, false
		}
		if sib&7 == 5 {
			if len(b) < 7 {
				return nil, false
			}
			return []Table{{At: uint64(int64(int32(binary.LittleEndian.Uint32(b[3:]))))}}, true
		}
		return taken(arch, fn, addr, starts, false), true
	}
	return nil, false
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

// taken are the tables whose addresses a function takes.
func taken(arch *abi.Arch, fn []byte, addr uint64, starts []int, relative bool) (tables []Table) {
	for _, at := range starts {
		if in, ok := Decode(arch, fn[at:]); ok && in.Op == Lea && in.RIP {
			tables = append(tables, Table{At: addr + uint64(at) + uint64(in.Mem), Relative: relative})
		}
	}
	return tables
}
