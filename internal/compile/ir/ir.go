// Package ir builds BPF programs: virtual registers, labels and stack slots in, cilium/ebpf instructions out.
//
// A Program is one or more functions (the others are callbacks of bpf_loop and bpf_for_each_map_elem). A Builder
// appends instructions over as many virtual registers as wanted; Program.Assemble removes what is never used, assigns
// the machine's registers by linear scan and resolves jumps. Registers may be assigned more than once (loops,
// branches), so there are no phi nodes.
//
// The machine: R0 results, R1-R5 arguments (lost by calls), R6-R9 kept over calls, R10 the frame pointer. R0 and R1 are
// never assigned: they carry spilled operands and break cycles of moves. No instruction newer than ISA v3 is used.
package ir

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
)

// Reg is a virtual register; FP is the frame pointer (read-only).
type Reg int32

// FP is the frame pointer as a base of loads, stores and addresses.
const FP Reg = -1

// NoReg is the absence of a register.
const NoReg Reg = -2

// Label is a place to jump to.
type Label int32

// Size of a memory access in bytes: 1, 2, 4 or 8.
type Size uint8

// Op is an arithmetic operation.
type Op uint8

// Operations.
const (
	Add Op = iota
	Sub
	Mul
	Div // unsigned
	Mod // unsigned
	And
	Or
	Xor
	Shl
	Shr // logical
	Sar // arithmetic
	Neg // one operand
)

// Cond is a condition of a jump.
type Cond uint8

// Conditions.
const (
	EQ Cond = iota
	NE
	LT // unsigned
	LE
	GT
	GE
	SLT // signed
	SLE
	SGT
	SGE
	Set // a & b != 0
)

// Not is the opposite condition (not of Set).
func (c Cond) Not() Cond { return [...]Cond{NE, EQ, GE, GT, LE, LT, SGE, SGT, SLE, SLT, Set}[c] }

type kind uint8

const (
	kMovImm kind = iota
	kMov
	kALU
	kALUImm
	kEnd // byte order swap to big endian: imm bits
	kLoad
	kStore
	kStoreImm
	kAtomicAdd
	kXchg     // dst = xchg(*(base+off), dst)
	kFetchAdd // dst = *(base+off), which dst is added to
	kMapValue
	kKernelVar // address of a variable of the kernel: imm is its number in the kernel's type information
	kCall
	kLabel
	kJump
	kJumpIf
	kJumpIfImm
	kExit
	kParam
	kComment
)

type inst struct {
	kind  kind
	op    Op
	cond  Cond
	size  Size
	wide  bool // 64-bit operation
	dst   Reg
	a, b  Reg // operands: base, source
	off   int32
	imm   int64
	name  string // map, function or comment
	label Label
	fn    asm.BuiltinFunc
	kfunc int32 // BTF id of a kernel function instead of fn
	args  []Operand
}

// Operand is an argument of a call.
type Operand struct {
	kind operandKind
	reg  Reg
	imm  int64
	name string
}

type operandKind uint8

const (
	opReg operandKind = iota
	opImm
	opAddr // reg + imm
	opMap
	opMapValue
	opFunc
)

// R passes a register.
func R(r Reg) Operand { return Operand{kind: opReg, reg: r} }

// I passes a constant.
func I(v int64) Operand { return Operand{kind: opImm, imm: v} }

// A passes an address: base + off.
func A(base Reg, off int) Operand {
	if off == 0 && base != FP {
		return R(base)
	}
	return Operand{kind: opAddr, reg: base, imm: int64(off)}
}

// M passes a map.
func M(name string) Operand { return Operand{kind: opMap, name: name} }

// MV passes the address of a byte of an array map's only value.
func MV(name string, off int) Operand { return Operand{kind: opMapValue, name: name, imm: int64(off)} }

// F passes the address of a function of the program.
func F(f *Builder) Operand { return Operand{kind: opFunc, name: f.name} }

// Program is a main function and its callbacks.
type Program struct {
	Funcs []*Builder

	// OwnStack keeps the kernel from giving the program a stack that all of its runs on a CPU share.
	OwnStack bool
}

// New starts a program with its main function.
func New(name string) (*Program, *Builder) {
	p := &Program{}
	return p, p.Func(name, 1)
}

// Func adds a function with a number of parameters.
func (p *Program) Func(name string, params int) *Builder {
	b := &Builder{name: name, params: params}
	for i := range params {
		r := b.Reg()
		b.add(inst{kind: kParam, dst: r, imm: int64(i)})
	}
	p.Funcs = append(p.Funcs, b)
	return b
}

