package codegen

import (
	"encoding/binary"
	"unicode/utf16"

	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
)

// stringConst writes a literal and pads it with zeros to size.
func (g *gen) stringConst(dst memory, s string, size int) {
	b := g.b
	if len(s) > size {
		s = s[:size]
	}
	if len(s) > 64 {
		at := g.c.text(s)
		b.Do(asm.FnProbeReadKernel, g.addr(dst), ir.I(int64(len(s))), ir.MV(record.StringsName, at))
		g.zero(dst.at(len(s)), size-len(s))
		return
	}
	base, off := g.ref(dst)
	bytes := append([]byte(s), make([]byte, 8)...)
	n := min(roundUp(len(s)+1), size)
	for i := 0; i < n; {
		w := chunk(off+i, n-i)
		var v int64
		switch w {
		case 8:
			v = int64(binary.LittleEndian.Uint64(pad(bytes, i, 8)))
		case 4:
			v = int64(int32(binary.LittleEndian.Uint32(pad(bytes, i, 4))))
		case 2:
			v = int64(int16(binary.LittleEndian.Uint16(pad(bytes, i, 2))))
		default:
			v = int64(int8(pad(bytes, i, 1)[0]))
		}
		b.StoreImm(ir.Size(w), base, off+i, v)
		i += w
	}
	if size > n {
		g.zero(dst.at(n), size-n)
	}
}

// pad gives n bytes at i, zeros behind the end.
func pad(s []byte, i, n int) []byte {
	out := make([]byte, n)
	if i < len(s) {
		copy(out, s[i:])
	}
	return out
}

// textToString copies C text of n bytes (with or without a final NUL) into a string of size bytes.
func (g *gen) textToString(dst, src memory, n, size int, span diag.Span) {
	g.zero(dst, size)
	if size > n {
		// Room for all and a NUL.
		tmp := g.own(src, n, span)
		g.b.Do(asm.FnProbeReadKernelStr, g.addr(dst), ir.I(int64(n+1)), g.addr(g.terminated(tmp, n)))
		return
	}
	tmp := g.own(src, n, span)
	g.b.Do(asm.FnProbeReadKernelStr, g.addr(dst), ir.I(int64(size)), g.addr(g.terminated(tmp, n)))
}

// terminated is n bytes of text followed by a NUL.
func (g *gen) terminated(m memory, n int) memory {
	tmp := g.temp(n + 1)
	g.copy(tmp, m, n)
	g.zero(tmp.at(n), 1)
	return tmp
}

// source is the address of a string argument of a helper: pointers to memory of the process or the kernel, or the place
// of a value.
func (g *gen) readString(dst memory, size length, src memory, span diag.Span) ir.Reg {
	b := g.b
	n := b.Reg()
	read := func(fn asm.BuiltinFunc) { b.Set(n, b.Call(fn, g.addr(dst), g.size(size), g.addr(src))) }
	fine := b.Label()
	switch src.space {
	case inUser:
		g.readUserString(n, dst, size, src, span)
		return n
	case inAny:
		kernel, done := b.Label(), b.Label()
		b.IfImm(ir.SLT, src.base, 0, kernel)
		g.readUserString(n, dst, size, src, span)
		b.Jump(done)
		b.Bind(kernel)
		read(asm.FnProbeReadKernelStr)
		ok := b.Label()
		b.IfImm(ir.SGE, n, 1, ok)
		g.failed("probe_read_kernel_str", n, src, span)
		b.SetImm(n, 1)
		b.Bind(ok)
		b.Bind(done)
		return n
	case onStack, inFrame, inScratch, inReg, inCtx, inBPF, inKernel:
		read(asm.FnProbeReadKernelStr)
		b.IfImm(ir.SGE, n, 1, fine)
		if src.space == inKernel {
			g.failed("probe_read_kernel_str", n, src, span)
		}
		b.SetImm(n, 1)
		b.Bind(fine)
		return n
	default:
		refuse(span, "internal: no code for reading a string from memory of kind %d", src.space)
		return n
	}
}

