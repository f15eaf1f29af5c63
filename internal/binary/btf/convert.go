package btf

import "trocar/internal/binary/types"

// converter makes types.Type of BTF's types. A structure that is asked for without its members is a stub that is
// completed on demand; what lies in a value itself is complete whenever the whole is.
//
// Pointers are of types.AnySpace: the same structure may lie in the kernel or, being part of the interface to it, in a
// process.
type converter struct {
	b             *Types
	shallow, full map[uint32]*types.Type
	busy          map[uint32]bool // structures being made: one that contains itself is damaged
	members       int             // made so far
}

// Limits of what is made of a file: the kernel's has some hundred thousand members, and nests them a dozen deep.
const (
	maxMembers = 1 << 20
	maxDepth   = 100
	maxKept    = 1 << 16
	maxSize    = 1 << 40
)

func (c *converter) init(b *Types) {
	*c = converter{b: b, shallow: map[uint32]*types.Type{}, full: map[uint32]*types.Type{}, busy: map[uint32]bool{}}
}

// unknown stands for what cannot be understood.
func unknown() *types.Type {
	return &types.Type{Kind: types.Void, Name: "?", Align: 1, Incomplete: true}
}

// of makes the type with an id; deep: with its members. It never fails: what is damaged is incomplete.
func (c *converter) of(id uint32, deep bool, depth int) *types.Type {
	if id == 0 {
		return types.TVoid
	}
	kept := c.shallow
	if deep {
		kept = c.full
	}
	if t := kept[id]; t != nil {
		return t
	}
	if depth > maxDepth || c.members > maxMembers {
		return unknown()
	}
	t := c.make(id, deep, depth+1)
	if !c.busy[id] {
		kept[id] = t
	}
	return t
}

func (c *converter) make(id uint32, deep bool, depth int) *types.Type {
	t := c.b.at(id)
	switch t.kind {
	case kindInt:
		return c.integer(t)
	case kindFloat:
		return c.scalar(t, types.Float)
	case kindPtr:
		p := types.PointerTo(c.of(t.ref(), false, depth), types.AnySpace)
		p.Source = c.source()
		return p
	case kindArray:
		return c.array(t, deep, depth)
	case kindStruct, kindUnion:
		if deep && !c.busy[id] {
			return c.structure(id, t, depth)
		}
		return c.stub(id, t)
	case kindFwd:
		word, kind := "struct ", types.Struct
		if t.flag {
			word, kind = "union ", types.Union
		}
		return &types.Type{Kind: kind, Name: word + c.b.nameOf(t), Align: 1, Incomplete: true, Source: c.source()}
	case kindEnum, kindEnum64:
		return c.enum(t)
	case kindTypedef:
		name := c.b.nameOf(t)
		return c.of(t.ref(), deep, depth).Derive(func(d *types.Type) {
			d.Source.Lang, d.Source.Alias, d.Source.Quals = types.C, name, 0
			if d.Name == "" && (d.Kind == types.Struct || d.Kind == types.Union || d.Kind == types.Enum) {
				d.Name = name
			}
		})
	case kindConst, kindVolatile, kindRestrict:
		q := types.Const
		switch t.kind {
		case kindVolatile:
			q = types.Volatile
		case kindRestrict:
			q = types.Restrict
		}
		return c.of(t.ref(), deep, depth).Derive(func(d *types.Type) {
			d.Source.Lang = types.C
			d.Source.Quals |= q
		})
	case kindTypeTag: // __user, __rcu and their kind: attributes of the pointer
		return c.of(t.ref(), deep, depth)
	case kindFuncProto:
		return c.function(t, depth)
	}
	return unknown()
}

func (c *converter) source() *types.Source { return &types.Source{Lang: types.C} }

// scalar makes a type without parts; it is aligned to its size.
func (c *converter) scalar(t stored, kind types.Kind) *types.Type {
	align := max(1, min(t.size(), 16))
	return &types.Type{Kind: kind, Name: c.b.nameOf(t), Size: t.size(), Align: align, Source: c.source()}
}

func (c *converter) integer(t stored) *types.Type {
	// Encoding: 1 signed, 2 character, 4 truth value.
	enc, size := t.word(0)>>24&0xf, t.size()
	i := c.scalar(t, types.Int)
	i.Signed = enc&1 != 0
	switch {
	case enc&4 != 0 && size == 1:
		i.Kind, i.Signed = types.Bool, false
	case size != 1 && size != 2 && size != 4 && size != 8:
		// __int128: no integer that anything here computes with.
		i.Kind, i.Signed, i.Incomplete = types.Struct, false, true
	}
	return i
}

