package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// hasRegisters tells whether the context begins with the interrupted program's registers.
func (g *gen) hasRegisters() bool { return g.typ.Context().HasRegisters() }

// argN is an argument by position: USDT's by its note, a function's by the C calling convention.
func (g *gen) argN(n int, span diag.Span) ir.Reg {
	b := g.b
	arch := g.c.opts.Arch
	if s := g.points[0].Scope; s != nil && s.ArgN != nil {
		if n >= len(s.ArgN) {
			refuse(span, "this probe has %d arguments, there is no arg%d", len(s.ArgN), n)
		}
		t := types.TUint64
		if n < len(s.ArgNTypes) && s.ArgNTypes[n] != nil {
			t = s.ArgNTypes[n]
		}
		return g.fromPlace(s.ArgN[n], t, span)
	}
	if g.typ.Context() == probe.Words {
		return b.Load(8, g.context(), 8*n)
	}
	if !g.hasRegisters() {
		refuse(span, "arg%d needs a probe on a function", n)
	}
	if n < len(arch.C.Args) {
		return g.machine(arch.C.Args[n], span)
	}
	return g.fromPlace(arch.StackArg(n-len(arch.C.Args)), types.TUint64, span)
}

// fromPlace makes a register with a scalar at a place, of type t.
func (g *gen) fromPlace(p types.Place, t *types.Type, span diag.Span) ir.Reg {
	b := g.b
	switch p.Kind {
	case types.Constant:
		return b.Imm(int64(p.Value))
	case types.InRegister:
		r := b.Copy(g.machine(p.Reg, span))
		b.Extend(r, t.Size, t.Signed)
		return r
	case types.InMemory:
		return g.load(g.memoryAt(p, span), t.Size, t.Signed, span)
	case types.Computed:
		r := b.Copy(g.memoryAt(p, span).base)
		b.Extend(r, t.Size, t.Signed)
		return r
	case types.InContext:
		return g.load(g.inContext(int(p.Offset), t), t.Size, t.Signed, span)
	case types.Unavailable:
		refuse(span, "the value is not available: %s", p.Why)
	}
	tmp := g.temp(roundUp(t.Size))
	g.assemble(tmp, p, t.Size, span)
	return g.load(tmp, t.Size, t.Signed, span)
}

// memoryAt computes the address of a place in memory.
func (g *gen) memoryAt(p types.Place, span diag.Span) memory {
	b := g.b
	if p.Kept {
		return memory{space: inUser, base: b.Load(8, g.frame, g.keptSlot), off: int(p.Offset)}
	}
	if p.OfKernel() {
		return memory{space: inKernel, base: g.compute(p.Ops, span)}
	}
	if len(p.Ops) > 0 {
		return memory{space: inUser, base: g.compute(p.Ops, span)}
	}
	base := g.machine(p.Reg, span)
	if p.Offset != 0 {
		base = b.OpImm(ir.Add, base, p.Offset)
	}
	for _, d := range p.Derefs {
		base = b.Copy(g.load(memory{space: inUser, base: base}, 8, false, span))
		if d != 0 {
			b.ApplyImm(ir.Add, base, d)
		}
	}
	return memory{space: inUser, base: base}
}

// machine is a register by its DWARF number.
func (g *gen) machine(reg int, span diag.Span) ir.Reg {
	arch := g.c.opts.Arch
	off, ok := arch.Offset(reg)
	if !ok {
		refuse(span, "the value, or its address, is in %s, which BPF can't read", arch.RegisterName(reg))
	}
	return g.register(off)
}

var placeOps = map[types.PlaceCode]ir.Op{
	types.Add: ir.Add, types.Sub: ir.Sub, types.Mul: ir.Mul, types.ModUnsigned: ir.Mod, types.And: ir.And,
	types.Or: ir.Or, types.Xor: ir.Xor, types.Shl: ir.Shl, types.ShrUnsigned: ir.Shr, types.ShrSigned: ir.Sar,
}

var placeConds = map[types.PlaceCode]ir.Cond{
	types.IfEq: ir.EQ, types.IfNe: ir.NE, types.IfLt: ir.SLT, types.IfLe: ir.SLE, types.IfGt: ir.SGT, types.IfGe: ir.SGE,
}