// readUserString reads up to a NUL without faulting. Where that fails and the program may sleep, the pages that the
// string may touch are faulted in one after another by reading a byte of each, and each time it is tried again.
func (g *gen) readUserString(n ir.Reg, dst memory, size length, src memory, span diag.Span) {
	b := g.b
	read, bad, fine := b.Label(), b.Label(), b.Label()
	try := func() {
		b.Set(n, b.Call(asm.FnProbeReadUserStr, g.addr(dst), g.size(size), ir.A(src.base, src.off)))
		b.IfImm(ir.SGE, n, 0, read)
	}
	try()
	if g.sleepable {
		byteAt := memory{space: onStack, off: b.Slot(8)}
		b.StoreImm(8, ir.FP, byteAt.off, 0)
		page := b.Addr(src.base, src.off)
		for at := 0; at < max(size.most, 2); at += 4096 {
			b.Set(n, b.Call(asm.FnCopyFromUser, g.addr(byteAt), ir.I(1), ir.R(page)))
			b.IfImm(ir.NE, n, 0, bad)
			try()
			b.ApplyImm(ir.Add, page, 4096)
			b.ApplyImm(ir.And, page, -4096)
		}
		b.Set(n, b.Call(asm.FnCopyFromUser, g.addr(byteAt), ir.I(1), ir.R(page)))
		b.IfImm(ir.NE, n, 0, bad)
		try()
	}
	b.Bind(bad)
	if size.counted {
		// The byte behind the counted ones may be in a page that is not there. Without it: there was no NUL before, or the
		// read had ended with it. The failed read has left zeros.
		none := b.Label()
		b.IfImm(ir.LE, size.reg, 1, none)
		exact := b.Copy(size.reg)
		b.ApplyImm(ir.Sub, exact, 1)
		b.Set(n, b.Call(asm.FnProbeReadUser, g.addr(dst), g.size(length{reg: exact, most: size.most - 1}),
			ir.A(src.base, src.off)))
		b.IfImm(ir.NE, n, 0, none)
		b.Set(n, size.reg)
		b.Jump(read)
		b.Bind(none)
		b.SetImm(n, -14) // EFAULT
	}
	g.failed("probe_read_user_str", n, src, span)
	b.SetImm(n, 0)
	b.Bind(read)
	// An empty string has the length 0 on some kernels, without the NUL (6.1), 1 on others (6.18).
	b.IfImm(ir.SGE, n, 1, fine)
	b.SetImm(n, 1)
	base, off := g.ref(dst)
	b.StoreImm(1, base, off, 0)
	b.Bind(fine)
}

// strCall takes str(p [, n]) apart.
func (g *gen) strCall(e *check.Call) (src memory, limit ir.Reg, constant int) {
	p := e.Args[0].Expr
	limit = ir.NoReg
	if len(e.Args) > 1 && e.Args[1].Expr != nil {
		if k, ok := e.Args[1].Expr.(*check.Const); ok {
			constant = int(min(k.Value, 1<<20))
			if constant == 0 {
				constant = -1
			}
		} else {
			limit = g.b.Copy(g.scalar(e.Args[1].Expr))
		}
	}
	switch t := p.Type(); {
	case t.Kind == types.Pointer:
		src = pointee(t, g.scalar(p))
	case t.Kind == types.Array || t.Kind == types.String:
		src = g.place(p)
	default:
		src = memory{space: g.defaultSpace(), base: g.scalar(p)}
	}
	return src, limit, constant
}

// defaultSpace is where plain integers used as addresses point.
func (g *gen) defaultSpace() space {
	if g.points[0].Kind.Traits().Space == types.Kernel {
		return inAny
	}
	return inUser
}

// strInto is str() to a string of t.Size bytes, padded with zeros. A string that fills all bytes without a NUL was
// longer.
func (g *gen) strInto(dst memory, e *check.Call, t *types.Type) {
	if src, v, ok := g.textOf(e.Args[0].Expr); ok {
		g.zero(dst, t.Size)
		p, n := g.viewOf(v, src, e.Span)
		g.limitTo(n, e)
		g.readN(dst, p, n, t.Size, e.Span)
		return
	}
	src, limit, constant := g.strCall(e)
	tmp := memory{space: inScratch, off: g.reserve(t.Size + 1)}
	g.zero(dst, t.Size)
	n := g.strRead(tmp, src, limit, constant, t.Size, e)
	// n bytes with the NUL: copy them without the one that may not fit.
	g.b.Do(asm.FnProbeReadKernel, g.addr(dst), ir.R(g.atMost(n, t.Size)), g.addr(tmp))
}

