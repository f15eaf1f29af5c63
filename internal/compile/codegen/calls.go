package codegen

import (
	"github.com/cilium/ebpf/asm"
	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
)

// callScalar makes the value of a builtin that fits a register.
func (g *gen) callScalar(e *check.Call) ir.Reg {
	b := g.b
	switch e.Fn.ID {
	case "pid", "tid":
		var tgid, tid ir.Reg
		if e.Format == "init" {
			both := b.Call(asm.FnGetCurrentPidTgid)
			tgid, tid = b.OpImm(ir.Shr, both, 32), b.Low32(both)
		} else {
			tgid, tid = g.pidTgid()
		}
		if e.Fn.ID == "pid" {
			return tgid
		}
		return tid
	case "goid", "goframe":
		return g.goroutine(e)
	case "duration":
		return b.Load(8, g.frame, g.durationSlot)
	case "uid", "username":
		return b.Low32(b.Call(asm.FnGetCurrentUidGid))
	case "gid":
		return b.OpImm(ir.Shr, b.Call(asm.FnGetCurrentUidGid), 32)
	case "cpu":
		return b.Call(asm.FnGetSmpProcessorId)
	case "ncpus":
		return b.Imm(int64(g.c.opts.CPUs))
	case "numaid":
		return b.Call(asm.FnGetNumaNodeId)
	case "rand":
		return b.Call(asm.FnGetPrandomU32)
	case "jiffies":
		return b.Call(asm.FnJiffies64)
	case "cgroup":
		return b.Call(asm.FnGetCurrentCgroupId)
	case "curtask":
		return b.Call(asm.FnGetCurrentTask)
	case "nsecs":
		return g.nsecs(e.Format)
	case "elapsed":
		// Nanoseconds since the start, which the loader writes into the control map.
		start := b.Load(8, b.MapValue(record.ControlName, record.ControlStart), 0)
		return b.Op(ir.Sub, b.Call(asm.FnKtimeGetBootNs), start)
	case "argN":
		return g.argN(e.N, e.Span)
	case "retval":
		if !g.hasRegisters() {
			refuse(e.Span, "retval needs a uretprobe")
		}
		return g.register(g.c.opts.Arch.Ret)
	case "reg":
		off, ok := g.c.opts.Arch.Regs[e.Format]
		if !ok || !g.hasRegisters() {
			refuse(e.Span, "there is no register %q here", e.Format)
		}
		if off == g.c.opts.Arch.IP {
			return g.instruction()
		}
		return g.register(off)
	case "ctx":
		return g.number(g.context())
	case "usermode":
		// The privilege level is in the lowest bits of CS (amd64).
		cs, ok := g.c.opts.Arch.Regs["cs"]
		if !ok {
			refuse(e.Span, "usermode is known on amd64 only")
		}
		r, end := b.Imm(1), b.Label()
		b.IfImm(ir.EQ, b.OpImm(ir.And, g.register(cs), 3), 3, end)
		b.SetImm(r, 0)
		b.Bind(end)
		return r
	case "kptr", "uptr":
		return g.scalar(e.Args[0].Expr)
	case "snapshot":
		to, ok := g.snapshotType(e)
		if !ok {
			return g.scalar(e.Args[0].Expr)
		}
		tmp := g.temp(roundUp(to.Size)) // of a reference to it
		g.captureInto(tmp, e.Args[0].Expr, to)
		return g.load(tmp, to.Size, to.Signed, e.Span)
	case "bswap":
		r := b.Copy(g.scalar(e.Args[0].Expr))
		if e.T.Size > 1 {
			b.Swap(r, 8*e.T.Size)
			b.Extend(r, e.T.Size, e.T.Signed)
		}
		return r
	case "is_err":
		r, end := b.Imm(1), b.Label()
		b.IfImm(ir.GE, g.scalar(e.Args[0].Expr), -4095, end)
		b.SetImm(r, 0)
		b.Bind(end)
		return r
	case "strncmp":
		return g.strncmp(e)
	case "memcmp":
		return g.memcmp(e)
	case "strlen", "strcap":
		return g.strlen(e.Args[0].Expr)
	case "strstr":
		return g.strstr(e.Args[0].Expr, e.Args[1].Expr)
	case "strcontains":
		at := g.strstr(e.Args[0].Expr, e.Args[1].Expr)
		r, end := b.Imm(1), b.Label()
		b.IfImm(ir.SGE, at, 0, end)
		b.SetImm(r, 0)
		b.Bind(end)
		return r
	case "delete":
		return g.deleteEntry(e)
	case "has_key":
		p := g.entry(e.Args[0].Map, e.Args[1].Expr)
		r, end := b.Imm(0), b.Label()
		b.IfImm(ir.EQ, p, 0, end)
		b.SetImm(r, 1)
		b.Bind(end)
		return r
	case "find":
		return g.find(e)
	case "len":
		return g.length(e)
	case "uaddr":
		return g.uaddr(e)
	case "write_user":
		res := b.Call(asm.FnProbeWriteUser, ir.R(g.scalar(e.Args[0].Expr)), ir.R(g.scalar(e.Args[1].Expr)), ir.R(g.scalar(e.Args[2].Expr)))
		r, end := b.Imm(0), b.Label()
		b.IfImm(ir.NE, res, 0, end)
		b.SetImm(r, 1)
		b.Bind(end)
		return r
	case "socket_cookie":
		return b.Call(asm.FnGetSocketCookie, ir.R(g.scalar(e.Args[0].Expr)))
	}
	if e.T.Kind == types.Bool || e.T.Kind == types.Int {
		refuse(e.Span, "internal: no code for %s()", e.Fn.Names[0])
	}
	refuse(e.Span, "%s() is not available in this kind of probe", e.Fn.Names[0])
	return ir.NoReg
}

