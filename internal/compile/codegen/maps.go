package codegen

import (
	"fmt"
	"math"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
)

// storage decides how a script's map is kept. A scalar map is an array with one entry, reached without a look-up; keyed
// maps are hash tables. Aggregations are per CPU.
func (c *compiler) storage(m *check.Map) {
	about := record.Map{Name: m.Name, Key: m.Key, Value: m.Value, Max: m.Max}
	s := record.Storage{Map: about, Name: fmt.Sprintf("m%d", m.ID), Scalar: m.Key == nil, ValueSize: m.Value.Size}
	s.PerCPU = m.Value.IsAgg() || m.Kind == check.PerCPUHash || m.Kind == check.PerCPULRUHash
	spec := &ebpf.MapSpec{Name: s.Name, MaxEntries: uint32(max(1, m.Max))}
	spec.ValueSize = uint32(s.Stride())
	switch {
	case s.Scalar:
		spec.Type, spec.KeySize, spec.MaxEntries = ebpf.Array, 4, 1
		if s.PerCPU {
			spec.Type = ebpf.PerCPUArray
		}
	default:
		s.KeySize = max(1, m.Key.Size)
		spec.KeySize = uint32(s.KeySize)
		lru := m.Kind == check.LRUHash || m.Kind == check.PerCPULRUHash
		switch {
		case s.PerCPU && lru:
			spec.Type = ebpf.LRUCPUHash
		case s.PerCPU:
			spec.Type = ebpf.PerCPUHash
		case lru:
			spec.Type = ebpf.LRUHash
		default:
			spec.Type = ebpf.Hash
		}
	}
	if s.PerCPU && spec.ValueSize > 32<<10 {
		refuse(m.Span, "the values of %s take %d bytes, the kernel allows 32768 per CPU", m.Name, spec.ValueSize)
	}
	c.zeros = max(c.zeros, roundUp(m.Value.Size))
	c.out.Maps = append(c.out.Maps, spec)
	c.out.Storage = append(c.out.Storage, s)
}

func (g *gen) storage(m *check.Map) *record.Storage { return &g.c.out.Storage[m.ID] }

// full is the counter of updates that a map refused.
func (g *gen) full(m *check.Map, at check.Stmt, helper string) int {
	for i, l := range g.c.out.Losses {
		if l.Kind == record.LostUpdates && l.Map == m.ID && g.c.lossSpans[i] == at.Pos() {
			return i
		}
	}
	return g.c.loss(record.Loss{Kind: record.LostUpdates, Map: m.ID, Action: g.act.Index, Helper: helper}, at.Pos())
}

// key evaluates a key to memory.
func (g *gen) key(m *check.Map, key check.Expr) memory {
	if key == nil {
		tmp := memory{space: onStack, off: g.b.Slot(8)}
		g.b.StoreImm(8, ir.FP, tmp.off, 0)
		return tmp
	}
	// A variable or other value of the very type needs no copy.
	if v, ok := key.(*check.VarRef); ok && !v.T.IsScalar() && v.T.Size == m.Key.Size && v.T.Equal(m.Key) {
		return g.place(key)
	}
	tmp := g.temp(max(1, m.Key.Size))
	if m.Key.Size == 0 {
		g.zero(tmp, 1)
		return tmp
	}
	g.into(tmp, key, m.Key)
	return tmp
}

// lookup makes a pointer to the value (behind the header of a scalar map), or 0.
func (g *gen) lookup(m *check.Map, key memory) ir.Reg {
	s := g.storage(m)
	return g.b.Call(asm.FnMapLookupElem, ir.M(s.Name), g.addr(key))
}

// entry makes a pointer to a map's value or 0. A scalar map's value is always there.
func (g *gen) entry(m *check.Map, key check.Expr) ir.Reg {
	s := g.storage(m)
	b := g.b
	if s.Scalar && !s.PerCPU {
		return b.MapValue(s.Name, record.ScalarHeader)
	}
	p := g.lookup(m, g.key(m, key))
	if s.Scalar {
		none := b.Label()
		b.IfImm(ir.EQ, p, 0, none)
		b.ApplyImm(ir.Add, p, record.ScalarHeader)
		b.Bind(none)
	}
	return p
}