// Builder appends to one function.
type Builder struct {
	name   string
	params int
	ins    []inst
	regs   int32
	labels int32
	frame  int // bytes of stack slots in use by Slot
	deep   int // most bytes of slots at any time

	cross *crossing // once it is known what is live
	homes []home    // by register, once assigned
	stack int       // bytes of the stack, once assigned
}

func (b *Builder) add(i inst) { b.ins = append(b.ins, i) }

// Name is the function's name.
func (b *Builder) Name() string { return b.name }

// Len is the number of instructions so far.
func (b *Builder) Len() int { return len(b.ins) }

// Reg makes a register.
func (b *Builder) Reg() Reg { b.regs++; return Reg(b.regs - 1) }

// Param is the i-th parameter (0 is the context of a main function).
func (b *Builder) Param(i int) Reg { return Reg(i) }

// Slot reserves size bytes of the stack, aligned to 8, and returns the offset from FP (negative).
func (b *Builder) Slot(size int) int {
	b.frame += (size + 7) &^ 7
	b.deep = max(b.deep, b.frame)
	return -b.frame
}

// Frame is the number of bytes of slots in use; Release gives back all beyond a mark taken from it.
func (b *Builder) Frame() int { return b.frame }

// Release frees the slots reserved since Frame was mark.
func (b *Builder) Release(mark int) { b.frame = mark }

// Imm makes a register with a constant.
func (b *Builder) Imm(v int64) Reg {
	r := b.Reg()
	b.SetImm(r, v)
	return r
}

// SetImm assigns a constant.
func (b *Builder) SetImm(dst Reg, v int64) { b.add(inst{kind: kMovImm, dst: dst, imm: v}) }

// Set assigns a register.
func (b *Builder) Set(dst, src Reg) { b.add(inst{kind: kMov, dst: dst, a: src, wide: true}) }

// Copy makes a register with the value of another.
func (b *Builder) Copy(src Reg) Reg {
	r := b.Reg()
	b.Set(r, src)
	return r
}

// Low32 makes a register with the lower 32 bits of another, zero-extended.
func (b *Builder) Low32(src Reg) Reg {
	r := b.Reg()
	b.add(inst{kind: kMov, dst: r, a: src})
	return r
}

// Op makes x op y.
func (b *Builder) Op(op Op, x, y Reg) Reg {
	r := b.Copy(x)
	b.Apply(op, r, y)
	return r
}

// OpImm makes x op imm.
func (b *Builder) OpImm(op Op, x Reg, imm int64) Reg {
	r := b.Copy(x)
	b.ApplyImm(op, r, imm)
	return r
}

// Apply is dst op= y in 64 bits.
func (b *Builder) Apply(op Op, dst, y Reg) {
	b.add(inst{kind: kALU, op: op, dst: dst, a: y, wide: true})
}

// ApplyImm is dst op= imm in 64 bits. As with registers, division by 0 gives 0, the remainder leaves dst as it is, and
// of the distance of a shift the lower 6 bits count; the kernel refuses such constants in the instruction itself.
func (b *Builder) ApplyImm(op Op, dst Reg, imm int64) {
	if op == Shl || op == Shr || op == Sar {
		imm &= 63
	}
	if int64(int32(imm)) != imm || imm == 0 && (op == Div || op == Mod) {
		b.Apply(op, dst, b.Imm(imm))
		return
	}
	b.add(inst{kind: kALUImm, op: op, dst: dst, imm: imm, wide: true})
}

// Swap reverses the byte order of the low bits (16, 32, 64) of dst and zeroes the rest.
func (b *Builder) Swap(dst Reg, bits int) { b.add(inst{kind: kEnd, dst: dst, imm: int64(bits)}) }

// Extend sign- or zero-extends the lower size bytes of r to 64 bits, in place.
func (b *Builder) Extend(r Reg, size int, signed bool) {
	if size >= 8 {
		return
	}
	bits := int64(64 - 8*size)
	switch {
	case signed:
		b.ApplyImm(Shl, r, bits)
		b.ApplyImm(Sar, r, bits)
	case size == 4:
		b.add(inst{kind: kMov, dst: r, a: r})
	default:
		b.ApplyImm(And, r, 1<<(8*size)-1)
	}
}

// Load makes a register from memory, zero-extended.
func (b *Builder) Load(size Size, base Reg, off int) Reg {
	r := b.Reg()
	b.add(inst{kind: kLoad, size: size, dst: r, a: base, off: int32(off)})
	return r
}

// LoadTo loads into a register.
func (b *Builder) LoadTo(dst Reg, size Size, base Reg, off int) {
	b.add(inst{kind: kLoad, size: size, dst: dst, a: base, off: int32(off)})
}

