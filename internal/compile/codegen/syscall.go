package codegen

import (
	"encoding/binary"

	"github.com/cilium/ebpf"

	"trocar/internal/binary/types"
	"trocar/internal/binary/uapi"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
)

// System calls. What is read of each is told by a word (check.SyscallArgs), in a map where there are several.

// syscallNumber is the number of the system call that begins or ends.
func (g *gen) syscallNumber() ir.Reg {
	return g.b.Copy(g.load(memory{space: inCtx, off: check.SyscallNumber}, 4, false, g.act.Span))
}

// syscallRet is the result of the one that ends.
func (g *gen) syscallRet() ir.Reg {
	return g.b.Copy(g.load(memory{space: inCtx, off: check.SyscallRegs}, 8, false, g.act.Span))
}

// syscallWord tells what is read of a system call.
func (g *gen) syscallWord(of *check.SyscallArgs, number ir.Reg) ir.Reg {
	if of.Number >= 0 {
		return g.b.Imm(int64(of.Word(of.Number)))
	}
	return g.syscallTable(of, number, 0, 0)
}

// syscallTable is what the map has of a system call, or a number for one that is not in it.
func (g *gen) syscallTable(of *check.SyscallArgs, number ir.Reg, at int, otherwise int64) ir.Reg {
	b := g.b
	g.c.syscallMap(of)
	word, none, n := b.Imm(otherwise), b.Label(), b.Copy(number)
	b.IfImm(ir.GE, n, int64(of.Numbers()), none)
	b.ApplyImm(ir.Shl, n, 4)
	b.Set(word, b.Load(8, b.Op(ir.Add, b.MapValue(record.SyscallsName, 0), n), at))
	b.Bind(none)
	return word
}

// registers is how many of them have arguments.
func registers(call *uapi.Call) int {
	if call == nil { // which is not known: all are shown
		return uapi.MaxParams
	}
	if n := len(call.Params); n > 0 {
		return call.Params[n-1].Reg + 1
	}
	return 0
}

// syscallMap adds the map once that has of each call the word and the number of registers.
func (c *compiler) syscallMap(of *check.SyscallArgs) {
	for _, m := range c.out.Maps {
		if m.Name == record.SyscallsName {
			return
		}
	}
	m := array(record.SyscallsName, 16*of.Numbers())
	value := make([]byte, m.ValueSize)
	for n, call := range uapi.Of(c.opts.Arch) {
		binary.LittleEndian.PutUint64(value[16*n:], of.Word(n))
		binary.LittleEndian.PutUint64(value[16*n+8:], uint64(registers(call)))
	}
	m.Contents = []ebpf.MapKV{{Key: uint32(0), Value: value}}
	c.out.Maps = append(c.out.Maps, m)
}

// syscallArgs keeps the registers, and what is there already of what they point to.
func (g *gen) syscallArgs(dst memory, e *check.Call) {
	b, of := g.b, e.Syscall
	g.zero(dst, of.Type.Size)
	number := g.syscallNumber()
	g.store(dst, 8, number)
	params, count := of.Params, ir.NoReg
	if of.Number < 0 {
		count = g.syscallTable(of, number, 8, uapi.MaxParams)
	} else {
		params = min(params, registers(uapi.Of(g.c.opts.Arch)[of.Number]))
	}
	all := b.Label()
	for i := range params {
		if count != ir.NoReg {
			b.IfImm(ir.LE, count, int64(i), all)
		}
		reg := g.load(memory{space: inCtx, off: check.SyscallRegs + 8*i}, 8, false, e.Span)
		g.store(dst.at(8+8*i), 8, reg)
	}
	b.Bind(all)
	g.syscallGiven(dst, of, number, e.Span)
	word := b.Copy(g.syscallWord(of, number))
	for i := range of.Slots {
		g.syscallSlot(dst, of, i, word, ir.NoReg, e.Span)
	}
}

// syscallGiven clears the registers in which calls are not given anything, which are no part of the value: two that are
// shown alike are the same key.
func (g *gen) syscallGiven(dst memory, of *check.SyscallArgs, number ir.Reg, span diag.Span) {
	b := g.b
	for n, call := range uapi.Of(g.c.opts.Arch) {
		if call == nil || of.Number >= 0 && n != of.Number {
			continue
		}
		next, entered := b.Label(), false
		for i, p := range call.Params {
			if p.When == nil || i > 0 && call.Params[i-1].Reg == p.Reg {
				continue
			}
			if !entered && of.Number < 0 {
				b.IfImm(ir.NE, number, int64(n), next)
			}
			entered = true
			given := b.Label()
			for j := range call.Params[i:] {
				if q := &call.Params[i+j]; q.Reg == p.Reg {
					g.ifGiven(dst, q.When, given, span)
				}
			}
			g.store(dst.at(8+8*p.Reg), 8, b.Imm(0))
			b.Bind(given)
		}
		b.Bind(next)
	}
}