// mapScalar reads a scalar value, zero where there is none.
func (g *gen) mapScalar(e *check.MapGet) ir.Reg {
	b := g.b
	s := g.storage(e.Map)
	t := e.Map.Value
	if t.IsAgg() {
		return g.sumCPUs(e.Map, g.key(e.Map, e.Key), e.T)
	}
	if s.Scalar && !s.PerCPU {
		r := b.Load(ir.Size(t.Size), b.MapValue(s.Name, record.ScalarHeader), 0)
		b.Extend(r, t.Size, t.Signed)
		return r
	}
	r, end := b.Imm(0), b.Label()
	p := g.entry(e.Map, e.Key)
	g.missing(p, e)
	b.IfImm(ir.EQ, p, 0, end)
	b.LoadTo(r, ir.Size(t.Size), p, 0)
	b.Extend(r, t.Size, t.Signed)
	b.Bind(end)
	return r
}

// mapMemory is a map's value in place, or zeros.
func (g *gen) mapMemory(e *check.MapGet) memory {
	b := g.b
	if e.Map.Value.Kind == types.Stats {
		return g.sumStats(e.Map, g.key(e.Map, e.Key))
	}
	p := g.entry(e.Map, e.Key)
	if s := g.storage(e.Map); !s.Scalar || s.PerCPU {
		found := b.Label()
		g.missing(p, e)
		b.IfImm(ir.NE, p, 0, found)
		b.Set(p, b.MapValue(record.ZerosName, 0))
		b.Bind(found)
	}
	return memory{space: inReg, base: p}
}

// missing reports the reading of an entry that is not there, if asked for.
func (g *gen) missing(p ir.Reg, e *check.MapGet) {
	if !g.c.opts.HelperErrors {
		return
	}
	b := g.b
	found := b.Label()
	b.IfImm(ir.NE, p, 0, found)
	g.helperError("map_lookup_elem", b.Imm(0), e.Span)
	b.Bind(found)
}

// setMap assigns an entry.
func (g *gen) setMap(s *check.SetMap) {
	b := g.b
	st := g.storage(s.Map)
	t := s.Map.Value
	if st.Scalar && !st.PerCPU {
		if t.IsScalar() {
			r := g.scalar(s.Value)
			p := b.MapValue(st.Name, 0)
			b.Store(ir.Size(t.Size), p, record.ScalarHeader, r)
			b.StoreImm(8, p, 0, 1)
			return
		}
		v := g.temp(t.Size)
		g.into(v, s.Value, t)
		p := b.MapValue(st.Name, 0)
		g.copy(memory{space: inReg, base: p, off: record.ScalarHeader}, v, t.Size)
		b.StoreImm(8, p, 0, 1)
		return
	}
	size := roundUp(max(1, t.Size))
	v := g.temp(size)
	if size != t.Size {
		g.zero(v, size)
	}
	if t.Size > 0 {
		g.into(v, s.Value, t)
	}
	if st.Scalar { // per CPU
		end := b.Label()
		p := g.lookup(s.Map, g.key(s.Map, nil))
		b.IfImm(ir.EQ, p, 0, end)
		g.copy(memory{space: inReg, base: p, off: record.ScalarHeader}, v, t.Size)
		b.StoreImm(8, p, 0, 1)
		b.Bind(end)
		return
	}
	g.update(s.Map, g.key(s.Map, s.Key), v, 0, s)
}

// update stores a value and counts what the map refuses.
func (g *gen) update(m *check.Map, key, value memory, flags int64, at check.Stmt) {
	b := g.b
	ok := b.Label()
	res := b.Call(asm.FnMapUpdateElem, ir.M(g.storage(m).Name), g.addr(key), g.addr(value), ir.I(flags))
	b.IfImm(ir.EQ, res, 0, ok)
	g.count(g.full(m, at, "map_update_elem"))
	b.Bind(ok)
}