func (g *gen) nsecs(clock string) ir.Reg {
	b := g.b
	switch clock {
	case "monotonic":
		return b.Call(asm.FnKtimeGetNs)
	case "tai":
		if !g.c.opts.Features.Has(KtimeTAI) {
			refuse(g.act.Span, "nsecs(tai) needs bpf_ktime_get_tai_ns (Linux 6.1)")
		}
		return b.Call(asm.FnKtimeGetTaiNs)
	case "sw_tai":
		// The difference between the clocks, which the loader writes into the control map.
		diff := b.Load(8, b.MapValue(record.ControlName, record.ControlTAI), 0)
		return b.Op(ir.Add, b.Call(asm.FnKtimeGetBootNs), diff)
	}
	return b.Call(asm.FnKtimeGetBootNs)
}

// callInto makes the value of a builtin that lives in memory.
func (g *gen) callInto(dst memory, e *check.Call, t *types.Type) {
	b := g.b
	switch e.Fn.ID {
	case "str":
		g.strInto(dst, e, t)
	case "snapshot":
		to, ok := g.snapshotType(e)
		if !ok || to.Size != t.Size {
			g.into(dst, e.Args[0].Expr, t)
			return
		}
		g.captureInto(dst, e.Args[0].Expr, to)
	case "buf":
		g.buffer(dst, e, t)
	case "comm":
		if len(e.Args) > 0 {
			refuse(e.Span, "comm of another process is not available")
		}
		if t.Size < 16 {
			refuse(e.Span, "internal: comm takes 16 bytes")
		}
		b.Do(asm.FnGetCurrentComm, g.addr(dst), ir.I(16))
		if t.Size > 16 {
			g.zero(dst.at(16), t.Size-16)
		}
	case "probe":
		g.pointName(dst, 0, t)
	case "func":
		g.function(dst)
	case "usym":
		addr := g.scalar(e.Args[0].Expr)
		g.store(dst, 8, addr)
		g.store(dst.at(8), 8, b.OpImm(ir.Shr, b.Call(asm.FnGetCurrentPidTgid), 32))
	case "ksym":
		g.store(dst, 8, g.scalar(e.Args[0].Expr))
	case "ustack", "dw_ustack", "kstack":
		g.stack(dst, t, e.Span)
	case "username":
		g.store(dst, 8, b.Low32(b.Call(asm.FnGetCurrentUidGid)))
	case "ntop":
		g.ntop(dst, e)
	case "macaddr":
		a := e.Args[0].Expr
		g.zero(dst, 8)
		if a.Type().Kind == types.Pointer {
			g.fetch(dst, pointee(a.Type(), g.scalar(a)), 6, e.Span)
			return
		}
		src := g.place(a)
		if a.Type().Kind == types.Buffer {
			src = src.at(4) // behind its length
		}
		g.fetch(dst, src, 6, e.Span)
	case "strftime":
		g.store(dst, 8, g.scalar(e.Args[len(e.Args)-1].Expr))
		base, off := g.ref(dst)
		b.StoreImm(8, base, off+8, int64(g.c.strftime(e.Format)))
	case "cgroup_path":
		g.store(dst, 8, g.scalar(e.Args[0].Expr))
		filter := 0
		if len(e.Args) > 1 {
			if s, ok := e.Args[1].Expr.(*check.StrConst); ok {
				filter = 1 + g.c.strftime(s.Value)
			}
		}
		base, off := g.ref(dst)
		b.StoreImm(8, base, off+8, int64(filter))
	case "str_concat":
		g.concat(dst, e, t)
	case "strerror", "signal_name", "syscall_name":
		g.nameOf(dst, e, t)
	default:
		refuse(e.Span, "internal: no code for %s() as a %s", e.Fn.Names[0], t)
	}
}

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

