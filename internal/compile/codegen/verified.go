package codegen

import (
	"syscall"

	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/process/probe"
)

// Some helpers take pointers to the kernel's structs, of which the verifier has to know the type. It does of
// arguments, of what a context has, and of what is loaded from these (kernel/bpf/verifier.c, PTR_TO_BTF_ID); not of
// what a helper has read or a script has computed, however right it is.

// verified is such a pointer to a struct that an expression is, or points to. Where it may be null, null is gone to.
func (g *gen) verified(e check.Expr, null ir.Label) (base ir.Reg, off int, ok bool) {
	switch e := e.(type) {
	case *check.Deref:
		return g.verified(e.X, null)
	case *check.AddrOf:
		return g.verified(e.X, null)
	case *check.Call:
		if g.typ == probe.IterProgram && e.Fn.ID == builtin.Ctx {
			return g.context(), 0, true
		}
	case *check.Member:
		at := e.Field.Offset
		if _, args := e.X.(*check.ArgsRef); args {
			if g.typ.Context() != probe.Words || e.T.Kind != types.Pointer {
				return 0, 0, false
			}
			base, at = g.context(), 8*e.Index
		} else {
			if base, off, ok = g.verified(e.X, null); !ok {
				return 0, 0, false
			}
			at += off
		}
		if e.T.Kind != types.Pointer {
			return base, at, true
		}
		r := g.b.Load(8, base, at)
		g.b.IfImm(ir.EQ, r, 0, null)
		return r, 0, true
	}
	return 0, 0, false
}

// path is the name of a file, which the kernel makes (bpf_d_path, Linux 5.10).
func (g *gen) path(dst memory, e *check.Call, size int) {
	b := g.b
	null, good := b.Label(), b.Label()
	g.zero(dst, size)
	res := b.Imm(-int64(syscall.EFAULT))
	base, off, ok := g.verified(e.Args[0].Expr, null)
	if !ok {
		refuse(e.Span, "path() needs a struct path that is reached from args or ctx, without variables and casts between: "+
			"the kernel takes no other")
	}
	b.Set(res, b.Call(asm.FnDPath, ir.A(base, off), g.addr(dst), ir.I(int64(size))))
	b.IfImm(ir.SGE, res, 0, good)
	b.Bind(null)
	g.failed("d_path", res, memory{space: inKernel, base: b.Imm(0)}, e.Span)
	b.Bind(good)
}