// ifGiven jumps where a parameter is given.
func (g *gen) ifGiven(dst memory, w *types.When, given ir.Label, span diag.Span) {
	b := g.b
	v := b.Copy(g.load(dst.at(8+w.Offset), w.Size, false, span))
	if w.Mask != ^uint64(0) {
		b.ApplyImm(ir.And, v, int64(w.Mask))
	}
	if w.Values == nil {
		b.IfImm(ir.NE, v, 0, given)
		return
	}
	found := given
	if w.Not {
		found = b.Label()
	}
	for _, n := range w.Values {
		b.IfImm(ir.EQ, v, int64(n), found)
	}
	if w.Not {
		b.Jump(given)
		b.Bind(found)
	}
}

// syscallDone completes what syscallArgs has kept.
func (g *gen) syscallDone(dst memory, e *check.Call) {
	b, of := g.b, e.Syscall
	g.copy(dst, g.own(g.place(e.Args[0].Expr), of.Type.Size, e.Span), of.Type.Size)
	number := b.Copy(g.load(dst, 8, false, e.Span))
	word := b.Copy(g.syscallWord(of, number))
	ret := g.syscallRet()
	for i := range of.Slots {
		g.syscallSlot(dst, of, i, word, ret, e.Span)
	}
}

// syscallEither is the result, and whether it is an address or a mode.
func (g *gen) syscallEither(dst memory) {
	b := g.b
	number, is, end, kind := g.syscallNumber(), b.Label(), b.Label(), b.Imm(1)
	for n, call := range uapi.Of(g.c.opts.Arch) {
		if call != nil && call.Addr {
			b.IfImm(ir.EQ, number, int64(n), is)
		}
	}
	b.SetImm(kind, 2)
	for n, call := range uapi.Of(g.c.opts.Arch) {
		if call != nil && call.Octal {
			b.IfImm(ir.EQ, number, int64(n), is)
		}
	}
	b.SetImm(kind, 0)
	b.Jump(end)
	b.Bind(is)
	b.Bind(end)
	g.store(dst, 8, kind)
	g.store(dst.at(8), 8, g.syscallRet())
}

// syscallSlot reads what a slot is for, where the call begins (ret is NoReg) or ends.
func (g *gen) syscallSlot(dst memory, of *check.SyscallArgs, i int, word, ret ir.Reg, span diag.Span) {
	b, slot := g.b, dst.at(of.Slots[i].Offset)
	part := func(shift int, mask int64) ir.Reg {
		r := b.Copy(b.OpImm(ir.Shr, word, int64(check.SlotBits*i+shift)))
		b.ApplyImm(ir.And, r, mask)
		return r
	}
	end, read, at := b.Label(), b.Label(), b.Label()
	n := part(check.SlotParam, check.SlotParamMask)
	b.IfImm(ir.EQ, n, 0, end)
	addr := g.syscallReg(dst, n, 1)
	late := part(check.SlotLate, 1)
	if ret == ir.NoReg {
		b.IfImm(ir.NE, addr, 0, at)
		g.null(slot)
		b.Jump(end)
		b.Bind(at)
		b.IfImm(ir.EQ, late, 0, read)
		r := b.Imm(record.NotRead)
		b.Apply(ir.Or, r, addr)
		g.store(slot, 8, r)
		b.Jump(end)
	} else {
		b.IfImm(ir.EQ, addr, 0, end)
		b.IfImm(ir.NE, late, 0, at)
		// It has been read, unless that failed.
		b.IfImm(ir.SGE, g.load(slot, 8, false, span), 0, end)
		b.Jump(read)
		b.Bind(at)
		b.IfImm(ir.SLT, ret, 0, end)
	}
	b.Bind(read)
	g.told(slot, func() { g.syscallRead(dst, of, i, part, addr, late, ret, span, end) })
	b.Bind(end)
}

// syscallReg is the register of a number from first on.
func (g *gen) syscallReg(dst memory, n ir.Reg, first int) ir.Reg {
	b := g.b
	base, off := g.ref(dst)
	at := b.Copy(n)
	b.ApplyImm(ir.And, at, check.SlotParamMask)
	b.ApplyImm(ir.Shl, at, 3)
	return b.Copy(b.Load(8, b.Op(ir.Add, base, at), off+8-8*first))
}

