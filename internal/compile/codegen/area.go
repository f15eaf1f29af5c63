package codegen

import (
	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
)

// What is mapped in a process, programs see in the kernel's own structures, so it is never that of another program, of
// a library that was there before, or of the process that it was forked from. bpf_find_vma is of no use: where
// interrupts are off it answers once, and it does not wait for who changes the mappings.

// AddressSpace is where the kernel keeps what is mapped: offsets in its structures.
type AddressSpace struct {
	// Identity are words of mm_struct that an executed program has from its beginning.
	Identity []int
	// Changes is where mm_struct counts how often mappings were changed, -1 if it does not.
	Changes      int
	ChangesAfter bool // it is counted when a change is done only, not also when it begins
	Root         int  // in mm_struct: the root of the tree of what is mapped
	Virtual      int  // in mm_struct: where the virtual library is mapped
	Stack        int  // in mm_struct: what the stack pointer was when the program began

	Pivot, Slot, Pivots    int // in maple_range_64: of the ends and what they are of, and the number of ends
	GapPivot, GapSlot      int // the same in maple_arange_64
	GapPivots              int
	Start, End, MM         int // in vm_area_struct
	Flags, Offset, File    int
	Inode                  int // in file
	Number, Size, SuperBlk int // in inode
	Generation             int
	Seconds, Nanoseconds   int // of the last change
	Device                 int // in super_block
}

const (
	// areaMost bounds the pieces of structures that are read at once.
	areaMost = 256

	leafNode  = 1 // enum maple_type
	rangeNode = 2
	gapNode   = 3

	executable = 4 // VM_EXEC
	areaLevels = 8
)

// Offsets in the memory that looking for what is mapped needs. UnwindFile has the same.
const (
	areaAddress = 0 // what is looked for
	areaSpace   = 8 // mm_struct
	areaStart   = 16
	areaEnd     = 24
	areaOffset  = 32 // of the start in the file
	areaKey     = record.UnwindFileKey
	areaNode    = areaKey + record.FileKeySize
	areaLeaf    = areaNode + 8
	areaFile    = areaLeaf + 8 // 0: it is memory of no file
	areaBytes   = areaFile + 8
	areaSize    = areaBytes + areaMost + 8
)

// Sound tells whether the structures are as the programs expect them.
func (a *AddressSpace) Sound() bool {
	vma := a.areaFields()
	inode := a.inodeFields()
	return a.Pivots == 15 && a.Slot+8*16 <= areaMost && a.GapPivots <= 15 && a.GapSlot+8*(a.GapPivots+1) <= areaMost &&
		vma.size <= areaMost && inode.size <= areaMost
}

// piece is a part of a structure that has some fields.
type piece struct{ low, size int }

func pieceOf(fields ...int) (p piece) {
	p.low = fields[0]
	high := 0
	for _, f := range fields {
		p.low, high = min(p.low, f), max(high, f+8)
	}
	p.size = high - p.low
	return p
}

func (a *AddressSpace) areaFields() piece {
	return pieceOf(a.Start, a.End, a.MM, a.Flags, a.Offset, a.File)
}

func (a *AddressSpace) inodeFields() piece {
	return pieceOf(a.Number, a.Size, a.SuperBlk, a.Generation, a.Seconds, a.Nanoseconds)
}

// finder makes the code that looks for what is mapped at an address. Its memory is at a register and an offset.
type finder struct {
	at   *AddressSpace
	b    *ir.Builder
	base ir.Reg
	off  int
	code bool // nothing else counts
	// loop repeats a step until it goes to stop.
	loop func(step func(f *finder, stop ir.Label))
}

func (f *finder) load(field int) ir.Reg { return f.b.Load(8, f.base, f.off+field) }

func (f *finder) store(field int, r ir.Reg) { f.b.Store(8, f.base, f.off+field, r) }

// bytes is a field of what was read last.
func (f *finder) bytes(size ir.Size, p piece, field int) ir.Reg {
	return f.b.Load(size, f.base, f.off+areaBytes+field-p.low)
}

// read reads memory of the kernel; it goes to fail if that is not possible.
func (f *finder) read(to, n int, from ir.Reg, off int, fail ir.Label) {
	b := f.b
	res := b.Call(asm.FnProbeReadKernel, ir.A(f.base, f.off+to), ir.I(int64(n)), ir.A(from, off))
	b.IfImm(ir.NE, res, 0, fail)
}