// exprStmt lets an expression stand as the place of a loss.
type exprStmt struct{ check.Expr }

// incDec changes a variable or map entry by a constant. Map values of 4 and 8 bytes change atomically; those of 8
// bytes, from Linux 5.12 on, together with the reading of the value before, so that each of those who count has a
// number of its own.
func (g *gen) incDec(e *check.IncDec, used bool) ir.Reg {
	b := g.b
	t := e.T
	if v, ok := e.Target.(*check.VarRef); ok {
		place := g.variable(v.Var)
		if place.mem == nil {
			old := b.Copy(place.reg)
			b.ApplyImm(ir.Add, place.reg, e.Step)
			b.Extend(place.reg, t.Size, t.Signed)
			if e.Post {
				return old
			}
			return b.Copy(place.reg)
		}
		old := g.loadVar(place.mem, v.Var.Type, e.Span)
		now := b.OpImm(ir.Add, old, e.Step)
		b.Extend(now, t.Size, t.Signed)
		g.store(*place.mem, t.Size, now)
		if e.Post {
			return old
		}
		return now
	}
	m := e.Target.(*check.MapGet)
	s := g.storage(m.Map)
	vt := m.Map.Value
	old := b.Reg()
	add := func(p ir.Reg) {
		if used && vt.Size == 8 && g.c.opts.Features.Has(feature.AtomicFetch) {
			b.Set(old, b.FetchAdd(p, 0, b.Imm(e.Step)))
			return
		}
		b.LoadTo(old, ir.Size(vt.Size), p, 0)
		if vt.Size >= 4 {
			b.AtomicAdd(ir.Size(vt.Size), p, 0, b.Imm(e.Step))
		} else {
			b.Store(ir.Size(vt.Size), p, 0, b.OpImm(ir.Add, old, e.Step))
		}
		b.Extend(old, vt.Size, vt.Signed)
	}
	if s.Scalar && !s.PerCPU {
		p := b.MapValue(s.Name, 0)
		b.StoreImm(8, p, 0, 1)
		add(b.OpImm(ir.Add, p, record.ScalarHeader))
	} else {
		key := g.key(m.Map, m.Key)
		b.SetImm(old, 0)
		missing, end := b.Label(), b.Label()
		p := g.lookup(m.Map, key)
		b.IfImm(ir.EQ, p, 0, missing)
		add(p)
		b.Jump(end)
		b.Bind(missing)
		v := memory{space: onStack, off: b.Slot(8)}
		b.StoreImm(8, ir.FP, v.off, 0)
		if vt.Size == 8 {
			b.StoreImm(8, ir.FP, v.off, e.Step)
		} else {
			b.Store(ir.Size(vt.Size), ir.FP, v.off, b.Imm(e.Step))
		}
		// Another CPU may have been faster: then the entry exists now, and is added to.
		res := b.Call(asm.FnMapUpdateElem, ir.M(s.Name), g.addr(key), g.addr(v), ir.I(1))
		b.IfImm(ir.EQ, res, 0, end)
		p = g.lookup(m.Map, key)
		full := b.Label()
		b.IfImm(ir.EQ, p, 0, full)
		add(p)
		b.Jump(end)
		b.Bind(full)
		g.count(g.full(m.Map, exprStmt{e}, "map_update_elem"))
		b.Bind(end)
	}
	if e.Post {
		return old
	}
	now := b.OpImm(ir.Add, old, e.Step)
	b.Extend(now, t.Size, t.Signed)
	return now
}