// mostRead is more than there is room for, of whatever size.
const mostRead = 1 << 20

// syscallRead reads into a slot from an address.
func (g *gen) syscallRead(
	dst memory, of *check.SyscallArgs, i int, part func(shift int, mask int64) ir.Reg, addr, late, ret ir.Reg,
	span diag.Span, end ir.Label,
) {
	b := g.b
	slot, room := dst.at(of.Slots[i].Offset), of.Slots[i].Room
	kind := part(check.SlotRead, check.SlotReadMask)
	src := memory{space: inUser, base: addr}
	bytes := b.Label()
	b.IfImm(ir.NE, kind, int64(uapi.Text), bytes)
	n := g.readString(slot.at(8), fixedLength(room), src, span)
	b.ApplyImm(ir.Sub, n, 1)
	g.store(slot, 8, n)
	b.Jump(end)

	b.Bind(bytes)
	if i == check.TextsSlot && ret == ir.NoReg { // when exec returns they are gone
		other := b.Label()
		b.IfImm(ir.NE, kind, int64(uapi.Texts), other)
		g.syscallTexts(slot, of.Texts(), addr, span)
		b.Jump(end)
		b.Bind(other)
	}
	size := part(check.SlotSize, check.SlotSizeMask)
	count, counted, got := b.Imm(1), b.Label(), b.Label()
	b.IfImm(ir.NE, kind, int64(uapi.Struct), counted)
	b.Jump(got)
	b.Bind(counted)
	by, known := part(check.SlotLen, check.SlotLenMask), b.Label()
	if ret != ir.NoReg {
		b.Set(count, ret)
		b.IfImm(ir.EQ, by, 0, known)
	}
	word := g.syscallReg(dst, by, 1)
	if ret != ir.NoReg {
		now, pointed, fits := b.Label(), b.Label(), b.Label()
		b.IfImm(ir.EQ, late, 0, now)
		b.IfImm(ir.EQ, kind, int64(uapi.Address), pointed)
		b.IfImm(ir.EQ, kind, int64(uapi.List), now)
		b.If(ir.LE, count, word, fits) // what it returns may be more than there was room for
		b.Set(count, word)
		b.Bind(fits)
		b.Jump(known)
		b.Bind(pointed)
		at := memory{space: onStack, off: b.Slot(8)}
		b.StoreImm(8, ir.FP, at.off, 0)
		g.fetch(at, memory{space: inUser, base: word}, 4, span)
		b.Set(count, b.Load(8, ir.FP, at.off))
		b.Jump(known)
		b.Bind(now)
	}
	b.Set(count, word)
	b.Bind(known)
	// Other numbers than those of bytes are ints.
	b.IfImm(ir.EQ, kind, int64(uapi.Data), got)
	b.Set(count, b.Low32(count))
	b.Bind(got)
	bound, told := b.Imm(record.NotRead-1), b.Label() // what is above has another meaning there
	b.If(ir.LE, count, bound, told)
	b.Set(count, bound)
	b.Bind(told)
	g.store(slot, 8, count)
	few, little := b.Label(), b.Label()
	b.IfImm(ir.LE, count, mostRead, little)
	b.SetImm(count, mostRead)
	b.Bind(little)
	b.Apply(ir.Mul, count, size)
	b.IfImm(ir.NE, kind, int64(uapi.Data), few)
	b.IfImm(ir.LE, count, int64(of.Data), few)
	b.SetImm(count, int64(of.Data))
	b.Bind(few)
	b.IfImm(ir.EQ, count, 0, end)
	g.fetchN(slot.at(8), src, length{reg: count, most: room}, span)
}

// syscallTexts reads the texts that a list of pointers leads to.
func (g *gen) syscallTexts(slot memory, t *types.Type, list ir.Reg, span diag.Span) {
	b, done := g.b, g.b.Label()
	at := memory{space: onStack, off: b.Slot(8)}
	for i := range t.Len + 1 {
		b.StoreImm(8, ir.FP, at.off, 0)
		g.fetch(at, memory{space: inUser, base: list, off: 8 * i}, 8, span)
		b.IfImm(ir.EQ, b.Load(8, ir.FP, at.off), 0, done)
		if i == t.Len {
			g.store(slot, 8, b.Imm(record.Uncounted|int64(i)))
			break
		}
		g.captureCString(slot.at(8+i*t.Elem.Size), at, t.Elem, span)
		g.store(slot, 8, b.Imm(int64(i+1)))
	}
	b.Bind(done)
}
