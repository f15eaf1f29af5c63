package ir

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/cilium/ebpf/asm"
)

// Addresses of the machine that the tests run programs on.
const (
	contextAddr = 0x5000_0000_0000
	mapAddr     = 0x6000_0000_0000 // the value of every map
	mapSize     = 64
	stackAddr   = 0x7000_0000_0000 // the frame pointer of the main function; each call's is a page higher
	stackPage   = 4096
)

// memory is what programs see: the value of a map and the stack frames, with marks on the bytes that were written.
type memory struct {
	value  [mapSize]byte
	frames [MaxCalls][MaxFrame]byte
	known  [MaxCalls][MaxFrame]bool
}

func (m *memory) bytes(addr uint64, n int, write bool) ([]byte, error) {
	if addr >= mapAddr && addr+uint64(n) <= mapAddr+mapSize {
		return m.value[addr-mapAddr:][:n], nil
	}
	for i := range m.frames {
		low := stackAddr + uint64(i)*stackPage - MaxFrame
		if addr < low || addr+uint64(n) > low+MaxFrame {
			continue
		}
		at := int(addr - low)
		for j := at; j < at+n; j++ {
			if write {
				m.known[i][j] = true
			} else if !m.known[i][j] {
				return nil, fmt.Errorf("frame %d: byte %d is read before it is written", i, j-MaxFrame)
			}
		}
		return m.frames[i][at:][:n], nil
	}
	return nil, fmt.Errorf("no memory at %#x", addr)
}

func (m *memory) load(addr uint64, size int) (uint64, error) {
	if addr >= stackAddr-MaxFrame && addr%uint64(size) != 0 {
		return 0, fmt.Errorf("misaligned load of %d bytes at %#x", size, addr)
	}
	b, err := m.bytes(addr, size, false)
	if err != nil {
		return 0, err
	}
	var word [8]byte
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:]), nil
}

func (m *memory) store(addr uint64, size int, v uint64) error {
	if addr >= stackAddr-MaxFrame && addr%uint64(size) != 0 {
		return fmt.Errorf("misaligned store of %d bytes at %#x", size, addr)
	}
	b, err := m.bytes(addr, size, true)
	if err != nil {
		return err
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], v)
	copy(b, word[:])
	return nil
}

// Helpers of the machine. Those below helperSum take as many arguments as their number says and mix them.
const (
	helperSum  asm.BuiltinFunc = 6 // (address, length): mixes memory
	helperFill asm.BuiltinFunc = 7 // (address, length, seed): writes memory
	helperLoop asm.BuiltinFunc = 8 // (n, function, context): calls function(i, context) until it gives 1
)

var helperArgs = [...]int{0, 1, 2, 3, 4, 5, 2, 3, 3}

// helper is what a call does, both for the machine and for the evaluation of the IR. call runs a function of the
// program.
func (m *memory) helper(fn asm.BuiltinFunc, args []uint64,
	call func(function uint64, args ...uint64) (uint64, error),
) (uint64, error) {
	sum := uint64(fn) + 1
	mix := func(v uint64) { sum = bits.RotateLeft64(sum^v, 23) * 0x9e3779b97f4a7c15 }
	switch fn {
	case helperSum:
		b, err := m.bytes(args[0], int(args[1]), false)
		if err != nil {
			return 0, err
		}
		for _, c := range b {
			mix(uint64(c))
		}
	case helperFill:
		b, err := m.bytes(args[0], int(args[1]), true)
		if err != nil {
			return 0, err
		}
		for i := range b {
			b[i] = byte(args[2] >> (i % 8 * 8))
		}
	case helperLoop:
		for i := range args[0] {
			stop, err := call(args[1], i, args[2])
			if err != nil {
				return 0, err
			}
			if stop != 0 {
				return i + 1, nil
			}
		}
		return args[0], nil
	default:
		for _, a := range args {
			mix(a)
		}
	}
	return sum, nil
}

// machine runs BPF instructions, and refuses what the kernel's verifier would refuse: registers and stack that were not
// written, code that can't be reached.
type machine struct {
	memory
	code    []asm.Instruction
	symbols map[string]int
	depth   int
	steps   int
}

func newMachine(code asm.Instructions) (*machine, error) {
	m := &machine{code: code, symbols: map[string]int{}}
	for i := range code {
		if s := code[i].Symbol(); s != "" {
			if _, twice := m.symbols[s]; twice {
				return nil, fmt.Errorf("symbol %s is there twice", s)
			}
			m.symbols[s] = i
		}
	}
	return m, m.reachable()
}

