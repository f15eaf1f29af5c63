package codegen

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// Frames of Python functions in stacks that are walked by tables: where a native frame is one of the interpreter's main
// loop, its own frames stand for it. What they are called is read when one is met for the first time, since the process
// may have ended when stacks are shown.

// pythonFrame is how much of a frame is read.
const pythonFrame = 80

// python is how frames of Python are found; nil: they are not looked for.
func (c *compiler) python() *probe.PythonStacks {
	if c.opts.Python == nil || c.opts.ThreadPointer == nil {
		return nil
	}
	if _, err := c.opts.ThreadPointer(); err != nil {
		return nil
	}
	return c.opts.Python()
}

// peek reads memory of the process into the state; it goes to lost if it cannot be read.
func (w *walker) peek(field int, size ir.Operand, base ir.Reg, off int, lost ir.Label) {
	b := w.g.b
	res := b.Call(asm.FnProbeReadUser, w.g.addr(w.s.at(field)), size, ir.A(base, off))
	b.IfImm(ir.NE, res, 0, lost)
}

// word reads an address of the process.
func (w *walker) address(base ir.Reg, off int, lost ir.Label) ir.Reg {
	w.peek(walkPair, ir.I(8), base, off, lost)
	return w.load(walkPair)
}

// pythonThread finds the innermost frame of the running thread.
func (w *walker) pythonThread(py *probe.PythonStacks) {
	g, b := w.g, w.g.b
	w.store(walkSelf, g.threadPointer(diag.Span{}))
	none := b.Label()
	w.store(walkThread, w.address(w.address(b.Imm(int64(py.Main)), 0, none), py.Threads, none))
	const most, inline = 256, 4
	g.repeat(most, inline, func(next, stop ir.Label) {
		b := g.b
		thread := w.load(walkThread)
		b.IfImm(ir.EQ, thread, 0, stop)
		other := b.Label()
		b.If(ir.NE, w.address(thread, py.ID, stop), w.load(walkSelf), other)
		frame := w.address(w.load(walkThread), py.Running, stop)
		if py.Indirect > 0 {
			frame = w.address(frame, py.Indirect-1, stop)
		}
		w.store(walkFrame, frame)
		b.Jump(stop)
		b.Bind(other)
		w.store(walkThread, w.address(w.load(walkThread), py.Next, stop))
		b.Jump(next)
	})
	b.Bind(none)
}

// pythonFrames puts frames of Python into the place of one of the main loop, one each time that it comes by: it goes to
// next for more of them, and to noted when all are there.
func (w *walker) pythonFrames(noted, next ir.Label) {
	g, b := w.g, w.g.b
	py := g.python
	if py == nil {
		return
	}
	native, inside, finished, lost := b.Label(), b.Label(), b.Label(), b.Label()
	pc := b.Copy(w.load(walkPC))
	b.Apply(ir.Sub, pc, w.load(walkBack))
	for _, part := range py.Loop {
		outside := b.Label()
		b.If(ir.LT, pc, b.Imm(int64(part[0])), outside)
		b.If(ir.LT, pc, b.Imm(int64(part[1])), inside)
		b.Bind(outside)
	}
	b.Jump(native)
	b.Bind(inside)
	found := b.Label()
	b.IfImm(ir.NE, w.load(walkSelf), 0, found) // most stacks of a program in Python come by here, of a library's few
	w.pythonThread(py)
	b.Bind(found)
	b.IfImm(ir.NE, w.load(walkEntered), 0, finished)
	frame := w.load(walkFrame)
	b.IfImm(ir.EQ, frame, 0, finished)
	b.If(ir.GE, w.load(walkCount), w.load(walkLimit), noted)
	w.peek(walkRaw, ir.I(pythonFrame), frame, 0, lost)
	w.store(walkFrame, w.load(walkRaw+py.Previous))
	mark := func() ir.Reg {
		base, off := g.ref(w.s.at(walkRaw + py.Entered))
		return b.Load(1, base, off)
	}
	if py.Shim {
		b.IfImm(ir.EQ, mark(), py.Mark, finished)
	}
	w.pythonName(py, lost)
	code := b.Copy(w.load(walkName))
	index := b.Copy(w.load(walkRaw + py.Instruction))
	b.Apply(ir.Sub, index, w.load(walkRaw+py.Code))
	b.ApplyImm(ir.Sub, index, int64(py.Instructions))
	b.ApplyImm(ir.Shr, index, 1) // instructions are of two bytes
	fits := b.Label()
	b.IfImm(ir.LE, index, record.PythonMostIndex, fits)
	b.SetImm(index, record.PythonMostIndex)
	b.Bind(fits)
	b.ApplyImm(ir.Shl, index, record.PythonIndexShift)
	b.Apply(ir.Or, code, index)
	b.Apply(ir.Or, code, b.Imm(record.PythonFrame))
	slot, n := w.slot()
	w.put(slot, n, code)
	w.identify(code)
	w.mark(walkOwn)
	w.set(walkEmitted, 1)
	if !py.Shim {
		b.IfImm(ir.EQ, mark(), 0, next)
		w.set(walkEntered, 1)
	}
	b.Jump(next)
	b.Bind(lost)
	w.set(walkFrame, 0)
	b.Bind(finished)
	emitted := w.load(walkEmitted)
	w.set(walkEmitted, 0)
	w.set(walkEntered, 0)
	b.IfImm(ir.NE, emitted, 0, noted)
	b.Bind(native)
}

