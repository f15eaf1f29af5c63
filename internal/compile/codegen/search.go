package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/ir"
)

// text is a string argument in the scratch buffer, padded with zeros, with a NUL behind its size bytes.
func (g *gen) text(e check.Expr) (memory, int) {
	t := e.Type()
	size := t.Size
	if t.Kind == types.Pointer || t.IsScalar() {
		size = g.c.prog.Config.MaxStrlen
	}
	dst := memory{space: inScratch, off: g.reserve(size + 8)}
	g.zero(dst, size+8)
	switch {
	case t.Kind == types.Pointer:
		g.readString(dst, fixedLength(size), pointee(t, g.scalar(e)), e.Pos())
	case t.IsScalar():
		g.readString(dst, fixedLength(size), memory{space: g.defaultSpace(), base: g.scalar(e)}, e.Pos())
	case t.Kind == types.String:
		g.into(dst, e, t)
	default:
		g.fetch(dst, g.place(e), t.Size, e.Pos())
	}
	return dst, size
}

// strlen counts the bytes in front of the NUL.
func (g *gen) strlen(e check.Expr) ir.Reg {
	b := g.b
	m, size := g.text(e)
	tmp := memory{space: inScratch, off: g.reserve(size + 8)}
	n := b.Copy(b.Call(asm.FnProbeReadKernelStr, g.addr(tmp), ir.I(int64(size+1)), g.addr(m)))
	fine := b.Label()
	b.IfImm(ir.SGE, n, 1, fine)
	b.SetImm(n, 1)
	b.Bind(fine)
	b.ApplyImm(ir.Sub, n, 1)
	// By way of memory: else the verifier of Linux 6.1 follows what comes next with each of the lengths there may be.
	g.store(tmp, 8, n)
	base, off := g.ref(tmp)
	return b.Load(8, base, off)
}

// strncmp is 0 if the first n bytes agree, or the strings end before that and agree.
func (g *gen) strncmp(e *check.Call) ir.Reg {
	b := g.b
	k, ok := e.Args[2].Expr.(*check.Const)
	if !ok {
		refuse(e.Span, "the number of bytes must be a literal")
	}
	x, y := e.Args[0].Expr, e.Args[1].Expr
	if _, ok := x.(*check.StrConst); ok {
		x, y = y, x
	}
	r, unequal, end := b.Reg(), b.Label(), b.Label()
	n := int(min(k.Value, maxScratch))
	mx, sx := g.text(x)
	if s, ok := y.(*check.StrConst); ok {
		n = min(n, len(s.Value)+1, sx+1) // behind a text of sx bytes is a NUL
		g.prefixConst(mx, s.Value, n, sx+8, unequal)
	} else {
		my, sy := g.text(y)
		g.equal(mx, my, min(n, sx, sy), unequal)
		if n > min(sx, sy) && sx != sy {
			long, at := mx, sy
			if sy > sx {
				long, at = my, sx
			}
			base, off := g.ref(long)
			b.IfImm(ir.NE, b.Load(1, base, off+at), 0, unequal)
		}
	}
	b.SetImm(r, 0)
	b.Jump(end)
	b.Bind(unequal)
	b.SetImm(r, 1)
	b.Bind(end)
	return r
}

// maxCompared is what the code of memcmp, a few instructions for each 8 bytes, is allowed to grow to.
const maxCompared = 4096

// memcmp compares bytes as unsigned numbers in big-endian order, a word at a time.
func (g *gen) memcmp(e *check.Call) ir.Reg {
	b := g.b
	k, ok := e.Args[2].Expr.(*check.Const)
	if !ok {
		refuse(e.Span, "the number of bytes must be a literal")
	}
	if k.Value > maxCompared {
		refuse(e.Span, "memcmp compares at most %d bytes", maxCompared)
	}
	n := int(k.Value)
	mem := func(a check.Expr) memory {
		t := a.Type()
		dst := memory{space: inScratch, off: g.reserve(max(n, t.Size) + 8)}
		g.zero(dst, roundUp(n))
		switch {
		case t.Kind == types.Pointer:
			g.fetch(dst, pointee(t, g.scalar(a)), n, a.Pos())
		default:
			tmp := g.temp(t.Size)
			g.into(tmp, a, t)
			g.copy(dst, tmp, min(n, t.Size))
		}
		return dst
	}
	x, y := mem(e.Args[0].Expr), mem(e.Args[1].Expr)
	r, less, end := b.Imm(0), b.Label(), b.Label()
	bx, ox := g.ref(x)
	by, oy := g.ref(y)
	for i := 0; i < n; i += 8 {
		vx, vy := b.Load(8, bx, ox+i), b.Load(8, by, oy+i)
		same := b.Label()
		b.If(ir.EQ, vx, vy, same)
		b.Swap(vx, 64)
		b.Swap(vy, 64)
		b.SetImm(r, 1)
		b.If(ir.GT, vx, vy, end)
		b.Jump(less)
		b.Bind(same)
	}
	b.Jump(end)
	b.Bind(less)
	b.SetImm(r, -1)
	b.Bind(end)
	return r
}