// target is the instruction that a jump goes to.
func (m *machine) target(i int) (int, error) {
	to, ok := m.symbols[m.code[i].Reference()]
	if !ok {
		return 0, fmt.Errorf("%v: no symbol %q", m.code[i], m.code[i].Reference())
	}
	return to, nil
}

// reachable fails if an instruction can't be reached.
func (m *machine) reachable() error {
	seen := make([]bool, len(m.code))
	work := []int{0}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		if i >= len(m.code) {
			return fmt.Errorf("the end is reached without exit")
		}
		if seen[i] {
			continue
		}
		seen[i] = true
		ins := m.code[i]
		op := ins.OpCode
		switch {
		case ins.Src == asm.PseudoFunc && op.Class() == asm.LdClass, op.Class() == asm.JumpClass && op.JumpOp() != asm.Exit &&
			op.JumpOp() != asm.Call:
			to, err := m.target(i)
			if err != nil {
				return err
			}
			work = append(work, to)
		}
		if op.Class() == asm.JumpClass && (op.JumpOp() == asm.Exit || op.JumpOp() == asm.Ja) {
			continue
		}
		work = append(work, i+1)
	}
	for i, ok := range seen {
		if !ok {
			return fmt.Errorf("instruction %d can't be reached: %v", i, m.code[i])
		}
	}
	return nil
}

// run executes the function that starts at an instruction.
func (m *machine) run(pc int, args ...uint64) (uint64, error) {
	if m.depth >= MaxCalls {
		return 0, fmt.Errorf("calls are nested too deep")
	}
	var r [11]uint64
	var known [11]bool
	for i, a := range args {
		r[1+i], known[1+i] = a, true
	}
	m.known[m.depth] = [MaxFrame]bool{}
	r[10], known[10] = stackAddr+uint64(m.depth)*stackPage, true
	m.depth++
	defer func() { m.depth-- }()
	for {
		ins := m.code[pc]
		op := ins.OpCode
		fail := func(format string, a ...any) (uint64, error) {
			return 0, fmt.Errorf("instruction %d, %v: %s", pc, ins, fmt.Sprintf(format, a...))
		}
		if m.steps++; m.steps > 1e6 {
			return fail("no end")
		}
		read := func(reg asm.Register) uint64 {
			if !known[reg] {
				panic(fmt.Sprintf("instruction %d, %v: %v is read before it is written", pc, ins, reg))
			}
			return r[reg]
		}
		write := func(reg asm.Register, v uint64) {
			r[reg], known[reg] = v, true
		}
		imm := uint64(ins.Constant)
		switch op.Class() {
		case asm.ALU64Class, asm.ALUClass:
			narrow := op.Class() == asm.ALUClass
			src := imm
			if op.Source() == asm.RegSource && op.ALUOp() != asm.Neg && op.ALUOp() != asm.Swap {
				src = read(ins.Src)
			} else if imm != uint64(int64(int32(imm))) {
				return fail("the constant has more than 32 bits")
			}
			v, err := alu(op, ins, read, src)
			if err != nil {
				return fail("%v", err)
			}
			if narrow && op.ALUOp() != asm.Swap {
				v = uint64(uint32(v))
			}
			write(ins.Dst, v)
		case asm.JumpClass:
			switch op.JumpOp() {
			case asm.Exit:
				return read(asm.R0), nil
			case asm.Call:
				n := helperArgs[ins.Constant]
				var args []uint64
				for i := range n {
					args = append(args, read(asm.R1+asm.Register(i)))
				}
				res, err := m.helper(asm.BuiltinFunc(ins.Constant), args, func(f uint64, args ...uint64) (uint64, error) {
					return m.run(int(f), args...)
				})
				if err != nil {
					return fail("%v", err)
				}
				for i := asm.R1; i <= asm.R5; i++ {
					known[i], r[i] = false, 0xdead0000+uint64(i)
				}
				write(asm.R0, res)
			default:
				take := true
				if op.JumpOp() != asm.Ja {
					y := imm
					if op.Source() == asm.RegSource {
						y = read(ins.Src)
					}
					take = jumps(op.JumpOp(), read(ins.Dst), y)
				}
				if take {
					to, err := m.target(pc)
					if err != nil {
						return 0, err
					}
					pc = to
					continue
				}
			}
		case asm.LdClass:
			switch ins.Src {
			case asm.PseudoFunc:
				to, err := m.target(pc)
				if err != nil {
					return 0, err
				}
				write(ins.Dst, uint64(to))
			case asm.PseudoMapValue:
				write(ins.Dst, mapAddr+imm>>32)
			case asm.PseudoMapFD:
				write(ins.Dst, mapAddr)
			default:
				write(ins.Dst, imm)
			}
		case asm.LdXClass:
			v, err := m.load(read(ins.Src)+uint64(int64(ins.Offset)), op.Size().Sizeof())
			if err != nil {
				return fail("%v", err)
			}
			write(ins.Dst, v)
		case asm.StClass:
			if err := m.store(read(ins.Dst)+uint64(int64(ins.Offset)), op.Size().Sizeof(), imm); err != nil {
				return fail("%v", err)
			}
		case asm.StXClass:
			addr, size := read(ins.Dst)+uint64(int64(ins.Offset)), op.Size().Sizeof()
			v := read(ins.Src)
			if op.Mode() != asm.AtomicMode {
				if err := m.store(addr, size, v); err != nil {
					return fail("%v", err)
				}
				break
			}
			old, err := m.load(addr, size)
			if err != nil {
				return fail("%v", err)
			}
			switch ins.Constant {
			case 0: // BPF_ADD
				v += old
			case 0xe1: // BPF_XCHG
				write(ins.Src, old)
			default:
				return fail("unknown atomic operation %#x", ins.Constant)
			}
			if err := m.store(addr, size, v); err != nil {
				return fail("%v", err)
			}
		default:
			return fail("unknown instruction")
		}
		pc++
	}
}

