package debuginfo

import (
	"fmt"
	"strconv"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// Function is a function of the program.
type Function struct {
	Name      string // without namespaces and classes; in Go the whole name
	Qualified string // "ns::Class::name"
	Linkage   string // the mangled name, or ""
	File      string // where it is declared
	Line      int
	Lang      types.Language

	Entry  uint64  // of the code that is its own; 0: it was inlined everywhere, or is declared only
	Ranges []Range // all of it: hot, cold and other parts

	External   bool // visible outside of its unit
	Artificial bool // made by the compiler
	NoReturn   bool
	Prototyped bool
	// Inlined tells that it was inlined somewhere, or was declared inline.
	Inlined bool
	// NoCall tells that the compiler changed how it is called (DW_CC_nocall): no ABI tells where its arguments are.
	NoCall bool
	// Foreign tells that it is called by another convention than its language's, such as that of Windows.
	Foreign bool
	// Completes tells that its entry completes a declaration, like that of a method outside of its class
	// (DW_AT_specification).
	Completes bool
	// Optimized tells that it was compiled with optimization; known for GCC, and for clang from DWARF 5 on, else true.
	Optimized bool
	Producer  string // the compiler, as its unit names it

	u   *unit
	off int
	// identity is the same for all entries that describe the function, in whatever unit.
	identity uint64
}

// Calling conventions (DWARF 5, 7.15; LLVM's are in BinaryFormat/Dwarf.def).
const (
	ccNormal   = 0x01
	ccProgram  = 0x02
	ccNoCall   = 0x03
	ccLLVMSysV = 0xc2
)

// entryKey names an entry among all files.
type entryKey struct {
	file int
	sec  sectionID
	off  int
}

func (d *die) key() entryKey { return entryKey{d.u.f.id, d.u.sec, d.off} }

// Instance is one piece of code that came from a function: its own code, or a copy that was inlined.
type Instance struct {
	Func   *Function
	Entry  uint64
	Ranges []Range

	// The rest is for inlined copies. Begin is where GCC says that a copy begins, if no instruction of it is left there
	// (Entry is 0): calls need not all pass where the others are.
	Begin                uint64
	Parent               *Instance // whose code it was put into
	CallFile             string
	CallLine, CallColumn int

	u   *unit
	off int
}

// IsInlined tells an inlined copy from a function's own code.
func (i *Instance) IsInlined() bool { return i.Parent != nil }

// Outer is the function's own code that the instance is part of.
func (i *Instance) Outer() *Instance {
	for i.Parent != nil {
		i = i.Parent
	}
	return i
}

// Own is the instance that is the function's own code; nil if there is none.
func (fn *Function) Own() *Instance {
	if fn.Entry == 0 {
		return nil
	}
	return &Instance{Func: fn, Entry: fn.Entry, Ranges: fn.Ranges, u: fn.u, off: fn.off}
}

// FunctionAt returns the function whose own code an address is in; ErrNotFound (wrapped) if there is none.
func (in *Info) FunctionAt(addr uint64) (fn *Function, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	d, err := in.subprogramAt(addr)
	if err != nil {
		return nil, err
	}
	return in.function(d), nil
}

// subprogramAt returns the entry of the function at an address.
func (in *Info) subprogramAt(addr uint64) (*die, error) {
	var first error
	for _, u := range in.unitsAt(addr) {
		full, err := u.full(in)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		off, err := full.functionAt(addr)
		if err != nil && first == nil {
			first = err
		}
		if off != 0 {
			if d, ok := full.at(uint64(off)); ok {
				return d, nil
			}
		}
	}
	if first == nil {
		first = fmt.Errorf("a function at %#x of %s: %w", addr, in.src.Path, ErrNotFound)
	}
	return nil, first
}

// function reads a function's entry.
func (in *Info) function(d *die) *Function {
	fn := &Function{u: d.u, off: d.off, Lang: d.u.load().lang}
	fn.Ranges = d.pcRanges(maxRanges)
	fn.Entry = d.entryPC(fn.Ranges)
	fn.Name = d.fullName()
	fn.Qualified = d.qualified()
	fn.Linkage = string(d.linkage())
	fn.File, fn.Line = d.declaredAt()
	fn.External = d.inheritedFlag(atExternal)
	fn.Artificial = d.inheritedFlag(atArtificial)
	fn.NoReturn = d.inheritedFlag(atNoreturn)
	fn.Prototyped = d.inheritedFlag(atPrototyped) || fn.Lang != types.C
	if v, _, ok := d.inherited(atInline); ok && !v.isBlock() {
		fn.Inlined = v.u != 0
	} else if a := d.abstract().ab; !ok && a != nil {
		fn.Inlined = a.has&hasInline != 0
	}
	if v, _, ok := d.inherited(atCallingConvention); ok && !v.isBlock() {
		switch v.u {
		case ccNormal, ccProgram, ccLLVMSysV:
		case ccNoCall:
			fn.NoCall = true
		default:
			fn.Foreign = true
		}
	}
	fn.Completes = d.completion()
	fn.Optimized, fn.Producer = d.u.root.optimized, d.u.root.producer
	if fn.Entry != 0 && d.u.version >= 5 && strings.Contains(fn.Producer, "clang version ") {
		// clang tells of optimized functions only that all calls in them are described.
		_, fn.Optimized = d.get(atCallAllCalls)
	}
	fn.identity = in.identity(d.abstract(), fn)
	return fn
}

// completion tells whether the entry, or one that it is an instance of, completes a declaration.
func (d *die) completion() bool {
	for range maxOrigins {
		if _, ok := d.get(atSpecification); ok {
			return true
		}
		if d = d.origin(); d == nil {
			break
		}
	}
	return false
}

// identity makes a function's identity from its abstract entry, which all copies have in common: their own linkage
// names may be those of the variants that C++ makes of constructors and destructors. fn may be nil.
func (in *Info) identity(abstract *die, fn *Function) uint64 {
	if b := abstract.linkage(); b != nil {
		return in.hash.of(b)
	}
	if abstract.u.load().lang.WholeNames() {
		return in.hash.of([]byte(abstract.fullName()))
	}
	if fn == nil {
		fn = in.function(abstract)
	}
	return in.hash.of([]byte(fn.Qualified + "\x00" + fn.File + "\x00" + strconv.Itoa(fn.Line)))
}

// linkage is the mangled name of the entry or of those it completes, a view; nil if there is none.
func (d *die) linkage() []byte {
	for range maxOrigins {
		if b := d.ownLinkage(); b != nil {
			return b
		}
		if d = d.origin(); d == nil {
			break
		}
	}
	return nil
}

func (d *die) ownLinkage() []byte {
	if d.ab == nil || d.ab.has&hasLinkage == 0 {
		return nil
	}
	v, ok := d.get(atLinkageName)
	if !ok {
		v, _ = d.get(atMIPSLinkageName)
	}
	return d.u.strBytes(v)
}

// abstract is the entry that all copies of a function refer to: the end of the chain of DW_AT_abstract_origin.
func (d *die) abstract() *die {
	for range maxOrigins {
		if _, ok := d.get(atAbstractOrigin); !ok {
			break
		}
		o := d.origin()
		if o == nil {
			break
		}
		d = o
	}
	return d
}

func (d *die) inheritedFlag(attr uint16) bool {
	v, _, ok := d.inherited(attr)
	return ok && !v.isBlock() && v.u != 0
}

// declaredAt is where the entry is declared in the source.
func (d *die) declaredAt() (file string, line int) {
	if v, o, ok := d.inherited(atDeclFile); ok && !v.isBlock() {
		if lt, err := o.u.lineHeader(); err == nil && lt != nil {
			file = lt.path(v.u)
		}
	}
	if v, _, ok := d.inherited(atDeclLine); ok && !v.isBlock() {
		line = int(min(v.u, 1<<31-1))
	}
	return file, line
}

// InstancesAt returns what the code at an address came from: the inlined copies, innermost first, and last the
// function whose own code it is.
func (in *Info) InstancesAt(addr uint64) (chain []*Instance, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.instancesAt(addr)
}

func (in *Info) instancesAt(addr uint64) ([]*Instance, error) {
	d, err := in.subprogramAt(addr)
	if err != nil {
		return nil, err
	}
	inst := in.function(d).Own()
	if inst == nil {
		return nil, fmt.Errorf("a function at %#x of %s: %w", addr, in.src.Path, ErrNotFound)
	}
	chain := []*Instance{inst}
	in.descend(d, func(c *die) bool {
		ranges := c.pcRanges(maxRanges)
		if !contains(ranges, addr) {
			return len(ranges) == 0 && c.tag == tagLexicalBlock // a block without addresses is as large as what is around
		}
		if c.tag == tagInlinedSubroutine && len(chain) < maxInlineDepth {
			if i := in.inlined(c, ranges, inst); i != nil && !in.isRejoined(c, i) {
				inst = i
				chain = append([]*Instance{i}, chain...)
			}
		}
		return true
	})
	return chain, nil
}

// maxInlineDepth bounds the nesting of inlined copies that is followed.
const maxInlineDepth = 256

// inlined makes the instance of a DW_TAG_inlined_subroutine.
func (in *Info) inlined(c *die, ranges []Range, parent *Instance) *Instance {
	o, ok := c.refOf(atAbstractOrigin)
	if !ok {
		return nil
	}
	i := &Instance{Parent: parent, u: c.u, off: c.off, Ranges: ranges, Entry: c.entryPC(ranges)}
	if i.Entry == 0 {
		i.Begin, _ = c.beginPC(ranges)
	}
	i.Func = in.function(o)
	if f, ok := c.num(atCallFile); ok {
		if lt, err := c.u.lineHeader(); err == nil && lt != nil {
			i.CallFile = lt.path(f)
		}
	}
	line, _ := c.num(atCallLine)
	col, _ := c.num(atCallColumn)
	i.CallLine, i.CallColumn = int(min(line, 1<<31-1)), int(min(col, 1<<31-1))
	return i
}

// isRejoined tells an instance that is a piece of the one around it, put back.
func (in *Info) isRejoined(c *die, i *Instance) bool {
	if i.Func == nil || i.Parent.Func == nil || i.Func.identity != i.Parent.Func.identity {
		return false
	}
	abstract, ok := c.refOf(atAbstractOrigin)
	return ok && rejoined(c, abstract)
}

// descend goes through the code within a function: visit is called for each lexical block and inlined copy, and tells
// whether to go into it. The die is only valid during the call.
func (in *Info) descend(d *die, visit func(*die) bool) {
	if !d.children {
		return
	}
	var c die
	depth := 1
	for pos := d.next; depth > 0; {
		if !c.read(d.u, d.table, pos) {
			if c.next <= pos {
				return // damaged
			}
			depth--
			pos = c.next
			continue
		}
		pos = c.next
		if !c.children {
			if c.tag == tagInlinedSubroutine {
				visit(&c)
			}
			continue
		}
		into := false
		if c.tag == tagLexicalBlock || c.tag == tagInlinedSubroutine {
			into = visit(&c)
		}
		if into {
			depth++
			continue
		}
		end := c.end()
		if end <= c.off {
			return
		}
		pos = end
	}
}

// Body is the address at which a function's statements begin: from there on, unoptimized code has its parameters where
// its debug info says. A loop that begins there comes back to it.
func (in *Info) Body(fn *Function) (addr uint64, ok bool) {
	var err error
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.body(fn)
}

func (in *Info) body(fn *Function) (uint64, bool) {
	if fn.Entry == 0 {
		return 0, false
	}
	lt, err := fn.u.lineHeader()
	if err != nil || lt == nil {
		return 0, false
	}
	for _, r := range fn.Ranges {
		if r.Contains(fn.Entry) {
			return lt.body(Range{fn.Entry, r.High})
		}
	}
	return 0, false
}