// pointName copies a text of the point that was hit: its name (0) or its function (pointNameSize).
func (g *gen) pointName(dst memory, off int, t *types.Type) {
	b := g.b
	if len(g.points) == 1 {
		p := g.points[0]
		name := p.Name
		if off > 0 {
			name = p.Func
		}
		g.stringConst(dst, name, t.Size)
		return
	}
	g.c.usesPoints, g.c.pointSize = true, 2*pointNameSize
	key := memory{space: onStack, off: b.Slot(8)}
	g.store(key, 4, g.point())
	g.zero(dst, t.Size)
	none := b.Label()
	p := b.Call(asm.FnMapLookupElem, ir.M(record.PointsName), g.addr(key))
	b.IfImm(ir.EQ, p, 0, none)
	b.Do(asm.FnProbeReadKernel, g.addr(dst), ir.I(int64(min(t.Size, pointNameSize))), ir.A(p, off))
	b.Bind(none)
}

// point is the number of the point that was hit.
func (g *gen) point() ir.Reg {
	g.knowsPoint = true
	if len(g.points) == 1 {
		return g.b.Imm(int64(g.firstCookie))
	}
	if !g.c.cookies(g.typ) {
		// The program is compiled again for each point (see compiler.action).
		return g.b.Imm(int64(g.firstCookie))
	}
	return g.b.Low32(g.cookie())
}

func (g *gen) cookie() ir.Reg {
	g.asksCookie = true
	return g.b.Call(asm.FnGetAttachCookie, ir.R(g.context()))
}

// functionPoint is the number of the first point of the function that was hit: a function has several points where it
// returns, or where it was inlined, and is one key of a map all the same.
func (g *gen) functionPoint() ir.Reg {
	if len(g.points) > 1 && g.c.cookies(g.typ) {
		g.knowsPoint = true
		return g.b.OpImm(ir.Shr, g.cookie(), functionShift)
	}
	g.knowsPoint = true
	return g.b.Imm(int64(g.c.functionOf(g.points[0], g.firstCookie)))
}