// alu computes the value of an arithmetic instruction.
func alu(op asm.OpCode, ins asm.Instruction, read func(asm.Register) uint64, y uint64) (uint64, error) {
	narrow := op.Class() == asm.ALUClass
	if op.ALUOp() == asm.Mov {
		return y, nil
	}
	x := read(ins.Dst)
	if op.ALUOp() == asm.Swap {
		if op.Endianness() != asm.BE {
			return 0, fmt.Errorf("not a swap to big endian")
		}
		switch ins.Constant {
		case 16:
			return uint64(bits.ReverseBytes16(uint16(x))), nil
		case 32:
			return uint64(bits.ReverseBytes32(uint32(x))), nil
		}
		return bits.ReverseBytes64(x), nil
	}
	if narrow {
		return 0, fmt.Errorf("32-bit arithmetic is not used but for moves")
	}
	constant := op.Source() == asm.ImmSource
	switch op.ALUOp() {
	case asm.Add:
		return x + y, nil
	case asm.Sub:
		return x - y, nil
	case asm.Mul:
		return x * y, nil
	case asm.Div, asm.Mod:
		if constant && y == 0 {
			return 0, fmt.Errorf("division by a constant 0")
		}
		return divide(op.ALUOp() == asm.Mod, x, y), nil
	case asm.And:
		return x & y, nil
	case asm.Or:
		return x | y, nil
	case asm.Xor:
		return x ^ y, nil
	case asm.LSh, asm.RSh, asm.ArSh:
		if constant && y > 63 {
			return 0, fmt.Errorf("shift by a constant %d", int64(y))
		}
		switch y &= 63; op.ALUOp() {
		case asm.LSh:
			return x << y, nil
		case asm.RSh:
			return x >> y, nil
		}
		return uint64(int64(x) >> y), nil
	case asm.Neg:
		return -x, nil
	}
	return 0, fmt.Errorf("unknown operation")
}

func divide(mod bool, x, y uint64) uint64 {
	switch {
	case y == 0 && mod:
		return x
	case y == 0:
		return 0
	case mod:
		return x % y
	}
	return x / y
}

func jumps(op asm.JumpOp, x, y uint64) bool {
	switch op {
	case asm.JEq:
		return x == y
	case asm.JNE:
		return x != y
	case asm.JLT:
		return x < y
	case asm.JLE:
		return x <= y
	case asm.JGT:
		return x > y
	case asm.JGE:
		return x >= y
	case asm.JSLT:
		return int64(x) < int64(y)
	case asm.JSLE:
		return int64(x) <= int64(y)
	case asm.JSGT:
		return int64(x) > int64(y)
	case asm.JSGE:
		return int64(x) >= int64(y)
	}
	return x&y != 0 // JSet
}
