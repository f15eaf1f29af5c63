package match

import (
	"slices"
	"strings"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// GCC knows what functions that it compiles do not read behind the addresses that they are given (ipa-modref). Callers
// in the same file, or with -flto anywhere, leave out stores that only such a function could see: a class that is
// passed by address has members that nobody has set. So the function has to read them, or nobody may know that it does
// not.

// whyUnread is the reason for a parameter of which a function does not use all.
const whyUnread = "the function is not seen to use all of it, and its callers may leave out the rest"

// maxCallees bounds how deep calls are followed that pass an object on.
const maxCallees = 3

// unread takes the places of parameters away that callers may not have stored.
func (b *binary) unread(info *debuginfo.Info, fn *debuginfo.Function, vars []debuginfo.Var, given []code.Given) {
	known, whole := false, false
	for i := range vars {
		v := &vars[i]
		if given[i] == (code.Given{}) || v.Place.Kind == types.Unavailable {
			continue
		}
		use, ok := b.objectUse(fn, given[i])
		if !ok || usesAll(use, v.Type, 0, 0) {
			continue
		}
		if !known {
			known, whole = true, b.callersKnow(info, fn)
		}
		if whole {
			v.Place = types.Unknown(whyUnread)
		}
	}
}

// givenObjects are the parameters at a function's entry which are objects that callers pass the address of.
func (b *binary) givenObjects(fn *debuginfo.Function, vars []debuginfo.Var) []code.Given {
	list := make([]code.Given, len(vars))
	arch := b.obj.Arch()
	if !fn.Optimized || !gnu(fn) {
		return list
	}
	for i := range vars {
		v := &vars[i]
		p := &v.Place
		if v.Type == nil || p.Kind != types.InMemory || len(p.Ops) > 0 || !v.Type.ByAddress() {
			continue
		}
		switch {
		case len(p.Derefs) == 0 && p.Reg != arch.SP && p.Offset == 0:
			list[i] = code.Given{Reg: p.Reg}
		case len(p.Derefs) == 1 && p.Derefs[0] == 0 && p.Reg == arch.SP && p.Offset > 0:
			list[i] = code.Given{Stack: true, Off: p.Offset}
		}
	}
	return list
}

// objectUse is what a function is seen to do with an object that it is given.
func (b *binary) objectUse(fn *debuginfo.Function, given code.Given) (use *code.ObjectUse, ok bool) {
	var err error
	defer objfile.Guard(&err)()
	return b.useAt(fn.Entry, given, 0)
}

func (b *binary) useAt(entry uint64, given code.Given, depth int) (*code.ObjectUse, bool) {
	size := min(b.obj.CodeSize(entry), code.MaxFunction)
	if size == 0 {
		return nil, false
	}
	return code.ReadObject(b.obj.Arch(), b.obj.Bytes(entry, int(size)), given,
		func(at int64, direct bool, reg int, moved bool) *code.ObjectUse {
			to := entry + uint64(at)
			if sym, ok := b.obj.Lookup(to); direct && ok && sym.Addr == to {
				if depth < maxCallees {
					use, _ := b.useAt(to, code.Given{Reg: reg}, depth+1)
					return use
				}
				return nil
			}
			// What is elsewhere is not known to GCC either.
			if moved {
				return code.AllOfIt()
			}
			return nil
		})
}

// usesAll tells whether all of a value that is shown is used.
func usesAll(use *code.ObjectUse, t *types.Type, off, depth int) bool {
	t = t.Complete()
	if depth > maxNesting || t.Incomplete {
		return false
	}
	text, isText := t.Text()
	list, isList := t.List()
	switch {
	case t.Size == 0:
		return true
	case isText:
		return use.Reads(off+text.Data, 8) && use.Follows(off+text.Data) &&
			(text.Before || use.Reads(off+text.Len, text.LenSize))
	case isList:
		return use.Reads(off+list.Data, 8) && use.Reads(off+list.Len, list.LenSize) && use.Follows(off+list.Data) &&
			(!list.Bits || !list.End || use.Reads(off+list.Tail, 4))
	case t.Alternatives() != nil:
		v := t.Alternatives()
		if v.Discr.Type != nil && !use.Reads(off+v.Discr.Offset, v.Discr.Type.Complete().Size) {
			return false
		}
		return !slices.ContainsFunc(v.List, func(one types.Variant) bool {
			return one.Type != nil && !usesAll(use, one.Type, off+one.Offset, depth+1)
		})
	case t.Kind == types.Struct && len(t.Fields) > 0 && len(t.Source.VBases) == 0:
		return !slices.ContainsFunc(t.Fields, func(f types.Field) bool {
			return f.Type == nil || f.BitSize > 0 || !usesAll(use, f.Type, off+f.Offset, depth+1)
		})
	case t.Kind == types.Struct && len(t.Fields) == 0:
		return true
	case t.Kind == types.Float && t.Size == 16 && !t.IsQuad():
		return use.Reads(off, 10) // the rest is never looked at
	case t.Kind == types.Array && t.Elem != nil && t.Elem.Complete().Size > 0:
		for at := 0; at < t.Size; at += t.Elem.Complete().Size {
			if !usesAll(use, t.Elem, off+at, depth+1) {
				return false
			}
		}
		return true
	}
	return use.Reads(off, t.Size)
}

// callersKnow tells whether code may call a function that GCC compiled together with it.
func (b *binary) callersKnow(info *debuginfo.Info, fn *debuginfo.Function) (yes bool) {
	var err error
	defer objfile.Guard(&err)()
	sym, ok := b.obj.Lookup(fn.Entry)
	if !ok || sym.Bind == objfile.Weak || strings.Contains(fn.Producer, "-flto") ||
		strings.Contains(fn.Producer, "-fwhole-program") {
		return true // each file that uses it may have had its own
	}
	ranges, err := info.UnitRanges(fn)
	if err != nil || len(ranges) == 0 {
		return true
	}
	for _, r := range ranges {
		text := b.obj.Bytes(r.Low, int(min(r.High-r.Low, code.MaxFunction)))
		code.FarTargets(text, r.Low, fn.Entry, fn.Entry, func(uint64) { yes = true })
	}
	return yes
}
