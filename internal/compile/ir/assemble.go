package ir

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// MaxFrame is the stack of a BPF program in bytes, callbacks included (MAX_BPF_STACK).
const MaxFrame = 512

// MaxCalls is how many functions may be under way at once, the main one included (MAX_CALL_FRAMES).
const MaxCalls = 8

// FrameError says that a program needs more stack than there is.
type FrameError struct {
	Func string // where most is in use
	Size int    // of all functions under way there
}

func (e *FrameError) Error() string {
	return fmt.Sprintf("%s needs %d bytes of BPF stack, the kernel allows %d", e.Func, e.Size, MaxFrame)
}

// NestingError says that callbacks within callbacks go too deep.
type NestingError struct{ Calls int }

func (e *NestingError) Error() string {
	return fmt.Sprintf("%d functions are nested, the kernel allows %d", e.Calls, MaxCalls)
}

// MaxLen is how many instructions a function may have before it is assembled. The kernel takes a million of a program,
// and follows a million on all its paths.
const MaxLen = 1 << 18

// maxLive bounds the bytes of what is live where: a bit for each register that crosses blocks at each end of each
// block.
const maxLive = 96 << 20

// LengthError says that a function is too long.
type LengthError struct {
	Func   string
	Len    int // instructions
	Blocks int // stretches between jumps, if they are too many
}

func (e *LengthError) Error() string {
	if e.Blocks == 0 {
		return fmt.Sprintf("%s has %d instructions, at most %d are possible", e.Func, e.Len, MaxLen)
	}
	return fmt.Sprintf("%s has %d instructions in %d branches, which are too many", e.Func, e.Len, e.Blocks)
}

// JumpError says that a function is too long for the 16 bits of a jump's distance.
type JumpError struct {
	Func     string
	Distance int
}

func (e *JumpError) Error() string {
	return fmt.Sprintf("%s has a jump over %d instructions, one reaches over 32767", e.Func, e.Distance)
}

// Assemble assigns registers and returns the instructions of all functions, the main one first. References to maps are
// by name. It may be called once.
func (p *Program) Assemble() (asm.Instructions, error) {
	order, err := p.plan()
	if err != nil {
		return nil, err
	}
	var out asm.Instructions
	for n, f := range order {
		ins, err := f.assemble(n, len(order) > 1, p.OwnStack && n == 0)
		if err != nil {
			return nil, err
		}
		out = append(out, ins...)
	}
	return out, nil
}