// compute runs the steps of a place on a stack of registers.
func (g *gen) compute(ops []types.PlaceOp, span diag.Span) ir.Reg {
	b := g.b
	var stack []ir.Reg
	pop := func() ir.Reg {
		if len(stack) == 0 {
			refuse(span, "the location of the value is invalid")
		}
		r := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return r
	}
	for _, op := range ops {
		switch op.Code {
		case types.PushReg:
			stack = append(stack, g.machine(op.Reg, span))
		case types.PushConst:
			stack = append(stack, b.Imm(op.Arg))
		case types.PushLoaded:
			stack = append(stack, g.loaded(span))
		case types.PushFloat:
			stack = append(stack, g.float(op.Reg, span))
		case types.PushThread:
			stack = append(stack, g.threadPointer(span))
		case types.Load:
			stack = append(stack, g.load(memory{space: inUser, base: pop()}, int(op.Arg), false, span))
		case types.Negate:
			r := b.Copy(pop())
			b.Apply(ir.Neg, r, r)
			stack = append(stack, r)
		case types.Invert:
			stack = append(stack, b.OpImm(ir.Xor, pop(), -1))
		case types.DivSigned:
			y, x := b.Copy(pop()), b.Copy(pop())
			sign, end := b.Op(ir.Xor, x, y), b.Label()
			g.magnitude(x)
			g.magnitude(y)
			b.Apply(ir.Div, x, y)
			b.IfImm(ir.SGE, sign, 0, end)
			b.Apply(ir.Neg, x, x)
			b.Bind(end)
			stack = append(stack, x)
		default:
			y, x := pop(), pop()
			if c, ok := placeConds[op.Code]; ok {
				r, end := b.Imm(1), b.Label()
				b.If(c, x, y, end)
				b.SetImm(r, 0)
				b.Bind(end)
				stack = append(stack, r)
				break
			}
			o, ok := placeOps[op.Code]
			if !ok {
				refuse(span, "the location of the value is of an unknown kind")
			}
			if o == ir.Shl || o == ir.Shr || o == ir.Sar {
				stack = append(stack, g.shift(o, x, y))
				break
			}
			stack = append(stack, b.Op(o, x, y))
		}
	}
	return pop()
}

// shift is DWARF's: by 64 and more it gives 0, or the sign, where BPF would take the lower six bits.
func (g *gen) shift(op ir.Op, x, y ir.Reg) ir.Reg {
	b := g.b
	n := b.Copy(y)
	r := b.Copy(x)
	inside, end := b.Label(), b.Label()
	b.IfImm(ir.LT, n, 64, inside)
	if op == ir.Sar {
		b.ApplyImm(ir.Sar, r, 63)
	} else {
		b.SetImm(r, 0)
	}
	b.Jump(end)
	b.Bind(inside)
	b.Apply(op, r, n)
	b.Bind(end)
	return r
}

// assemble builds a value of n bytes from a place in dst.
func (g *gen) assemble(dst memory, p types.Place, n int, span diag.Span) {
	b := g.b
	switch p.Kind {
	case types.InPieces:
		at := 0
		for _, piece := range p.Pieces {
			g.assemble(dst.at(at), piece.Place, piece.Size, span)
			at += piece.Size
		}
		if at < n {
			g.zero(dst.at(at), n-at) // padding: see whole
		}
	case types.InMemory:
		g.fetch(dst, g.memoryAt(p, span), n, span)
	case types.Unavailable:
		refuse(span, "a part of the value is not available: %s", p.Why)
	case types.Constant, types.InRegister, types.Computed, types.InContext:
		t := types.IntOf(8, false)
		r := g.fromPlace(p, t, span)
		tmp := memory{space: onStack, off: b.Slot(8)}
		g.store(tmp, 8, r)
		g.copy(dst, tmp, min(n, 8))
		if n > 8 {
			g.zero(dst.at(8), n-8) // all that Missing lets pass is 0
		}
	default:
		refuse(span, "internal: no code for a value at a location of kind %d", p.Kind)
	}
}

// argOf is the variable of a named argument; all points of an action have it at the same place (check groups them so).
func (g *gen) argOf(index int, span diag.Span) probe.Var {
	s := g.points[0].Scope
	if s == nil || index >= len(s.Args) {
		refuse(span, "this probe has no such argument")
	}
	return s.Args[index]
}

func (g *gen) argScalar(e *check.ArgRef) ir.Reg {
	v := g.argOf(e.Arg, e.Span)
	return g.fromPlace(v.Place, e.T, e.Span)
}

func (g *gen) argPlace(e *check.ArgRef) memory {
	v := g.argOf(e.Arg, e.Span)
	if v.Place.Kind == types.InMemory {
		return g.memoryAt(v.Place, e.Span)
	}
	g.whole(v, e.Span)
	dst := g.temp(roundUp(v.Type.Size))
	g.assemble(dst, v.Place, v.Type.Size, e.Span)
	return dst
}

// whole refuses a value of which a part can't be had.
func (g *gen) whole(v probe.Var, span diag.Span) {
	if why, missing := v.Place.Missing(v.Type.Extent()); missing {
		refuse(span, "a part of the value is not available: %s", why)
	}
}

