package codegen

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
)

// Interfaces of Go. What type their value has is only known when it is there, so the program follows the runtime's own
// description of it: it copies the first bytes of the value, or of what it points to, the strings in it, and the values
// of interfaces in it, as errors have that wrap others. The decoder finds the names in the file. It is done in small
// steps, of which everything lives in memory: so a callback of bpf_loop can make them, which the verifier follows but a
// few times.

// Offsets in the runtime's descriptions of types and interfaces (internal/abi of the Go source; 1.21 to 1.26).
const (
	itabType = 8

	abiSize      = 0
	abiTFlag     = 20
	abiKind      = 23 // one byte, whose lower five bits are a reflect.Kind
	abiHead      = 24
	abiElem      = 48 // of a pointer
	abiFields    = 56 // of a struct: pointer and number
	abiNumFields = 64
	abiNMethods  = 64 // of an interface
	fieldType    = 8
	fieldOffset  = 16
	fieldSize    = 24

	// abiDirect tells that the data word is the value itself: in the kind up to 1.25, in the flags from 1.26 on.
	abiDirect = 1 << 5

	kindByte      = 8
	kindChan      = 18
	kindFunc      = 19
	kindInterface = 20
	kindMap       = 21
	kindPointer   = 22
	kindSlice     = 23
	kindString    = 24
	kindStruct    = 25
)

// ifaceSteps bounds the nodes and fields that are looked at for one interface; ifaceInline where the verifier follows
// each.
const (
	ifaceSteps  = 48
	ifaceInline = 6
)

// ifaceScratch is what capturing an interface keeps in memory.
const (
	ifaceHead = 8 * iota // the head of a type's description, then a field's: 24 bytes
	_
	_
	ifaceNext   // the next node
	ifaceCount  // nodes so far
	ifaceNode   // offset of the node at hand
	ifacePlace  // its number in the upper 32 bits
	ifaceActive // 1 while its fields are looked through
	ifaceAddr   // where the value is
	ifaceTexts  // strings so far
	ifaceFields // the fields of a struct: where they are described,
	ifaceFCount // their number,
	ifaceIndex  // the next one,
	ifaceBase   // and the offset of that struct in the value
	ifaceOuter  // the same four for the struct around it; 0: that is the value itself
	_
	_
	_
	ifaceSize
)

// captureIface reads an interface: see record.IfaceOf.
func (g *gen) captureIface(dst, src memory, from, to *types.Type, span diag.Span) {
	b := g.b
	if dst.space != inScratch { // the steps find only that
		tmp := memory{space: inScratch, off: g.reserve(to.Size)}
		g.captureIface(tmp, src, from, to, span)
		g.copy(dst, tmp, to.Size)
		return
	}
	g.zero(dst, to.Size)
	end := b.Label()
	t := b.Copy(g.load(src, 8, false, span))
	data := b.Copy(g.load(src.at(8), 8, false, span))
	b.IfImm(ir.EQ, t, 0, end)
	if from.Form() == types.InterfaceForm {
		b.Set(t, g.user(t, itabType, 8, span))
	}
	g.store(dst, 4, b.OpImm(ir.Add, g.point(), 1))
	mark := g.mark()
	defer g.free(mark)
	state := memory{space: inScratch, off: g.reserve(ifaceSize)}
	g.zero(state, ifaceSize)
	g.store(state.at(ifaceCount), 8, b.Imm(1))
	// The distance from the probed instruction is the same in every process.
	g.store(dst.at(8), 8, b.Op(ir.Sub, t, g.saved(g.c.opts.Arch.IP)))
	g.store(dst.at(16), 8, data)
	f := iface{g: g, state: state, first: dst.at(8), nodes: (*record.Nodes)(to.Nodes), span: span}
	g.repeat(ifaceSteps, ifaceInline, f.step)
	b.Bind(end)
}

// iface makes the steps of capturing an interface.
type iface struct {
	g            *gen
	state, first memory
	nodes        *record.Nodes
	span         diag.Span
}

func (f *iface) get(off int) ir.Reg { return f.g.b.Copy(f.g.load(f.state.at(off), 8, false, f.span)) }

func (f *iface) set(off int, r ir.Reg) { f.g.store(f.state.at(off), 8, r) }

// node is the memory of the node at hand.
func (f *iface) node() memory {
	b := f.g.b
	base, off := f.g.ref(f.first)
	at := f.g.atMost(f.get(ifaceNode), (f.nodes.Len-1)*f.nodes.Node())
	return memory{space: inReg, base: b.Op(ir.Add, base, at), off: off}
}

// step looks at a node's value, or at the next field of it.
func (f *iface) step(next, stop ir.Label) {
	b := f.g.b
	fields := b.Label()
	b.IfImm(ir.NE, f.get(ifaceActive), 0, fields)
	f.begin(next, stop)
	b.Bind(fields)
	f.field(next)
}

