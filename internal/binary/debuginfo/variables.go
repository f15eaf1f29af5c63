package debuginfo

import (
	"slices"
	"strings"
	"sync"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/section"
	"trocar/internal/binary/types"
)

// Var is a parameter or variable at an address.
type Var struct {
	Name  string
	Type  *types.Type
	Place types.Place

	Artificial bool // made by the compiler: this
	Result     bool // Go: a result
	// Late tells that the place is unavailable only because the address is before Body: the function's prologue has not
	// stored it yet.
	Late bool
	// Later tells that it is unavailable, but that debug information tells where it is at other addresses.
	Later bool
	// Always tells that the place is said to hold for all of the variable's block: so also before it is set.
	Always bool
	// Plain tells that one place is said to hold for the whole function. Where the compiler did not follow the variable
	// that is where it is moved to, not where it was passed.
	Plain bool
	// Framed tells that this one place is in the frame which the function makes itself: it has the value when it was
	// stored, and nothing says when that is.
	Framed bool
	// ClosureOffset is 1 + the offset in the closure of a variable that a Go closure captured, 0 for other variables.
	ClosureOffset int
	File          string
	Line          int
}

// Params returns the parameters of an instance and where they are at an address of it. Parameters that the compiler
// removed are there too, unavailable.
func (in *Info) Params(i *Instance, pc uint64) (vars []Var, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	d, ok := i.u.at(uint64(i.off))
	if !ok {
		return nil, ErrNotFound
	}
	e := in.env(i, pc)
	// The order is that of the declaration: a copy may lack entries of parameters it doesn't need.
	concrete := make(map[entryKey]*die)
	var own []*die
	d.eachParam(func(c *die) { own = append(own, c.clone()) })
	listed := own
	if o := d.abstract(); o.key() != d.key() {
		listed = nil
		for _, c := range own {
			if a := c.abstract(); a.key() != c.key() {
				concrete[a.key()] = c
			} else {
				listed = append(listed, c) // only in this copy
			}
		}
		var declared []*die
		o.eachParam(func(c *die) { declared = append(declared, c.clone()) })
		listed = append(declared, listed...)
	}
	for _, p := range listed {
		at := p
		if c, ok := concrete[p.key()]; ok {
			at = c
		}
		if p.u != i.u && at == p { // a declaration of another unit has no place here
			at = nil
		}
		vars = append(vars, in.variable(e, p, at))
	}
	return vars, nil
}

// maxParams bounds the parameters and variables of one function that are listed.
const maxParams = 1 << 9

// eachParam calls yield with the parameters of a function, those of C++ parameter packs among them.
func (d *die) eachParam(yield func(*die)) {
	n := 0
	d.eachChild(func(c *die) bool {
		switch c.tag {
		case tagFormalParameter:
			yield(c)
			n++
		case tagGNUFormalParameterPack:
			c.eachChild(func(p *die) bool {
				if p.tag == tagFormalParameter {
					yield(p)
					n++
				}
				return n < maxParams
			})
		}
		return n < maxParams
	})
}

// clone copies an entry that is read in a loop.
func (d *die) clone() *die {
	c := *d
	return &c
}

// Locals returns the variables of an instance that are visible at an address, inner ones first, and where they are.
// Those of an inner block hide outer ones of the same name.
func (in *Info) Locals(i *Instance, pc uint64) (vars []Var, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	d, ok := i.u.at(uint64(i.off))
	if !ok {
		return nil, ErrNotFound
	}
	e := in.env(i, pc)
	var blocks [][]Var
	for d != nil {
		var inner *die
		var here []Var
		d.eachChild(func(c *die) bool {
			switch c.tag {
			case tagVariable:
				v := in.variable(e, c.abstract(), c)
				if v.Name != "" {
					here = append(here, v)
				}
			case tagLexicalBlock:
				if ranges := c.pcRanges(maxRanges); contains(ranges, pc) {
					inner = c.clone()
				}
			}
			return len(here) < maxParams
		})
		blocks = append(blocks, here)
		if len(blocks) > maxInlineDepth {
			break
		}
		d = inner
	}
	for n := len(blocks) - 1; n >= 0; n-- {
		vars = append(vars, blocks[n]...)
	}
	return vars, nil
}