// find looks for areaAddress in areaSpace. It goes to nowhere if nothing is mapped there.
func (f *finder) find(nowhere ir.Label) {
	b, at := f.b, f.at
	f.read(areaNode, 8, f.load(areaSpace), at.Root, nowhere)
	b.StoreImm(8, f.base, f.off+areaLeaf, 0)
	f.loop(func(f *finder, stop ir.Label) { f.level(stop) })
	b.IfImm(ir.EQ, f.load(areaLeaf), 0, nowhere)
	vma := f.load(areaNode)
	b.IfImm(ir.EQ, vma, 0, nowhere)
	p := at.areaFields()
	f.read(areaBytes, p.size, vma, p.low, nowhere)
	b.If(ir.NE, f.bytes(8, p, at.MM), f.load(areaSpace), nowhere)
	q := f.load(areaAddress)
	start, end := f.bytes(8, p, at.Start), f.bytes(8, p, at.End)
	b.If(ir.LT, q, start, nowhere)
	b.If(ir.GE, q, end, nowhere)
	if f.code {
		b.IfImm(ir.EQ, b.OpImm(ir.And, f.bytes(8, p, at.Flags), executable), 0, nowhere)
	}
	f.store(areaStart, start)
	f.store(areaEnd, end)
	f.store(areaOffset, b.OpImm(ir.Shl, f.bytes(8, p, at.Offset), 12))
	file, done, some := f.bytes(8, p, at.File), b.Label(), b.Label()
	f.store(areaFile, file)
	b.IfImm(ir.NE, file, 0, some)
	f.virtual(done)
	b.Bind(some)
	f.read(areaNode, 8, f.load(areaFile), at.Inode, nowhere)
	f.key(f.load(areaNode), nowhere)
	b.Bind(done)
}

// level goes from a node of the tree to that below it (lib/maple_tree.c: mtree_range_walk).
func (f *finder) level(stop ir.Label) {
	b, at := f.b, f.at
	node := f.load(areaNode)
	kind := b.OpImm(ir.Shr, node, 3)
	b.ApplyImm(ir.And, kind, 0xf)
	b.IfImm(ir.LT, kind, leafNode, stop)
	b.IfImm(ir.GT, kind, gapNode, stop)
	b.ApplyImm(ir.And, node, -256)
	f.read(areaBytes, areaMost, node, 0, stop)
	// The first of the ends that is not below, or that is none any more (0).
	pivot, slot, last := b.Imm(int64(at.Pivot)), b.Imm(int64(at.Slot)), b.Imm(int64(at.Pivots))
	plain := b.Label()
	b.IfImm(ir.NE, kind, gapNode, plain)
	b.SetImm(pivot, int64(at.GapPivot))
	b.SetImm(slot, int64(at.GapSlot))
	b.SetImm(last, int64(at.GapPivots))
	b.Bind(plain)
	page := b.OpImm(ir.Shr, f.load(areaAddress), 12)
	i := b.Imm(0)
	for step := int64(8); step > 0; step /= 2 {
		j := b.OpImm(ir.Add, i, step)
		end := f.word(b.OpImm(ir.Sub, j, 1), pivot)
		b.ApplyImm(ir.Sub, end, 1)
		b.ApplyImm(ir.Shr, end, 12)
		behind := b.Op(ir.Sub, page, end)
		b.ApplyImm(ir.Sub, behind, 1)
		advance(b, i, step, b.Op(ir.Sub, last, j), behind)
	}
	f.store(areaNode, f.word(i, slot))
	inner := b.Label()
	b.IfImm(ir.NE, kind, leafNode, inner)
	b.StoreImm(8, f.base, f.off+areaLeaf, 1)
	b.Jump(stop)
	b.Bind(inner)
}

// word is a word of an array in the node that was read.
func (f *finder) word(index, array ir.Reg) ir.Reg {
	b := f.b
	at := b.OpImm(ir.Shl, index, 3)
	b.Apply(ir.Add, at, array)
	b.ApplyImm(ir.And, at, areaMost-8)
	b.Apply(ir.Add, at, f.base)
	return b.Load(8, at, f.off+areaBytes)
}

// advance is a step of a binary search, without a jump, which the verifier would follow both ways: i grows by step
// unless there is no such element (inside is negative), or what is looked for is in front of it (behind is negative).
func advance(b *ir.Builder, i ir.Reg, step int64, inside, behind ir.Reg) {
	b.Apply(ir.Or, inside, behind)
	b.ApplyImm(ir.Sar, inside, 63)
	b.ApplyImm(ir.Xor, inside, -1)
	b.ApplyImm(ir.And, inside, step)
	b.Apply(ir.Add, i, inside)
}