func (c *converter) array(t stored, deep bool, depth int) *types.Type {
	elem := c.of(t.word(0), deep, depth)
	n := int(t.word(2))
	if n == 0 {
		n = -1 // as good as always a flexible array
	}
	if n > 0 && elem.Size > maxSize/n {
		return unknown()
	}
	a := types.ArrayOf(elem, n)
	a.Align = max(a.Align, 1)
	a.Source = c.source()
	a.Incomplete = deep && elem.Incomplete
	return a
}

// header makes a structure without members.
func (c *converter) header(t stored) *types.Type {
	s := &types.Type{Kind: types.Struct, Name: c.b.nameOf(t), Size: t.size(), Align: 1, Source: c.source()}
	word := "struct "
	if t.kind == kindUnion {
		s.Kind, word = types.Union, "union "
	}
	if s.Name != "" {
		s.Name = word + s.Name
	}
	return s
}

// stub makes a structure that is read when somebody looks into it.
func (c *converter) stub(id uint32, t stored) *types.Type {
	b := c.b
	return types.Stub(c.header(t), func() *types.Type {
		b.mu.Lock()
		defer b.mu.Unlock()
		full := b.conv.of(id, true, 0)
		if full.Kind == types.Void || full.Incomplete {
			return nil
		}
		return full
	})
}

// structure makes a structure with its members.
func (c *converter) structure(id uint32, t stored, depth int) *types.Type {
	c.busy[id] = true
	defer delete(c.busy, id)
	s := c.header(t)
	c.members += t.vlen
	s.Fields = make([]types.Field, 0, t.vlen)
	packed := false
	for i := range t.vlen {
		f := types.Field{Name: c.b.text(t.word(3 * i)), Type: c.of(t.word(3*i+1), true, depth)}
		bit := int(t.word(3*i + 2))
		size := 0
		if t.flag {
			// The upper 8 bits are the width of a bit-field.
			size, bit = bit>>24, bit&0xffffff
		} else {
			size, bit = c.oldBitField(t.word(3*i+1), bit)
		}
		f.Offset, f.BitOffset, f.BitSize = bit/8, bit%8, size
		end := f.Offset + f.Type.Size
		if size > 0 {
			end = (bit + size + 7) / 8
		}
		bad := size == 0 && f.BitOffset != 0 || size > 8*f.Type.Size || size > 0 && !f.Type.IsInteger() || end > s.Size
		if bad {
			f = types.Field{Name: f.Name, Type: unknown()}
		}
		s.Fields = append(s.Fields, f)
		if size == 0 && f.Type.Align > 0 {
			packed = packed || f.Offset%f.Type.Align != 0
			s.Align = max(s.Align, f.Type.Align)
		}
	}
	if packed || s.Size%s.Align != 0 {
		s.Align = 1
	}
	return s
}

// oldBitField finds a bit-field where members don't tell it (without kind_flag): its integer has fewer bits than its
// size, or does not begin at its first.
func (c *converter) oldBitField(id uint32, bit int) (size, at int) {
	t := c.b.at(id)
	for range maxDepth {
		switch t.kind {
		case kindTypedef, kindConst, kindVolatile, kindTypeTag:
			t = c.b.at(t.ref())
			continue
		case kindInt:
			bits, shift := int(t.word(0)&0xff), int(t.word(0)>>16&0xff)
			if bits != 8*t.size() || shift != 0 || bit%8 != 0 {
				return bits, bit + shift
			}
		}
		break
	}
	return 0, bit
}

// enumerator is the value of the i-th constant.
func (t stored) enumerator(i int) int64 {
	if t.kind == kindEnum64 {
		return int64(uint64(t.word(3*i+1)) | uint64(t.word(3*i+2))<<32)
	}
	if t.flag { // signed
		return int64(int32(t.word(2*i + 1)))
	}
	return int64(t.word(2*i + 1))
}

func (c *converter) enum(t stored) *types.Type {
	e := c.scalar(t, types.Enum)
	e.Signed = t.flag
	if e.Name != "" {
		e.Name = "enum " + e.Name
	}
	switch e.Size {
	case 1, 2, 4, 8:
	default:
		return unknown()
	}
	step := 2
	if t.kind == kindEnum64 {
		step = 3
	}
	c.members += t.vlen
	e.Enums = make([]types.Enumerator, t.vlen)
	for i := range e.Enums {
		e.Enums[i] = types.Enumerator{Name: c.b.text(t.word(step * i)), Value: t.enumerator(i)}
	}
	return e
}

func (c *converter) function(t stored, depth int) *types.Type {
	f := &types.Type{Kind: types.Func, Elem: c.of(t.ref(), false, depth), Source: c.source()}
	c.members += t.vlen
	for i := range t.vlen {
		id := t.word(2*i + 1)
		if id == 0 && i == t.vlen-1 {
			f.Source.Vararg = true
			break
		}
		f.Source.Params = append(f.Source.Params, c.of(id, false, depth))
	}
	return f
}