// begin captures a node's value, but for what its fields refer to.
func (f *iface) begin(next, stop ir.Label) {
	g := f.g
	b := g.b
	i := f.get(ifaceNext)
	b.If(ir.GE, i, f.get(ifaceCount), stop)
	f.set(ifaceNext, b.OpImm(ir.Add, i, 1))
	f.set(ifacePlace, b.OpImm(ir.Shl, i, 32))
	f.set(ifaceNode, b.OpImm(ir.Mul, i, int64(f.nodes.Node())))
	m := f.node()
	t := b.Op(ir.Add, g.load(m, 8, false, f.span), g.saved(g.c.opts.Arch.IP))
	data := b.Copy(g.load(m.at(8), 8, false, f.span))
	direct, behind, notPointer, notString, notChan, notFunc, text := b.Label(), b.Label(), b.Label(), b.Label(), b.Label(),
		b.Label(), b.Label()
	b.IfImm(ir.EQ, data, 0, next)
	head := func() (kind ir.Reg) {
		g.fetch(f.state, memory{space: inUser, base: t}, abiHead, f.span)
		return b.Copy(b.OpImm(ir.And, g.load(f.state.at(abiKind), 1, false, f.span), 31))
	}
	kind := head()
	b.IfImm(ir.NE, kind, kindPointer, notPointer)
	b.Set(t, g.user(t, abiElem, 8, f.span))
	b.Set(kind, head())
	// Pointers to these are shown by their address.
	for _, k := range []int64{kindPointer, kindChan, kindFunc, kindMap} {
		b.IfImm(ir.EQ, kind, k, next)
	}
	b.Jump(behind)
	b.Bind(notPointer)
	b.IfImm(ir.NE, kind, kindFunc, notFunc)
	g.store(m.at(24), 8, b.Imm(8))
	g.store(m.at(record.IfaceHeader), 8, b.Op(ir.Sub, g.user(data, 0, 8, f.span), g.saved(g.c.opts.Arch.IP)))
	b.Jump(next)
	b.Bind(notFunc)
	// A map's header begins with the number of entries, a channel's with length and capacity.
	b.IfImm(ir.EQ, kind, kindMap, behind)
	b.IfImm(ir.NE, kind, kindChan, notChan)
	f.set(abiSize, b.Imm(16))
	b.Jump(behind)
	b.Bind(notChan)
	flags := b.Op(ir.Or, g.load(f.state.at(abiTFlag), 1, false, f.span), g.load(f.state.at(abiKind), 1, false, f.span))
	b.IfImm(ir.NE, b.OpImm(ir.And, flags, abiDirect), 0, direct)
	b.Bind(behind)
	n := b.Copy(g.atMost(f.get(abiSize), f.nodes.Raw))
	g.store(m.at(24), 8, n)
	g.readN(m.at(record.IfaceHeader), data, n, f.nodes.Raw, f.span)
	f.set(ifaceAddr, data)
	f.set(ifaceTexts, b.Imm(0))
	f.ifText(kind, t, text)
	b.Jump(notString)
	b.Bind(text)
	f.text(m, b.Imm(0), data, next)
	b.Bind(direct)
	g.store(m.at(24), 8, b.Imm(8))
	g.store(m.at(record.IfaceHeader), 8, data)
	b.Jump(next)

	b.Bind(notString)
	b.IfImm(ir.NE, kind, kindStruct, next)
	f.enter(t, b.Imm(0))
	f.set(ifaceOuter, b.Imm(0))
	f.set(ifaceActive, b.Imm(1))
	b.Jump(next)
}

// enter begins with the fields of a struct type.
func (f *iface) enter(t, base ir.Reg) {
	f.set(ifaceFields, f.g.user(t, abiFields, 8, f.span))
	f.set(ifaceFCount, f.g.user(t, abiNumFields, 8, f.span))
	f.set(ifaceIndex, f.g.b.Imm(0))
	f.set(ifaceBase, base)
}

// ifaceStruct is what is kept of the struct around another one.
var ifaceStruct = [...][2]int{
	{ifaceFields, ifaceOuter},
	{ifaceFCount, ifaceOuter + 8},
	{ifaceIndex, ifaceOuter + 16},
	{ifaceBase, ifaceOuter + 24},
}

