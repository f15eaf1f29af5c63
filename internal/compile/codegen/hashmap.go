package codegen

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
)

// Entries of Go's maps. A first pass finds the addresses of some entries in the table, a second captures what is there.

// mapSteps bounds the groups of eight places that are looked through: a map from which most was deleted, or that was
// made for many more entries than it has, may have none in these.
// Without bpf_loop the verifier follows each step, so there are fewer.
const (
	mapSteps  = 128
	mapInline = 12
)

// mapState is where the first pass keeps what changes, so that the verifier doesn't follow each number.
const (
	mapNext   = 8 * iota // number of the next table or bucket
	mapGroup             // address of the next group or bucket, 0: none
	mapLeft              // groups left in the table; buckets of the current kind
	mapBase              // buckets
	mapOld               // old buckets that are still to be looked at
	mapFound             // entries found
	mapDir               // tables
	mapTables            // number of tables
	mapList              // pairs of addresses: key, value
)

func (g *gen) captureMap(dst, src memory, from, to *types.Type, span diag.Span) {
	b := g.b
	p, end := b.Copy(g.load(src, 8, false, span)), b.Label()
	g.zero(dst, to.Size)
	g.store(dst, 8, p)
	b.IfImm(ir.EQ, p, 0, end)
	m, ok := from.MapLayout()
	if !ok {
		// Both headers begin with the number of entries.
		g.store(dst.at(8), 8, g.user(p, 0, 8, span))
		b.Bind(end)
		return
	}
	used := g.user(p, m.Used, 8, span)
	g.store(dst.at(8), 8, used)
	if to.Len == 0 {
		b.Bind(end)
		return
	}
	b.IfImm(ir.EQ, used, 0, end)
	mark := g.mark()
	defer g.free(mark)
	state := memory{space: inScratch, off: g.reserve(mapList + 16*to.Len)}
	g.zero(state, mapList)
	if m.Swiss {
		g.findSwiss(state, p, &m, to.Len, span)
	} else {
		g.findBuckets(state, p, &m, to.Len, span)
	}
	found := b.Copy(g.load(state.at(mapFound), 8, false, span))
	g.store(dst.at(16), 8, found)
	key, value := to.Elem.Fields[0], to.Elem.Fields[1]
	for i := range to.Len {
		b.IfImm(ir.LE, found, int64(i), end)
		at := dst.at(record.EntriesHeader + i*to.Elem.Size)
		k := b.Copy(g.load(state.at(mapList+16*i), 8, false, span))
		v := b.Copy(g.load(state.at(mapList+16*i+8), 8, false, span))
		if m.IndirectKey {
			k = g.user(k, 0, 8, span)
		}
		if m.IndirectValue {
			v = g.user(v, 0, 8, span)
		}
		g.capture(at, memory{space: inUser, base: k}, m.Key, key.Type, span)
		g.capture(at.at(value.Offset), memory{space: inUser, base: v}, m.Value, value.Type, span)
	}
	b.Bind(end)
}

// findSwiss finds entries of the maps of Go 1.24 and later.
func (g *gen) findSwiss(state memory, p ir.Reg, m *types.MapLayout, most int, span diag.Span) {
	b := g.b
	get := func(off int) ir.Reg { return g.b.Copy(g.load(state.at(off), 8, false, span)) }
	set := func(off int, r ir.Reg) { g.store(state.at(off), 8, r) }
	dir, tables := g.user(p, m.Dir, 8, span), g.user(p, m.DirLen, 8, span)
	set(mapDir, dir)
	set(mapTables, tables)
	many := b.Label()
	b.IfImm(ir.NE, tables, 0, many)
	set(mapGroup, dir)
	set(mapLeft, b.Imm(1))
	b.Bind(many)
	g.repeat(mapSteps, mapInline, func(next, stop ir.Label) {
		b := g.b
		group := b.Label()
		b.IfImm(ir.NE, get(mapLeft), 0, group)
		n := get(mapNext)
		b.If(ir.GE, n, get(mapTables), stop)
		set(mapNext, b.OpImm(ir.Add, n, 1))
		table := g.user(b.Op(ir.Add, get(mapDir), b.OpImm(ir.Mul, n, 8)), 0, 8, span)
		b.If(ir.NE, g.user(table, m.Index, 8, span), n, next) // the same again
		set(mapGroup, g.user(table, m.Groups, 8, span))
		set(mapLeft, b.OpImm(ir.Add, g.user(table, m.Mask, 8, span), 1))
		b.Bind(group)
		at := get(mapGroup)
		set(mapGroup, b.OpImm(ir.Add, at, int64(m.Size)))
		set(mapLeft, b.OpImm(ir.Sub, get(mapLeft), 1))
		control := g.user(at, m.Control, 8, span)
		for i := range 8 {
			empty := b.Label()
			// The highest bit of a place's byte is set if nothing is there.
			b.IfImm(ir.NE, b.OpImm(ir.And, b.OpImm(ir.Shr, control, int64(8*i+7)), 1), 0, empty)
			g.found(state, at, m, i, most, stop, span)
			b.Bind(empty)
		}
	})
}

