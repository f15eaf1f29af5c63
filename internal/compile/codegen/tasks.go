package codegen

import (
	"syscall"

	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
)

// The task with a number is looked for as the kernel does it (find_task_by_pid_ns): a kernel function for that
// (bpf_task_from_pid, Linux 6.2) is not offered to all kinds of programs. It is a walk without locks, so what it found
// is looked at again in the end: memory that was freed and used anew meanwhile is no answer.

const (
	// treeLevels is more than a tree of 32-bit numbers has, with 16 slots in a node.
	treeLevels = 9
	// namespaceLevels is how many PID namespaces there may be in one another, with the initial one (MAX_PID_NS_LEVEL).
	namespaceLevels = 33
	// Entries of the tree: the lower two bits say that it is a node, unless it is one of the small ones that stand for
	// something else (include/linux/xarray.h: xa_is_internal, xa_is_node).
	entryKind, entryNode, leastNode = 3, 2, 4096
)

// commOf is the name of the process or thread with a number in our PID namespace; if there is none it is empty.
func (g *gen) commOf(dst memory, e *check.Call, size int) {
	b, w := g.b, e.Tasks
	id := b.Copy(g.scalar(e.Args[0].Expr))
	g.zero(dst, size)
	at := func(base ir.Reg, off, size int) ir.Reg {
		return b.Copy(g.load(memory{space: inKernel, base: base, off: off}, size, false, e.Span))
	}
	none, lost := b.Label(), b.Label()
	outer := g.onFail
	g.onFail = func(memory) { b.Jump(lost) }
	level, namespace := g.namespace(at, w, lost)
	// The root's height says how large numbers may be.
	node := at(namespace, w.Head, 8)
	top, leaf := b.Label(), b.Label()
	b.IfImm(ir.NE, b.OpImm(ir.And, node, entryKind), entryNode, none) // nothing but 0, which is no process
	b.ApplyImm(ir.Sub, node, entryNode)
	shift := at(node, w.Shift, 1)
	b.ApplyImm(ir.And, shift, 63)
	b.IfImm(ir.GE, b.Op(ir.Shr, id, shift), int64(w.Fanout), none)
	i := b.Imm(0)
	b.Bind(top)
	slot := b.Op(ir.Shr, id, shift)
	b.ApplyImm(ir.And, slot, int64(w.Fanout-1))
	b.ApplyImm(ir.Mul, slot, 8)
	entry := at(b.Op(ir.Add, node, slot), w.Slots, 8)
	kind := b.OpImm(ir.And, entry, entryKind)
	b.IfImm(ir.EQ, kind, 0, leaf)
	b.IfImm(ir.NE, kind, entryNode, lost)
	b.IfImm(ir.LE, entry, leastNode, lost) // the tree changes right now
	b.Set(node, b.OpImm(ir.Sub, entry, entryNode))
	b.Set(shift, at(node, w.Shift, 1))
	b.ApplyImm(ir.And, shift, 63)
	b.ApplyImm(ir.Add, i, 1)
	b.IfImm(ir.LT, i, treeLevels, top)
	b.Jump(lost)

	b.Bind(leaf)
	b.IfImm(ir.EQ, entry, 0, none)
	task := at(entry, w.Tasks, 8)
	b.IfImm(ir.EQ, task, 0, none) // it is kept as the number of a group or session only
	b.ApplyImm(ir.Sub, task, int64(w.Links))
	g.readKernel(dst, memory{space: inKernel, base: task, off: w.Comm}, fixedLength(commSize), e.Span)
	base, off := g.ref(dst)
	b.StoreImm(1, base, off+commSize-1, 0)
	b.If(ir.NE, at(task, w.ThreadPID, 8), entry, lost)
	own := b.Op(ir.Add, entry, b.OpImm(ir.Mul, level, int64(w.Upid)))
	b.If(ir.EQ, at(own, w.Numbers+w.Number, 4), id, none)
	g.onFail = outer
	b.Bind(lost)
	g.zero(dst, size)
	g.failed("probe_read_kernel", b.Imm(-int64(syscall.ESRCH)), memory{space: inKernel, base: b.Imm(0)}, e.Span)
	b.Bind(none)
}

// namespace is the struct pid_namespace that we number processes in, and how many are around it, as the current task
// leads to it: tasks outside of it don't.
func (g *gen) namespace(at func(base ir.Reg, off, size int) ir.Reg, w *check.Tasks, lost ir.Label) (level, ns ir.Reg) {
	b := g.b
	pid := at(b.Call(asm.FnGetCurrentTask), w.ThreadPID, 8)
	b.IfImm(ir.EQ, pid, 0, lost) // it has been taken down, and is about to be left
	level = b.Imm(0)
	if g.c.opts.Namespace == nil {
		ns = at(pid, w.Numbers+w.Within, 8)
		return level, ns
	}
	ours := b.Imm(int64(g.c.opts.Namespace.Ino))
	top, got := b.Label(), b.Label()
	deepest := at(pid, w.Level, 4)
	ns = b.Reg()
	b.Bind(top)
	b.If(ir.GT, level, deepest, lost)
	number := b.Op(ir.Add, pid, b.OpImm(ir.Mul, level, int64(w.Upid)))
	b.Set(ns, at(number, w.Numbers+w.Within, 8))
	b.If(ir.EQ, at(ns, w.Inum, 4), ours, got)
	b.ApplyImm(ir.Add, level, 1)
	b.IfImm(ir.LT, level, namespaceLevels, top)
	b.Jump(lost)
	b.Bind(got)
	return level, ns
}