// strRead reads at most size characters and a NUL, and gives the number of bytes with the NUL. A length that str() was
// given counts the NUL, as bpftrace has it, unless it is a number of the traced program: programs that pass a length
// along with a text count its characters, and there need not be a NUL.
func (g *gen) strRead(dst, src memory, limit ir.Reg, constant, size int, e *check.Call) ir.Reg {
	most := fixedLength(size + 1)
	switch {
	case constant < 0:
		most.most = 1
	case constant > 0:
		most.most = min(constant, size+1)
	case limit != ir.NoReg:
		b := g.b
		some := b.Label()
		if e.Counted {
			most.reg, most.counted = g.atMost(limit, size), true
			b.ApplyImm(ir.Add, most.reg, 1)
			break
		}
		most.reg = g.atMost(limit, size+1)
		b.IfImm(ir.NE, most.reg, 0, some)
		b.SetImm(most.reg, 1)
		b.Bind(some)
	}
	if t := e.Args[0].Expr.Type(); (t.Kind == types.Array || t.Kind == types.String) && src.direct() && size > t.Size {
		src = g.terminated(src, t.Size)
	}
	return g.readString(dst, most, src, e.Span)
}

// appendString writes the text of a string expression to dst (of at least t.Size+1 bytes) and gives its length without
// a NUL.
func (g *gen) appendString(dst memory, e check.Expr, t *types.Type) ir.Reg {
	b := g.b
	if c, ok := e.(*check.Call); ok && c.Fn.ID == builtin.Str {
		if src, v, ok := g.textOf(c.Args[0].Expr); ok {
			p, n := g.viewOf(v, src, c.Span)
			g.limitTo(n, c)
			g.readN(dst, p, n, t.Size, c.Span)
			return n
		}
		src, limit, constant := g.strCall(c)
		n := g.strRead(dst, src, limit, constant, t.Size, c)
		b.ApplyImm(ir.Sub, n, 1)
		return n
	}
	if src, v, ok := g.textOf(e); ok {
		p, n := g.viewOf(v, src, e.Pos())
		if v.Unit > 1 {
			b.ApplyImm(ir.Mul, n, int64(v.Unit))
		}
		g.readN(dst, p, n, t.Size, e.Pos())
		return n
	}
	m := g.own(g.place(e), e.Type().Size, e.Pos())
	size := e.Type().Size
	n := b.Copy(b.Call(asm.FnProbeReadKernelStr, g.addr(dst), ir.I(int64(size)), g.addr(m)))
	fine, short := b.Label(), b.Label()
	b.IfImm(ir.SGE, n, 1, fine)
	b.SetImm(n, 1)
	b.Bind(fine)
	b.ApplyImm(ir.Sub, n, 1)
	b.IfImm(ir.LT, n, int64(size-1), short)
	// All bytes are in use: without a NUL in the last one the string was cut when it was read.
	base, off := g.ref(m)
	last := b.Load(1, base, off+size-1)
	b.IfImm(ir.EQ, last, 0, short)
	d, doff := g.ref(dst)
	b.Store(1, d, doff+size-1, last)
	b.SetImm(n, int64(size))
	b.Bind(short)
	return n
}

// compareMemory is == or != of values in memory.
func (g *gen) compareMemory(e *check.Binary) ir.Reg {
	b := g.b
	r := b.Reg()
	equal, unequal, end := int64(1), b.Label(), b.Label()
	if e.Op == "!=" {
		equal = 0
	}
	x, y := e.X, e.Y
	if _, ok := x.(*check.StrConst); ok {
		x, y = y, x
	}
	xt, yt := x.Type(), y.Type()
	s, literal := y.(*check.StrConst)
	if literal && (xt.Kind == types.Java || xt.Kind == types.Python) {
		g.equalObject(g.own(g.place(x), xt.Size, e.Span), xt, s.Value, unequal, e.Span)
	} else if v, ok := xt.Complete().Text(); ok && literal && v.Unit > 1 {
		g.equalWide(x, v, s.Value, unequal)
	} else if s, ok := y.(*check.StrConst); ok && xt.Kind == types.String {
		m := g.own(g.place(x), xt.Size, e.Span)
		g.equalConst(m, s.Value, xt.Size, unequal)
	} else {
		mx := g.own(g.place(x), xt.Size, e.Span)
		my := g.own(g.place(y), yt.Size, e.Span)
		g.equal(mx, my, min(xt.Size, yt.Size), unequal)
		if xt.Kind == types.String && xt.Size != yt.Size {
			// The longer one must end where the shorter one has no more room.
			long, at := mx, yt.Size
			if yt.Size > xt.Size {
				long, at = my, xt.Size
			}
			base, off := g.ref(long)
			b.IfImm(ir.NE, b.Load(1, base, off+at), 0, unequal)
		}
	}
	b.SetImm(r, equal)
	b.Jump(end)
	b.Bind(unequal)
	b.SetImm(r, 1-equal)
	b.Bind(end)
	return r
}

