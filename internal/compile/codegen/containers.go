package codegen

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
)

// Elements of containers that have them in nodes or tables (types.Walk). As for Go's maps, a first pass finds the
// addresses of the first of them, a second captures what is there.

// walkState is where the first pass keeps what changes.
const (
	walkNode  = 8 * iota // address of the current node; of the bytes of the table
	walkLevel            // BTree: how high the node is. Table: number of the place. Tree: what is done next
	walkIndex            // BTree: number of the entry
	walkRose             // BTree: 1: the node was come to from below
	walkMost             // elements that are looked for
	walkFound            // those that were found
	walkList             // pairs of addresses: element or key, value
)

// What is done next in a tree.
const (
	treeLeft = iota // go to the leftmost below the node
	treeHere        // the node itself
	treeUp          // go up while it is the right one below its parent
)

// captureWalk captures the elements of a container.
func (g *gen) captureWalk(dst, src memory, w types.Walk, to *types.Type, span diag.Span) {
	b := g.b
	end := b.Label()
	g.zero(dst, to.Size)
	mark := g.mark()
	defer g.free(mark)
	state := memory{space: inScratch, off: g.reserve(walkList + 16*max(to.Len, 1))}
	g.told(dst, func() {
		if w.Kind == types.WalkDeque {
			g.captureDeque(dst, src, w, to, span)
			return
		}
		n := b.Imm(int64(to.Len))
		if w.Count.Type != nil {
			b.Set(n, g.load(src.at(w.Count.Offset), 8, false, span))
		}
		list := dst
		if to.Kind == types.Entries {
			g.store(dst, 8, b.Imm(1))
			list = dst.at(8)
		}
		g.store(list, 8, n)
		b.IfImm(ir.EQ, n, 0, end)
		g.zero(state, walkList)
		few := b.Label()
		b.IfImm(ir.LE, n, int64(to.Len), few)
		b.SetImm(n, int64(to.Len))
		b.Bind(few)
		g.store(state.at(walkMost), 8, n)
		g.store(state.at(walkNode), 8, b.Copy(g.load(src.at(w.First), 8, false, span)))
		switch w.Kind {
		case types.WalkChain:
			g.walkChain(state, w, to.Len, span)
		case types.WalkTree:
			g.store(state.at(walkLevel), 8, b.Imm(treeHere)) // First is the leftmost
			g.walkTree(state, w, to.Len, span)
		case types.WalkTable:
			g.walkTable(state, src, w, to.Len, span)
		case types.WalkBTree:
			g.store(state.at(walkLevel), 8, b.Copy(g.load(src.at(w.Height), 8, false, span)))
			g.walkBTree(state, w, to.Len, span)
		}
		b = g.b
		found := b.Copy(g.load(state.at(walkFound), 8, false, span))
		all := b.Label()
		switch {
		case w.Count.Type == nil: // the last one tells whether there are more
			g.store(list, 8, found)
			b.IfImm(ir.LT, found, int64(to.Len), all)
			last := b.Copy(g.load(state.at(walkNode), 8, false, span))
			b.IfImm(ir.EQ, last, 0, all)
			b.IfImm(ir.EQ, g.user(last, w.Next, 8, span), 0, all)
			g.store(list, 8, b.OpImm(ir.Or, found, record.Uncounted))
		case to.Kind == types.List: // it has as many as it says
			b.If(ir.EQ, found, b.Copy(g.load(state.at(walkMost), 8, false, span)), all)
			g.onFail(src)
		}
		b.Bind(all)
		if to.Kind == types.Entries {
			g.store(dst.at(16), 8, found)
		}
		for i := range to.Len {
			b.IfImm(ir.LE, found, int64(i), end)
			g.captureWalked(dst, state.at(walkList+16*i), i, w, to, span)
		}
	})
	b.Bind(end)
}

