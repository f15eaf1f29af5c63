package check

import "trocar/internal/binary/types"

// Rules about pairs of types, the same as bpftrace's (its types.cpp, 0.27): when two types are the same, when one can
// stand for the other, and the smallest type that holds both.

// ty is a type while it is inferred. The zero value means "not known yet".
type ty struct {
	t *types.Type
	// space is where the value came from, for values that are no pointers (pointers carry it in their type): an integer
	// read in a user-space probe, cast to a pointer, points to user space. AnySpace: not known.
	space types.Space
	clock types.Clock // of timestamps
}

func known(t *types.Type) ty                     { return ty{t: t, space: types.AnySpace} }
func in(t *types.Type, s types.Space) ty         { return ty{t: t}.at(s) }
func pointer(elem *types.Type, s types.Space) ty { return known(types.PointerTo(elem, s)) }

// flexible are the types of literals that are not negative. They are signed by default but take the sign of whatever
// they meet. They are types of their own, so that they can be elements of tuples; final makes ordinary ones of them.
var flexible = [...]*types.Type{
	{Kind: types.Int, Name: "int8", Size: 1, Align: 1, Signed: true},
	{Kind: types.Int, Name: "int16", Size: 2, Align: 2, Signed: true},
	{Kind: types.Int, Name: "int32", Size: 4, Align: 4, Signed: true},
	{Kind: types.Int, Name: "int64", Size: 8, Align: 8, Signed: true},
}

func isFlexible(t *types.Type) bool {
	return t == flexible[0] || t == flexible[1] || t == flexible[2] || t == flexible[3]
}

func flexibleOf(size int) *types.Type {
	switch size {
	case 1:
		return flexible[0]
	case 2:
		return flexible[1]
	case 4:
		return flexible[2]
	}
	return flexible[3]
}

func (x ty) flex() bool { return isFlexible(x.t) }
func (x ty) none() bool { return x.t == nil }

// is tells whether the type is of one of the kinds.
func (x ty) is(kinds ...types.Kind) bool {
	if x.t == nil {
		return false
	}
	for _, k := range kinds {
		if x.t.Kind == k {
			return true
		}
	}
	return false
}

func (x ty) isInt() bool  { return isInt(x.t) }
func (x ty) isBool() bool { return x.is(types.Bool) }
func (x ty) isPtr() bool  { return x.is(types.Pointer) }
func (x ty) isStr() bool  { return x.is(types.String) }
func (x ty) castable() bool {
	return x.t != nil && x.t.IsCastableAgg()
}
func (x ty) signed() bool { return x.t != nil && x.t.Signed }

// in returns where the value points to or came from.
func (x ty) where() types.Space {
	if x.isPtr() {
		return x.t.Space
	}
	return x.space
}

// at returns the type with another address space.
func (x ty) at(s types.Space) ty {
	x.space = s
	if x.isPtr() && x.t.Space != s {
		x.t = types.PointerTo(x.t.Elem, s)
	}
	return x
}

// isInt tells whether a type is an integer in bpftrace's sense: enums are, bool is not.
func isInt(t *types.Type) bool { return t != nil && (t.Kind == types.Int || t.Kind == types.Enum) }

// needsPerCPU tells whether values of the type are kept per CPU: the aggregations.
func needsPerCPU(t *types.Type) bool { return t != nil && t.IsAgg() }

// multiKey tells whether a value is spread over several buckets and so has no value of its own.
func multiKey(t *types.Type) bool {
	return t != nil && (t.Kind == types.Hist || t.Kind == types.LHist || t.Kind == types.TSeries || t.Kind == types.Times)
}

// same compares types; address spaces don't count.
func same(a, b *types.Type) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.Kind != b.Kind {
		return untyped(a) && untyped(b)
	}
	switch a.Kind {
	case types.Struct, types.Union:
		if a.Name == "" && b.Name == "" {
			return false // unnamed types are the same only if they are one
		}
		// Of one that is not complete the size may not be known.
		return a.Name == b.Name && (a.Size == b.Size || a.Incomplete || b.Incomplete)
	case types.Enum:
		return a.Name == b.Name && a.Size == b.Size
	case types.Pointer:
		return same(a.Elem, b.Elem)
	case types.Array:
		return a.Len == b.Len && same(a.Elem, b.Elem)
	case types.Tuple, types.Record:
		if len(a.Fields) != len(b.Fields) {
			return false
		}
		for i, f := range a.Fields {
			if f.Name != b.Fields[i].Name || !same(f.Type, b.Fields[i].Type) {
				return false
			}
		}
		return true
	case types.UStack, types.KStack:
		return a.Mode == b.Mode && a.Depth == b.Depth
	case types.Hist, types.LHist, types.TSeries, types.Times:
		return true // their parameters are compared apart, see aggParams
	}
	return a.Size == b.Size && a.Signed == b.Signed
}

// untyped tells whether nothing can be read there: a pointer to a function is a void pointer to scripts.
func untyped(t *types.Type) bool { return t != nil && (t.Kind == types.Void || t.Kind == types.Func) }