// aggregate is @x[key] = count() and its kind.
func (g *gen) aggregate(s *check.Aggregate) {
	b := g.b
	var n ir.Reg = ir.NoReg
	if len(s.Args) > 0 {
		n = b.Copy(g.scalar(s.Args[0]))
	}
	st := g.storage(s.Map)
	t := s.Map.Value
	end := b.Label()
	var p ir.Reg
	if st.Scalar {
		p = g.lookup(s.Map, g.key(s.Map, nil))
		b.IfImm(ir.EQ, p, 0, end)
		b.StoreImm(8, p, 0, 1)
		b.ApplyImm(ir.Add, p, record.ScalarHeader)
	} else {
		key := g.key(s.Map, s.Key)
		found := b.Label()
		p = b.Copy(g.lookup(s.Map, key))
		b.IfImm(ir.NE, p, 0, found)
		b.Do(asm.FnMapUpdateElem, ir.M(st.Name), g.addr(key), ir.MV(record.ZerosName, 0), ir.I(1))
		b.Set(p, g.lookup(s.Map, key))
		b.IfImm(ir.NE, p, 0, found)
		g.count(g.full(s.Map, s, "map_update_elem"))
		b.Jump(end)
		b.Bind(found)
	}
	switch t.Kind {
	case types.Count:
		b.AtomicAdd(8, p, 0, b.Imm(1))
	case types.Sum:
		b.AtomicAdd(8, p, 0, n)
	case types.Avg, types.Stats:
		b.AtomicAdd(8, p, 0, n)
		b.AtomicAdd(8, p, 8, b.Imm(1))
	case types.Min, types.Max:
		g.extreme(p, n, t)
	case types.Hist:
		i := g.histIndex(n, t.Bits, s.Args[0].Type().Signed)
		g.bucket(p, i, types.HistBuckets(t.Bits))
	case types.LHist:
		i := g.linearIndex(n, t)
		g.bucket(p, i, t.Size/8)
	case types.Times:
		g.times(p, n)
	case types.TSeries:
		g.series(p, n, t, s.Span)
	default:
		refuse(s.Span, "internal: no code for aggregation %s", t)
	}
	b.Bind(end)
}

// rank maps a value to a number that only grows as it becomes more extreme, and back (types.AggOf: Min, Max).
func (g *gen) rank(n ir.Reg, t *types.Type) ir.Reg {
	b := g.b
	r := b.Copy(n)
	if t.Signed {
		b.ApplyImm(ir.Xor, r, math.MinInt64)
	}
	if t.Kind == types.Min {
		b.ApplyImm(ir.Xor, r, -1)
	}
	return r
}

// rankTries is how often a value is put back when another program got in between: each time one that interrupted this
// one.
const rankTries = 8

// extreme keeps the smallest or largest value. A program that interrupts this one may do the same to the same value: so
// it is exchanged, and what was more extreme is put back.
func (g *gen) extreme(p, n ir.Reg, t *types.Type) {
	b := g.b
	r := g.rank(n, t)
	done := b.Label()
	if !g.c.opts.Features.Has(feature.AtomicFetch) {
		// On kernels before 5.12 programs are not interrupted by others.
		b.If(ir.LE, r, b.Load(8, p, 0), done)
		b.Store(8, p, 0, r)
	} else {
		i, again := b.Imm(0), b.Label()
		b.Bind(again)
		b.If(ir.LE, r, b.Load(8, p, 0), done)
		old := b.Xchg(p, 0, r)
		b.If(ir.LE, old, r, done)
		b.Set(r, old)
		b.ApplyImm(ir.Add, i, 1)
		b.IfImm(ir.LT, i, rankTries, again)
	}
	b.Bind(done)
	b.StoreImm(8, p, 8, 1)
}

// bucket adds one to counter i of n.
func (g *gen) bucket(p, i ir.Reg, n int) {
	b := g.b
	at := b.OpImm(ir.Shl, g.atMost(i, n-1), 3) // never more, but the verifier wants to see it
	b.AtomicAdd(8, b.Op(ir.Add, p, at), 0, b.Imm(1))
}