// captureDeque captures the first elements of a std::deque, which has blocks of them.
func (g *gen) captureDeque(dst, src memory, w types.Walk, to *types.Type, span diag.Span) {
	b := g.b
	d := w.Deque
	n := b.Copy(g.dequeLength(d, src, span))
	g.store(dst, 8, n)
	at := func(off int) ir.Reg { return b.Copy(g.load(src.at(off), 8, false, span)) }
	size := int64(d.ElemSize)
	// The blocks, the bytes in front of the first element in its block, and those of a block.
	var node, from, block ir.Reg
	if d.PerBlock > 0 {
		node, from = at(d.Blocks), b.OpImm(ir.Mul, at(d.Start), size)
		block = b.Imm(int64(d.PerBlock) * size)
	} else {
		node, from, block = at(d.StartNode), at(d.StartCur), at(d.StartLast)
		b.Apply(ir.Sub, from, at(d.StartFirst))
		b.Apply(ir.Sub, block, at(d.StartFirst))
	}
	end := b.Label()
	b.IfImm(ir.EQ, block, 0, end)
	for i := range to.Len {
		b.IfImm(ir.LE, n, int64(i), end)
		place := b.OpImm(ir.Add, from, int64(i)*size)
		number := b.Op(ir.Div, place, block)
		b.Apply(ir.Mod, place, block)
		base := g.user(b.Op(ir.Add, node, b.OpImm(ir.Mul, number, 8)), 0, 8, span)
		g.capture(dst.at(8+i*to.Elem.Size), memory{space: inUser, base: b.Op(ir.Add, base, place)}, w.Key, to.Elem, span)
	}
	b.Bind(end)
}

// captureWalked captures an element of which the addresses are noted.
func (g *gen) captureWalked(dst, noted memory, i int, w types.Walk, to *types.Type, span diag.Span) {
	key := memory{space: inUser, base: g.b.Copy(g.load(noted, 8, false, span))}
	if to.Kind == types.List {
		g.capture(dst.at(8+i*to.Elem.Size), key, w.Key, to.Elem, span)
		return
	}
	at := dst.at(record.EntriesHeader + i*to.Elem.Size)
	g.capture(at, key, w.Key, to.Elem.Fields[0].Type, span)
	value := memory{space: inUser, base: g.b.Copy(g.load(noted.at(8), 8, false, span))}
	g.capture(at.at(to.Elem.Fields[1].Offset), value, w.Item, to.Elem.Fields[1].Type, span)
}

// walked notes an element, and goes to stop when there are enough.
func (g *gen) walked(state memory, key, value ir.Reg, most int, stop ir.Label, span diag.Span) {
	b := g.b
	n := b.Copy(g.load(state.at(walkFound), 8, false, span))
	b.IfImm(ir.GE, n, int64(most), stop)
	g.store(state.at(walkFound), 8, b.OpImm(ir.Add, n, 1))
	base, off := g.ref(state)
	at := b.Op(ir.Add, base, b.OpImm(ir.Mul, g.atMost(n, most-1), 16))
	b.Store(8, at, off+walkList, key)
	b.Store(8, at, off+walkList+8, value)
	b.If(ir.GE, b.Copy(g.load(state.at(walkFound), 8, false, span)), b.Copy(g.load(state.at(walkMost), 8, false, span)),
		stop)
}

// second is the address of an element's value.
func (g *gen) second(w types.Walk, node ir.Reg) ir.Reg {
	return g.b.OpImm(ir.Add, node, int64(max(w.Second, 0)))
}

func (g *gen) walkChain(state memory, w types.Walk, most int, span diag.Span) {
	g.repeat(mapSteps, mapInline, func(_, stop ir.Label) {
		b := g.b
		node := b.Copy(g.load(state.at(walkNode), 8, false, span))
		b.IfImm(ir.EQ, node, 0, stop)
		g.walked(state, b.OpImm(ir.Add, node, int64(w.Value)), g.second(w, node), most, stop, span)
		g.store(state.at(walkNode), 8, g.user(node, w.Next, 8, span))
	})
}

func (g *gen) walkTree(state memory, w types.Walk, most int, span diag.Span) {
	set := func(off int, r ir.Reg) { g.store(state.at(off), 8, r) }
	g.repeat(mapSteps, mapInline, func(next, stop ir.Label) {
		b := g.b
		node := b.Copy(g.load(state.at(walkNode), 8, false, span))
		b.IfImm(ir.EQ, node, 0, stop)
		how := b.Copy(g.load(state.at(walkLevel), 8, false, span))
		here, up := b.Label(), b.Label()
		b.IfImm(ir.EQ, how, treeHere, here)
		b.IfImm(ir.EQ, how, treeUp, up)
		left, lower := g.user(node, w.Left, 8, span), b.Label()
		b.IfImm(ir.NE, left, 0, lower)
		set(walkLevel, b.Imm(treeHere))
		b.Jump(next)
		b.Bind(lower)
		set(walkNode, left)
		b.Jump(next)
		b.Bind(here)
		g.walked(state, b.OpImm(ir.Add, node, int64(w.Value)), g.second(w, node), most, stop, span)
		right, rising := g.user(node, w.Right, 8, span), b.Label()
		b.IfImm(ir.EQ, right, 0, rising)
		set(walkNode, right)
		set(walkLevel, b.Imm(treeLeft))
		b.Jump(next)
		b.Bind(rising)
		set(walkLevel, b.Imm(treeUp))
		b.Jump(next)
		b.Bind(up)
		parent := g.user(node, w.Parent, 8, span)
		set(walkNode, parent)
		b.IfImm(ir.EQ, parent, 0, stop)
		b.If(ir.EQ, g.user(parent, w.Right, 8, span), node, next)
		set(walkLevel, b.Imm(treeHere))
	})
}

