package types

// RegClass is the class of an eightbyte by the System V ABI for amd64 (3.2.3).
type RegClass uint8

// Classes. The others of the ABI (x87, complex) are InMemoryClass here: such values are not in registers we can read.
const (
	NoClass RegClass = iota
	IntegerClass
	SSEClass
	InMemoryClass
)

// Classify gives the classes of the one or two eightbytes of a value that is passed or returned by the System V ABI;
// nil: in memory.
func (t *Type) Classify() []RegClass {
	if t == nil || t.Size == 0 || t.Size > 16 {
		return nil
	}
	classes := make([]RegClass, (t.Size+7)/8)
	if !t.classify(0, classes, 0) {
		return nil
	}
	for i := range classes {
		if classes[i] == NoClass {
			classes[i] = SSEClass // padding only
		}
	}
	return classes
}

// classify merges the classes of t at an offset; false: in memory.
func (t *Type) classify(off int, classes []RegClass, depth int) bool {
	t = t.Complete()
	if depth > 16 || t.Incomplete {
		return false
	}
	set := func(c RegClass) bool {
		if t.Align > 1 && off%t.Align != 0 {
			return false // unaligned members go to memory
		}
		for at := off; at < off+t.Size; at += 8 {
			i := at / 8
			if i >= len(classes) {
				return false
			}
			if classes[i] == NoClass || c == IntegerClass {
				classes[i] = c
			}
		}
		return true
	}
	switch t.Kind {
	case Bool, Int, Enum, Pointer:
		return set(IntegerClass)
	case Float:
		return t.Size <= 8 && set(SSEClass)
	case Array:
		for i := range max(t.Len, 0) {
			if !t.Elem.classify(off+i*t.Elem.Size, classes, depth+1) {
				return false
			}
		}
		return true
	case Struct, Union:
		if t.Source != nil && (len(t.Source.VBases) > 0 || t.Source.Variants != nil || t.Source.InMemory) {
			return false
		}
		for _, f := range t.Fields {
			if f.Artificial {
				return false // a virtual table: not trivially copyable
			}
			if f.BitSize > 0 {
				if i := (off + f.Offset + f.BitOffset/8) / 8; i < len(classes) {
					classes[i] = IntegerClass
				}
				continue
			}
			if f.Type.Size == 0 {
				continue // an empty base
			}
			if !f.Type.classify(off+f.Offset, classes, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// Slice is the part of a value's place that begins at off and has size bytes. A part that is not available does not
// take the others away.
func (p Place) Slice(off, size int) Place {
	switch p.Kind {
	case InMemory:
		if len(p.Ops) > 0 {
			p.Ops = append(append([]PlaceOp(nil), p.Ops...), PlaceOp{Code: PushConst, Arg: int64(off)}, PlaceOp{Code: Add})
			return p
		}
		if n := len(p.Derefs); n > 0 {
			p.Derefs = append([]int64(nil), p.Derefs...)
			p.Derefs[n-1] += int64(off)
			return p
		}
		p.Offset += int64(off)
		return p
	case InPieces:
		out := Place{Kind: InPieces}
		at := 0
		for _, piece := range p.Pieces {
			lo, hi := max(off, at), min(off+size, at+piece.Size)
			if lo < hi {
				sub := piece.Place
				if lo != at || hi != at+piece.Size {
					sub = sub.Slice(lo-at, hi-lo)
				}
				if lo == off && hi == off+size {
					return sub
				}
				out.Pieces = append(out.Pieces, Piece{Size: hi - lo, Place: sub})
			}
			at += piece.Size
		}
		if at < off+size {
			return Place{Why: "its place is not told in full"}
		}
		return out
	case InRegister:
		if off == 0 {
			return p
		}
		return Place{Kind: Computed, Ops: []PlaceOp{{Code: PushReg, Reg: p.Reg}, {Code: PushConst, Arg: int64(8 * off)}, {Code: ShrUnsigned}}}
	case Constant:
		p.Value >>= 8 * uint(off&7)
		return p
	case Computed:
		if off == 0 {
			return p
		}
		ops := append(p.steps(), PlaceOp{Code: PushConst, Arg: int64(8 * off)}, PlaceOp{Code: ShrUnsigned})
		return Place{Kind: Computed, Ops: ops}
	}
	return p
}