// findBuckets finds entries of older maps. What was moved to a new bucket is marked as such in the old one.
func (g *gen) findBuckets(state memory, p ir.Reg, m *types.MapLayout, most int, span diag.Span) {
	b := g.b
	get := func(off int) ir.Reg { return g.b.Copy(g.load(state.at(off), 8, false, span)) }
	set := func(off int, r ir.Reg) { g.store(state.at(off), 8, r) }
	n := b.Op(ir.Shl, b.Imm(1), b.OpImm(ir.And, g.user(p, m.Log, 1, span), 63))
	set(mapLeft, n)
	set(mapBase, g.user(p, m.Buckets, 8, span))
	set(mapOld, g.user(p, m.Old, 8, span))
	half := b.Label()
	b.IfImm(ir.NE, b.OpImm(ir.And, g.user(p, m.Flags, 1, span), types.MapSameSize), 0, half)
	b.ApplyImm(ir.Shr, n, 1)
	b.Bind(half)
	set(mapTables, n)
	g.repeat(mapSteps, mapInline, func(next, stop ir.Label) {
		b := g.b
		chained, more := b.Label(), b.Label()
		b.IfImm(ir.NE, get(mapGroup), 0, chained)
		i := get(mapNext)
		b.If(ir.LT, i, get(mapLeft), more)
		old := get(mapOld)
		b.IfImm(ir.EQ, old, 0, stop)
		set(mapOld, b.Imm(0))
		set(mapBase, old)
		set(mapLeft, get(mapTables))
		b.SetImm(i, 0)
		b.Bind(more)
		set(mapNext, b.OpImm(ir.Add, i, 1))
		set(mapGroup, b.Op(ir.Add, get(mapBase), b.OpImm(ir.Mul, i, int64(m.Size))))
		b.Bind(chained)
		bucket := get(mapGroup)
		set(mapGroup, g.user(bucket, m.Next, 8, span))
		tops := g.user(bucket, m.Control, 8, span)
		for i := range 8 {
			empty := b.Label()
			b.IfImm(ir.LT, b.OpImm(ir.And, b.OpImm(ir.Shr, tops, int64(8*i)), 255), types.MapMinTop, empty)
			g.found(state, bucket, m, i, most, stop, span)
			b.Bind(empty)
		}
	})
}

// found notes the i-th entry of a group or bucket.
func (g *gen) found(state memory, group ir.Reg, m *types.MapLayout, i, most int, done ir.Label, span diag.Span) {
	b := g.b
	n := b.Copy(g.load(state.at(mapFound), 8, false, span))
	b.IfImm(ir.GE, n, int64(most), done)
	g.store(state.at(mapFound), 8, b.OpImm(ir.Add, n, 1))
	base, off := g.ref(state)
	at := b.Op(ir.Add, base, b.OpImm(ir.Mul, g.atMost(n, most-1), 16))
	b.Store(8, at, off+mapList, b.OpImm(ir.Add, group, int64(m.Keys+i*m.KeyStep)))
	b.Store(8, at, off+mapList+8, b.OpImm(ir.Add, group, int64(m.Values+i*m.ValueStep)))
}