// times counts a duration in (types.TimesOf).
func (g *gen) times(p, n ir.Reg) {
	b := g.b
	b.AtomicAdd(8, p, 0, n)
	g.extreme(b.OpImm(ir.Add, p, 8), n, types.AggOf(types.Max, false))
	// The histogram of hist() has a bucket more in front, for negative values.
	i := b.OpImm(ir.Sub, g.histIndex(n, types.TimesBits, false), 1)
	g.bucket(b.OpImm(ir.Add, p, types.TimesHead), i, types.TimesBuckets)
}

// histIndex computes the bucket of a log2 histogram (types.HistOf).
func (g *gen) histIndex(n ir.Reg, bits int, signed bool) ir.Reg {
	b := g.b
	k := int64(bits)
	i, end := b.Imm(0), b.Label()
	if signed {
		b.IfImm(ir.SLT, n, 0, end)
	}
	large := b.Label()
	b.IfImm(ir.GE, n, 1<<k, large)
	b.Set(i, n)
	b.ApplyImm(ir.Add, i, 1)
	b.Jump(end)
	b.Bind(large)
	log, v := b.Imm(0), b.Copy(n)
	for _, step := range []int64{32, 16, 8, 4, 2, 1} {
		small := b.Label()
		b.IfImm(ir.LT, v, 1<<step, small)
		b.ApplyImm(ir.Shr, v, step)
		b.ApplyImm(ir.Add, log, step)
		b.Bind(small)
	}
	// 1 + 2^k + (log-k)*2^k + the k bits behind the highest one.
	b.Set(i, log)
	b.ApplyImm(ir.Sub, i, k)
	if k > 0 {
		sub := b.Copy(n)
		b.Apply(ir.Shr, sub, b.Copy(i))
		b.ApplyImm(ir.And, sub, 1<<k-1)
		b.ApplyImm(ir.Shl, i, k)
		b.Apply(ir.Add, i, sub)
	}
	b.ApplyImm(ir.Add, i, 1+1<<k)
	b.Bind(end)
	return i
}

func (g *gen) linearIndex(n ir.Reg, t *types.Type) ir.Reg {
	b := g.b
	i, end := b.Imm(0), b.Label()
	b.IfImm(ir.SLT, n, t.Min, end)
	above := b.Label()
	b.IfImm(ir.SGE, n, t.Max, above)
	b.Set(i, n)
	b.ApplyImm(ir.Sub, i, t.Min)
	b.ApplyImm(ir.Div, i, t.Step)
	b.ApplyImm(ir.Add, i, 1)
	b.Jump(end)
	b.Bind(above)
	b.SetImm(i, int64(t.Size/8-1))
	b.Bind(end)
	return i
}

// series records a value in the interval of now: a ring of intervals, each marked with its number so that old content
// is noticed (types.SeriesOf).
func (g *gen) series(p, n ir.Reg, t *types.Type, span diag.Span) {
	b := g.b
	s := t.Series
	now := b.Reg()
	if m := g.c.opts.TimeMap; m != nil {
		b.LoadTo(now, ir.Size(m.Value.Size), b.MapValue(g.storage(m).Name, record.ScalarHeader), 0)
	} else {
		b.Set(now, b.Call(asm.FnKtimeGetBootNs))
	}
	epoch := b.Copy(now)
	b.Apply(ir.Div, epoch, b.Imm(int64(s.IntervalNS)))
	at := b.OpImm(ir.Mod, epoch, int64(s.Count))
	end := b.Label()
	b.IfImm(ir.GE, at, int64(s.Count), end)
	b.ApplyImm(ir.Mul, at, 24)
	e := b.Op(ir.Add, p, at)
	b.ApplyImm(ir.Add, epoch, 1)
	fresh, set := b.Label(), b.Label()
	b.If(ir.NE, b.Load(8, e, 0), epoch, fresh)
	switch s.Agg {
	case types.Sum:
		b.AtomicAdd(8, e, 8, n)
		b.Jump(end)
	case types.Avg:
		b.AtomicAdd(8, e, 8, n)
		b.AtomicAdd(8, e, 16, b.Imm(1))
		b.Jump(end)
	case types.Min, types.Max:
		c := ir.SGE
		if s.Agg == types.Max {
			c = ir.SLE
		}
		b.If(c, n, b.Load(8, e, 8), end)
		b.Jump(set)
	case types.None: // the last value counts
		b.Store(8, e, 16, now)
		b.Jump(set)
	default:
		refuse(span, "internal: no code for a tseries() of kind %d", s.Agg)
	}
	b.Bind(fresh)
	b.Store(8, e, 0, epoch)
	if s.Agg == types.None {
		b.Store(8, e, 16, now)
	} else {
		b.StoreImm(8, e, 16, 1)
	}
	b.Bind(set)
	b.Store(8, e, 8, n)
	b.Bind(end)
}

