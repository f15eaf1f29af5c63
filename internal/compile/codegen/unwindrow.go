package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
)

// locate finds what is mapped at an address; it goes to nowhere if no code is, to other if that is of no file, and to
// none if it is not known what tables the file has.
func (w *walker) locate(pc ir.Reg, nowhere, other, none ir.Label) {
	b := w.g.b
	b.Apply(ir.Sub, pc, w.load(walkBack))
	find, found := b.Label(), b.Label()
	b.If(ir.LT, pc, w.load(walkStart), find)
	b.If(ir.LT, pc, w.load(walkEnd), found)
	b.Bind(find)
	w.mapping(pc, nowhere, other, none)
	b.Bind(found)
}

// row finds the rule for the address at hand; it goes to none if no table has it.
func (w *walker) row(none ir.Label) ir.Reg {
	b := w.g.b
	// From here on each step waits for the one before, so it is short: words of the first tables are found without a
	// look-up, and the search is one for places, without a jump that may be foreseen wrongly.
	off := b.Copy(w.load(walkPC))
	b.Apply(ir.Sub, off, w.load(walkBack))
	b.Apply(ir.Add, off, w.load(walkDelta))
	table := w.load(walkTable)
	b.If(ir.GE, off, b.OpImm(ir.Shr, table, 32), none)
	// Most stacks go through the same places again and again. Tables are never changed, so what was found once holds. The
	// words of a place are written by several CPUs at a time: those that belong together are told by the first one, in
	// which the key is mixed with the rule.
	key := b.OpImm(ir.Shl, table, 32)
	b.Apply(ir.Add, key, off)
	b.ApplyImm(ir.Add, key, 1) // a place that was not written has zeros
	seen := b.Op(ir.Mul, key, b.Imm(mixSecond))
	b.ApplyImm(ir.Shr, seen, seenShift)
	b.ApplyImm(ir.Shl, seen, 4)
	b.Apply(ir.Add, seen, b.MapValue(record.UnwindSeen, 0))
	rule, have := b.Reg(), b.Label()
	b.LoadTo(rule, 8, seen, 8)
	mixed := func() ir.Reg { return b.Op(ir.Xor, b.Op(ir.Mul, rule, b.Imm(mixFirst)), key) }
	b.If(ir.EQ, mixed(), b.Load(8, seen, 0), have)
	block := b.OpImm(ir.Shr, off, 8)
	b.Apply(ir.Add, block, b.Low32(table))
	index, row := b.Reg(), b.Reg()
	far, found := b.Label(), b.Label()
	b.IfImm(ir.GE, block, record.UnwindNearWords, far)
	b.ApplyImm(ir.Shl, block, 2)
	b.Apply(ir.Add, block, b.MapValue(record.UnwindNear, 0))
	b.LoadTo(index, 4, block, 0)
	b.Set(row, index)
	b.ApplyImm(ir.And, row, record.UnwindNearWords-1)
	b.ApplyImm(ir.Shl, row, 2)
	b.Apply(ir.Add, row, b.MapValue(record.UnwindNear, 0))
	b.Jump(found)
	b.Bind(far)
	b.LoadTo(index, 4, w.word(block, none), 0)
	b.Set(row, w.word(b.OpImm(ir.And, index, 0xffffff), none))
	b.Bind(found)
	low := b.OpImm(ir.And, off, 0xff)
	b.ApplyImm(ir.Add, low, 1)
	left := b.OpImm(ir.Shr, index, 24-2) // bytes of rows behind the first one
	b.ApplyImm(ir.And, left, 0xff<<2)
	shorter, short := b.Label(), b.Label()
	b.IfImm(ir.LT, left, 4*8, shorter)
	b.IfImm(ir.LT, left, 4*16, short)
	for shift := int64(9); shift >= 2; shift-- {
		switch shift {
		case 5:
			b.Bind(short)
		case 4:
			b.Bind(shorter)
		}
		step := int64(1) << shift
		further := b.Op(ir.Sub, b.Load(1, row, int(step)), low) // negative: that row is in force, or one behind it
		behind := b.Imm(step - 1)
		b.Apply(ir.Sub, behind, left) // negative: there is that row
		b.Apply(ir.And, further, behind)
		// Not by a mask that is made of the sign: of that the verifier follows both values, at each step.
		b.ApplyImm(ir.Shr, further, 63)
		b.ApplyImm(ir.Shl, further, shift)
		b.Apply(ir.Add, row, further)
		b.Apply(ir.Sub, left, further)
	}
	id := b.Load(2, row, 1) // of the word's 32 bits, those from the ninth on
	b.ApplyImm(ir.Shl, id, 3)
	b.Apply(ir.Add, id, b.MapValue(record.UnwindRules, 0))
	b.LoadTo(rule, 8, id, 0)
	b.Store(8, seen, 0, mixed())
	b.Store(8, seen, 8, rule)
	b.Bind(have)
	return rule
}

// seenShift makes of a hash the number of a place of record.UnwindSeen.
const seenShift = 64 - 12

// chunk finds the piece of the tables in which a word is.
func (w *walker) chunk(at ir.Reg, none ir.Label) ir.Reg {
	b := w.g.b
	key := b.Slot(8)
	b.Store(4, ir.FP, key, b.OpImm(ir.Shr, at, 16))
	p := b.Call(asm.FnMapLookupElem, ir.M(record.UnwindWords), ir.A(ir.FP, key))
	b.IfImm(ir.EQ, p, 0, none)
	b.StoreImm(4, ir.FP, key, 0)
	p = b.Call(asm.FnMapLookupElem, ir.R(p), ir.A(ir.FP, key))
	b.IfImm(ir.EQ, p, 0, none)
	return p
}

// word is the place of a word of the tables.
func (w *walker) word(at ir.Reg, none ir.Label) ir.Reg {
	b := w.g.b
	p := w.chunk(at, none)
	i := b.OpImm(ir.And, at, 0xffff)
	b.ApplyImm(ir.Shl, i, 2)
	return b.Op(ir.Add, i, p)
}
