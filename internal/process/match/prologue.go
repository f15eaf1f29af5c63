package match

import (
	"slices"
	"sync"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// Parameters that the function itself stores: debug information names the place in the frame, and a line where its
// statements begin. That they are stored by then is not said: optimized code does it whenever it likes, and "the
// end of the prologue" may be behind a branch. So the instructions are asked.

// whyNotStored is the reason for a parameter whose store was not found.
const whyNotStored = "the function's first instructions do not store it where the debug information says it is"

// whyNotAddressed is the reason for one of which the address may be loaded later into the register that is told.
const whyNotAddressed = "its address is in a register, but not known to be there when the function begins"

// distrust takes places away that debug information tells of the beginning of a function without saying that the value
// is there by then: those in the frame of optimized code, and, where callers put what is not known because of a calling
// convention of the function's own, those above it.
func (b *binary) distrust(fn *debuginfo.Function, vars []debuginfo.Var) {
	if fn.Lang.OwnABI() {
		return
	}
	foreign := b.foreign(fn) != ""
	for i := range vars {
		v := &vars[i]
		stack := v.Place.Kind == types.InMemory && v.Place.Reg == b.obj.Arch().SP
		switch {
		case stack && (v.Framed && fn.Optimized || foreign):
			v.Place, v.Late = types.Unknown(whyNotStored), true
		case foreign && fn.Optimized && v.Plain && v.Place.Kind == types.InMemory:
			v.Place = types.Unknown(whyNotAddressed)
		}
	}
}

// behindPrologue moves a point to where the function has stored its parameters, and gives these there. It stays
// where it is, with nil, if there is no such place that each call passes once, or one of the parameters that it
// has here is gone there.
func (m *matcher) behindPrologue(
	s *spec, b *binary, info *debuginfo.Info, fn *debuginfo.Function, p *probe.Point, here []debuginfo.Var,
) []debuginfo.Var {
	body, ok := info.Body(fn)
	if !ok || body <= fn.Entry {
		return nil
	}
	if ok, _, err := m.decodeTo(b, fn.Entry, body); !ok || err != nil {
		return nil
	}
	to, vars := body, []debuginfo.Var(nil)
	if prologue := b.prologue(fn); prologue != nil {
		to, vars = m.stored(b, info, fn, prologue, body, here)
	} else if got, err := info.Params(fn.Own(), body); err == nil && !fn.Optimized {
		vars = got
	}
	if vars == nil || m.loopsTo(b, fn, to) || m.hazardAt(b.obj, to) != nil {
		return nil
	}
	for i := range vars {
		if i < len(here) && vars[i].Place.Kind == types.Unavailable && here[i].Place.Kind != types.Unavailable {
			return nil
		}
	}
	moved := *p
	moved.Skip = int(to - fn.Entry)
	moved.Entry = false
	if m.place(&moved, b, to) == nil {
		return nil
	}
	*p = moved
	// The prologue may have used the registers of arguments for something else: these are read where they are stored.
	p.Scope = p.Scope.Clone()
	p.Scope.ArgN, p.Scope.ArgNTypes = registerArgs(vars)
	return vars
}

// prologue is what a function's first instructions store; nil if that is not known here. Go's functions begin with
// a branch, and their compiler marks the end of what is before the first statement reliably.
func (b *binary) prologue(fn *debuginfo.Function) (p *code.Prologue) {
	var err error
	defer objfile.Guard(&err)()
	if fn.Lang.OwnABI() {
		return nil
	}
	for _, r := range fn.Ranges {
		if r.Contains(fn.Entry) {
			text := b.obj.Bytes(fn.Entry, int(min(r.High-fn.Entry, code.MaxFunction)))
			if p, ok := code.ReadPrologue(b.obj.Arch(), text, !fn.Optimized); ok {
				p.Homes = b.foreign(fn) != ""
				return p
			}
		}
	}
	return nil
}

// stored finds the first place from body on where all parameters are stored that are not there at the entry.
// Without one it is the place where most are, and the others are unavailable; nil, if nothing is gained by any.
func (m *matcher) stored(
	b *binary, info *debuginfo.Info, fn *debuginfo.Function, prologue *code.Prologue, body uint64, here []debuginfo.Var,
) (best uint64, vars []debuginfo.Var) {
	most, left := 0, 0
	prologue.Begun = int(body - fn.Entry)
	origins := sync.OnceValue(func() *code.Origins { return b.origins(fn) })
	for i := range here {
		if here[i].Late {
			left++
		}
	}
	for _, end := range prologue.Ends {
		at := fn.Entry + uint64(end)
		if at < body {
			continue
		}
		got, err := info.Params(fn.Own(), at)
		if err != nil || len(got) != len(here) {
			break
		}
		b.indirectLater(fn, prologue, end, got)
		n, gone := 0, false
		for i := range got {
			switch {
			case got[i].Place.Kind == types.Unavailable && (got[i].Place.Why == whyWhichOnStack ||
				got[i].Place.Why == whyUnused):
			case b.addressed(&got[i].Place) && !prologue.Homes && b.holdsPassed(origins, end, here, i, &got[i].Place):
				if here[i].Late {
					n++
				}
			case fn.Optimized && got[i].Plain && b.addressed(&got[i].Place):
				switch {
				case here[i].Place.Kind == types.Unavailable:
					got[i].Place = types.Unknown(whyNotAddressed)
				case keptAt(prologue, end, &here[i].Place):
					got[i].Place = here[i].Place
				default:
					gone = true
				}
			case fn.Optimized && gnu(fn) && prologue.Homes && b.addressed(&got[i].Place) &&
				!prologue.Kept(end, got[i].Place.Reg): // see outdated
				gone = gone || here[i].Place.Kind != types.Unavailable
				got[i].Place = types.Unknown(whyNotAddressed)
			case !here[i].Late && !(fn.Optimized && got[i].Framed):
			case storedAt(prologue, end, &got[i]):
				if here[i].Late {
					n++
				}
			case here[i].Late:
				got[i].Place = types.Unknown(whyNotStored)
			case keptAt(prologue, end, &here[i].Place): // not stored yet, and still where it was passed
				got[i].Place = here[i].Place
			default:
				gone = true
			}
		}
		if gone {
			continue
		}
		if n > most && m.hazardAt(b.obj, at) == nil {
			most, best, vars = n, at, got
		}
		if n == left {
			break
		}
	}
	return best, vars
}

// holdsPassed tells whether the register of a place has what the caller passed as the address of a parameter, and not
// as another one of those that are known at the entry: a place that is told for all of the function is none before the
// register is loaded.
func (b *binary) holdsPassed(
	origins func() *code.Origins, end int, here []debuginfo.Var, i int, p *types.Place,
) bool {
	o := origins()
	if o == nil {
		return false
	}
	from, ok := o.Register(end, p.Reg)
	if !ok || from.Size != 8 {
		return false
	}
	f := sourceFinder{sp: b.obj.Arch().SP}
	found := make([]*types.Place, len(here))
	found[i] = f.pointed(&from, []int64{p.Offset})
	return b.alone(here, found, i)
}

// outdated takes places away, behind a function's first instruction, that are at an address in a register where GCC may
// go on to tell of the one that it was passed in.
func (b *binary) outdated(fn *debuginfo.Function, vars []debuginfo.Var) {
	for i := range vars {
		if p := &vars[i].Place; fn.Optimized && gnu(fn) && b.addressed(p) && b.foreign(fn) != "" {
			*p = types.Unknown(whyNotAddressed)
		}
	}
}

// addressed tells a place at an address in a register which is none of the frame's.
func (b *binary) addressed(p *types.Place) bool {
	arch := b.obj.Arch()
	return p.Kind == types.InMemory && len(p.Ops) == 0 && p.Reg != arch.SP && p.Reg != arch.FP
}

// keptAt tells whether the registers of a place have at another one, behind the code of the prologue up to there, what
// they had at the function's entry.
func keptAt(prologue *code.Prologue, end int, p *types.Place) bool {
	switch p.Kind {
	case types.InRegister:
		return prologue.Kept(end, p.Reg)
	case types.InMemory: // of which the address was passed
		return len(p.Ops) == 0 && prologue.Kept(end, p.Reg)
	case types.Constant:
		return true
	case types.Computed:
		return !slices.ContainsFunc(p.Steps(), func(o types.PlaceOp) bool {
			return o.Code == types.Load || o.Code == types.PushReg && !prologue.Kept(end, o.Reg)
		})
	case types.InPieces:
		for i := range p.Pieces {
			if !keptAt(prologue, end, &p.Pieces[i].Place) {
				return false
			}
		}
		return true
	}
	return false
}

// storedAt tells whether the code before a place has stored a variable where it is said to be.
func storedAt(prologue *code.Prologue, end int, v *debuginfo.Var) bool {
	p := v.Place
	if p.Kind != types.InMemory || len(p.Ops) > 0 || v.Type == nil {
		return false
	}
	switch p.Reg {
	case 5, 4, 1, 2, 8, 9: // rdi, rsi, rdx, rcx, r8, r9: the caller passed the address of what it stored itself
		return prologue.Kept(end, p.Reg)
	}
	slot := code.Slot{Reg: p.Reg, Off: p.Offset, Size: 8}
	if len(p.Derefs) > 0 { // its address was passed
		return prologue.Stores(end, slot)
	}
	if _, above := prologue.Above(end, slot); above && prologue.Homes {
		switch v.Type.Complete().Size {
		case 1, 2, 4, 8:
		default: // its address was passed, and LLVM tells of it as of the value
			return false
		}
	}
	f := frameValue{prologue, end, p.Reg}
	return f.stored(v.Type, p.Offset, 0)
}

// frameValue looks at values in the frame at a place.
type frameValue struct {
	prologue *code.Prologue
	end, reg int
}

// maxNesting bounds how deep types are looked into.
const maxNesting = 16

// stored tells whether all of a value that means something was stored: not what lies between a struct's members,
// and of an enum with members only those of the alternative that it has, if that is always the same.
func (f *frameValue) stored(t *types.Type, off int64, depth int) bool {
	t = t.Complete()
	slot := func(t *types.Type, at int) code.Slot {
		return code.Slot{Reg: f.reg, Off: off + int64(at), Size: int64(t.Size)}
	}
	switch {
	case t.Size == 0, t.Empty():
		return true
	case t.Kind == types.Float && t.Size == 16 && !t.IsQuad():
		return f.prologue.Stores(f.end, code.Slot{Reg: f.reg, Off: off, Size: 10}) // the rest is never looked at
	case depth > maxNesting || t.Kind != types.Struct:
		return f.prologue.Stores(f.end, slot(t, 0))
	case t.Source != nil && t.Source.Variants != nil:
		v := t.Source.Variants
		list := v.List
		if v.Discr.Type != nil {
			discr := slot(v.Discr.Type.Complete(), v.Discr.Offset)
			if !f.prologue.Stores(f.end, discr) {
				return false
			}
			if n, ok := f.prologue.Constant(f.end, discr); ok && !v.Discr.Type.Complete().Signed {
				list = alternative(list, n)
			}
		}
		for i := range list {
			if a := &list[i]; a.Type != nil && !f.members(a.Type.Complete(), off+int64(a.Offset), depth+1) {
				return false
			}
		}
		return true
	case len(t.Fields) == 0:
		return f.prologue.Stores(f.end, slot(t, 0))
	}
	return f.members(t, off, depth+1)
}

// members is stored for the members of a struct; one without any has nothing to be stored.
func (f *frameValue) members(t *types.Type, off int64, depth int) bool {
	for i := range t.Fields {
		m := &t.Fields[i]
		if m.BitSize > 0 {
			bits := code.Slot{Reg: f.reg, Off: off + int64(m.Offset), Size: int64(m.BitOffset+m.BitSize+7) / 8}
			if !f.prologue.Stores(f.end, bits) {
				return false
			}
		} else if !f.stored(m.Type, off+int64(m.Offset), depth) {
			return false
		}
	}
	return true
}

// alternative is that of an enum which a discriminant stands for; all of them, if that is not found.
func alternative(list []types.Variant, discr uint64) []types.Variant {
	other := -1
	for i := range list {
		for _, r := range list[i].Discrs {
			if r.Low <= discr && discr <= r.High {
				return list[i : i+1]
			}
		}
		if list[i].Default {
			other = i
		}
	}
	if other >= 0 {
		return list[other : other+1]
	}
	return list
}
