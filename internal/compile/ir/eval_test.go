package ir

import (
	"fmt"
	"math/bits"
)

// evaluator runs IR as it was built: unlimited registers, labels, slots. It knows nothing of how instructions are made.
type evaluator struct {
	memory
	prog  *Program
	depth int
	steps int
}

func (e *evaluator) run(f *Builder, args ...uint64) (uint64, error) {
	regs := make([]uint64, f.regs)
	labels := map[Label]int{}
	for i := range f.ins {
		if f.ins[i].kind == kLabel {
			labels[f.ins[i].label] = i
		}
	}
	fp := stackAddr + uint64(e.depth)*stackPage
	e.known[e.depth] = [MaxFrame]bool{}
	e.depth++
	defer func() { e.depth-- }()
	get := func(r Reg) uint64 {
		if r == FP {
			return fp
		}
		return regs[r]
	}
	for pc := 0; pc < len(f.ins); pc++ {
		i := &f.ins[pc]
		if e.steps++; e.steps > 1e6 {
			return 0, fmt.Errorf("no end")
		}
		var err error
		switch i.kind {
		case kMovImm:
			regs[i.dst] = uint64(i.imm)
		case kMov:
			v := get(i.a)
			if !i.wide {
				v = uint64(uint32(v))
			}
			regs[i.dst] = v
		case kALU:
			var y uint64
			if i.op != Neg {
				y = get(i.a)
			}
			regs[i.dst] = compute(i.op, regs[i.dst], y)
		case kALUImm:
			regs[i.dst] = compute(i.op, regs[i.dst], uint64(i.imm))
		case kEnd:
			regs[i.dst] = bits.ReverseBytes64(regs[i.dst]) >> (64 - i.imm)
		case kLoad:
			regs[i.dst], err = e.load(get(i.a)+uint64(int64(i.off)), int(i.size))
		case kStore:
			err = e.store(get(i.a)+uint64(int64(i.off)), int(i.size), get(i.b))
		case kStoreImm:
			err = e.store(get(i.a)+uint64(int64(i.off)), int(i.size), uint64(i.imm))
		case kAtomicAdd, kXchg, kFetchAdd:
			addr := get(i.a) + uint64(int64(i.off))
			var old uint64
			if old, err = e.load(addr, int(i.size)); err != nil {
				break
			}
			if i.kind == kAtomicAdd {
				err = e.store(addr, int(i.size), old+get(i.b))
				break
			}
			if i.kind == kFetchAdd {
				err = e.store(addr, int(i.size), old+regs[i.dst])
			} else {
				err = e.store(addr, int(i.size), regs[i.dst])
			}
			regs[i.dst] = old
		case kMapValue:
			regs[i.dst] = mapAddr + uint64(i.imm)
		case kCall:
			var args []uint64
			for _, a := range i.args {
				args = append(args, e.operand(a, get))
			}
			var res uint64
			res, err = e.helper(i.fn, args, func(f uint64, args ...uint64) (uint64, error) {
				return e.run(e.prog.Funcs[f], args...)
			})
			if i.dst != NoReg {
				regs[i.dst] = res
			}
		case kJump:
			pc = labels[i.label]
		case kJumpIf:
			if holds(i.cond, get(i.a), get(i.b)) {
				pc = labels[i.label]
			}
		case kJumpIfImm:
			if holds(i.cond, get(i.a), uint64(i.imm)) {
				pc = labels[i.label]
			}
		case kExit:
			if i.a == NoReg {
				return uint64(i.imm), nil
			}
			return get(i.a), nil
		case kParam:
			regs[i.dst] = args[i.imm]
		case kLabel, kComment:
		default:
			err = fmt.Errorf("unknown instruction")
		}
		if err != nil {
			return 0, fmt.Errorf("%v: %w", i, err)
		}
	}
	return 0, nil
}

func (e *evaluator) operand(o Operand, get func(Reg) uint64) uint64 {
	switch o.kind {
	case opReg:
		return get(o.reg)
	case opAddr:
		return get(o.reg) + uint64(o.imm)
	case opMap:
		return mapAddr
	case opMapValue:
		return mapAddr + uint64(o.imm)
	case opFunc:
		for n, f := range e.prog.Funcs {
			if f.name == o.name {
				return uint64(n)
			}
		}
	}
	return uint64(o.imm)
}

func compute(op Op, x, y uint64) uint64 {
	switch op {
	case Add:
		return x + y
	case Sub:
		return x - y
	case Mul:
		return x * y
	case Div, Mod:
		return divide(op == Mod, x, y)
	case And:
		return x & y
	case Or:
		return x | y
	case Xor:
		return x ^ y
	case Shl:
		return x << (y & 63)
	case Shr:
		return x >> (y & 63)
	case Sar:
		return uint64(int64(x) >> (y & 63))
	}
	return -x
}

func holds(c Cond, x, y uint64) bool {
	a, b := int64(x), int64(y)
	return [...]bool{x == y, x != y, x < y, x <= y, x > y, x >= y, a < b, a <= b, a > b, a >= b, x&y != 0}[c]
}