// virtual gives the virtual library a key as if it were a file. It goes to other if something else without a file is
// mapped.
func (f *finder) virtual(other ir.Label) {
	b := f.b
	f.read(areaNode, 8, f.load(areaSpace), f.at.Virtual, other)
	start := f.load(areaStart)
	b.If(ir.NE, f.load(areaNode), start, other)
	size := f.load(areaEnd)
	b.Apply(ir.Sub, size, start)
	for _, field := range []int{0, 24, 32} {
		b.StoreImm(8, f.base, f.off+areaKey+field, 0)
	}
	b.StoreImm(8, f.base, f.off+areaKey+8, record.VirtualDevice-1<<64)
	f.store(areaKey+16, size)
	b.StoreImm(8, f.base, f.off+areaFile, 1)
	b.Jump(other)
}

// key finds by what the kernel knows a file (record.FileKeySize).
func (f *finder) key(inode ir.Reg, fail ir.Label) {
	b, at := f.b, f.at
	b.IfImm(ir.EQ, inode, 0, fail)
	p := at.inodeFields()
	f.read(areaBytes, p.size, inode, p.low, fail)
	f.store(areaKey, f.bytes(8, p, at.Number))
	f.store(areaKey+16, f.bytes(8, p, at.Size))
	f.store(areaKey+24, f.bytes(8, p, at.Seconds))
	// The highest bit says that somebody has asked for the time (I_CTIME_QUERIED).
	b.Store(4, f.base, f.off+areaKey+32, b.OpImm(ir.And, f.bytes(4, p, at.Nanoseconds), 1<<31-1))
	b.Store(4, f.base, f.off+areaKey+36, f.bytes(4, p, at.Generation))
	b.StoreImm(8, f.base, f.off+areaKey+8, 0)
	f.read(areaKey+8, 4, f.bytes(8, p, at.SuperBlk), at.Device, fail)
}

// mapping finds what is mapped at an address: it goes to nowhere if no code is, to other if it is of no file, and to
// none if it is not known what tables the file has.
func (w *walker) mapping(q ir.Reg, nowhere, other, none ir.Label) {
	g, b, at := w.g, w.g.b, &w.g.unwind.Space
	have, miss := b.Label(), b.Label()
	w.store(walkArea+areaAddress, q)
	if at.Changes >= 0 {
		w.remembered(q, miss)
		b.Jump(have)
		b.Bind(miss)
	}
	w.set(walkEnd, 0)
	base, off := g.ref(w.s.at(walkArea))
	f := &finder{at: at, b: b, base: base, off: off, code: true}
	f.loop = func(step func(f *finder, stop ir.Label)) {
		body := g.callback(2, 1, func(b *ir.Builder) {
			next, stop := b.Label(), b.Label()
			base, off := g.ref(w.s.at(walkArea))
			step(&finder{at: at, b: b, base: base, off: off}, stop)
			b.Jump(next)
			b.Bind(stop)
			b.Exit(1)
			b.Bind(next)
		})
		b.Do(asm.FnLoop, ir.I(areaLevels), ir.F(body), ir.A(g.frame, 0), ir.I(0))
	}
	w.set(walkFile, 0)
	w.set(walkDelta, 0)
	f.find(nowhere)
	file, known := b.Label(), b.Label()
	b.IfImm(ir.NE, f.load(areaFile), 0, file)
	w.set(walkTable, noFile)
	b.Jump(known)
	b.Bind(file)
	id := b.Imm(0)
	for word := 0; word < record.FileKeySize; word += 8 {
		b.Apply(ir.Xor, id, f.load(areaKey+word))
		b.Apply(ir.Mul, id, b.Imm(mixFirst))
		high := b.OpImm(ir.Shr, id, 29)
		b.Apply(ir.Xor, id, high)
	}
	w.store(walkFile, id)
	// What counts in a stack's identity is the place in the file, added to what the file is; a table has its own places.
	// So it is the same before and after a table is known.
	place := f.load(areaOffset)
	b.Apply(ir.Sub, place, f.load(areaStart))
	w.store(walkDelta, place)
	table := b.Copy(b.Call(asm.FnMapLookupElem, ir.M(record.UnwindFiles), g.addr(w.s.at(walkArea+areaKey))))
	some := b.Label()
	b.IfImm(ir.NE, table, 0, some)
	b.IfImm(ir.Set, w.load(walkEndedBy), walkUnknown, none)
	w.mark(walkUnknown)
	w.store(walkMissing, w.load(walkArea+areaAddress))
	b.Jump(none)
	b.Bind(some)
	of := b.Load(8, table, 0)
	w.store(walkDelta, b.Op(ir.Add, w.load(walkDelta), of))
	w.store(walkFile, b.Op(ir.Sub, w.load(walkFile), of))
	w.store(walkTable, b.Load(8, table, 8))
	b.Bind(known)
	w.store(walkStart, f.load(areaStart))
	w.store(walkEnd, f.load(areaEnd))
	if at.Changes >= 0 {
		w.remember()
	}
	b.Bind(have)
	file = b.Label()
	b.IfImm(ir.NE, w.load(walkTable), noFile, file)
	w.set(walkEnd, 0)
	b.Jump(other)
	b.Bind(file)
}

