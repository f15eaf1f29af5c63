package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/ir"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// maxLoaded bounds the different addresses of the points of one program that computes where their file is loaded: each
// takes two instructions, of which one program may have a million, and its share of the verifier's time.
const maxLoaded = 1024

// loaded is where the traced file is loaded: the instruction pointer minus the probed place's address in the file.
func (g *gen) loaded(span diag.Span) ir.Reg {
	if g.typ != probe.UprobeProgram || len(g.points) == 0 {
		refuse(span, "the address is relative to the traced file: it is available in uprobe and usdt probes only")
	}
	if g.ret {
		refuse(span, "the address is relative to the traced file; it is not known where that is loaded when the kernel's "+
			"return "+
			"probe is hit, which tells only the caller's address")
	}
	b := g.b
	first := g.points[0].Addr
	same, distinct := true, 1
	for i, p := range g.points[1:] {
		same = same && p.Addr == first
		if p.Addr != g.points[i].Addr {
			distinct++
		}
	}
	ip := g.saved(g.c.opts.Arch.IP)
	if same {
		return b.OpImm(ir.Sub, ip, int64(first))
	}
	if !g.c.cookies(g.typ) {
		g.knowsPoint = true // the program is compiled for each point
		return b.OpImm(ir.Sub, ip, int64(first))
	}
	if distinct > maxLoaded {
		refuse(span, "the address is relative to the traced file, and there are more than %d places in it", maxLoaded)
	}
	point, at, known := g.point(), b.Imm(int64(first)), b.Label()
	for i, p := range g.points[1:] {
		if p.Addr == g.points[i].Addr {
			continue
		}
		b.IfImm(ir.LT, point, int64(g.firstCookie)+int64(i)+1, known)
		b.SetImm(at, int64(p.Addr))
	}
	b.Bind(known)
	return b.Op(ir.Sub, ip, at)
}

// threadPointer is where the running thread's own variables are. The kernel keeps it in the task.
func (g *gen) threadPointer(span diag.Span) ir.Reg {
	if g.c.opts.ThreadPointer == nil {
		refuse(span, "thread-local variables are not available: it is not known where this kernel keeps the thread pointer")
	}
	off, err := g.c.opts.ThreadPointer()
	if err != nil {
		refuse(span, "thread-local variables are not available: %s", err)
	}
	return g.b.Copy(g.load(memory{space: inKernel, base: g.b.Call(asm.FnGetCurrentTask), off: off}, 8, false, span))
}