// compatible tells whether values of both types may live in one variable after promotion.
func compatible(a, b *types.Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	if isInt(a) && isInt(b) {
		return true
	}
	if a.Kind != b.Kind {
		return untyped(a) && untyped(b)
	}
	switch a.Kind {
	case types.Struct, types.Union:
		return a == b || a.Name != "" && a.Name == b.Name
	case types.Pointer:
		return compatible(a.Elem, b.Elem)
	case types.Tuple:
		if len(a.Fields) != len(b.Fields) {
			return false
		}
		for i := range a.Fields {
			if !compatible(a.Fields[i].Type, b.Fields[i].Type) {
				return false
			}
		}
	case types.UStack, types.KStack:
		return a.Mode == b.Mode && a.Depth == b.Depth
	case types.Record:
		if len(a.Fields) != len(b.Fields) {
			return false
		}
		for _, f := range a.Fields {
			g, ok := b.Field(f.Name)
			if !ok || !compatible(f.Type, g.Type) {
				return false
			}
		}
	case types.Array:
		return same(a.Elem, b.Elem) && (a.Size == 0 || b.Size == 0 || a.Size == b.Size)
	}
	return true
}

// fits tells whether every value of a can be held by b.
func fits(a ty, b *types.Type) bool {
	if !compatible(a.t, b) {
		return false
	}
	switch {
	case a.isStr():
		return a.t.Size <= b.Size
	case a.isInt():
		if a.signed() == b.Signed || a.flex() {
			return a.t.Size <= b.Size
		}
		return !a.signed() && a.t.Size < b.Size
	case a.is(types.Tuple):
		for i, f := range a.t.Fields {
			if !fits(known(f.Type), b.Fields[i].Type) {
				return false
			}
		}
		return true
	case a.is(types.Record):
		for _, f := range a.t.Fields {
			if g, ok := b.Field(f.Name); !ok || !fits(known(f.Type), g.Type) {
				return false
			}
		}
		return true
	}
	return same(a.t, b)
}

// promoteInt is the smallest integer type for both; where signs differ and nothing holds both it is int64.
func promoteInt(cur, next ty) ty {
	size := max(intSize(cur.t), intSize(next.t))
	var res ty
	switch {
	case cur.is(types.Enum) && next.is(types.Enum) && cur.t.Name != "" && cur.t.Name == next.t.Name && cur.signed() ==
		next.signed():
		res.t = cur.t // an enum and one of its values, which is wider
		if next.t.Size > cur.t.Size {
			res.t = next.t
		}
	case cur.signed() == next.signed():
		res.t = types.IntOf(size, cur.signed())
		if cur.flex() && next.flex() {
			res.t = flexibleOf(size)
		}
	case cur.flex() || next.flex():
		res.t = types.IntOf(size, !cur.flex() && cur.signed() || !next.flex() && next.signed())
	case cur.signed() && intSize(cur.t) > intSize(next.t), next.signed() && intSize(next.t) > intSize(cur.t):
		res.t = types.IntOf(size, true)
	default:
		res.t = types.IntOf(min(2*size, 8), true)
	}
	return res.at(joinSpace(cur.where(), next.where()))
}

// intSize is the size of an integer; that of an aggregation is that of its result.
func intSize(t *types.Type) int {
	if t.IsAgg() {
		return 8
	}
	return t.Size
}

// aggInt is the integer type an aggregation is read as.
func aggInt(t *types.Type) *types.Type { return types.IntOf(8, t.Signed) }

// mixed is the space of what points to user memory here and to kernel memory there. Only inference knows it: in the
// typed tree it is AnySpace, which in inference means "not known yet" (inference only ever goes up: unknown, known,
// mixed).
const mixed types.Space = 255

// joinSpace combines where two values came from.
func joinSpace(a, b types.Space) types.Space {
	switch {
	case a == b, b == types.AnySpace:
		return a
	case a == types.AnySpace:
		return b
	case a != types.User && b != types.User && a != mixed && b != mixed:
		return types.Kernel // our own memory is kernel memory
	}
	return mixed
}

// promote is the smallest type for values of both; ok is false if there is none.
func promote(cur, next ty) (res ty, ok bool) {
	if cur.none() {
		if next.castable() {
			return known(aggInt(next.t)), true
		}
		return next, true
	}
	if next.none() {
		return cur, true
	}
	if same(cur.t, next.t) {
		res = next.at(joinSpace(cur.where(), next.where()))
		if next.is(types.Tuple, types.Record, types.Pointer, types.Array) {
			res.t = joinSpaces(cur.t, next.t)
		}
		return res, true
	}
	if !compatible(cur.t, next.t) {
		a, b := cur.number(), next.number()
		if a.isInt() && b.isInt() || a.isInt() && b.castable() || a.castable() && b.isInt() {
			return promoteInt(a, b), true
		}
		return ty{}, false
	}
	return promoteElem(cur, next)
}

// number is uint8 for a bool of the traced program: that is what bpftrace has for it, so it goes where numbers go. By
// itself it is shown as true or false.
func (x ty) number() ty {
	if x.isBool() && x.t != types.TBool {
		x.t = types.TUint8
	}
	return x
}