// env prepares the compilation of places at an address of an instance.
func (in *Info) env(i *Instance, pc uint64) *exprEnv {
	outer := i.Outer()
	e := &exprEnv{in: in, u: i.u, pc: pc, start: outer.Entry, entry: pc == outer.Entry, inlined: i.off != outer.off}
	d, ok := outer.u.at(uint64(outer.off))
	if !ok {
		return e
	}
	e.body = sync.OnceValue(func() uint64 {
		addr, _ := in.body(outer.Func)
		return addr
	})
	if v, _, ok := d.inherited(atFrameBase); ok {
		e.base = func() (sym, string) {
			l := outer.u.locationAt(v, pc)
			if !l.found {
				return sym{}, "its function has no frame base at this address"
			}
			inner := &exprEnv{in: in, u: outer.u, pc: pc, start: e.start, entry: e.entry, depth: e.depth + 1}
			if inner.depth > maxExprDepth {
				return sym{}, "its location is damaged"
			}
			base, why := inner.value(l.expr)
			if why == "" && l.plain && l.expr[0] != opCallFrameCFA {
				return inner.steadyBase(base, outer.Func)
			}
			return base, why
		}
	}
	return e
}

// steadyBase is the frame base where it is a register (clang, rustc) that has its value only when the frame is whole.
// The call frame information of that place tells how far the register is from the CFA, and that of the address where
// the CFA is.
func (e *exprEnv) steadyBase(base sym, fn *Function) (sym, string) {
	const why = "its frame is not set up at this address"
	if base.ops != nil || len(base.derefs) > 0 {
		return sym{}, why
	}
	off, ok := e.in.wholeFrame(fn, base.reg)
	if !ok {
		if e.entry || e.inPrologue() {
			return sym{}, why
		}
		return base, ""
	}
	cfa, bad := e.cfa()
	if bad != "" {
		return sym{}, bad
	}
	return cfa.plus(base.off - off), ""
}

// maxFrameRows bounds the rows of one function that are looked at.
const maxFrameRows = 256

// wholeFrame is the distance from a register to the CFA when the function's frame is whole: in the first row that has
// all registers which the function saves. A frame without any is whole when the stack pointer has moved. Rows behind
// are those of arguments that are pushed for calls, and of the frame's end.
func (in *Info) wholeFrame(fn *Function, reg int) (off int64, ok bool) {
	saved, entry := -1, int64(0)
	for _, r := range fn.Ranges {
		if !r.Contains(fn.Entry) {
			continue
		}
		pc := fn.Entry
		for range maxFrameRows {
			row, err := in.frames.At(pc)
			if err != nil {
				return 0, false
			}
			if pc == fn.Entry {
				entry = row.CFA.Offset
			}
			if row.CFA.Expr == nil && row.CFA.Reg == reg {
				n := len(row.Saved)
				if n > saved || n == saved && off == entry && row.CFA.Offset > entry {
					saved, off = n, row.CFA.Offset
				}
			}
			if pc = row.High; !r.Contains(pc) {
				break
			}
		}
	}
	return off, saved >= 0
}

// variable makes a Var: p is the entry with the name and type, at the one with the place.
func (in *Info) variable(e *exprEnv, p, at *die) Var {
	v := Var{Name: p.fullName(), Artificial: p.inheritedFlag(atArtificial), Result: p.inheritedFlag(atVariableParameter)}
	v.File, v.Line = p.declaredAt()
	if t, o, ok := p.inherited(atType); ok {
		v.Type = in.conv.of(o.u, t)
	}
	for _, d := range []*die{at, p} {
		if d == nil {
			continue
		}
		if off, ok := d.num(atGoClosureOffset); ok && off < 1<<31 {
			v.ClosureOffset = int(off) + 1
		}
	}
	switch {
	case at == nil:
		v.Place = unavailable(optimizedOut)
	default:
		v.Place, v.Late = e.ready(at)
		v.Later = v.Place.Kind == types.Unavailable && v.Place.Why == notHere
		if l, ok := at.get(atLocation); ok && l.isBlock() {
			v.Plain = true
			v.Framed = e.ownFrame(l.block, true)
			v.Always = len(l.block) > 0 && (l.block[0] == opFbreg || l.block[0] >= opReg0 && l.block[0] <= opBregx)
		}
	}
	if t := v.Type; v.Place.Kind == types.Computed && t != nil && t.Complete().Kind != types.Pointer &&
		e.frameAddress(&v.Place) {
		v.Place = unavailable("its place is told as the value")
	}
	if v.Result && v.Place.Kind == types.Unavailable && v.Place.Why == optimizedOut {
		v.Place.Why = "a result: it is there when the function returns"
	}
	return v
}

// ready compiles the place of a variable. A slot of the frame that holds for the whole function says nothing about the
// time before the function has stored something in it: late tells that this is the reason.
func (e *exprEnv) ready(d *die) (p types.Place, late bool) {
	p = e.variable(d)
	v, ok := d.get(atLocation)
	if !ok || !e.entry && !e.inPrologue() {
		return p, false
	}
	expr := v.block
	if !v.isBlock() {
		if p.Kind == types.Unavailable && e.atBody(v) {
			return p, true
		}
		if !e.entry {
			return p, false
		}
		expr = e.u.location(v, e.pc, e.entry, e.views(d)).expr
	}
	if e.entry && e.computed(&p) && !(v.isBlock() && e.gnu()) {
		return p, false
	}
	if len(expr) > 0 && e.ownFrame(expr, v.isBlock()) {
		return unavailable("stored in the frame only by the function's first instructions"), v.isBlock()
	}
	if e.entry && v.isBlock() && (p.Kind == types.InPieces && !e.u.load().lang.OwnABI() || !e.passed(p)) {
		return unavailable("in a register only after the function's first instructions"), false
	}
	return p, false
}