// strstr makes the position of needle in haystack, or -1: a loop over the positions, in it one over the needle's bytes.
func (g *gen) strstr(hay, needle check.Expr) ir.Reg {
	b := g.b
	if !g.c.opts.Features.Has(feature.Loop) {
		refuse(hay.Pos(), "searching in a string needs bpf_loop (Linux 5.17)")
	}
	mh, sh := g.text(hay)
	mn, sn := g.text(needle)
	found := memory{space: inFrame, off: g.main.Slot(8)}
	at := memory{space: inFrame, off: g.main.Slot(8)}
	b.StoreImm(8, g.frame, found.off, -1)
	inner := g.callback(2, 1, func(f *ir.Builder) {
		j := f.Param(0)
		stop := f.Label()
		f.IfImm(ir.GE, j, int64(sn+1), stop)
		want := f.Load(1, f.Op(ir.Add, g.buf, j), mn.off)
		match := f.Label()
		f.IfImm(ir.EQ, want, 0, match)
		i := f.Load(8, g.frame, at.off)
		f.Apply(ir.Add, i, j)
		f.IfImm(ir.GE, i, int64(sh+1), stop)
		got := f.Load(1, f.Op(ir.Add, g.buf, i), mh.off)
		f.If(ir.NE, got, want, stop)
		f.Exit(0)
		f.Bind(match)
		f.Store(8, g.frame, found.off, f.Load(8, g.frame, at.off))
		f.Bind(stop)
		f.Exit(1)
	})
	outer := g.callback(2, 1, func(f *ir.Builder) {
		i := f.Param(0)
		f.Store(8, g.frame, at.off, i)
		f.Do(asm.FnLoop, ir.I(int64(sn+1)), ir.F(inner), ir.A(g.frame, 0), ir.I(0))
		stop, on := f.Label(), f.Label()
		f.IfImm(ir.SGE, f.Load(8, g.frame, found.off), 0, stop)
		k := f.Load(8, g.frame, at.off)
		f.IfImm(ir.GE, k, int64(sh), stop)
		f.IfImm(ir.NE, f.Load(1, f.Op(ir.Add, g.buf, k), mh.off), 0, on)
		f.Bind(stop)
		f.Exit(1)
		f.Bind(on)
	})
	b.Do(asm.FnLoop, ir.I(int64(sh+1)), ir.F(outer), ir.A(g.frame, 0), ir.I(0))
	return b.Load(8, g.frame, found.off)
}

// concat is str_concat: both texts, cut to the capacity.
func (g *gen) concat(dst memory, e *check.Call, t *types.Type) {
	b := g.b
	x, sx := g.text(e.Args[0].Expr)
	y, sy := g.text(e.Args[1].Expr)
	tmp := memory{space: inScratch, off: g.reserve(sx + sy + 16)}
	g.zero(tmp, sx+sy+16)
	n := b.Copy(b.Call(asm.FnProbeReadKernelStr, g.addr(tmp), ir.I(int64(sx+1)), g.addr(x)))
	fine := b.Label()
	b.IfImm(ir.SGE, n, 1, fine)
	b.SetImm(n, 1)
	b.Bind(fine)
	b.ApplyImm(ir.Sub, n, 1)
	base, off := g.ref(tmp)
	b.Do(asm.FnProbeReadKernelStr, ir.A(b.Op(ir.Add, base, g.atMost(n, sx)), off), ir.I(int64(sy+1)), g.addr(y))
	m := min(t.Size, sx+sy+16)
	g.copy(dst, tmp, m)
	if t.Size > m {
		g.zero(dst.at(m), t.Size-m)
	}
}
