package match

import (
	"slices"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/order"
)

// later tells a variable that is not known here, but elsewhere.
func later(v *debuginfo.Var) bool { return v.Later && v.Place.Kind == types.Unavailable }

// maxEnds bounds the places behind a function's entry at which it is asked where parameters are.
const maxEnds = 64

// passed finds parameters that the function stores in registers at its entry: what the first instructions that store
// where debug information says that a parameter is have there was passed where it comes from. late tells whether there
// are others that are not there at the entry.
func (b *binary) passed(info *debuginfo.Info, fn *debuginfo.Function, vars []debuginfo.Var) (late bool) {
	prologue := b.prologue(fn)
	if prologue == nil || prologue.Homes {
		return anyLate(vars)
	}
	origins := b.origins(fn)
	if origins == nil {
		return anyLate(vars)
	}
	found := make([]*types.Place, len(vars))
	for _, end := range prologue.Ends[:min(len(prologue.Ends), maxEnds)] {
		got, err := info.Params(fn.Own(), fn.Entry+uint64(end))
		if err != nil || len(got) != len(vars) {
			break
		}
		for i := range vars {
			p := &got[i].Place
			if found[i] != nil || !vars[i].Late && !later(&vars[i]) || got[i].Type == nil || len(p.Ops) > 0 {
				continue
			}
			f := sourceFinder{origins: origins, at: end, reg: p.Reg, off: p.Offset, sp: b.obj.Arch().SP}
			switch t := got[i].Type.Complete(); {
			case p.Kind == types.InRegister && t.Size <= 8:
				if from, ok := origins.Register(end, p.Reg); ok && from.Size >= t.Size && !from.Masked {
					from.Size = t.Size
					f.found = []code.Passed{from}
					place := f.place(t)
					found[i] = &place
				}
			case p.Kind == types.InPieces:
				found[i] = f.pieces(p)
			case p.Kind != types.InMemory:
			case len(p.Derefs) > 0:
				found[i] = f.behind(p.Derefs)
			case b.addressed(p):
				if from, ok := origins.Register(end, p.Reg); ok && from.Size == 8 {
					found[i] = f.pointed(&from, []int64{p.Offset})
				}
			case f.of(t, 0, 0):
				place := f.place(t)
				found[i] = &place
			}
		}
	}
	for i, p := range found {
		if p != nil && b.alone(vars, found, i) {
			vars[i].Place, vars[i].Late = *p, false
		}
	}
	return anyLate(vars)
}

// origins is what is known of the values that a function was given; nil: nothing.
func (b *binary) origins(fn *debuginfo.Function) (o *code.Origins) {
	var err error
	defer objfile.Guard(&err)()
	var joins []int
	for i, r := range fn.Ranges {
		if r.Contains(fn.Entry) {
			text := b.obj.Bytes(fn.Entry, int(min(r.High-fn.Entry, code.MaxFunction)))
			for j, other := range fn.Ranges { // the parts that are executed rarely
				if j != i && other.High > other.Low {
					code.Targets(b.obj.Arch(), b.obj.Bytes(other.Low, int(min(other.High-other.Low, code.MaxFunction))),
						other.Low, func(t uint64) {
							if r.Contains(t) && t >= fn.Entry {
								joins = append(joins, int(t-fn.Entry))
							}
						})
				}
			}
			return code.ReadOrigins(b.obj.Arch(), text, joins)
		}
	}
	return nil
}

// alone tells whether no other parameter is where one was found, and each is behind those before it, as registers are
// given out: else a value may be another parameter's, which the function has assigned.
func (b *binary) alone(vars []debuginfo.Var, found []*types.Place, i int) bool {
	order := b.obj.Arch().C.Args
	number := func(reg int) int { return slices.Index(order, reg) }
	mine := registersOf(found[i])
	for j := range vars {
		p := &vars[j].Place
		if found[j] != nil {
			p = found[j]
		}
		if j == i || p.Kind == types.Unavailable && p.Vector == 0 {
			continue
		}
		if b.passedOnStack(p) && b.passedOnStack(found[i]) && p.Offset < found[i].Offset != (j < i) {
			return false
		}
		for _, other := range registersOf(p) {
			for _, reg := range mine {
				ordered := number(other) < 0 || number(reg) < 0 || number(other) < number(reg) == (j < i)
				if other < 0 && reg < 0 { // of vectors
					ordered = other > reg == (j < i)
				}
				if other == reg && reg != b.obj.Arch().SP || !ordered {
					return false
				}
			}
		}
	}
	return true
}

// passedOnStack tells a value, or its address, that is above the frame.
func (b *binary) passedOnStack(p *types.Place) bool {
	return p.Kind == types.InMemory && len(p.Ops) == 0 && p.Reg == b.obj.Arch().SP
}

