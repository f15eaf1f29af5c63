package match

import (
	"slices"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// Linkers and compilers make one of functions that have the same instructions (identical code folding: --icf of lld and
// gold, GCC's -fipa-icf). Calls of all of them then arrive at the code of one, and which of them the source calls is
// not to be seen any more.

// whyFolded is the reason for a value that has another type in a function which has the same code.
const whyFolded = "the code is that of several functions, in which it has different types: "

// folded finds the functions that share the code of fn, by their symbols. Names alone may be others of the same
// function: the debug information has to have another one by it.
func folded(obj *objfile.File, info *debuginfo.Info, fn *debuginfo.Function) (others []*debuginfo.Function) {
	names := obj.NamesAt(fn.Entry)
	if len(names) < 2 || info == nil || fn.Lang.OwnABI() || fn.Lang == types.Assembler { // its labels are no functions
		return nil
	}
	known := []*debuginfo.Function{fn}
	for _, name := range names {
		if slices.ContainsFunc(known, func(k *debuginfo.Function) bool { return k.Is(name) || sameStructor(k, name) }) {
			continue
		}
		list, err := namedWith(obj, info, fn, name)
		if err != nil {
			continue
		}
		for _, other := range list {
			same := slices.ContainsFunc(known, func(k *debuginfo.Function) bool {
				return k.Qualified == other.Qualified && k.File == other.File && k.Line == other.Line
			})
			if !same && (other.Entry == 0 || other.Entry == fn.Entry) {
				known = append(known, other)
				break
			}
		}
	}
	return known[1:]
}

// namedWith are the functions of a name that may have the code of fn. Where only the compiler of its unit can have made
// one of them, no other unit is looked through, which takes longest of all.
func namedWith(obj *objfile.File, info *debuginfo.Info, fn *debuginfo.Function, name string,
) (list []*debuginfo.Function, err error) {
	if obj.LinkedApart() && strings.HasPrefix(fn.Producer, "GNU C") && !strings.Contains(fn.Producer, "-flto") {
		return info.NamedBeside(fn, name)
	}
	if list, err = info.FunctionsNamed(name); err != nil {
		return nil, err
	}
	if gone, err := info.GoneNamed(name, obj.SharedNames); err == nil {
		list = append(list, gone)
	}
	return list, nil
}

// sameStructor tells whether a name is that of another body of a constructor or destructor (Itanium C++ ABI, 5.1.4.3).
func sameStructor(fn *debuginfo.Function, name string) bool {
	one := strings.NewReplacer("C1E", "C2E", "C4E", "C2E", "D0E", "D2E", "D1E", "D2E", "D4E", "D2E")
	return fn.Linkage != "" && one.Replace(fn.Linkage) == one.Replace(name)
}

// Folded are the functions that share the code of the point's.
func (k *Known) Folded() []*debuginfo.Function {
	if k.Func == nil || k.File == nil {
		return nil
	}
	return folded(k.File, k.Info, k.Func)
}

// unfold takes the places of parameters away that have another type in a function which shares the code.
func (b *binary) unfold(info *debuginfo.Info, fn *debuginfo.Function, vars []debuginfo.Var) {
	for _, other := range folded(b.obj, info, fn) {
		sig, err := info.Signature(other)
		own, err2 := info.Signature(fn)
		if err != nil || err2 != nil {
			continue
		}
		different := false
		for i, p := range own.Params {
			// What is behind one of another type may be elsewhere.
			different = different || i >= len(sig.Params) || !sameType(p.Type, sig.Params[i].Type)
			if different && i < len(vars) && vars[i].Name == p.Name {
				vars[i].Place, vars[i].Late = types.Unknown("%s%s", whyFolded, bothNames(fn, other)), false
			}
		}
	}
}

// unfoldResult tells why a result is not known, "" if all functions that share the code return the same type.
func (b *binary) unfoldResult(info *debuginfo.Info, fn *debuginfo.Function, t *types.Type) string {
	for _, other := range folded(b.obj, info, fn) {
		if sig, err := info.Signature(other); err == nil && (len(sig.Results) != 1 || !sameType(sig.Results[0].Type, t)) {
			return whyFolded + bothNames(fn, other)
		}
	}
	return ""
}

func bothNames(a, b *debuginfo.Function) string { return a.Qualified + ", " + b.Qualified }

func sameType(a, b *types.Type) bool { return a != nil && b != nil && a.String() == b.String() }