// gnu tells that GCC may have made the code.
func (e *exprEnv) gnu() bool {
	return e.u.root == nil || strings.HasPrefix(e.u.root.producer, "GNU")
}

// computed tells a value, or the parts of one, that registers of arguments have or are computed of alone.
func (e *exprEnv) computed(p *types.Place) bool {
	args := e.in.src.Arch.C.Args
	switch p.Kind {
	case types.InRegister:
		return slices.Contains(args, p.Reg)
	case types.Computed:
		return !slices.ContainsFunc(p.Steps(), func(o types.PlaceOp) bool {
			return o.Code == types.Load || o.Code == types.PushReg && !slices.Contains(args, o.Reg)
		})
	case types.InPieces:
		return !slices.ContainsFunc(p.Pieces, func(one types.Piece) bool {
			return one.Place.Kind != types.Unavailable && !e.computed(&one.Place)
		})
	case types.Constant:
		return true
	}
	return false
}

// frameAddress tells a value that is computed of an address in the frame alone: LLVM leaves the load out of the
// expression of what it has spilled.
func (e *exprEnv) frameAddress(p *types.Place) bool {
	frame := false
	return !slices.ContainsFunc(p.Steps(), func(o types.PlaceOp) bool {
		if o.Code != types.PushReg {
			return o.Code == types.Load
		}
		frame = o.Reg == e.in.src.Arch.SP
		if cfa, why := e.cfa(); why == "" && cfa.ops == nil {
			frame = frame || o.Reg == cfa.reg
		}
		return !frame
	}) && frame
}

// atBody tells whether a place that is not told here is told where the function's statements begin.
func (e *exprEnv) atBody(v value) bool {
	if e.body == nil || e.u.locationAt(v, e.pc).found {
		return false
	}
	body := e.body()
	return body != 0 && e.u.locationAt(v, body).found
}

// passed tells whether a place that is said to hold for the whole function may be where the caller has put a value. GCC
// says so also of values that it doesn't follow, like those of __int128: then it is where they are moved to.
func (e *exprEnv) passed(p types.Place) bool {
	switch p.Kind {
	case types.Unavailable:
		return p.Vector <= 8
	case types.InRegister:
		if e.u.load().lang.OwnABI() {
			return true
		}
		return e.in.src.Arch.Passes(p.Reg)
	case types.InMemory: // at an address in a register
		return len(p.Ops) > 0 || p.Reg == e.in.src.Arch.SP || e.u.load().lang.OwnABI() || e.in.src.Arch.Passes(p.Reg)
	case types.InPieces:
		for _, piece := range p.Pieces {
			if !e.passed(piece.Place) {
				return false
			}
		}
	}
	return true
}

// inPrologue tells whether the address is before the function's statements.
func (e *exprEnv) inPrologue() bool {
	return e.body != nil && e.start <= e.pc && e.pc < e.body()
}

// ownFrame tells whether an expression is a slot in the frame that the function itself makes: below the CFA. What the
// caller passed on the stack is above. plain tells that it is said to hold for the whole function.
func (e *exprEnv) ownFrame(expr []byte, plain bool) bool {
	if len(expr) == 0 {
		return false
	}
	r := section.Reader{Data: expr, Pos: 1}
	switch op := expr[0]; {
	case op == opFbreg:
		if e.base == nil {
			return true
		}
		off := r.SLEB()
		base, why := e.base()
		cfa, why2 := e.cfa()
		if why != "" || why2 != "" || base.ops != nil || cfa.ops != nil || base.reg != cfa.reg ||
			len(base.derefs)+len(cfa.derefs) > 0 {
			return true
		}
		return base.off+off < cfa.off
	case op >= opBreg0 && op <= opBreg31:
		// What the register of an argument points to at the entry is the caller's. Of a value that it does not follow, GCC
		// names the register that the address is moved to.
		off := r.SLEB()
		reg := int(op - opBreg0)
		moved := plain && e.gnu()
		return !e.entry || moved || off != 0 || r.Pos != len(expr) || !slices.Contains(e.in.src.Arch.C.Args, reg)
	case op == opBregx:
		return true
	case op == opCallFrameCFA:
		return false
	}
	return false
}