// inPlace finds the argument or result that a chain of fields by value begins with, if that is in registers or pieces,
// and the field's offset in it.
func (g *gen) inPlace(e check.Expr) (v probe.Var, off int, ok bool) {
	for {
		switch x := e.(type) {
		case *check.Member:
			if x.X.Type().Kind == types.Pointer || x.Field.BitSize > 0 && off > 0 {
				return v, 0, false
			}
			off += x.Field.Offset
			e = x.X
			continue
		case *check.Cast:
			return v, 0, false
		case *check.ArgRef:
			v = g.argOf(x.Arg, x.Span)
		case *check.RetvalRef:
			v = *g.retvalVar(x.Span)
		default:
			return v, 0, false
		}
		return v, off, v.Place.Kind == types.InPieces || v.Place.Kind == types.InRegister
	}
}

// partOf is the memory of a part of a value in pieces.
func (g *gen) partOf(v probe.Var, off int, e check.Expr) memory {
	p := v.Place.Slice(off, e.Type().Size)
	if p.Kind == types.InMemory {
		return g.memoryAt(p, e.Pos())
	}
	dst := g.temp(roundUp(e.Type().Size))
	g.assemble(dst, p, e.Type().Size, e.Pos())
	return dst
}

func (g *gen) retvalVar(span diag.Span) *probe.Var {
	s := g.points[0].Scope
	if s == nil || s.Retval == nil {
		refuse(span, "the type of the result is not known")
	}
	return s.Retval
}

func (g *gen) retvalScalar(e *check.RetvalRef) ir.Reg {
	return g.fromPlace(g.retvalVar(e.Span).Place, e.T, e.Span)
}

func (g *gen) retvalPlace(e *check.RetvalRef) memory {
	v := g.retvalVar(e.Span)
	switch v.Place.Kind {
	case types.InMemory:
		return g.memoryAt(v.Place, e.Span)
	case types.InContext:
		return g.inContext(int(v.Place.Offset), v.Type)
	}
	dst := g.temp(roundUp(v.Type.Size))
	g.assemble(dst, v.Place, v.Type.Size, e.Span)
	return dst
}

// argsInMemory tells whether `args` is a record of the kernel's in the context (tracepoints).
func (g *gen) argsInMemory() bool {
	s := g.points[0].Scope
	return s != nil && s.ArgsType != nil
}

// argsPlace is the whole `args`: the kernel's record, or a struct built from the arguments.
func (g *gen) argsPlace(e *check.ArgsRef) memory {
	if g.argsInMemory() {
		dst := memory{space: inScratch, off: g.reserve(e.T.Size)}
		if e.T.Size > 0 {
			g.b.Do(asm.FnProbeReadKernel, g.addr(dst), ir.I(int64(e.T.Size)), ir.R(g.context()))
		}
		return dst
	}
	dst := g.temp(e.T.Size)
	g.zero(dst, e.T.Size)
	for i, f := range e.T.Fields {
		if f.Type.Kind == types.Void {
			continue // types.Missing
		}
		v := g.argOf(e.First+i, e.Span)
		g.assemble(dst.at(f.Offset), v.Place, f.Type.Size, e.Span)
	}
	return dst
}

// inContext is the memory of a value in the context. What a program of type fentry or fexit loads there as a pointer
// the verifier takes for one to a kernel object (PTR_TO_BTF_ID), with which it allows little arithmetic: read by a
// helper it is a number.
func (g *gen) inContext(off int, t *types.Type) memory {
	traced := g.typ == probe.FentryProgram || g.typ == probe.FexitProgram
	if t.IsScalar() && !(traced && t.Kind == types.Pointer) {
		return memory{space: inCtx, off: off}
	}
	dst := g.temp(roundUp(t.Size))
	g.b.Do(asm.FnProbeReadKernel, g.addr(dst), ir.I(int64(t.Size)), ir.A(g.context(), off))
	return dst
}

// argsMember is a field of `args` in memory.
func (g *gen) argsMember(r *check.ArgsRef, e *check.Member) memory {
	if g.argsInMemory() {
		if e.Field.DataLoc {
			refuse(e.Span, "internal: the place of %q is computed", e.Field.Name)
		}
		return g.inContext(e.Field.Offset, e.T)
	}
	return g.argPlace(&check.ArgRef{E: e.E, Arg: e.Index})
}

func (g *gen) argsMemberScalar(r *check.ArgsRef, e *check.Member) ir.Reg {
	return g.argScalar(&check.ArgRef{E: e.E, Arg: e.Index})
}
