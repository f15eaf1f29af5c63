package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/ir"
)

func (c *codes) process() {
	c[builtin.PID].scalar = func(g *gen, e *check.Call) ir.Reg {
		tgid, _ := g.ids(e)
		return tgid
	}
	c[builtin.TID].scalar = func(g *gen, e *check.Call) ir.Reg {
		_, tid := g.ids(e)
		return tid
	}
	c[builtin.RoutineID].scalar, c[builtin.RoutineFrame].scalar = (*gen).routine, (*gen).routine
	c[builtin.UID] = code{helper: asm.FnGetCurrentUidGid, part: low32}
	c[builtin.GID] = code{helper: asm.FnGetCurrentUidGid, part: high32}
	c[builtin.UserName] = code{helper: asm.FnGetCurrentUidGid, part: low32, memory: func(g *gen, dst memory, _ *check.Call,
		_ *types.Type,
	) {
		g.store(dst, 8, g.b.Low32(g.b.Call(asm.FnGetCurrentUidGid)))
	}}
	c[builtin.Comm].memory = (*gen).comm
	c[builtin.CurTask].helper = asm.FnGetCurrentTask
	c[builtin.SyscallID].scalar, c[builtin.Traced].scalar = (*gen).syscallID, (*gen).traced
	c[builtin.Cgroup].helper = asm.FnGetCurrentCgroupId
}

// ids makes the process and thread id in the PID namespace that a call of pid or tid asks for.
func (g *gen) ids(e *check.Call) (tgid, tid ir.Reg) {
	if !e.InitialNS {
		return g.pidTgid()
	}
	both := g.b.Call(asm.FnGetCurrentPidTgid)
	return g.b.OpImm(ir.Shr, both, 32), g.b.Low32(both)
}

// syscallID reads the number of the system call that the thread is in from the registers that were saved on its way
// into the kernel.
func (g *gen) syscallID(e *check.Call) ir.Reg {
	b, at := g.b, g.c.opts.Arch.SyscallNumber
	switch {
	case at.Size == 0:
		refuse(e.Span, "syscall_id is not available on %s", g.c.opts.Arch.Title)
	case !g.c.opts.Features.Has(feature.TaskRegs):
		refuse(e.Span, "syscall_id needs bpf_task_pt_regs (Linux %s)", feature.TaskRegs.Info().Since)
	}
	regs := b.Call(asm.FnTaskPtRegs, ir.R(b.Call(asm.FnGetCurrentTaskBtf)))
	slot := b.Slot(8)
	read := func(offset, size int) ir.Reg {
		b.StoreImm(8, ir.FP, slot, 0)
		from := b.OpImm(ir.Add, regs, int64(offset))
		b.Do(asm.FnProbeReadKernel, ir.A(ir.FP, slot), ir.I(int64(size)), ir.R(from))
		return b.Load(ir.Size(size), ir.FP, slot)
	}
	number, end := b.Imm(-1), b.Label()
	// Threads of the kernel have no registers of a program: all of them are 0 (copy_thread).
	ip, _ := g.c.opts.Arch.Offset(g.c.opts.Arch.IP)
	b.IfImm(ir.EQ, read(ip, 8), 0, end)
	in := read(at.Offset, at.Size)
	b.Extend(in, at.Size, true)
	b.Set(number, in)
	b.Bind(end)
	return number
}

// traced is whether the thread is one that the target selects.
func (g *gen) traced(*check.Call) ir.Reg {
	b := g.b
	is, end := b.Imm(0), b.Label()
	g.selected(end)
	b.Set(is, b.Imm(1))
	b.Bind(end)
	return is
}

// commSize is the size of a thread's name in the kernel (TASK_COMM_LEN in include/linux/sched.h).
const commSize = 16

func (g *gen) comm(dst memory, e *check.Call, t *types.Type) {
	if t.Size < commSize {
		refuse(e.Span, "internal: comm takes %d bytes", commSize)
	}
	if len(e.Args) > 0 {
		g.commOf(dst, e, t.Size)
		return
	}
	g.b.Do(asm.FnGetCurrentComm, g.addr(dst), ir.I(commSize))
	if t.Size > commSize {
		g.zero(dst.at(commSize), t.Size-commSize)
	}
}