// registersOf are the registers that a place is in, or that have its address.
func registersOf(p *types.Place) (list []int) {
	for _, piece := range p.Pieces {
		if p.Kind == types.InPieces {
			list = append(list, registersOf(&piece.Place)...)
		}
	}
	switch {
	case p.Kind == types.InRegister || p.Kind == types.InMemory && len(p.Ops) == 0:
		list = append(list, p.Reg)
	case p.Vector > 0:
		list = append(list, -p.Vector)
	}
	return list
}

// sourceFinder finds where the parts of a value were passed.
type sourceFinder struct {
	origins     *code.Origins
	at, reg, sp int
	off         int64
	found       []code.Passed
}

// pieces is the place of a value that is in several registers; nil: it is elsewhere as well.
func (f *sourceFinder) pieces(p *types.Place) *types.Place {
	whole := types.Place{Kind: types.InPieces}
	for _, piece := range p.Pieces {
		from, ok := f.origins.Register(f.at, piece.Place.Reg)
		switch {
		case piece.Place.Kind == types.Unavailable:
			piece.Place.Vector = 0 // there, and not where it was passed
		case piece.Place.Kind != types.InRegister || !ok || from.Stack || from.Masked || from.Size < piece.Size:
			return nil
		default:
			piece.Place.Reg = from.Reg
		}
		whole.Pieces = append(whole.Pieces, piece)
	}
	return &whole
}

// behind is the place of a value whose address was passed.
func (f *sourceFinder) behind(derefs []int64) *types.Place {
	list, ok := f.origins.Stored(f.at, code.Slot{Reg: f.reg, Off: f.off, Size: 8})
	if !ok || len(list) != 1 {
		return nil
	}
	return f.pointed(&list[0], derefs)
}

func (f *sourceFinder) pointed(from *code.Passed, derefs []int64) *types.Place {
	if from.Stack {
		return &types.Place{Kind: types.InMemory, Reg: f.sp, Offset: from.At, Derefs: derefs}
	}
	return &types.Place{Kind: types.InMemory, Reg: from.Reg, Offset: derefs[0], Derefs: derefs[1:]}
}

// of looks at the part of a value of type t at an offset; false: it was stored otherwise.
func (f *sourceFinder) of(t *types.Type, at, depth int) bool {
	t = t.Complete()
	switch {
	case t.Size == 0:
		return true
	case depth > maxNesting:
		return false
	case t.Kind == types.Struct && len(t.Fields) > 0 && (t.Source == nil || t.Source.Variants == nil):
		for i := range t.Fields {
			m := &t.Fields[i]
			if m.BitSize > 0 || !f.of(m.Type, at+m.Offset, depth+1) {
				return f.whole(t, at)
			}
		}
		return true
	}
	return f.whole(t, at)
}

// whole looks at a value at an offset.
func (f *sourceFinder) whole(t *types.Type, at int) bool {
	list, ok := f.origins.Stored(f.at, code.Slot{Reg: f.reg, Off: f.off + int64(at), Size: int64(t.Size)})
	if !ok || t.Kind != types.Bool && slices.ContainsFunc(list, func(s code.Passed) bool { return s.Masked }) {
		return false
	}
	if slices.ContainsFunc(f.found, func(s code.Passed) bool { return s.Off <= at && at+t.Size <= s.Off+s.Size }) {
		return true // it lies within another one, as a class without members does
	}
	// members of it
	f.found = slices.DeleteFunc(f.found, func(s code.Passed) bool { return s.Off >= at && s.Off < at+t.Size })
	for _, s := range list {
		s.Off += at
		f.found = append(f.found, s)
	}
	return true
}

// place makes one place of what was found.
func (f *sourceFinder) place(t *types.Type) types.Place {
	one := func(s *code.Passed) types.Place {
		if s.Stack {
			return types.Place{Kind: types.InMemory, Reg: f.sp, Offset: s.At}
		}
		return types.Place{Kind: types.InRegister, Reg: s.Reg}
	}
	if len(f.found) == 1 && f.found[0].Off == 0 && (t.IsScalar() || f.found[0].Stack && f.found[0].Size == t.Size) {
		return one(&f.found[0])
	}
	order.By(f.found, func(a, b code.Passed) int { return a.Off - b.Off }) // Rust has members in any order
	p, at := types.Place{Kind: types.InPieces}, 0
	gap := func(to int) {
		if to > at {
			p.Pieces = append(p.Pieces, types.Piece{Size: to - at, Place: types.Place{Kind: types.Constant}})
		}
	}
	for _, s := range f.found {
		gap(s.Off)
		p.Pieces = append(p.Pieces, types.Piece{Size: s.Size, Place: one(&s)})
		at = s.Off + s.Size
	}
	gap(t.Size)
	return p
}