// function is the value of func: the number of the point says which function is meant.
func (g *gen) function(dst memory) {
	b := g.b
	base, off := g.ref(dst)
	switch {
	case g.typ == probe.UprobeProgram:
		b.StoreImm(8, base, off, 0)
		b.StoreImm(4, base, off+8, 0)
		n := b.OpImm(ir.Add, g.functionPoint(), 1)
		g.store(dst.at(12), 4, n)
	default:
		if !g.hasRegisters() {
			b.StoreImm(8, base, off, 0)
			b.StoreImm(8, base, off+8, 0)
			return
		}
		g.store(dst, 8, g.register(g.c.opts.Arch.IP))
		g.store(dst.at(8), 8, b.OpImm(ir.Shr, b.Call(asm.FnGetCurrentPidTgid), 32))
	}
}

// afInet is the address family of IPv4; that of IPv6 is record.AFInet6.
const afInet = 2

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

// deleteEntry removes an entry, and says whether there was one.
func (g *gen) deleteEntry(e *check.Call) ir.Reg {
	b := g.b
	m := e.Args[0].Map
	s := g.storage(m)
	r, end := b.Imm(0), b.Label()
	if s.Scalar {
		if s.PerCPU {
			// All CPUs' values can be cleared by user space only.
			l := g.layout(record.Clear, e.Span)
			l.Map = m.ID
			g.send(l, nil)
			b.SetImm(r, 1)
			b.Bind(end)
			return r
		}
		p := b.MapValue(s.Name, 0)
		b.IfImm(ir.EQ, b.Load(8, p, 0), 0, end)
		b.StoreImm(8, p, 0, 0)
		b.SetImm(r, 1)
		b.Bind(end)
		g.zero(memory{space: inReg, base: b.MapValue(s.Name, record.ScalarHeader)}, roundUp(m.Value.Size))
		return r
	}
	var key check.Expr
	if len(e.Args) > 1 {
		key = e.Args[1].Expr
	}
	res := b.Call(asm.FnMapDeleteElem, ir.M(s.Name), g.addr(g.key(m, key)))
	b.IfImm(ir.NE, res, 0, end)
	b.SetImm(r, 1)
	b.Bind(end)
	return r
}

// find sets a variable to an entry's value if there is one.
func (g *gen) find(e *check.Call) ir.Reg {
	b := g.b
	m := e.Args[0].Map
	v := g.variable(e.Args[2].Var)
	r, end := b.Imm(0), b.Label()
	p := g.entry(m, e.Args[1].Expr)
	b.IfImm(ir.EQ, p, 0, end)
	src := memory{space: inReg, base: p}
	t := e.Args[2].Var.Type
	switch {
	case v.mem == nil:
		b.Set(v.reg, g.load(src, m.Value.Size, m.Value.Signed, e.Span))
	case t.IsScalar():
		g.store(*v.mem, t.Size, g.load(src, m.Value.Size, m.Value.Signed, e.Span))
	default:
		g.convert(*v.mem, src, m.Value, t, e.Span)
	}
	b.SetImm(r, 1)
	b.Bind(end)
	return r
}

// length is len of a map or a stack.
func (g *gen) length(e *check.Call) ir.Reg {
	b := g.b
	m := e.Args[0].Map
	if m == nil {
		n := g.load(g.place(e.Args[0].Expr).at(4), 4, false, e.Span)
		b.ApplyImm(ir.And, n, 1<<types.StackPointShift-1)
		return n
	}
	s := g.storage(m)
	if s.Scalar {
		refuse(e.Span, "%s has no keys to count", m.Name)
	}
	if !g.c.opts.Features.Has(ForEach) {
		refuse(e.Span, "counting a map's entries in a program needs bpf_for_each_map_elem (Linux 5.13)")
	}
	// The helper returns the number of entries it went through.
	f := g.callback(4, 3, func(*ir.Builder) {})
	return b.Call(asm.FnForEachMapElem, ir.M(s.Name), ir.F(f), ir.A(g.frame, 0), ir.I(0))
}