// maxWide bounds the literals that texts of wider characters are compared with, in bytes.
const maxWide = 1024

// equalWide goes to unequal unless a text of wider characters is s. There may be none, which is not the empty one.
func (g *gen) equalWide(x check.Expr, v types.View, s string, unequal ir.Label) {
	b := g.b
	var want []byte
	switch v.Unit {
	case 2:
		for _, unit := range utf16.Encode([]rune(s)) {
			want = binary.LittleEndian.AppendUint16(want, unit)
		}
	case 4:
		for _, r := range s {
			want = binary.LittleEndian.AppendUint32(want, uint32(r))
		}
	default:
		refuse(x.Pos(), "internal: no code for characters of %d bytes", v.Unit)
	}
	if len(want) > maxWide {
		refuse(x.Pos(), "the text is too long: texts of wide characters are compared with at most %d characters",
			maxWide/v.Unit)
	}
	src := g.place(x)
	if v.Null {
		b.IfImm(ir.EQ, g.load(src.at(v.Data), 8, false, x.Pos()), 0, unequal)
	}
	p, n := g.viewOf(v, src, x.Pos())
	b.IfImm(ir.NE, n, int64(len(want)/v.Unit), unequal)
	if len(want) == 0 {
		return
	}
	tmp := g.temp(len(want))
	g.zero(tmp, len(want))
	b.ApplyImm(ir.Mul, n, int64(v.Unit))
	g.readN(tmp, p, n, len(want), x.Pos())
	g.prefixConst(tmp, string(want), len(want), len(want), unequal)
}

// equal goes to unequal if n bytes differ.
func (g *gen) equal(x, y memory, n int, unequal ir.Label) {
	b := g.b
	bx, ox := g.ref(x)
	by, oy := g.ref(y)
	for i := 0; i < n; {
		w := ir.Size(min(chunk(ox+i, n-i), chunk(oy+i, n-i)))
		b.If(ir.NE, b.Load(w, bx, ox+i), b.Load(w, by, oy+i), unequal)
		i += int(w)
	}
}

// equalConst goes to unequal unless the padded string at m, of size bytes, is s.
func (g *gen) equalConst(m memory, s string, size int, unequal ir.Label) {
	b := g.b
	n := len(s) + 1
	if n > size {
		if len(s) > size {
			b.Jump(unequal)
			b.Bind(b.Label())
			return
		}
		n = size
	}
	g.prefixConst(m, s, n, size, unequal)
}

// prefixConst goes to unequal unless the first n bytes at m are those of s (with zeros behind its end).
func (g *gen) prefixConst(m memory, s string, n, size int, unequal ir.Label) {
	b := g.b
	base, off := g.ref(m)
	for i := 0; i < n; {
		w := chunk(off+i, size-i)
		for w > 1 && w > 2*(n-i)-1 {
			w /= 2
		}
		take := min(w, n-i)
		word := pad([]byte(s), i, 8)
		for j := take; j < 8; j++ {
			word[j] = 0
		}
		v := b.Load(ir.Size(w), base, off+i)
		if take < w {
			b.ApplyImm(ir.And, v, 1<<(8*take)-1)
		}
		b.IfImm(ir.NE, v, int64(binary.LittleEndian.Uint64(word)), unequal)
		i += w
	}
}

// limitTo applies the length that str() was given to one that the value itself has. See strRead for what it counts.
func (g *gen) limitTo(n ir.Reg, e *check.Call) {
	if len(e.Args) < 2 || e.Args[1].Expr == nil {
		return
	}
	b := g.b
	fits, some := b.Label(), b.Label()
	limit := b.Copy(g.scalar(e.Args[1].Expr))
	if !e.Counted {
		b.IfImm(ir.EQ, limit, 0, some)
		b.ApplyImm(ir.Sub, limit, 1)
	}
	b.Bind(some)
	b.If(ir.LE, n, limit, fits)
	b.Set(n, limit)
	b.Bind(fits)
}
