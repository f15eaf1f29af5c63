package codegen

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
)

func (c *codes) text() {
	always := func(*check.Call) bool { return true }
	c[builtin.Str].memory = (*gen).strInto
	c[builtin.Buf].memory = (*gen).buffer
	c[builtin.StrNCmp].scalar = (*gen).strncmp
	c[builtin.StrStr] = code{callback: always, scalar: func(g *gen, e *check.Call) ir.Reg {
		return g.strstr(e.Args[0].Expr, e.Args[1].Expr)
	}}
	c[builtin.StrContains] = code{callback: always, scalar: func(g *gen, e *check.Call) ir.Reg {
		return g.truth(ir.SGE, g.strstr(e.Args[0].Expr, e.Args[1].Expr), 0)
	}}
	c[builtin.StrLen].scalar = func(g *gen, e *check.Call) ir.Reg { return g.strlen(e.Args[0].Expr) }
	c[builtin.StrConcat].memory = (*gen).concat
	for _, id := range []builtin.ID{builtin.StrError, builtin.ErrnoName, builtin.SignalName, builtin.SyscallName} {
		c[id].memory = (*gen).nameOf
	}
	c[builtin.NToP].memory = func(g *gen, dst memory, e *check.Call, _ *types.Type) { g.ntop(dst, e) }
	c[builtin.MACAddr].memory = (*gen).macaddr
}

func (g *gen) macaddr(dst memory, e *check.Call, _ *types.Type) {
	const size = 6
	a := e.Args[0].Expr
	g.zero(dst, 8)
	if a.Type().Kind == types.Pointer {
		g.fetch(dst, pointee(a.Type(), g.scalar(a)), size, e.Span)
		return
	}
	src := g.place(a)
	if a.Type().Kind == types.Buffer {
		src = src.at(4) // behind its length
	}
	g.fetch(dst, src, size, e.Span)
}

// afInet is the address family of IPv4; that of IPv6 is record.AFInet6.
const afInet = 2

// buffer is buf(p, n) or buf(array): u32 length, then the bytes.
func (g *gen) buffer(dst memory, e *check.Call, t *types.Type) {
	b := g.b
	room := t.Size - 4
	a := e.Args[0].Expr
	if at := a.Type(); !at.IsScalar() {
		room = min(room, at.Size)
	}
	g.zero(dst, t.Size)
	var src memory
	switch at := a.Type(); {
	case at.Kind == types.Pointer:
		src = pointee(at, g.scalar(a))
	case at.IsScalar():
		src = memory{space: g.defaultSpace(), base: g.scalar(a)}
	default:
		src = g.place(a)
	}
	if len(e.Args) < 2 {
		g.fetch(dst.at(4), src, room, e.Span)
		base, off := g.ref(dst)
		b.StoreImm(4, base, off, int64(room))
		return
	}
	if k, ok := e.Args[1].Expr.(*check.Const); ok {
		n := int(min(k.Value, uint64(room)))
		base, off := g.ref(dst)
		b.StoreImm(4, base, off, int64(n))
		if n > 0 {
			g.fetch(dst.at(4), src, n, e.Span)
		}
		return
	}
	n := g.atMost(g.scalar(e.Args[1].Expr), room)
	g.store(dst, 4, n)
	none := b.Label()
	b.IfImm(ir.EQ, n, 0, none)
	g.fetchN(dst.at(4), src, length{reg: n, most: room}, e.Span)
	b.Bind(none)
}

func (g *gen) ntop(dst memory, e *check.Call) {
	b := g.b
	a := e.Args[len(e.Args)-1].Expr
	t := a.Type()
	g.zero(dst, 20)
	base, off := g.ref(dst)
	n := 4
	if !t.IsScalar() && t.Size > 4 {
		n = 16
	}
	family := e.Args[0].Expr
	if k, ok := family.(*check.Const); !ok || k.Value != 0 {
		g.store(dst, 4, g.scalar(family))
	} else if n == 16 { // not told: the size decides
		b.StoreImm(4, base, off, record.AFInet6)
	} else {
		b.StoreImm(4, base, off, afInet)
	}
	switch {
	case t.Kind == types.Pointer:
		g.fetch(dst.at(4), pointee(t, g.scalar(a)), max(4, min(16, t.Elem.Size)), e.Span)
	case t.IsScalar():
		g.store(dst.at(4), 4, g.scalar(a))
	default:
		g.fetch(dst.at(4), g.place(a), min(t.Size, 16), e.Span)
	}
}