// eachCPU makes a loop over the CPUs' copies of an entry; body gets a pointer that is not 0.
func (g *gen) eachCPU(m *check.Map, key memory, body func(p ir.Reg)) {
	b := g.b
	if !g.c.opts.Features.Has(feature.MapLookupPercpu) {
		refuse(m.Span, "%s is kept per CPU, and reading all CPUs' values in a program needs bpf_map_lookup_percpu_elem "+
			"(Linux 5.19)", m.Name)
	}
	s := g.storage(m)
	cpu := b.Imm(0)
	top, next := b.Label(), b.Label()
	b.Bind(top)
	p := b.Call(asm.FnMapLookupPercpuElem, ir.M(s.Name), g.addr(key), ir.R(cpu))
	b.IfImm(ir.EQ, p, 0, next)
	if s.Scalar {
		b.ApplyImm(ir.Add, p, record.ScalarHeader)
	}
	body(p)
	b.Bind(next)
	b.ApplyImm(ir.Add, cpu, 1)
	b.IfImm(ir.LT, cpu, int64(g.c.opts.CPUs), top)
}

// sumCPUs makes the integer value of an aggregation.
func (g *gen) sumCPUs(m *check.Map, key memory, t *types.Type) ir.Reg {
	b := g.b
	total, n := b.Imm(0), b.Imm(0)
	vt := m.Value
	g.eachCPU(m, key, func(p ir.Reg) {
		switch vt.Kind {
		case types.Count, types.Sum:
			b.Apply(ir.Add, total, b.Load(8, p, 0))
		case types.Avg:
			b.Apply(ir.Add, total, b.Load(8, p, 0))
			b.Apply(ir.Add, n, b.Load(8, p, 8))
		case types.Min, types.Max:
			skip := b.Label()
			b.Apply(ir.Or, n, b.Load(8, p, 8))
			v := b.Load(8, p, 0)
			b.If(ir.LE, v, total, skip)
			b.Set(total, v)
			b.Bind(skip)
		default:
			refuse(m.Span, "internal: %s has no integer value", m.Name)
		}
	})
	switch vt.Kind {
	case types.Min, types.Max:
		none := b.Label()
		b.IfImm(ir.EQ, n, 0, none)
		b.Set(total, g.rank(total, vt))
		b.Bind(none)
	case types.Avg:
		if vt.Signed {
			sign := b.Copy(total)
			g.magnitude(total)
			b.Apply(ir.Div, total, n)
			end := b.Label()
			b.IfImm(ir.SGE, sign, 0, end)
			b.Apply(ir.Neg, total, total)
			b.Bind(end)
		} else {
			b.Apply(ir.Div, total, n)
		}
	}
	return total
}

// sumStats makes total and count of all CPUs.
func (g *gen) sumStats(m *check.Map, key memory) memory {
	b := g.b
	total, n := b.Imm(0), b.Imm(0)
	g.eachCPU(m, key, func(p ir.Reg) {
		b.Apply(ir.Add, total, b.Load(8, p, 0))
		b.Apply(ir.Add, n, b.Load(8, p, 8))
	})
	tmp := g.temp(16)
	g.store(tmp, 8, total)
	g.store(tmp.at(8), 8, n)
	return tmp
}