func (g *gen) walkTable(state, src memory, w types.Walk, most int, span diag.Span) {
	g.store(state.at(walkIndex), 8, g.b.Copy(g.load(src.at(w.Mask), 8, false, span)))
	g.repeat(mapSteps, mapInline, func(_, stop ir.Label) {
		b := g.b
		bytes := b.Copy(g.load(state.at(walkNode), 8, false, span))
		at := b.Copy(g.load(state.at(walkLevel), 8, false, span))
		b.If(ir.GT, at, b.Copy(g.load(state.at(walkIndex), 8, false, span)), stop)
		g.store(state.at(walkLevel), 8, b.OpImm(ir.Add, at, 8))
		control := g.user(b.Op(ir.Add, bytes, at), 0, 8, span)
		for i := range 8 {
			empty := b.Label()
			b.IfImm(ir.NE, b.OpImm(ir.And, b.OpImm(ir.Shr, control, int64(8*i+7)), 1), 0, empty)
			place := b.OpImm(ir.Add, at, int64(i))
			b.If(ir.GT, place, b.Copy(g.load(state.at(walkIndex), 8, false, span)), stop)
			b.ApplyImm(ir.Add, place, 1)
			b.ApplyImm(ir.Mul, place, int64(w.Size))
			entry := b.Op(ir.Sub, bytes, place)
			g.walked(state, b.OpImm(ir.Add, entry, int64(w.Value)), g.second(w, entry), most, stop, span)
			b.Bind(empty)
		}
	})
}

func (g *gen) walkBTree(state memory, w types.Walk, most int, span diag.Span) {
	get := func(off int) ir.Reg { return g.b.Copy(g.load(state.at(off), 8, false, span)) }
	set := func(off int, r ir.Reg) { g.store(state.at(off), 8, r) }
	g.repeat(mapSteps, mapInline, func(next, stop ir.Label) {
		b := g.b
		node := get(walkNode)
		b.IfImm(ir.EQ, node, 0, stop)
		level, index := get(walkLevel), get(walkIndex)
		entries, lower, rise := b.Label(), b.Label(), b.Label()
		edge := func(i ir.Reg) {
			at := b.Op(ir.Add, node, b.OpImm(ir.Mul, i, 8))
			set(walkNode, g.user(at, w.Edges, 8, span))
			set(walkLevel, b.OpImm(ir.Sub, level, 1))
			set(walkIndex, b.Imm(0))
			set(walkRose, b.Imm(0))
		}
		b.IfImm(ir.EQ, level, 0, entries)
		b.IfImm(ir.NE, get(walkRose), 0, entries)
		edge(index)
		b.Jump(next)
		b.Bind(entries)
		b.If(ir.GE, index, g.user(node, w.Len, 2, span), rise)
		key := b.Op(ir.Add, node, b.OpImm(ir.Mul, index, int64(w.KeyStep)))
		b.ApplyImm(ir.Add, key, int64(w.Value))
		value := b.Op(ir.Add, node, b.OpImm(ir.Mul, index, int64(w.ValueStep)))
		b.ApplyImm(ir.Add, value, int64(max(w.Second, 0)))
		g.walked(state, key, value, most, stop, span)
		following := b.OpImm(ir.Add, index, 1)
		b.IfImm(ir.NE, level, 0, lower)
		set(walkIndex, following)
		b.Jump(next)
		b.Bind(lower)
		edge(following)
		b.Jump(next)
		b.Bind(rise)
		set(walkNode, g.user(node, w.Parent, 8, span))
		set(walkIndex, g.user(node, w.Index, 2, span))
		set(walkLevel, b.OpImm(ir.Add, level, 1))
		set(walkRose, b.Imm(1))
	})
}
