package debuginfo

import (
	"strings"
	"sync"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// Texts are the arguments of a function, or its results, that point to texts: of each the number of the integer
// register that has the address, by the calling convention of its language, counted from 1 on, and whether the
// register behind has the length. A byte each, from the lowest on; 0: no further ones.
type Texts uint32

// MostTexts is how many there may be.
const MostTexts = types.MostTexts

// SizedText marks a text whose length is passed behind its address.
const SizedText = 1 << 6

// at adds one.
func (t *Texts) at(n int, register int, sized bool) {
	b := Texts(register + 1)
	if sized {
		b |= SizedText
	}
	*t |= b << (8 * n)
}

// Passed are the texts among what a function takes and returns.
type Passed struct{ Args, Results Texts }

// Texts finds the functions, by their entries, that take or return texts, in one pass that makes no types: it is what
// must be known before any of them is called. It is what the convention says of a function that is called by it; that
// this one is has to be found out otherwise.
func (in *Info) Texts() (found map[uint64]Passed, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	found = map[uint64]Passed{}
	var mu sync.Mutex
	err = in.everyUnit(func(s *scanner, u *unit) bool {
		if u.typeOff != 0 || u.load().err != nil {
			return true
		}
		lang := u.load().lang
		if lang != types.C && lang != types.CPlusPlus && lang != types.Go {
			return true
		}
		t, err := s.abbrevs(u)
		if err != nil {
			return true
		}
		f := textFinder{s: s, t: t, lang: lang, classes: map[uint64]class{}, own: map[uint64]Passed{}}
		f.unit(u)
		if len(f.own) == 0 {
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		for entry, p := range f.own {
			found[entry] = p
		}
		return true
	})
	return found, err
}

// class is how values of a type are passed: in how many registers, and whether it is a text.
type class struct {
	ints   int8
	text   bool
	sized  bool
	odd    bool // what is behind is not known any more
	memory bool // as a result it takes the first register for its address
}

// farType is a type of another unit, which many refer to.
type farType struct {
	f    *file
	sec  sectionID
	lang types.Language
	at   uint64
}

// mostFarTypes is of how many it is kept what they are.
const mostFarTypes = 1 << 16

// textFinder goes through a unit.
type textFinder struct {
	s       *scanner
	t       *abbrevTable
	lang    types.Language
	classes map[uint64]class // of types by their offset
	own     map[uint64]Passed
}

func (f *textFinder) unit(u *unit) {
	around := codeTypes{}
	var d die
	for w := (walker{u: u, t: f.t, pos: u.first}); ; {
		ab := w.next()
		if w.bad {
			return
		}
		around.step(ab)
		if ab == nil {
			continue
		}
		if ab.tag == tagSubprogram && ab.has&hasPC != 0 {
			if r, ok := d.at(&w, ab).lowToHigh(); ok {
				f.function(&d, r.Low)
			} else if ranges := d.pcRanges(maxRanges); len(ranges) > 0 {
				f.function(&d, d.entryPC(ranges))
			}
		}
		if ab.children && w.sibling != 0 && isType(ab.tag) && !around.hold(ab) {
			w.pos = w.sibling
			around.skip()
		}
	}
}

// function looks at one with code.
func (f *textFinder) function(d *die, entry uint64) {
	from := d
	if _, ok := d.get(atAbstractOrigin); ok {
		from = d.abstract() // which has all parameters
	}
	var p Passed
	args, results, next, back := 0, 0, 0, 0
	if f.lang != types.Go {
		if v, o, ok := d.inherited(atType); ok {
			switch c := f.class(o.u, v, 0); {
			case c.text:
				p.Results.at(0, 0, false)
			case c.odd:
				return
			case c.memory:
				next = 1
			}
		}
	}
	dictionary := -1 // behind which parameter it is
	if f.lang == types.Go {
		if name := from.fullName(); strings.Contains(name, "[go.shape.") && goMethod(name) {
			dictionary = 0
		} else if strings.HasSuffix(name, "]") && strings.Contains(name, "[go.shape.") {
			next = 1 // before all
		}
	}
	pos := from.next
	for n := 0; from.children && n < maxParams; {
		w := walker{u: from.u, t: from.table, pos: pos}
		ab := w.next()
		if w.bad || ab == nil || ab.tag != tagFormalParameter && ab.tag != tagTypedef {
			break // they come first
		}
		var param die
		pos = param.at(&w, ab).end()
		if pos == 0 {
			break
		}
		if ab.tag == tagTypedef { // Go's types of generic functions
			continue
		}
		isResult := f.lang == types.Go && param.flag(atVariableParameter)
		v, o, ok := param.inherited(atType)
		c := class{odd: true}
		if ok {
			c = f.class(o.u, v, 0)
		}
		list, count, register := &p.Args, &args, &next
		if isResult {
			list, count, register = &p.Results, &results, &back
		}
		if c.text && *count < MostTexts && *register < maxTextRegister {
			list.at(*count, *register, c.sized)
			*count++
		}
		if dictionary == n {
			next++ // behind the receiver
		}
		if *register += int(c.ints); c.odd {
			*register = maxTextRegister // what is behind is not known
		}
		n++
	}
	if p != (Passed{}) {
		f.own[entry] = p
	}
}

// maxTextRegister bounds the number of a register; conventions have less.
const maxTextRegister = 30

// maxClassDepth bounds how deep types are looked into.
const maxClassDepth = 16

// class is that of the type that a value refers to.
func (f *textFinder) class(u *unit, v value, depth int) class {
	if !v.inUnit() || u != f.s.unit {
		key := farType{f: u.f, sec: u.sec, lang: f.lang, at: v.u}
		if c, ok := f.s.classes[key]; ok && v.form == formRefAddr {
			return c
		}
		d, ok := u.ref(v)
		if !ok {
			return class{odd: true}
		}
		c := f.classOf(d, depth)
		if v.form == formRefAddr && len(f.s.classes) < mostFarTypes {
			if f.s.classes == nil {
				f.s.classes = map[farType]class{}
			}
			f.s.classes[key] = c
		}
		return c
	}
	if c, ok := f.classes[v.u]; ok {
		return c
	}
	var d die
	if v.u >= uint64(u.end) || !d.read(u, f.t, int(v.u)) {
		return class{odd: true}
	}
	c := f.classOf(&d, depth)
	f.classes[v.u] = c
	return c
}

func (f *textFinder) classOf(d *die, depth int) class {
	if depth > maxClassDepth {
		return class{odd: true}
	}
	switch d.tag {
	case tagTypedef, tagConstType, tagVolatileType, tagRestrictType, tagAtomicType, tagImmutableType:
		v, ok := d.get(atType)
		if !ok {
			return class{}
		}
		return f.class(d.u, v, depth+1)
	case tagPointerType:
		return class{ints: 1, text: f.lang != types.Go && f.toChar(d)}
	case tagReferenceType, tagRvalueReferenceType, tagEnumerationType:
		return class{ints: 1}
	case tagSubroutineType: // Go's functions are pointers
		return class{ints: 1}
	case tagBaseType:
		return f.number(d)
	case tagStructureType, tagClassType, tagUnionType:
		return f.structure(d, depth)
	}
	return class{odd: true}
}

// number is the class of a base type.
func (f *textFinder) number(d *die) class {
	size, _ := d.num(atByteSize)
	switch encoding, _ := d.num(atEncoding); encoding {
	case ateFloat:
		return class{} // in a register of another kind, or, larger ones, in memory
	case ateComplexFloat, ateDecimalFloat:
		return class{odd: true}
	}
	return class{ints: 1, odd: size > 8}
}

// structure is the class of a type with members. C's and C++'s in registers are left alone.
func (f *textFinder) structure(d *die, depth int) class {
	size, ok := d.num(atByteSize)
	if f.lang != types.Go {
		return class{odd: !ok || size <= 16 || f.lang != types.C, memory: ok && size > 16 && f.lang == types.C}
	}
	var all class
	var names []string
	d.eachChild(func(m *die) bool {
		if m.tag != tagMember {
			return true
		}
		v, ok := m.get(atType)
		if !ok {
			all.odd = true
			return false
		}
		names = append(names, m.name())
		c := f.class(d.u, v, depth+1)
		all.ints += c.ints
		all.odd = all.odd || c.odd || all.ints > maxTextRegister
		return !all.odd
	})
	// A string, of whatever name.
	all.text = !all.odd && len(names) == 2 && names[0] == "str" && names[1] == "len"
	all.sized = all.text
	return all
}

// toChar tells a pointer to C's char.
func (f *textFinder) toChar(d *die) bool {
	for range maxClassDepth {
		v, ok := d.get(atType)
		if !ok {
			return false
		}
		var to die
		if v.inUnit() && d.u == f.s.unit {
			if v.u >= uint64(d.u.end) || !to.read(d.u, f.t, int(v.u)) {
				return false
			}
		} else if o, ok := d.u.ref(v); ok {
			to = *o
		} else {
			return false
		}
		switch to.tag {
		case tagTypedef, tagConstType, tagVolatileType, tagRestrictType, tagAtomicType:
			*d = to
		case tagBaseType:
			size, _ := to.num(atByteSize)
			return size == 1 && to.name() == "char"
		default:
			return false
		}
	}
	return false
}