// field looks for strings and interfaces in the fields of a struct, and of structs that are its fields.
func (f *iface) field(next ir.Label) {
	g := f.g
	b := g.b
	field, leave, flat, text := b.Label(), b.Label(), b.Label(), b.Label()
	i := f.get(ifaceIndex)
	b.If(ir.LT, i, f.get(ifaceFCount), field)
	b.IfImm(ir.EQ, f.get(ifaceOuter), 0, leave)
	for _, o := range ifaceStruct {
		f.set(o[0], f.get(o[1]))
	}
	f.set(ifaceOuter, b.Imm(0))
	b.Jump(next)
	b.Bind(leave)
	f.set(ifaceActive, b.Imm(0))
	b.Jump(next)

	b.Bind(field)
	f.set(ifaceIndex, b.OpImm(ir.Add, i, 1))
	g.fetch(f.state, memory{space: inUser, base: b.Op(ir.Add, f.get(ifaceFields), b.OpImm(ir.Mul, i, fieldSize))},
		fieldSize, f.span)
	off := b.Op(ir.Add, f.get(fieldOffset), f.get(ifaceBase))
	b.IfImm(ir.GT, off, int64(f.nodes.Raw-16), leave) // fields are in order
	t := f.get(fieldType)
	kind := b.OpImm(ir.And, g.user(t, abiKind, 1, f.span), 31)
	b.IfImm(ir.NE, kind, kindStruct, flat)
	b.IfImm(ir.NE, f.get(ifaceOuter), 0, next) // deeper ones are not looked into
	for _, o := range ifaceStruct {
		f.set(o[1], f.get(o[0]))
	}
	f.enter(t, off)
	b.Jump(next)

	b.Bind(flat)
	addr := b.Op(ir.Add, f.get(ifaceAddr), off)
	f.ifText(kind, t, text)
	if f.nodes.Len > 1 {
		b.IfImm(ir.NE, kind, kindInterface, next)
		f.inner(t, addr, off, next)
	}
	b.Jump(next)
	b.Bind(text)
	f.text(f.node(), off, addr, next)
}

// ifText goes to a label if a type is a string or a slice of bytes, which begins with address and length as well.
func (f *iface) ifText(kind, t ir.Reg, text ir.Label) {
	g := f.g
	b := g.b
	other := b.Label()
	b.IfImm(ir.EQ, kind, kindString, text)
	b.IfImm(ir.NE, kind, kindSlice, other)
	b.IfImm(ir.EQ, b.OpImm(ir.And, g.user(g.user(t, abiElem, 8, f.span), abiKind, 1, f.span), 31), kindByte, text)
	b.Bind(other)
}

// text keeps a string that lies at an offset of the value.
func (f *iface) text(m memory, off, addr ir.Reg, next ir.Label) {
	g := f.g
	b := g.b
	p, n, k := g.user(addr, 0, 8, f.span), g.user(addr, 8, 8, f.span), f.get(ifaceTexts)
	b.IfImm(ir.SLT, n, 0, next)
	f.set(ifaceTexts, b.OpImm(ir.Add, k, 1))
	for i := range f.nodes.Texts {
		other := b.Label()
		b.IfImm(ir.NE, k, int64(i), other)
		at, most := f.nodes.Text(i)
		g.store(m.at(at), 8, b.OpImm(ir.Add, off, 1))
		g.store(m.at(at+8), 8, n)
		if long := f.nodes.Long; i == 0 && long > 0 {
			inside := b.Label()
			b.IfImm(ir.NE, f.get(ifacePlace), 0, inside)
			g.readN(f.first.at(f.nodes.Size()-long), p, n, long, f.span)
			b.Jump(next)
			b.Bind(inside)
		}
		g.readN(m.at(at+16), p, n, most, f.span)
		b.Jump(next)
		b.Bind(other)
	}
	b.Jump(next)
}

// inner notes an interface in a value for later.
func (f *iface) inner(t, addr, off ir.Reg, next ir.Label) {
	g := f.g
	b := g.b
	n := f.get(ifaceCount)
	b.IfImm(ir.GE, n, int64(f.nodes.Len), next)
	word := g.user(addr, 0, 8, f.span)
	b.IfImm(ir.EQ, word, 0, next)
	empty := b.Label()
	b.IfImm(ir.EQ, g.user(t, abiNMethods, 8, f.span), 0, empty)
	b.Set(word, g.user(word, itabType, 8, f.span))
	b.Bind(empty)
	data := g.user(addr, 8, 8, f.span)
	f.set(ifaceCount, b.OpImm(ir.Add, n, 1))
	base, at := g.ref(f.first)
	to := b.Op(ir.Add, base, g.atMost(b.OpImm(ir.Mul, n, int64(f.nodes.Node())), (f.nodes.Len-1)*f.nodes.Node()))
	b.Store(8, to, at, b.Op(ir.Sub, word, g.saved(g.c.opts.Arch.IP)))
	b.Store(8, to, at+8, data)
	b.Store(8, to, at+16, b.Op(ir.Or, b.OpImm(ir.Add, off, 1), f.get(ifacePlace)))
}
