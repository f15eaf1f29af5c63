package codegen

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
)

// The duration of a call is known where it returns, if its begin was kept. Kernels from 6.13 on run one program at both
// ends of a call and keep eight bytes in between (a session): no map, and the pairing is the kernel's own. Elsewhere,
// and where the instructions that return are probed themselves, a program at the entry puts the time into a map. Its
// key is what tells a call from all others that are open: process, goroutine if it is one's, the place of the frame,
// and the function, since one that ends in a jump to another leaves both in one frame. Fibers may return on another
// thread.
//
// A call that is left by an exception, by longjmp or as its thread ends is noticed when another one of the function has
// its frame, else it is open at the end. So calls = returns + left + open.

// Session are the kernel's functions for programs that run at both ends of a call, by the ids of its type information.
type Session struct{ IsReturn, Cookie int32 }

// Offsets in the key of an open call.
const (
	openProcess  = 0
	openID       = 8 // 0: none
	openFrame    = 16
	openFunction = 24
	openKeySize  = 32

	openBegin     = 0 // in the value: the time
	openResult    = 8 // and the address of the result, if that is kept
	openValueSize = 16
)

// session tells whether a program can run at both ends of the calls that points return from.
func (c *compiler) session() *Session {
	if c.opts.Session == nil {
		return nil
	}
	if !c.askedSession {
		c.askedSession = true
		c.sessions = c.opts.Session()
	}
	return c.sessions
}

// entries makes the programs that keep when calls began, for points of a timed action that run in no session, and gives
// the name of the map.
func (c *compiler) entries(a *check.Action, points []*probe.Point) string {
	entries := entriesOf(a, points)
	name := fmt.Sprintf("open%d", len(c.out.Programs))
	c.out.Maps = append(c.out.Maps, &ebpf.MapSpec{
		Name: name, Type: ebpf.Hash, KeySize: openKeySize, ValueSize: openValueSize, MaxEntries: record.MaxOpenCalls,
	})
	if len(entries) > 0 {
		c.loss(record.Loss{Kind: record.OpenCalls, Action: a.Index, Open: name}, a.Span)
		c.compileGroup(a, &group{typ: points[0].Program(), points: entries, open: name, enters: true})
	}
	return name
}

// entriesOf are the entries of the functions that points of an action return from, in the same code.
func entriesOf(a *check.Action, points []*probe.Point) []*probe.Point {
	wanted := map[functionKey]bool{}
	for _, p := range points {
		wanted[keyOf(p)] = true
	}
	return slices.DeleteFunc(slices.Clone(a.Entries), func(p *probe.Point) bool {
		return !wanted[keyOf(p)] || p.Program() != points[0].Program()
	})
}

// enter is the program at the entries of timed functions.
func (g *gen) enter() {
	b := g.b
	g.frame, g.ctx, g.buf = ir.FP, b.Copy(b.Param(0)), b.Reg()
	quit := b.Label()
	g.filter(quit)
	now := b.Slot(openValueSize)
	key := g.openCall()
	b.Store(8, ir.FP, now+openBegin, b.Call(asm.FnKtimeGetNs))
	if g.act.Kept {
		b.Store(8, ir.FP, now+openResult, g.machine(g.act.Points[0].Scope.Retval.Place.Reg, g.act.Span))
	} else {
		b.StoreImm(8, ir.FP, now+openResult, 0)
	}
	full := b.Label()
	res := b.Call(asm.FnMapUpdateElem, ir.M(g.open), ir.A(ir.FP, key), ir.A(ir.FP, now), ir.I(noExist))
	b.IfImm(ir.EQ, res, 0, quit)
	b.IfImm(ir.NE, res, -errExist, full)
	left := record.Loss{Kind: record.LeftCalls, Action: g.act.Index}
	if c := g.points[0].Call; c != nil {
		left.By = c.Tasks.Left
	}
	g.count(g.c.loss(left, g.act.Span))
	b.Do(asm.FnMapUpdateElem, ir.M(g.open), ir.A(ir.FP, key), ir.A(ir.FP, now), ir.I(0))
	b.Jump(quit)
	b.Bind(full)
	g.count(g.c.loss(record.Loss{Kind: record.LostCalls, Action: g.act.Index}, g.act.Span))
	b.Bind(quit)
	b.Exit(0)
}