// plan assigns the registers of the functions that are called at all (the kernel refuses others) and lists these. It
// looks at what may be under way at once: a callback runs on top of all that led to its call, and each frame counts in
// steps of 32 bytes (check_max_stack_depth).
func (p *Program) plan() (order []*Builder, err error) {
	byName := map[string]*Builder{}
	for _, f := range p.Funcs {
		byName[f.name] = f
	}
	planned := map[*Builder]bool{}
	var walk func(f *Builder, below, calls int) error
	walk = func(f *Builder, below, calls int) error {
		if !planned[f] {
			planned[f] = true
			order = append(order, f)
			if err := f.plan(); err != nil {
				return err
			}
		}
		size := below + max(32, (f.stack+31)&^31)
		if size > MaxFrame {
			return &FrameError{f.name, size}
		}
		if calls > MaxCalls {
			return &NestingError{calls}
		}
		for i := range f.ins {
			for _, a := range f.ins[i].args {
				if a.kind != opFunc {
					continue
				}
				if err := walk(byName[a.name], size, calls+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return order, walk(p.Funcs[0], 0, 1)
}

type emitter struct {
	name    string
	out     asm.Instructions
	homes   []home
	places  map[Label]int // number of the instruction behind each label
	targets []target      // of the jumps
}

// target is where a jump goes.
type target struct {
	at    int
	label Label
}

// plan removes what is not needed and assigns registers.
func (b *Builder) plan() error {
	if len(b.ins) > MaxLen {
		return &LengthError{Func: b.name, Len: len(b.ins)}
	}
	if n := len(b.ins); n == 0 || b.ins[n-1].kind != kExit {
		b.Exit(0)
	}
	bs := b.blocks()
	for {
		if !b.liveness(bs) {
			return &LengthError{Func: b.name, Len: len(b.ins), Blocks: len(bs)}
		}
		if !b.sweep(bs) {
			break
		}
		bs = b.blocks()
	}
	b.homes, b.stack = b.allocate(bs)
	return nil
}

// pseudoBTFID says that the constant of a wide load is the number of a variable of the kernel (BPF_PSEUDO_BTF_ID).
const pseudoBTFID = asm.Register(3)

func (b *Builder) assemble(number int, meta, ownStack bool) (asm.Instructions, error) {
	e := &emitter{name: b.name, homes: b.homes, places: map[Label]int{}}
	if ownStack {
		e.ownStack()
	}
	var params []move
	i := 0
	for ; i < len(b.ins) && (b.ins[i].kind == kParam || b.ins[i].kind == kComment); i++ {
		if b.ins[i].kind == kParam {
			params = append(params, move{to: b.homes[b.ins[i].dst], from: R(NoReg), reg: asm.Register(1 + b.ins[i].imm)})
		}
	}
	if meta && i < len(b.ins) && b.ins[i].kind == kLabel {
		// The first instruction carries the function's name and can't carry a label's.
		e.add(asm.Mov.Imm(asm.R0, 0))
	}
	e.moves(params)
	for ; i < len(b.ins); i++ {
		if err := e.emit(&b.ins[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
	}
	if err := e.resolve(fmt.Sprintf("f%d.L", number)); err != nil {
		return nil, err
	}
	if meta {
		e.out[0] = e.out[0].WithSymbol(b.name)
		e.out[0] = btf.WithFuncMetadata(e.out[0], b.signature(number))
	}
	return e.out, nil
}

// ownStack begins a program with a tail call that is never reached, and so neither verified nor kept: programs that
// have one are not given a private stack (check_max_stack_depth in kernel/bpf/verifier.c, Linux 6.13). That is one for
// each CPU, of programs that use 64 bytes or more; the kernel takes it that they cannot be under way twice on a CPU,
// which uprobe programs can: they are preempted and sleep. Another run then changes the variables of the first.
func (e *emitter) ownStack() {
	e.add(asm.Mov.Imm(asm.R0, 0))
	over := asm.JEq.Imm(asm.R0, 0, "")
	over.Offset = 2
	e.add(over)
	e.add(asm.FnTailCall.Call())
	e.add(asm.Return())
}

// resolve names the targets of jumps.
func (e *emitter) resolve(prefix string) error {
	raw := make([]int, len(e.out)+1) // offsets in units of 8 bytes
	for i := range e.out {
		raw[i+1] = raw[i] + int(e.out[i].Size())/asm.InstructionSize
	}
	for _, t := range e.targets {
		place, ok := e.places[t.label]
		if !ok || place >= len(e.out) {
			return fmt.Errorf("%s: a jump goes to label L%d, which has no place", e.name, t.label)
		}
		distance := raw[place] - raw[t.at] - 1
		if distance != int(int16(distance)) {
			return &JumpError{e.name, distance}
		}
		to := &e.out[place]
		if to.Symbol() == "" {
			*to = to.WithSymbol(fmt.Sprint(prefix, t.label))
		}
		e.out[t.at] = e.out[t.at].WithReference(to.Symbol())
	}
	return nil
}

// signature is the type information that the kernel wants of programs with callbacks ("callback function must be
// static", check_ld_imm).
func (b *Builder) signature(number int) *btf.Func {
	long := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	proto := &btf.FuncProto{Return: long}
	for i := range b.params {
		proto.Params = append(proto.Params, btf.FuncParam{Name: fmt.Sprintf("p%d", i), Type: long})
	}
	linkage := btf.StaticFunc
	if number == 0 {
		linkage = btf.GlobalFunc
		proto.Params = []btf.FuncParam{{Name: "ctx", Type: &btf.Pointer{Target: &btf.Void{}}}}
	}
	return &btf.Func{Name: b.name, Type: proto, Linkage: linkage}
}

func (e *emitter) add(ins asm.Instruction) { e.out = append(e.out, ins) }

// jump adds a jump to a label.
func (e *emitter) jump(ins asm.Instruction, l Label) {
	e.targets = append(e.targets, target{len(e.out), l})
	e.add(ins)
}

const (
	scratch0 = asm.R0
	scratch1 = asm.R1
)

// read returns the machine register with the value of r, which is loaded to tmp, or made there, if it is spilled.
func (e *emitter) read(r Reg, tmp asm.Register) asm.Register {
	if r == FP {
		return asm.RFP
	}
	h := e.homes[r]
	if h.constant {
		e.add(movImm(tmp, h.imm))
		return tmp
	}
	if h.spilled {
		e.add(asm.LoadMem(tmp, asm.RFP, int16(h.slot), asm.DWord))
		return tmp
	}
	return h.reg
}

// target is the register to compute r in; done stores it if it is spilled.
func (e *emitter) target(r Reg) asm.Register {
	if h := e.homes[r]; !h.spilled {
		return h.reg
	}
	return scratch0
}

func (e *emitter) done(r Reg) {
	if h := e.homes[r]; h.spilled {
		e.add(asm.StoreMem(asm.RFP, int16(h.slot), scratch0, asm.DWord))
	}
}

var aluOps = [...]asm.ALUOp{
	asm.Add, asm.Sub, asm.Mul, asm.Div, asm.Mod, asm.And, asm.Or, asm.Xor, asm.LSh, asm.RSh,
	asm.ArSh, asm.Neg,
}

var jumpOps = [...]asm.JumpOp{
	asm.JEq, asm.JNE, asm.JLT, asm.JLE, asm.JGT, asm.JGE, asm.JSLT, asm.JSLE, asm.JSGT,
	asm.JSGE, asm.JSet,
}

// unresolved stands for a target until all places are known.
const unresolved = "?"

func asmSize(s Size) asm.Size {
	switch s {
	case 1:
		return asm.Byte
	case 2:
		return asm.Half
	case 4:
		return asm.Word
	}
	return asm.DWord
}

func (e *emitter) emit(i *inst) error {
	if i.off != int32(int16(i.off)) {
		return fmt.Errorf("offset %d is out of reach of an instruction", i.off)
	}
	switch i.kind {
	case kComment:
		// The library would turn a comment into line information, which the kernel wants for all functions or none.
	case kLabel:
		e.places[i.label] = len(e.out)
	case kMovImm:
		if e.homes[i.dst].constant {
			return nil
		}
		// Not stored as an immediate: before 6.3 the verifier would forget the value (loops would not end for it).
		e.add(movImm(e.target(i.dst), i.imm))
		e.done(i.dst)
	case kMov:
		if h := e.homes[i.dst]; h.spilled && i.wide {
			e.add(asm.StoreMem(asm.RFP, int16(h.slot), e.read(i.a, scratch0), asm.DWord))
			return nil
		}
		d := e.target(i.dst)
		s := e.read(i.a, d)
		if !i.wide {
			e.add(asm.Mov.Reg32(d, s))
		} else if d != s {
			e.add(asm.Mov.Reg(d, s))
		}
		e.done(i.dst)
	case kALU:
		d := e.read(i.dst, scratch0)
		if i.op == Neg {
			e.add(asm.Instruction{OpCode: asm.OpCode(asm.ALU64Class).SetALUOp(asm.Neg), Dst: d})
		} else {
			e.add(aluOps[i.op].Reg(d, e.read(i.a, scratch1)))
		}
		e.done(i.dst)
	case kALUImm:
		d := e.read(i.dst, scratch0)
		if i.wide {
			e.add(aluOps[i.op].Imm(d, int32(i.imm)))
		} else {
			e.add(aluOps[i.op].Imm32(d, int32(i.imm)))
		}
		e.done(i.dst)
	case kEnd:
		d := e.read(i.dst, scratch0)
		e.add(asm.HostTo(asm.BE, d, map[int64]asm.Size{16: asm.Half, 32: asm.Word, 64: asm.DWord}[i.imm]))
		e.done(i.dst)
	case kLoad:
		base := e.read(i.a, scratch1)
		e.add(asm.LoadMem(e.target(i.dst), base, int16(i.off), asmSize(i.size)))
		e.done(i.dst)
	case kStore:
		base := e.read(i.a, scratch0)
		e.add(asm.StoreMem(base, int16(i.off), e.read(i.b, scratch1), asmSize(i.size)))
	case kStoreImm:
		e.add(storeImm(e.read(i.a, scratch0), int16(i.off), i.imm, i.size))
	case kAtomicAdd:
		base := e.read(i.a, scratch0)
		e.add(asm.AddAtomic.Mem(base, e.read(i.b, scratch1), asmSize(i.size), int16(i.off)))
	case kXchg, kFetchAdd:
		op := asm.Xchg
		if i.kind == kFetchAdd {
			op = asm.FetchAdd
		}
		d := e.read(i.dst, scratch0)
		x := op.Mem(e.read(i.a, scratch1), d, asmSize(i.size), int16(i.off))
		// cilium/ebpf 0.22 encodes the constant before it computes it, so fetching atomics become plain adds
		x.Constant = int64(op >> 8)
		e.add(x)
		e.done(i.dst)
	case kMapValue:
		e.add(asm.LoadMapValue(e.target(i.dst), 0, uint32(i.imm)).WithReference(i.name))
		e.done(i.dst)
	case kKernelVar:
		x := asm.LoadImm(e.target(i.dst), i.imm, asm.DWord)
		x.Src = pseudoBTFID
		e.add(x)
		e.done(i.dst)
	case kCall:
		var ms []move
		for n, a := range i.args {
			ms = append(ms, move{to: home{reg: asm.Register(1 + n)}, from: a})
		}
		e.moves(ms)
		if i.kfunc != 0 {
			e.add(asm.Instruction{
				OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoKfuncCall,
				Constant: int64(i.kfunc),
			})
		} else {
			e.add(i.fn.Call())
		}
		if i.dst >= 0 {
			if h := e.homes[i.dst]; h.spilled {
				e.done(i.dst)
			} else {
				e.add(asm.Mov.Reg(h.reg, asm.R0))
			}
		}
	case kJump:
		e.jump(asm.Ja.Label(unresolved), i.label)
	case kJumpIf:
		a := e.read(i.a, scratch0)
		e.jump(jumpOps[i.cond].Reg(a, e.read(i.b, scratch1), unresolved), i.label)
	case kJumpIfImm:
		e.jump(jumpOps[i.cond].Imm(e.read(i.a, scratch0), int32(i.imm), unresolved), i.label)
	case kExit:
		if i.a == NoReg {
			e.add(asm.Mov.Imm(asm.R0, int32(i.imm)))
		} else if r := e.read(i.a, asm.R0); r != asm.R0 {
			e.add(asm.Mov.Reg(asm.R0, r))
		}
		e.add(asm.Return())
	case kParam:
		return fmt.Errorf("parameter %d taken behind the start", i.imm)
	default:
		return fmt.Errorf("unknown instruction %s", i)
	}
	return nil
}

func movImm(d asm.Register, v int64) asm.Instruction {
	if v == int64(int32(v)) {
		return asm.Mov.Imm(d, int32(v))
	}
	return asm.LoadImm(d, v, asm.DWord)
}

func storeImm(base asm.Register, off int16, v int64, size Size) asm.Instruction {
	// asm.StoreImm refuses 8 bytes, which the kernel allows (the constant is sign-extended).
	return asm.Instruction{OpCode: asm.StoreImmOp(asmSize(size)), Dst: base, Offset: off, Constant: v}
}

// move is one of several assignments that happen at once.
type move struct {
	to   home
	from Operand      // NoReg in it: reg is the source
	reg  asm.Register // machine register, for parameters
}

// source is the machine register that the move reads, if it reads one.
func (e *emitter) source1(m *move) (asm.Register, bool) {
	switch {
	case m.from.kind == opReg && m.from.reg == NoReg:
		return m.reg, true
	case (m.from.kind == opReg || m.from.kind == opAddr) && m.from.reg >= 0:
		if h := e.homes[m.from.reg]; !h.spilled {
			return h.reg, true
		}
	}
	return 0, false
}

// moves carries out assignments that must look simultaneous: those whose target nobody still reads go first; a cycle is
// broken by R0.
func (e *emitter) moves(ms []move) {
	pending := make([]*move, len(ms))
	for i := range ms {
		pending[i] = &ms[i]
	}
	for len(pending) > 0 {
		progress := false
		for i := 0; i < len(pending); i++ {
			m := pending[i]
			blocked := false
			if !m.to.spilled {
				for j, o := range pending {
					if r, ok := e.source1(o); ok && j != i && r == m.to.reg {
						blocked = true
						break
					}
				}
			}
			if blocked {
				continue
			}
			e.move(m)
			pending = append(pending[:i], pending[i+1:]...)
			i--
			progress = true
		}
		if !progress {
			// All targets are still read: keep one source in R0.
			r, _ := e.source1(pending[0])
			e.add(asm.Mov.Reg(scratch0, r))
			for _, o := range pending {
				if s, ok := e.source1(o); ok && s == r {
					off := int64(0)
					if o.from.kind == opAddr {
						off = o.from.imm
					}
					o.from, o.reg = Operand{kind: opReg, reg: NoReg, imm: off}, scratch0
				}
			}
		}
	}
}

func (e *emitter) move(m *move) {
	d := m.to.reg
	if m.to.spilled {
		d = scratch0
	}
	switch m.from.kind {
	case opImm:
		e.add(movImm(d, m.from.imm))
	case opMap:
		e.add(asm.LoadMapPtr(d, 0).WithReference(m.from.name))
	case opMapValue:
		e.add(asm.LoadMapValue(d, 0, uint32(m.from.imm)).WithReference(m.from.name))
	case opFunc:
		e.add(asm.Instruction{
			OpCode: asm.LoadImmOp(asm.DWord), Dst: d, Src: asm.PseudoFunc,
			Constant: -1,
		}.WithReference(m.from.name))
	default:
		s := m.reg
		if m.from.reg != NoReg {
			s = e.read(m.from.reg, d)
		}
		if s != d {
			e.add(asm.Mov.Reg(d, s))
		}
		if m.from.imm != 0 {
			e.add(asm.Add.Imm(d, int32(m.from.imm)))
		}
	}
	if m.to.spilled {
		e.add(asm.StoreMem(asm.RFP, int16(m.to.slot), scratch0, asm.DWord))
	}
}