// Store writes the lower bytes of src.
func (b *Builder) Store(size Size, base Reg, off int, src Reg) {
	b.add(inst{kind: kStore, size: size, a: base, b: src, off: int32(off)})
}

// StoreImm writes a constant (sign-extended 32 bits).
func (b *Builder) StoreImm(size Size, base Reg, off int, imm int64) {
	if size == 8 && int64(int32(imm)) != imm {
		b.Store(size, base, off, b.Imm(imm))
		return
	}
	b.add(inst{kind: kStoreImm, size: size, a: base, off: int32(off), imm: int64(int32(imm))})
}

// AtomicAdd adds src to memory (4 or 8 bytes).
func (b *Builder) AtomicAdd(size Size, base Reg, off int, src Reg) {
	b.add(inst{kind: kAtomicAdd, size: size, a: base, b: src, off: int32(off)})
}

// Xchg stores src and makes a register with what was there (8 bytes). Needs kernel 5.12.
func (b *Builder) Xchg(base Reg, off int, src Reg) Reg {
	r := b.Copy(src)
	b.add(inst{kind: kXchg, size: 8, dst: r, a: base, off: int32(off)})
	return r
}

// FetchAdd adds src to memory and makes a register with what was there (8 bytes). Needs kernel 5.12.
func (b *Builder) FetchAdd(base Reg, off int, src Reg) Reg {
	r := b.Copy(src)
	b.add(inst{kind: kFetchAdd, size: 8, dst: r, a: base, off: int32(off)})
	return r
}

// MapValue makes a pointer into the value of an array map with one entry.
func (b *Builder) MapValue(name string, off int) Reg {
	r := b.Reg()
	b.add(inst{kind: kMapValue, dst: r, name: name, imm: int64(off)})
	return r
}

// KernelVar makes a pointer to a variable of the kernel, by its number in the kernel's type information.
func (b *Builder) KernelVar(id uint32) Reg {
	r := b.Reg()
	b.add(inst{kind: kKernelVar, dst: r, imm: int64(id)})
	return r
}

// Addr makes base + off.
func (b *Builder) Addr(base Reg, off int) Reg {
	r := b.Reg()
	b.add(inst{kind: kMov, dst: r, a: base, wide: true})
	if off != 0 {
		b.ApplyImm(Add, r, int64(off))
	}
	return r
}

// Call calls a helper and makes its result.
func (b *Builder) Call(fn asm.BuiltinFunc, args ...Operand) Reg {
	r := b.Reg()
	b.add(inst{kind: kCall, fn: fn, dst: r, args: args})
	return r
}

// Do calls a helper for its effect.
func (b *Builder) Do(fn asm.BuiltinFunc, args ...Operand) {
	b.add(inst{kind: kCall, fn: fn, dst: NoReg, args: args})
}

// Kfunc calls a kernel function by its BTF id.
func (b *Builder) Kfunc(id int32, args ...Operand) Reg {
	r := b.Reg()
	b.add(inst{kind: kCall, kfunc: id, dst: r, args: args})
	return r
}

// Label makes a label.
func (b *Builder) Label() Label { b.labels++; return Label(b.labels - 1) }

// Bind puts a label here.
func (b *Builder) Bind(l Label) { b.add(inst{kind: kLabel, label: l}) }

// Jump goes to l.
func (b *Builder) Jump(l Label) { b.add(inst{kind: kJump, label: l}) }

// If goes to l if x cond y.
func (b *Builder) If(c Cond, x, y Reg, l Label) {
	b.add(inst{kind: kJumpIf, cond: c, a: x, b: y, label: l, wide: true})
}

// IfImm goes to l if x cond imm.
func (b *Builder) IfImm(c Cond, x Reg, imm int64, l Label) {
	if int64(int32(imm)) != imm {
		b.If(c, x, b.Imm(imm), l)
		return
	}
	b.add(inst{kind: kJumpIfImm, cond: c, a: x, imm: imm, label: l, wide: true})
}

// Exit returns a constant.
func (b *Builder) Exit(v int64) { b.add(inst{kind: kExit, a: NoReg, imm: v}) }

// ExitReg returns a register.
func (b *Builder) ExitReg(r Reg) { b.add(inst{kind: kExit, a: r}) }

// Comment notes where the following instructions come from; dumps show it.
func (b *Builder) Comment(format string, args ...any) {
	b.add(inst{kind: kComment, name: fmt.Sprintf(format, args...)})
}

// Move takes the instructions from mark to the end and puts them in front of the one at position to.
func (b *Builder) Move(mark, to int) {
	tail := append([]inst(nil), b.ins[mark:]...)
	b.ins = append(b.ins[:to:to], append(tail, b.ins[to:mark]...)...)
}
