package cpython

import (
	"fmt"
	"slices"
	"strings"

	"trocar/internal/order"
)

// Function is a Python function, as it is in the process now.
type Function struct {
	Module, Qualified string // of the module, and within it
	File              string
	Line              int
	Params            []Param
	// Waits: it is a generator or a coroutine, whose body runs in parts.
	Waits bool
	// Variables and Constants are how many it has.
	Variables, Constants int

	// Code is its code object, Marks the words of it by which it differs from another one that comes to lie there. Begin
	// is what its frame has noted where its body begins.
	Code  uint64
	Marks []uint64
	Begin uint64
}

// Param is a parameter: the variable of a number in the frame, or what the cell has that the variable is.
type Param struct {
	Name string
	At   int
	Cell bool
}

// String is the function's name as programs import it.
func (f *Function) String() string { return f.Module + "." + f.Qualified }

// mostFunctions bounds the functions of a process, mostObjects the objects that are looked at for them.
const (
	mostFunctions = 1 << 17
	mostObjects   = 8 * mostFunctions
)

// Functions are those of the process, by their names: what modules have, their classes, what is wrapped by decorators,
// and functions within these. cut: there may be more than were looked for.
func (in *Interpreter) Functions() (found []*Function, cut bool) {
	in.m.Forget()
	defer in.m.Forget()
	w := walk{in: in, seen: map[uint64]bool{}, modules: map[uint64]string{}}
	in.m.each(in.globals, func(_ string, module uint64) bool {
		if dict := in.m.word(module, moduleDict); in.m.is(dict, isDict) {
			w.globals(dict)
		}
		return true
	})
	w.code(in.Loading.Code, in.Loading.Module, 0)
	order.By(w.found, func(a, b *Function) int {
		if c := strings.Compare(a.Module, b.Module); c != 0 {
			return c
		}
		return strings.Compare(a.Qualified, b.Qualified)
	})
	return w.found, len(w.found) >= mostFunctions || len(w.seen) > mostObjects || in.m.Cut()
}

// walk looks for functions.
type walk struct {
	in      *Interpreter
	seen    map[uint64]bool   // objects
	modules map[uint64]string // names of modules, by their dictionaries
	found   []*Function
}

// module is the name of the module of a dictionary.
func (w *walk) module(globals uint64) string {
	name, ok := w.modules[globals]
	if !ok {
		name, _ = w.in.m.text(w.in.m.entry(globals, "__name__"))
		w.modules[globals] = name
	}
	return name
}

func (w *walk) globals(dict uint64) {
	if !w.seen[dict] {
		w.seen[dict] = true
		w.in.m.each(dict, func(_ string, value uint64) bool {
			w.object(value, 0)
			return len(w.found) < mostFunctions
		})
	}
}

// mostItems bounds the dictionaries of modules that are looked into.
const mostItems = 1 << 12

// deepest is how many decorators and classes within others are looked into.
const deepest = 12

func (w *walk) object(obj uint64, depth int) {
	m, t := w.in.m, w.in.types
	if obj == 0 || depth > deepest || w.seen[obj] || len(w.seen) > mostObjects {
		return
	}
	kind := m.typeOf(obj)
	switch {
	case kind == t["PyFunction_Type"]:
		w.seen[obj] = true
		w.code(m.word(obj, funcCode), w.module(m.word(obj, funcGlobals)), depth)
		m.tuple(m.word(obj, funcClosure), func(cell uint64) {
			if m.typeOf(cell) == t["PyCell_Type"] {
				w.object(m.word(cell, content), depth+1)
			}
		})
	case kind == t["PyClassMethod_Type"], kind == t["PyStaticMethod_Type"]:
		w.object(m.word(obj, wrapped), depth+1)
	case kind == t["PyProperty_Type"]:
		for i := range int64(3) { // to read, write and delete it
			w.object(m.word(obj, wrapped+8*i), depth+1)
		}
	case m.is(obj, isType):
		w.seen[obj] = true
		m.each(m.word(obj, typeDict), func(_ string, value uint64) bool {
			w.object(value, depth+1)
			return true
		})
	case m.is(obj, isDict): // functions for keys
		w.seen[obj] = true
		m.items(obj, mostItems, func(_, value uint64) bool {
			w.object(value, depth+1)
			return true
		})
	default:
		// What another module has made of a function says which: that of functools is written in C.
		off := int64(m.word(kind, typeDictOffset))
		if off < 16 || off > 1<<12 {
			return
		}
		if dict := m.word(obj, off); m.is(dict, isDict) {
			w.seen[obj] = true
			w.object(m.entry(dict, "__wrapped__"), depth+1)
		}
	}
}

// code takes a code object for a function, and those within it.
func (w *walk) code(obj uint64, module string, depth int) {
	m, lay := w.in.m, w.in.lay
	if obj == 0 || w.seen[obj] || depth > deepest || m.typeOf(obj) != w.in.types["PyCode_Type"] {
		return
	}
	w.seen[obj] = true
	m.tuple(m.word(obj, constants), func(c uint64) {
		if m.typeOf(c) == w.in.types["PyCode_Type"] {
			w.code(c, module, depth+1)
		}
	})
	name, ok := m.text(m.word(obj, lay.qualified))
	if !ok || len(w.found) >= mostFunctions {
		return
	}
	begin := obj + uint64(lay.instructions) + 2*uint64(m.number(obj, lay.resume))
	if !slices.Contains(lay.resumes, int(m.word(begin, 0)&0xff)) {
		return // the body of a class or comprehension that is executed elsewhere, or what is being traced in Python
	}
	f := &Function{
		Module: module, Qualified: name, Line: m.number(obj, lay.line), Code: obj, Begin: begin,
	}
	f.Variables, f.Constants = m.number(obj, lay.variables), int(m.word(m.word(obj, constants), sized))
	for _, off := range lay.marks {
		f.Marks = append(f.Marks, m.word(obj, int64(off)))
	}
	f.File, _ = m.text(m.word(obj, lay.file))
	flags := m.word(obj, lay.flags)
	const optimized, more, moreNamed, waits = 1, 4, 8, 0x20 | 0x80 | 0x100 | 0x200
	if flags&optimized == 0 {
		return // a class's body, which runs once
	}
	f.Waits = flags&waits != 0
	n := m.number(obj, lay.arguments) + m.number(obj, lay.keywords)
	for _, bit := range []uint64{more, moreNamed} {
		if flags&bit != 0 {
			n++
		}
	}
	names, kinds := m.word(obj, lay.names), m.word(obj, lay.kinds)
	for i := range min(n, 255) {
		name, ok := m.text(m.word(names, elements+8*int64(i)))
		if !ok || int64(i) >= int64(m.word(kinds, sized)) {
			break
		}
		const cell, bytes = 0x40, 32
		f.Params = append(f.Params, Param{name, i, m.word(kinds, bytes+int64(i))&cell != 0})
	}
	w.found = append(w.found, f)
}

// Declared are the function's parameters as the source has them, and where that is.
func (f *Function) Declared() []string {
	list := make([]string, 0, len(f.Params)+1)
	for _, p := range f.Params {
		list = append(list, p.Name)
	}
	return append(list, fmt.Sprintf("# %s:%d", f.File, f.Line))
}