const (
	noExist  = 1  // BPF_NOEXIST
	errExist = 17 // EEXIST
)

// openCall makes the key of the call that begins or ends here, in a slot of the stack.
func (g *gen) openCall() int {
	b := g.b
	key := b.Slot(openKeySize)
	p := g.points[0]
	b.Store(8, ir.FP, key+openProcess, b.OpImm(ir.Shr, b.Call(asm.FnGetCurrentPidTgid), 32))
	if c := p.Call; c != nil {
		if c.Unknown != "" {
			refuse(g.act.Span, "duration is not known: %s", c.Unknown)
		}
		id, frame := g.call(c, g.act.Span)
		b.Store(8, ir.FP, key+openID, id)
		b.Store(8, ir.FP, key+openFrame, frame)
	} else {
		b.StoreImm(8, ir.FP, key+openID, 0)
		b.Store(8, ir.FP, key+openFrame, g.frameOf(p))
	}
	b.Store(8, ir.FP, key+openFunction, g.functionPoint())
	return key
}

// frameOf is the place of the frame of a call that is told apart by the stack.
func (g *gen) frameOf(p *probe.Point) ir.Reg {
	b := g.b
	sp := b.Copy(g.saved(g.c.opts.Arch.SP))
	if f := p.Frame; f != nil {
		b.Set(sp, g.saved(f.Reg))
		b.ApplyImm(ir.Add, sp, f.Offset)
	}
	if g.ret && g.c.opts.Arch.ReturnOnStack() {
		b.ApplyImm(ir.Sub, sp, 8) // the return address has been taken off
	}
	return sp
}

// timed goes to quit at the entry, and at the return of a call whose begin was not seen; where it goes on, the duration
// is in its slot.
func (g *gen) timed(quit ir.Label) {
	b := g.b
	g.durationSlot = b.Slot(8)
	var start ir.Reg
	if s := g.session; s != nil {
		b.Comment("both ends of a call")
		returns := b.Label()
		// From 7.0 on both functions take the context, before they take nothing.
		isReturn := b.OpImm(ir.And, b.Kfunc(s.IsReturn, ir.R(g.ctx)), 1)
		cookie := b.Kfunc(s.Cookie, ir.R(g.ctx))
		b.IfImm(ir.NE, isReturn, 0, returns)
		b.Store(8, cookie, 0, b.Call(asm.FnKtimeGetNs))
		open := g.c.loss(record.Loss{Kind: record.OpenCalls, Action: g.act.Index}, g.act.Span)
		g.count(open)
		b.Jump(quit)
		b.Bind(returns)
		g.add(open, -1)
		start = b.Load(8, cookie, 0)
	} else {
		b.Comment("the call's begin")
		key := g.openCall()
		p := b.Call(asm.FnMapLookupElem, ir.M(g.open), ir.A(ir.FP, key))
		if g.act.Kept {
			seen := b.Label()
			b.IfImm(ir.NE, p, 0, seen)
			g.count(g.c.loss(record.Loss{Kind: record.LostBegins, Action: g.act.Index}, g.act.Span))
			b.Jump(quit)
			b.Bind(seen)
			g.keptSlot = b.Slot(8)
			b.Store(8, ir.FP, g.keptSlot, b.Load(8, p, openResult))
		} else {
			b.IfImm(ir.EQ, p, 0, quit)
		}
		start = b.Load(8, p, openBegin)
		b.Do(asm.FnMapDeleteElem, ir.M(g.open), ir.A(ir.FP, key))
	}
	b.Store(8, ir.FP, g.durationSlot, b.Op(ir.Sub, b.Call(asm.FnKtimeGetNs), start))
}