// noFile is the place of the table of memory of no file: it has no words.
const noFile = 1

// What was seen to be mapped is remembered until the address space changes, at a place that is made of it and of the
// address: u64 version, odd while it is written; u64 address space; u64 start; u64 end; u64 delta; u64 table; u64 file;
// u64 how many are writing.
const (
	rememberedSize  = 64
	rememberedShift = 64 - 12 // of record.UnwindAreasSize/rememberedSize
	rememberedBlock = 16      // 64 KB of addresses have one place
)

// place is where it is remembered.
func (w *walker) place() ir.Reg {
	b := w.g.b
	i := b.OpImm(ir.Shr, w.load(walkArea+areaAddress), rememberedBlock)
	b.Apply(ir.Xor, i, w.load(walkSpace))
	b.Apply(ir.Mul, i, b.Imm(mixSecond))
	b.ApplyImm(ir.Shr, i, rememberedShift)
	b.ApplyImm(ir.Mul, i, rememberedSize)
	b.Apply(ir.Add, i, b.MapValue(record.UnwindAreas, 0))
	return i
}

func (w *walker) remembered(q ir.Reg, miss ir.Label) {
	b := w.g.b
	p := w.place()
	version := b.Load(8, p, 0)
	b.IfImm(ir.Set, version, 1, miss)
	b.If(ir.NE, b.Load(8, p, 8), w.load(walkSpace), miss)
	start, end := b.Load(8, p, 16), b.Load(8, p, 24)
	b.If(ir.LT, q, start, miss)
	b.If(ir.GE, q, end, miss)
	delta, table, file := b.Load(8, p, 32), b.Load(8, p, 40), b.Load(8, p, 48)
	b.If(ir.NE, b.Load(8, p, 0), version, miss)
	w.store(walkStart, start)
	w.store(walkEnd, end)
	w.store(walkDelta, delta)
	w.store(walkTable, table)
	w.store(walkFile, file)
}

// remember keeps it, unless the address space has changed meanwhile or somebody else is writing there.
func (w *walker) remember() {
	g, b, at := w.g, w.g.b, &w.g.unwind.Space
	done, writing := b.Label(), b.Label()
	w.set(walkPair, 0)
	b.Do(asm.FnProbeReadKernel, g.addr(w.s.at(walkPair)), ir.I(4), ir.A(w.load(walkArea+areaSpace), at.Changes))
	b.If(ir.NE, w.load(walkPair), w.load(walkChange), done)
	if !at.ChangesAfter {
		b.IfImm(ir.Set, w.load(walkPair), 1, done) // they are being changed
	}
	p := w.place()
	b.IfImm(ir.NE, b.FetchAdd(p, 56, b.Imm(1)), 0, writing)
	version := b.Load(8, p, 0)
	b.Store(8, p, 0, b.OpImm(ir.Add, version, 1))
	b.Store(8, p, 8, w.load(walkSpace))
	for i, field := range []int{walkStart, walkEnd, walkDelta, walkTable, walkFile} {
		b.Store(8, p, 16+8*i, w.load(field))
	}
	b.Store(8, p, 0, b.OpImm(ir.Add, version, 2))
	b.Bind(writing)
	b.AtomicAdd(8, p, 56, b.Imm(-1))
	b.Bind(done)
}

// fileKeys is the program that finds the key of a file that is mapped in the process that runs it.
func (c *compiler) fileKeys(at *Unwind) {
	p, b := ir.New(record.UnwindFile)
	end := b.Label()
	own := b.MapValue(record.UnwindFile, 0)
	mm := b.Load(8, b.Call(asm.FnGetCurrentTaskBtf), at.MM)
	b.IfImm(ir.EQ, mm, 0, end)
	b.Store(8, own, areaSpace, mm)
	f := &finder{at: &at.Space, b: b, base: own}
	f.loop = func(step func(f *finder, stop ir.Label)) {
		body := p.Func(record.UnwindFile+"_cb", 2)
		stop := body.Label()
		step(&finder{at: &at.Space, b: body, base: body.MapValue(record.UnwindFile, 0)}, stop)
		body.Exit(0)
		body.Bind(stop)
		body.Exit(1)
		b.Do(asm.FnLoop, ir.I(areaLevels), ir.F(body), ir.A(ir.FP, 0), ir.I(0))
	}
	f.find(end)
	b.Bind(end)
	b.Exit(0)
	insns, err := p.Assemble()
	if err != nil {
		refuse(diag.Span{}, "internal: the program that finds the keys of files: %v", err)
	}
	c.out.FileKeys = insns
}