// word is the integer for two values of which debug information says that one is a pointer, or that both are, to
// different things: in bpftrace arg0 and retval are integers, whatever is known of them.
func word(cur, next ty) (res ty, ok bool) {
	switch {
	case cur.is(types.Tuple) && next.is(types.Tuple) && len(cur.t.Fields) == len(next.t.Fields):
		elems := make([]*types.Type, len(cur.t.Fields))
		for i, f := range cur.t.Fields {
			a, b := known(f.Type), known(next.t.Fields[i].Type)
			p, ok := promote(a, b)
			if !ok {
				p, ok = word(a, b)
			}
			if !ok {
				return ty{}, false
			}
			elems[i] = p.t
		}
		return known(types.TupleOf(elems...)), true
	case cur.isPtr() && next.isPtr():
	case cur.isPtr() && isWord(next):
		return known(types.IntOf(8, next.signed() && !next.flex())), true
	case next.isPtr() && isWord(cur):
		return known(types.IntOf(8, cur.signed() && !cur.flex())), true
	default:
		return ty{}, false
	}
	return known(types.IntOf(8, false)), true
}

// isWord tells an integer that may hold an address.
func isWord(t ty) bool { return t.isInt() && (t.t.Size == 8 || t.flex()) }

func promoteElem(cur, next ty) (ty, bool) {
	switch {
	case cur.isInt():
		if same(cur.t, next.t) {
			return cur, true
		}
		return promoteInt(cur, next), true
	case cur.castable():
		if cur.signed() != next.signed() && next.signed() {
			return next, true
		}
		return cur, true
	case cur.is(types.Tuple):
		elems := make([]*types.Type, len(cur.t.Fields))
		for i, f := range cur.t.Fields {
			p, ok := promoteElem(known(f.Type), known(next.t.Fields[i].Type))
			if !ok {
				return ty{}, false
			}
			elems[i] = p.t
		}
		return known(types.TupleOf(elems...)), true
	case cur.is(types.Record):
		names, elems := make([]string, len(cur.t.Fields)), make([]*types.Type, len(cur.t.Fields))
		for i, f := range cur.t.Fields {
			g, ok := next.t.Field(f.Name)
			if !ok {
				return ty{}, false
			}
			p, ok := promoteElem(known(f.Type), known(g.Type))
			if !ok {
				return ty{}, false
			}
			names[i], elems[i] = f.Name, p.t
		}
		return known(types.RecordOf(names, elems)), true
	case cur.isStr(), cur.is(types.Buffer):
		if next.t.Size > cur.t.Size {
			return known(next.t).at(cur.space), true
		}
		return cur, true
	case cur.isPtr():
		p, ok := promoteElem(known(cur.t.Elem), known(next.t.Elem))
		if !ok {
			return ty{}, false
		}
		return pointer(p.t, joinSpace(cur.t.Space, next.t.Space)), true
	}
	return cur, true
}

// joinSpaces combines the address spaces of pointers inside two equal types.
func joinSpaces(a, b *types.Type) *types.Type {
	if a == b || a == nil || b == nil {
		return a
	}
	switch a.Kind {
	case types.Pointer:
		s := joinSpace(a.Space, b.Space)
		if s == a.Space {
			return a
		}
		return types.PointerTo(a.Elem, s)
	case types.Tuple, types.Record:
		var changed *types.Type
		for i := range a.Fields {
			f := joinSpaces(a.Fields[i].Type, b.Fields[i].Type)
			if f == a.Fields[i].Type {
				continue
			}
			if changed == nil {
				c := *a
				c.Fields = append([]types.Field(nil), a.Fields...)
				changed = &c
			}
			changed.Fields[i].Type = f
		}
		if changed != nil {
			return changed
		}
	}
	return a
}

// literalType is the type of an integer literal: the smallest signed one, or uint64 beyond int64.
func literalType(v uint64, negative bool) ty {
	if negative {
		n := int64(v)
		switch {
		case n == int64(int8(n)):
			return known(types.TInt8)
		case n == int64(int16(n)):
			return known(types.TInt16)
		case n == int64(int32(n)):
			return known(types.TInt32)
		}
		return known(types.TInt64)
	}
	switch {
	case v <= 1<<7-1:
		return known(flexible[0])
	case v <= 1<<15-1:
		return known(flexible[1])
	case v <= 1<<31-1:
		return known(flexible[2])
	case v <= 1<<63-1:
		return known(flexible[3])
	}
	return known(types.TUint64)
}

// literalFits tells whether a literal can be held by an integer type.
func literalFits(v uint64, negative bool, t *types.Type) bool {
	bits := uint(8 * t.Size)
	switch {
	case negative && !t.Signed:
		return false
	case bits >= 64:
		return negative || !t.Signed || v <= 1<<63-1
	case negative:
		return int64(v) >= -1<<(bits-1)
	case t.Signed:
		return v <= 1<<(bits-1)-1
	}
	return v <= 1<<bits-1
}