// pythonName keeps what is to be said of a frame's code, if that is not known yet. Other code may come to lie at the
// address, so that the name and the first line count, too, in what tells it from others.
func (w *walker) pythonName(py *probe.PythonStacks, lost ir.Label) {
	g, b := w.g, w.g.b
	key, known, kept := b.Slot(8), b.Label(), b.Label()
	id := b.Copy(w.load(walkRaw + py.Code))
	factor := b.Imm(mixFirst)
	w.peek(walkCode+record.CodeLine, ir.I(4), w.load(walkRaw+py.Code), py.Line, lost)
	base, off := g.ref(w.s.at(walkCode + record.CodeLine))
	for _, word := range []ir.Reg{w.address(w.load(walkRaw+py.Code), py.Name, lost), b.Load(4, base, off)} {
		b.Apply(ir.Mul, id, factor)
		b.Apply(ir.Xor, id, word)
	}
	b.Apply(ir.Mul, id, factor)
	b.ApplyImm(ir.Shr, id, 64-record.PythonIndexShift)
	w.store(walkName, id)
	b.Store(8, ir.FP, key, id)
	p := b.Call(asm.FnMapLookupElem, ir.M(record.PythonCodes), ir.A(ir.FP, key))
	b.IfImm(ir.NE, p, 0, known)
	const class = 8 // of an object
	b.If(ir.NE, w.address(w.load(walkRaw+py.Code), class, lost), b.Imm(int64(py.CodeType)), lost)
	g.zero(w.s.at(walkCode), record.PythonCodeSize)
	w.peek(walkCode+record.CodeLine, ir.I(4), w.load(walkRaw+py.Code), py.Line, lost)
	w.pythonBytes(py, py.Name, record.CodeName, lost)
	w.pythonBytes(py, py.File, record.CodeFile, lost)
	w.pythonBytes(py, py.Lines, record.CodeLines, lost)
	res := b.Call(asm.FnMapUpdateElem, ir.M(record.PythonCodes), ir.A(ir.FP, key), g.addr(w.s.at(walkCode)), ir.I(0))
	b.IfImm(ir.EQ, res, 0, kept)
	g.count(g.c.lossOnce(record.LostNames))
	b.Bind(kept)
	b.Bind(known)
}

// pythonBytes keeps a text or bytes that a code object has: the end of the name of a file that is long, the beginning
// of others. Of texts those of ASCII.
func (w *walker) pythonBytes(py *probe.PythonStacks, off int, part record.PythonPart, lost ir.Label) {
	g, b := w.g, w.g.b
	const count, state, bytes, compactASCII = 16, 32, 32, 3 << 5
	none, short := b.Label(), b.Label()
	w.store(walkObject, w.address(w.load(walkRaw+py.Code), off, lost))
	at := bytes
	if off != py.Lines {
		form := w.address(w.load(walkObject), state, lost)
		b.ApplyImm(ir.And, form, compactASCII)
		b.IfImm(ir.NE, form, compactASCII, none)
		at = py.Text
	}
	n := b.Copy(w.address(w.load(walkObject), count, lost))
	from := b.Copy(w.load(walkObject))
	b.ApplyImm(ir.Add, from, int64(at))
	b.IfImm(ir.LE, n, int64(part.Most), short)
	if off == py.File {
		b.Apply(ir.Add, from, n)
		b.ApplyImm(ir.Sub, from, int64(part.Most))
	}
	b.SetImm(n, int64(part.Most))
	b.Bind(short)
	g.store(w.s.at(walkCode+part.Length), 4, n)
	b.IfImm(ir.EQ, n, 0, none)
	w.peek(walkCode+part.At, g.size(length{reg: n, most: part.Most}), from, 0, lost)
	b.Bind(none)
}

// pythonMap is where names of code are.
func (c *compiler) pythonMap(add func(*ebpf.MapSpec)) {
	if c.out.Pythons = c.pythons; c.pythons {
		add(&ebpf.MapSpec{
			Name: record.PythonCodes, Type: ebpf.Hash, KeySize: 8, ValueSize: record.PythonCodeSize,
			MaxEntries: record.PythonMostCodes,
		})
	}
}
