package match

import (
	"slices"
	"strings"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// Arguments of C and C++ at a function's entry. Debug information tells where they are as far as the function's own
// code needs them: of arguments that it doesn't use, or of which it uses a part, it says that they are optimized out.
// The calling convention tells where the caller has put them all the same, as long as it is certain that the compiler
// kept to it.

// byConvention gives the arguments at a function's entry the places of the calling convention, where debug information
// has none. late tells whether there are some still that are only there when the function has stored them.
func (b *binary) byConvention(info *debuginfo.Info, fn *debuginfo.Function, vars []debuginfo.Var) (late bool) {
	for i := range vars {
		if v := &vars[i]; promoted(fn, v) {
			v.Type, v.Place = &types.Type{Kind: types.Float, Name: "double", Size: 8, Align: 8}, types.Unknown(whyPromoted)
			v.Late = false
		}
	}
	places := b.conventional(info, fn, vars)
	if fn.Optimized && !gnu(fn) && !fn.Lang.OwnABI() && b.assigned(fn, vars, places) || b.disagree(vars, places) {
		places = nil
	}
	kept := places != nil && !fn.External // such a function has them only if LLVM keeps to the convention: see reshaped
	var uses *code.Origins
	for i := range vars {
		v := &vars[i]
		// LLVM lets callers in the same file pass anything for what the function doesn't use, be it a part of a structure
		// (its DeadArgumentElimination): there the convention proves nothing but of what the function is seen to use.
		if fn.Optimized && !gnu(fn) && !kept {
			if places != nil && places[i] != nil && incomplete(v) {
				if uses == nil {
					uses = b.origins(fn)
				}
				if uses != nil {
					b.usedParts(v, *places[i], uses)
				}
			}
			late = late || v.Late
			continue
		}
		if places != nil && places[i] != nil && (incomplete(v) || places[i].Kind != types.Unavailable) {
			v.Place, v.Late = *places[i], false
		}
		late = late || v.Late
	}
	return late
}

const whyPromoted = "the function has no prototype, and converts what callers pass as double"

// promoted tells an argument that callers pass as double: of a function that is defined as before C had prototypes.
func promoted(fn *debuginfo.Function, v *debuginfo.Var) bool {
	return fn.Lang == types.C && !fn.Prototyped && v.Type != nil && v.Type.Complete().Kind == types.Float &&
		v.Type.Complete().Size < 8
}

// usedParts gives a variable the place of the calling convention, as far as the function is seen to use what was passed
// there.
func (b *binary) usedParts(v *debuginfo.Var, place types.Place, uses *code.Origins) {
	size := v.Type.Complete().Size
	used := func(p *types.Place, size int) bool {
		switch {
		case p.Kind == types.InRegister:
			return uses.Uses(p.Reg)
		case p.Vector > 0:
			return uses.UsesVector(p.Vector - 1)
		case p.Kind == types.InMemory && len(p.Derefs)+len(p.Ops) == 0 && p.Reg == b.obj.Arch().SP:
			words := 0
			for ; words < size && uses.UsesStack(p.Offset+int64(words), int64(min(size-words, 8))); words += 8 {
				if v.Type.Complete().Kind == types.Float {
					return true
				}
			}
			// A structure is passed whole.
			return words >= size || v.Type.Complete().OfMembers() && size > 16 && uses.UsesStack(p.Offset, int64(size))
		case p.Kind == types.InMemory && len(p.Derefs)+len(p.Ops) == 0:
			return uses.Uses(p.Reg) && !v.Type.ByAddress()
		}
		return p.Kind == types.Constant
	}
	if place.Kind != types.InPieces {
		if used(&place, size) {
			v.Place, v.Late = place, false
		}
		return
	}
	whole := types.Place{Kind: types.InPieces}
	some, at := false, 0
	for _, piece := range place.Pieces {
		switch {
		case piece.Place.Kind == types.Unavailable && piece.Place.Vector == 0 || piece.Place.Kind == types.Constant:
		case used(&piece.Place, piece.Size):
			some = true
		default:
			piece.Place = v.Place.Slice(at, piece.Size)
		}
		whole.Pieces = append(whole.Pieces, piece)
		at += piece.Size
	}
	if some {
		v.Place, v.Late = whole, false
	}
}

// incomplete tells whether the place of a variable, or of a part of it, is not known.
func incomplete(v *debuginfo.Var) bool {
	if v.Type == nil {
		return false
	}
	_, missing := v.Place.Missing(v.Type.Extent())
	return missing
}

// disagree tells whether debug information tells other places than the calling convention: then it is another one.
func (b *binary) disagree(vars []debuginfo.Var, places []*types.Place) bool {
	for i := range places {
		if v := &vars[i]; places[i] != nil && (!v.Plain || b.onStack(v)) && contradicts(v.Place, *places[i]) {
			return true
		}
	}
	return false
}

// conventional are the places of arguments by the calling convention, whatever debug information tells; nil if it is
// not certain that the function follows it.
func (b *binary) conventional(info *debuginfo.Info, fn *debuginfo.Function, vars []debuginfo.Var) []*types.Place {
	if fn.Lang != types.C && fn.Lang != types.CPlusPlus || b.reshaped(fn) != "" {
		return nil
	}
	return b.inOrder(info, fn, vars)
}

// inOrder are the places of arguments by the calling convention of C and C++.
func (b *binary) inOrder(info *debuginfo.Info, fn *debuginfo.Function, vars []debuginfo.Var) []*types.Place {
	sig, err := info.Signature(fn)
	if err != nil {
		return nil
	}
	var result *types.Type
	if len(sig.Results) == 1 {
		result = sig.Results[0].Type
	}
	odd := func(v debuginfo.Var) bool { return oddBits(v.Type, 0) }
	if !gnu(fn) && (oddBits(result, 0) || slices.ContainsFunc(vars, odd)) {
		return nil
	}
	sym, _ := b.obj.Lookup(fn.Entry)
	var list []*types.Type
	var at []int
	for i := range vars {
		v := &vars[i]
		// GCC's own parameters of constructors and destructors: the first is never passed, the other, the table of virtual
		// tables, only to those for bases (C2, D2 of the Itanium C++ ABI, 5.1.4.3).
		switch {
		case v.Artificial && v.Name == "__in_chrg":
			continue
		case v.Artificial && v.Name == "__vtt_parm" && !structorOfBase(sym.Name):
			continue
		case v.Type == nil:
			return nil
		}
		list, at = append(list, v.Type), append(at, i)
	}
	// clang leaves unused parameters of classes that are passed by address out of what it tells of unoptimized code: those
	// behind them are a register further than a count of the listed ones says. The mangled name has all of them.
	if n, ok := objfile.ParamCount(fn.Linkage); ok && n != listed(vars) {
		return nil
	}
	found := b.obj.Arch().CPlaces(list, result)
	if found == nil {
		return nil
	}
	// clang before 18 put one half of an __int128 into the last register and the other one on the stack; what follows is
	// elsewhere then, too.
	if version, ok := clangVersion(fn.Producer); !gnu(fn) && (!ok || version < 18) {
		if j := slices.IndexFunc(found, func(p *types.Place) bool { return p != nil && p.Kind == types.InMemory }); j >= 0 {
			for ; j < len(found); j++ {
				if t := list[j].Complete(); t.Kind == types.Int && t.Size > 8 {
					clear(found[j:])
				}
			}
		}
	}
	places := make([]*types.Place, len(vars))
	for j, i := range at {
		if found[j] == nil {
			break
		}
		places[i] = found[j]
	}
	return places
}

const whyOddBits = "it has a number at an odd address: it is in memory, but in registers if that is a bit-field, " +
	"which clang does not tell"

// oddBits tells a small structure with a number at an address that is no multiple of its size. It is passed and
// returned in memory; but not if the number is a bit-field of all its bits, which clang describes in the same way. So
// it is with structures of bit-fields in packed ones, if they are not packed themselves.
func oddBits(t *types.Type, depth int) bool {
	if t = t.Complete(); t == nil || t.Size > 16 || depth > maxNesting {
		return false
	}
	if t.Kind == types.Array {
		return oddBits(t.Elem, depth+1)
	}
	return slices.ContainsFunc(t.Fields, func(f types.Field) bool {
		of := f.Type.Complete()
		odd := of != nil && (of.IsInteger() || hasBits(of)) && of.Align > 1 && f.Offset%of.Align != 0
		return f.BitSize == 0 && (odd || oddBits(of, depth+1))
	})
}

// hasBits tells a structure that has bit-fields.
func hasBits(t *types.Type) bool {
	for i := range t.Fields {
		if t.Fields[i].BitSize > 0 {
			return true
		}
	}
	return false
}

// listed is how many of the variables are parameters of the source.
func listed(vars []debuginfo.Var) (n int) {
	for i := range vars {
		if !vars[i].Artificial {
			n++
		}
	}
	return n
}

// structorOfBase tells the constructors and destructors of a class as a base.
func structorOfBase(name string) bool {
	return strings.Contains(name, "C2E") || strings.Contains(name, "D2E")
}

// reshaped tells why it is not certain that a function is called by its language's convention, "" if it is.
func (b *binary) reshaped(fn *debuginfo.Function) string {
	if why := b.foreign(fn); why != "" {
		return why
	}
	sym, ok := b.obj.Lookup(fn.Entry)
	switch {
	case fn.NoCall:
		return "the compiler changed how the function is called"
	case !ok:
		return "its symbol is not known"
	case variant(sym.Name):
		return "the compiler generated a variant of the function, with other parameters"
	case sym.Bind == objfile.Local && fn.Optimized && !gnu(fn) && !b.byAddress(fn):
		return "the compiler may have changed how a function is called that is local to its file"
	}
	return ""
}

func gnu(fn *debuginfo.Function) bool { return strings.HasPrefix(fn.Producer, "GNU") }

// variant tells functions that the compiler made of another one.
func variant(name string) bool {
	base, reshaped := objfile.Variant(name)
	return reshaped || strings.Contains(strings.TrimSuffix(base, ".localalias"), ".")
}

// contradicts tells whether two places of a value differ, as far as both are known.
func contradicts(a, b types.Place) bool {
	switch {
	case a.Kind == types.InPieces || b.Kind == types.InPieces:
		at := 0
		pieces := func(p types.Place) []types.Piece {
			if p.Kind == types.InPieces {
				return p.Pieces
			}
			return []types.Piece{{Size: 1 << 30, Place: p}}
		}
		x, y := pieces(a), pieces(b)
		for len(x) > 0 && len(y) > 0 {
			n := min(x[0].Size, y[0].Size)
			inMemory := x[0].Place.Kind == types.InMemory || y[0].Place.Kind == types.InMemory
			if !inMemory && x[0].Size == y[0].Size && contradicts(x[0].Place, y[0].Place) {
				return true
			}
			at += n
			x, y = rest(x, n), rest(y, n)
		}
		return false
	case a.Vector > 0 || b.Vector > 0:
		return a.Vector != b.Vector && (a.Vector > 0 || a.Kind != types.Unavailable) &&
			(b.Vector > 0 || b.Kind != types.Unavailable)
	case a.Kind == types.InRegister && b.Kind == types.InRegister:
		return a.Reg != b.Reg
	case a.Kind == types.InMemory && b.Kind == types.InMemory:
		return len(a.Ops) == 0 && (a.Reg != b.Reg || a.Offset != b.Offset || !slices.Equal(a.Derefs, b.Derefs))
	case a.Kind == types.InRegister && b.Kind == types.InMemory, a.Kind == types.InMemory && b.Kind == types.InRegister:
		return true
	}
	return false
}

// rest are the pieces behind n bytes.
func rest(p []types.Piece, n int) []types.Piece {
	if p[0].Size == n {
		return p[1:]
	}
	p = slices.Clone(p)
	p[0].Size -= n
	p[0].Place = types.Place{} // a part of one
	return p
}
