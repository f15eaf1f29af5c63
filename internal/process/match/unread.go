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
	asked, known, some := false, false, false
	var calls []uint64
	for i := range vars {
		v := &vars[i]
		if given[i] == (code.Given{}) || v.Place.Kind == types.Unavailable {
			continue
		}
		use, ok := b.objectUse(fn, given[i])
		if !ok {
			continue
		}
		var s shown
		s.add(v.Type, 0, 0)
		rest, sure := s.unused(use)
		if sure && len(rest) == 0 {
			continue
		}
		if !asked {
			calls, known, some = b.callers(info, fn)
			asked = true
		}
		if !some {
			continue
		}
		o := code.Object{Given: given[i], Size: v.Type.Complete().Size}
		o.Kept = func(off int) bool { return use.Reads(off, 1) }
		o.Needed = func(off int) bool {
			return slices.ContainsFunc(rest, func(p [2]int) bool { return p[0] <= off && off < p[0]+p[1] }) && !o.Kept(off)
		}
		if !known || !sure || !use.ReadsAny() || !b.filled(info, calls, o) {
			v.Place = membersRead(v.Type, v.Place, use)
		}
	}
}

// givenObjects are the parameters at a function's entry which are objects that callers pass the address of.
func (b *binary) givenObjects(fn *debuginfo.Function, vars []debuginfo.Var) []code.Given {
	list := make([]code.Given, len(vars))
	arch := b.obj.Arch()
	if !fn.Optimized || !gnu(fn) || strings.Contains(fn.Producer, "-fno-ipa-modref") {
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
	return code.ReadObject(b.obj.Arch(), b.obj.Bytes(entry, int(size)), given, b.calleeUse(entry, depth))
}

// calleeUse tells what functions that the code at an address calls do with an object.
func (b *binary) calleeUse(from uint64, depth int) code.Callee {
	return func(at int64, direct bool, reg int, moved bool) *code.ObjectUse {
		to := from + uint64(at)
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
	}
}

// shown is what is looked at to show a value of a type.
type shown struct {
	parts   [][2]int // offsets and sizes
	follows []int    // offsets of addresses behind which more is read
	unclear bool     // not all of it is known
}

// add adds what is looked at of a value at an offset.
func (s *shown) add(t *types.Type, off, depth int) {
	t = t.Complete()
	if depth > maxNesting || t.Incomplete || s.unclear || len(s.parts) > maxShown {
		s.unclear = true
		return
	}
	part := func(at, size int) { s.parts = append(s.parts, [2]int{off + at, size}) }
	text, isText := t.Text()
	list, isList := t.List()
	switch {
	case t.Size == 0:
	case isText:
		part(text.Data, 8)
		if !text.Before {
			part(text.Len, text.LenSize)
		}
		s.follows = append(s.follows, off+text.Data)
	case isList:
		part(list.Data, 8)
		part(list.Len, list.LenSize)
		if list.Bits && list.End {
			part(list.Tail, 4)
		}
		s.follows = append(s.follows, off+list.Data)
	case t.Alternatives() != nil:
		v := t.Alternatives()
		if v.Discr.Type != nil {
			part(v.Discr.Offset, v.Discr.Type.Complete().Size)
		}
		for i := range v.List {
			if one := &v.List[i]; one.Type != nil {
				s.add(one.Type, off+one.Offset, depth+1)
			}
		}
	case t.Kind == types.Struct && len(t.Source.VBases) == 0:
		for i := range t.Fields {
			f := &t.Fields[i]
			if strings.HasPrefix(f.Name, "_vptr") {
				continue // not shown
			}
			if f.Type == nil || f.BitSize > 0 {
				s.unclear = true
				return
			}
			s.add(f.Type, off+f.Offset, depth+1)
		}
	case t.Kind == types.Float && t.Size == 16 && !t.IsQuad():
		part(0, 10) // the rest is never looked at
	case t.Kind == types.Array && t.Elem != nil && t.Elem.Complete().Size > 0:
		for at := 0; at < t.Size; at += t.Elem.Complete().Size {
			s.add(t.Elem, off+at, depth+1)
		}
	default:
		part(0, t.Size)
	}
}

// maxShown bounds the parts of a value.
const maxShown = 512

// unused are the parts that a function is not seen to use; false: something else is not known of it.
func (s *shown) unused(use *code.ObjectUse) (parts [][2]int, known bool) {
	for _, at := range s.follows {
		if !use.Follows(at) {
			return nil, false
		}
	}
	for _, p := range s.parts {
		if !use.Reads(p[0], p[1]) {
			parts = append(parts, p)
		}
	}
	return parts, !s.unclear
}

// membersRead is the place of an object as far as a function is seen to use all of a member.
func membersRead(t *types.Type, p types.Place, use *code.ObjectUse) types.Place {
	out, at, some := types.Place{Kind: types.InPieces}, 0, false
	piece := func(to int, place types.Place) {
		if to > at {
			out.Pieces = append(out.Pieces, types.Piece{Size: to - at, Place: place})
			at = to
		}
	}
	for _, m := range membersOf(t, 0, 0, nil) {
		var s shown
		s.add(m.Type, m.Offset, 0)
		if rest, known := s.unused(use); !known || len(rest) > 0 || m.Offset < at {
			continue
		}
		piece(m.Offset, types.Unknown(whyUnread))
		piece(m.Offset+m.Type.Complete().Size, p.Slice(m.Offset, m.Type.Complete().Size))
		some = true
	}
	if !some {
		return types.Unknown(whyUnread)
	}
	piece(t.Complete().Size, types.Unknown(whyUnread))
	return out
}

// membersOf are the members of a structure, and of those that are structures themselves, by where they begin.
func membersOf(t *types.Type, at, depth int, list []types.Field) []types.Field {
	if t = t.Complete(); !t.OfMembers() || depth > maxNesting {
		return append(list, types.Field{Type: t, Offset: at})
	}
	for i := range t.Fields {
		if f := &t.Fields[i]; f.BitSize == 0 && len(list) < maxShown {
			list = membersOf(f.Type, at+f.Offset, depth+1, list)
		}
	}
	return list
}

// callers are the calls of a function in code that GCC compiled together with it. known: these are all; more: there are
// some.
func (b *binary) callers(info *debuginfo.Info, fn *debuginfo.Function) (calls []uint64, known, more bool) {
	var err error
	defer objfile.Guard(&err)()
	sym, ok := b.obj.Lookup(fn.Entry)
	if !ok || sym.Bind == objfile.Weak || strings.Contains(fn.Producer, "-flto") ||
		strings.Contains(fn.Producer, "-fwhole-program") {
		return nil, false, true // each file that uses it may have had its own
	}
	ranges, err := info.UnitRanges(fn)
	if err != nil || len(ranges) == 0 {
		return nil, false, true
	}
	all := 0
	for _, r := range ranges {
		text := b.obj.Bytes(r.Low, int(min(r.High-r.Low, code.MaxFunction)))
		code.FarTargets(text, r.Low, fn.Entry, fn.Entry, func(uint64) { all++ })
		code.CallsTo(b.obj.Arch(), text, r.Low, fn.Entry, func(at uint64) { calls = append(calls, at) })
	}
	return calls, len(calls) == all && all <= maxCallers, all > 0 // others go there with a jump
}

// filled tells whether all callers are seen to store the parts of an object that a function does not use.
func (b *binary) filled(info *debuginfo.Info, calls []uint64, o code.Object) bool {
	for _, at := range calls {
		caller, err := info.FunctionAt(at)
		if err != nil {
			return false
		}
		i := slices.IndexFunc(caller.Ranges, func(r debuginfo.Range) bool { return r.Contains(caller.Entry) })
		if i < 0 || !caller.Ranges[i].Contains(at) || !b.fills(caller.Ranges[i], at, o) {
			return false
		}
	}
	return true
}

func (b *binary) fills(r debuginfo.Range, at uint64, o code.Object) (yes bool) {
	var err error
	defer objfile.Guard(&err)()
	text := b.obj.Bytes(r.Low, int(min(r.High-r.Low, code.MaxFunction)))
	return code.Filled(b.obj.Arch(), text, int(at-r.Low), o, b.calleeUse(r.Low, 0))
}
